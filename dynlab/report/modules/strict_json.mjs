// JSON as certificates are written in it, and nothing that JSON leaves open: no key twice, no number with a point.

import { Malformed } from "./rejected.mjs";

const MOST_DIGITS = 4300; // of an integer, as Python reads
const SPACE = /[ \t\n\r]*/y;
const INTEGER = /-?(?:0|[1-9][0-9]*)/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const WORDS = [["true", true], ["false", false], ["null", null]];
const UNREADABLE = "it is no JSON that can be read";

/** What a text holds: a Map of an object; a number, or a BigInt of one that a number cannot hold. */
export function parsed(text) {
  const reader = new Reader(text);
  try {
    const found = reader.value();
    if (reader.at < text.length) throw new Malformed(UNREADABLE);
    return found;
  } catch (error) {
    if (error instanceof RangeError) throw new Malformed(UNREADABLE); // lists in lists without end
    throw error;
  }
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
    if (this.passed("[")) return this.list();
    if (this.passed("{")) return this.object();
    if (this.text[this.at] === '"') return this.string();
    for (const [word, meant] of WORDS) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return meant;
      }
    }
    const digits = this.taken(INTEGER);
    if (digits === null || digits.length > MOST_DIGITS || ".eE".includes(this.text[this.at] || " ")) throw new Malformed(UNREADABLE);
    const number = Number(digits);
    return Number.isSafeInteger(number) ? number + 0 : BigInt(digits);
  }

  string() {
    const found = this.taken(STRING);
    if (found === null) throw new Malformed(UNREADABLE);
    return JSON.parse(found);
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
