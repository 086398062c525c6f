// A certificate taken apart: every type, key, sign and size is looked at before a number is used.

import { FUNCTIONS } from "./functions.mjs";
import { bitLength } from "./intervals.mjs";
import { Malformed, Rejected } from "./rejected.mjs";
import { sha256 } from "./sha256.mjs";
import { dumped } from "./strict_json.mjs";

const FORMAT = "dynlab certificate 2";
const NUMBER = /^(-?)(0|[1-9a-f][0-9a-f]{0,39999})p(-?[0-9]{1,18})$/; // a hexadecimal integer, an exponent of 2
const DIGEST = /^[0-9a-f]{64}$/;
const MOST_BITS = 2 ** 13; // more would only take time
const EXTRA_BITS = 64; // beyond twice the precision of the proof, so that its own rounding decides what stands
const USUAL_BITS = 256; // of honest certificates, which take fewer than 1,000 + 50 n products of digits a character
const MOST_WORK = [2000, 200]; // of them, for each character of the file, and as many more for each state
const LITTLE_WORK = 5e9; // never too much
const MOST_EXPONENT_BITS = 10; // of a power, which is up to 1023
const BESIDE = 24; // characters of an operation besides its name, reads and numbers
// The key of what an operation holds beyond its name and reads; "values" may have a "radius".
const HOLDS = { number: "number", constant: "values", linear: "values", take: "index", sum: "length", modrelu: "values", power: "number" };
// How many earlier results an operation reads; `join` reads one or more, functions read one.
const ARITHMETIC = { state: 0, number: 0, constant: 0, join: null, linear: 1, take: 1, sum: 1, negate: 1, add: 2, subtract: 2, multiply: 2, divide: 2 };
const READS = new Map([...Object.entries(ARITHMETIC), ...Object.keys(FUNCTIONS).map((name) => [name, 1])]);
const ZERO = { mantissa: 0n, exponent: 0 };
const KEYS = ["format", "system", "source", "digest", "precision", "size", "program", "ball", "tight_ball"];
const SHOWS = ["vectors", "inverse", "eigenvalues", "claims"];

export class Reader {
  characters = 0; // how long the program and the numbers that were read are together
  highest = 0; // bits before the binary point that hold each of them

  /** The values of an object that has these keys and no others. */
  fields(value, keys, what) {
    if (!(value instanceof Map)) throw new Malformed(`${what} is no object`);
    const missing = keys.find((key) => !value.has(key));
    if (missing !== undefined) throw new Malformed(`${what} lacks '${missing}'`);
    if (value.size !== keys.length) throw new Malformed(`${what} has keys beyond ${keys.join(", ")}`);
    return keys.map((key) => value.get(key));
  }

  whole(value, what, least, most = Infinity) {
    const number = typeof value === "bigint" ? Number(value) : value;
    if (typeof number !== "number" || number < least || number > most) {
      throw new Malformed(`${what} is no whole number ${most === Infinity ? `from ${least}` : `${least} to ${most}`}`);
    }
    return number;
  }

  items(value, what, length = null) {
    if (!Array.isArray(value)) throw new Malformed(`${what} is no list`);
    if (length !== null && value.length !== length) throw new Malformed(`there are ${value.length} ${what} where ${length} belong`);
    return value;
  }

  /** "<hexadecimal integer>p<exponent of 2>", in lower case, as {mantissa, exponent}. */
  number(text, what) {
    const match = typeof text === "string" ? NUMBER.exec(text) : null;
    if (match === null) throw new Malformed(`${what} holds something that is no number of the form 1f3p-52`);
    const size = BigInt(`0x${match[2]}`);
    const exponent = Number(match[3]);
    this.characters += text.length;
    if (size) this.highest = Math.max(this.highest, bitLength(size) + exponent);
    return { mantissa: match[1] ? -size : size, exponent };
  }

  vector(values, what, length = null) {
    return this.items(values, `numbers in ${what}`, length).map((text) => this.number(text, what));
  }

  matrix(rows, what, columns, length = null) {
    return this.items(rows, `rows in ${what}`, length).map((row) => this.vector(row, what, columns));
  }

  complexMatrix(parts, what, n) {
    return this.fields(parts, ["real", "imag"], what).map((rows) => this.matrix(rows, what, n, n));
  }

  ball(written, what, n) {
    const [center, radius, inverse] = this.fields(written, ["center", "radius", "inverse"], what);
    const found = {
      center: this.vector(center, `the center of ${what}`, n),
      radius: this.number(radius, `the radius of ${what}`),
      inverse: this.matrix(inverse, `the inverse of ${what}`, n, n),
    };
    if (found.radius.mantissa <= 0n) throw new Rejected(`the radius of ${what} is not above 0`);
    return found;
  }

  /** The operations; each reads results that stand before it, of the sizes that it needs. */
  program(written, n) {
    const operations = [];
    this.items(written, "operations").forEach((entry, number) => operations.push(this.operation(entry, `operation ${number}`, operations, n)));
    if (operations.at(-1)?.size !== n) throw new Malformed(`the last operation of the program does not give ${n} numbers`);
    return operations;
  }

