// JSON as certificates are written in it, and nothing that JSON leaves open: no key twice, no number with a point, and
// no depth without end.

import { Malformed } from "./rejected.mjs";

export const MOST_BYTES = 2 ** 27; // of a file: about what a proof about 600 units takes
const MOST_DEPTH = 200; // of lists and objects in one another: certificates have 5, and no reader's stack is filled
const MOST_DIGITS = 4300; // of an integer without its sign, as Python reads
const SPACE = /[ \t\n\r]*/y;
const INTEGER = /-?(?:0|[1-9][0-9]*)/y;
const POINTED = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)|NaN|-?Infinity/y;
const PLAIN = /[^"\\]*/y; // letters of a string; the regular expression of a whole one would fill the stack
const WORDS = [["true", true], ["false", false], ["null", null]];
const UNREADABLE = "it is no JSON that can be read";

/** The text of a file's bytes, of which there may be so many, and which must be UTF-8. */
export function decoded(bytes) {
  if (bytes.byteLength > MOST_BYTES) throw new Malformed(`it is longer than ${MOST_BYTES} bytes`);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Malformed(UNREADABLE);
  }
}

/** What a text holds: a Map of an object; a number, or a BigInt of one that a number cannot hold. */
export function parsed(text) {
  const reader = new Reader(text);
  const found = reader.value();
  if (reader.at < text.length) throw new Malformed(UNREADABLE);
  return found;
}

/** The text of a value as Python's json.dumps writes it. */
export function dumped(value) {
  if (Array.isArray(value)) return `[${value.map(dumped).join(", ")}]`;
  if (value instanceof Map) return `{${[...value].map(([key, each]) => `${dumped(key)}: ${dumped(each)}`).join(", ")}}`;
  if (typeof value !== "string") return String(value);
  return JSON.stringify(value).replace(/[^ -~]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.depth = 0; // of the lists and objects that have begun and not ended
  }

  /** What matches here, after which the reader stands; null where nothing does. */
  taken(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found) this.at = pattern.lastIndex;
    return found && found[0];
  }

  /** Whether this letter stands here, after space, behind which the reader then stands. */
  passed(letter) {
    this.taken(SPACE);
    if (this.text[this.at] !== letter) return false;
    this.at += 1;
    return true;
  }

  value() {
    const found = this.bare();
    this.taken(SPACE);
    return found;
  }

  bare() {
    if (this.passed("[")) return this.within(() => this.list());
    if (this.passed("{")) return this.within(() => this.object());
    if (this.text[this.at] === '"') return this.string();
    for (const [word, meant] of WORDS) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return meant;
      }
    }
    return this.integer();
  }

  integer() {
    if (this.taken(POINTED) !== null) throw new Malformed("a number is written with a point or an exponent of 10, or is none");
    const digits = this.taken(INTEGER);
    if (digits === null || digits.replace("-", "").length > MOST_DIGITS) throw new Malformed(UNREADABLE);
    const number = Number(digits);
    return Number.isSafeInteger(number) ? number + 0 : BigInt(digits);
  }

  /** What `read` gives, one list or object deeper. */
  within(read) {
    this.depth += 1;
    if (this.depth > MOST_DEPTH) throw new Malformed(`lists and objects stand more than ${MOST_DEPTH} deep in one another`);
    const found = read();
    this.depth -= 1;
    return found;
  }

  string() {
    const start = this.at;
    if (this.text[start] !== '"') throw new Malformed(UNREADABLE);
    this.at += 1;
    while (this.taken(PLAIN) !== null && this.text[this.at] === "\\") this.at += 2; // what is escaped ends nothing
    this.at += 1;
    try {
      return JSON.parse(this.text.slice(start, this.at));
    } catch {
      throw new Malformed(UNREADABLE);
    }
  }

  list() {
    const found = [];
    if (this.passed("]")) return found;
    do found.push(this.value());
    while (this.passed(","));
    if (!this.passed("]")) throw new Malformed(UNREADABLE);
    return found;
  }

  object() {
    const found = new Map();
    if (this.passed("}")) return found;
    do {
      this.taken(SPACE);
      const key = this.string();
      if (found.has(key)) throw new Malformed("an object has the same key twice");
      if (!this.passed(":")) throw new Malformed(UNREADABLE);
      found.set(key, this.value());
    } while (this.passed(","));
    if (!this.passed("}")) throw new Malformed(UNREADABLE);
    return found;
  }
}