  operation(entry, what, before, n) {
    const name = entry instanceof Map ? entry.get("name") : null;
    if (!READS.has(name)) throw new Malformed(`${what} of the program is an unknown operation`);
    const keys = ["name", "reads", ...(name in HOLDS ? [HOLDS[name]] : [])];
    if (HOLDS[name] === "values" && entry.has("radius")) keys.push("radius");
    const [, written, held, around] = this.fields(entry, keys, what);
    const reads = this.items(written, what).map((index) => this.whole(index, `what ${what} reads`, 0, before.length - 1));
    const fits = READS.get(name) === null ? reads.length > 0 : reads.length === READS.get(name);
    if (!fits) throw new Malformed(`${what} reads ${reads.length} results`);
    this.characters += BESIDE + name.length + reads.length;
    const sizes = reads.map((index) => before[index].size);
    const most = sizes.length ? sizes.reduce((a, b) => Math.max(a, b)) : name === "state" ? n : 1;
    const size = name === "join" ? sizes.reduce((total, each) => total + each, 0) : most;
    if (name !== "join" && sizes.some((each) => each !== 1 && each !== size)) throw new Malformed(`${what} combines vectors of different lengths`);
    const radius = around === undefined ? ZERO : this.number(around, what);
    if (radius.mantissa < 0n) throw new Malformed(`the radius of ${what} is below 0`);
    return { name, reads, radius, size, ...(name in HOLDS ? this.held(name, held, what, size) : {}) };
  }

  /** What an operation holds, and how many numbers its result has; `size` of what it reads. */
  held(name, value, what, size) {
    if (name === "constant") {
      const numbers = this.vector(value, what);
      return { held: [numbers], size: numbers.length };
    }
    if (name === "modrelu") {
      const numbers = this.vector(value, what);
      if (numbers.length !== 1 && numbers.length !== size) throw new Malformed(`${what} combines vectors of different lengths`);
      return { held: [numbers] };
    }
    if (name === "linear") {
      if (!size) throw new Malformed(`${what} multiplies no numbers`);
      const rows = this.matrix(value, what, size);
      return { held: rows, size: rows.length };
    }
    if (name === "take") {
      const index = this.items(value, what).map((each) => this.whole(each, `a place of ${what}`, 0, size - 1));
      this.characters += index.length;
      return { held: index, size: index.length };
    }
    if (name === "sum") {
      const length = this.whole(value, `the length of ${what}`, 1, size);
      if (size % length) throw new Malformed(`${what} sums groups of ${length} of ${size} numbers`);
      return { held: length, size: size / length };
    }
    const number = this.number(value, what);
    const tooLarge = bitLength(number.mantissa) + number.exponent > MOST_EXPONENT_BITS || number.exponent < -MOST_BITS;
    if (name === "power" && number.mantissa && tooLarge) throw new Rejected(`the exponent of ${what} is beyond 1023, or has far too many digits`);
    return { held: number };
  }
}

/** The parts of a certificate, each of it of the size and form that it must have. */
export function taken(document) {
  const reader = new Reader();
  if (document instanceof Map && document.get("format") !== FORMAT) throw new Malformed(`this checks the format '${FORMAT}', and the file has another one`);
  const [, system, , digest, precision, size, written, ball, tight, vectors, inverse, discs, claims] = reader.fields(document, [...KEYS, ...SHOWS], "the certificate");
  if (typeof system !== "string" || typeof digest !== "string" || !DIGEST.test(digest)) throw new Malformed("the name or the digest is none");
  if (sha256(dumped(written)) !== digest) throw new Rejected("the stored numbers are not those that the digest is of");
  const n = reader.whole(size, "the size", 1);
  const asked = reader.whole(precision, "the precision", 1);
  const found = { size: n, digest, program: reader.program(written, n) };
  found.ball = reader.ball(ball, "the ball", n);
  found.tight = reader.ball(tight, "the tight ball", n);
  const places = reader.items(discs, "discs", n).map((disc) => reader.fields(disc, ["real", "imag", "radius"], "a disc"));
  found.vectors = reader.complexMatrix(vectors, "the eigenvectors", n);
  found.inverse = reader.complexMatrix(inverse, "their inverse", n);
  found.discs = places.map((place) => reader.vector(place, "a disc", 3));
  found.claims = reader.fields(claims, ["outside", "inside", "undecided"], "claims").map((count) => reader.whole(count, "a claim", 0, n));
  const exact = [found.ball, found.tight].flatMap((each) => [...each.center, each.radius]);
  const deepest = exact.reduce((most, { mantissa, exponent }) => Math.max(most, mantissa ? -exponent : 0), 0);
  const bits = Math.max(2 * asked, deepest, reader.highest);
  if (found.program.reduce((sum, { size: each }) => sum + each, 0) > reader.characters) {
    throw new Rejected("the program's results have more numbers than the file has characters");
  }
  if (bits > MOST_BITS) throw new Rejected(`the certificate asks for numbers of more than ${MOST_BITS} bits`);
  if (work(found.program, n, bits) > mostWork(reader.characters, n, bits)) throw new Rejected("the certificate asks for far more work than one of its length needs");
  return { ...found, bits: bits + EXTRA_BITS };
}

/** The work that a certificate of this length may ask for. */
function mostWork(characters, n, bits) {
  const usual = (MOST_WORK[0] + MOST_WORK[1] * n) * Math.max(1, bits / USUAL_BITS) ** 1.6 * characters;
  return Math.max(usual, LITTLE_WORK);
}

/** About how many products of digits the check takes. */
function work(program, n, bits) {
  let products = 60 * n ** 3; // ten products of matrices, each of the middles and twice of the radii, and a margin
  for (const { name, size, held } of program) {
    products += 6 * size * (n + 1) * (name === "linear" ? held[0]?.length ?? 1 : 1);
    // the terms of the series at the ends of two intervals, each twice; those of erf are many and long
    products += size * bits * (name === "erf" ? 200 : name in FUNCTIONS ? 8 : 0);
  }
  return products * Math.floor(30 + ((2 * bits) / 30) ** 1.6); // as Python counts it, with Karatsuba's exponent
}
