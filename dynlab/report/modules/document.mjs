// A certificate taken apart: every type, key, sign and size is looked at before a number is used.

import { Malformed, Rejected } from "./rejected.mjs";
import { sha256 } from "./sha256.mjs";
import { dumped } from "./strict_json.mjs";

const FORMAT = "dynlab certificate 1";
const NUMBER = /^(-?)(0|[1-9a-f][0-9a-f]{0,39999})p(-?[0-9]{1,18})$/; // a hexadecimal integer, an exponent of 2
const DIGEST = /^[0-9a-f]{64}$/;
const MOST_BITS = 2 ** 13; // more would only take time
const EXTRA_BITS = 64; // beyond twice the precision of the proof, so that its own rounding decides what stands
const USUAL_BITS = 256; // of honest certificates, which take fewer than 1,000 + 50 n products of digits a character
const MOST_WORK = [2000, 200]; // of them, for each character of the file, and as many more for each state
const LITTLE_WORK = 5e9; // never too much for a file that is not too long for it
const MOST_OF_A_CHARACTER = 1e6;
// How many earlier results an operation reads; `join` reads one or more.
const READS = new Map(Object.entries({ state: 0, constant: 0, linear: 1, add: 2, subtract: 2, multiply: 2, reciprocal: 1, sqrt: 1, tanh: 1, sigmoid: 1, relu: 1, modrelu: 1, part: 1, join: null }));
const HOLDS = { constant: "values", linear: "values", modrelu: "values", part: "span" }; // a key beyond name and reads
const KEYS = ["format", "system", "source", "digest", "precision", "size", "program", "ball", "tight_ball"];
const SHOWS = ["vectors", "inverse", "eigenvalues", "claims"];

/** How many binary digits the size of an integer has. */
export function bitLength(value) {
  if (value === 0n) return 0;
  const digits = (value < 0n ? -value : value).toString(16);
  return 4 * digits.length - Math.clz32(parseInt(digits[0], 16)) + 28;
}

class Reader {
  characters = 0; // how long the numbers that were read are together
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
    const [, written, held] = this.fields(entry, name in HOLDS ? ["name", "reads", HOLDS[name]] : ["name", "reads"], what);
    const reads = this.items(written, what).map((index) => this.whole(index, `what ${what} reads`, 0, before.length - 1));
    const fits = READS.get(name) === null ? reads.length > 0 : reads.length === READS.get(name);
    if (!fits) throw new Malformed(`${what} reads ${reads.length} results`);
    this.characters += name.length + reads.length;
    const sizes = reads.length ? reads.map((index) => before[index].size) : [n];
    if (name !== "join" && sizes[0] !== sizes.at(-1)) throw new Malformed(`${what} combines vectors of different lengths`);
    const found = { name, reads, numbers: [], span: [0, 0], size: name === "join" ? sizes.reduce((sum, each) => sum + each, 0) : sizes[0] };
    this.take(found, held, what, n);
    return found;
  }

  /** The constants that an operation holds, and the size that they give its result. */
  take(operation, held, what) {
    const { name, size } = operation;
    if (name === "constant") {
      operation.numbers = [this.vector(held, what)];
      operation.size = operation.numbers[0].length;
    } else if (name === "linear") {
      operation.numbers = this.matrix(held, what, size);
      operation.size = operation.numbers.length;
    } else if (name === "modrelu") {
      operation.numbers = [this.vector(held, what, size)];
    } else if (name === "part") {
      const [first, last] = this.items(held, `ends of ${what}`, 2);
      const start = this.whole(first, `the start of ${what}`, 0, size);
      operation.span = [start, this.whole(last, `the end of ${what}`, start, size)];
      operation.size = operation.span[1] - start;
    }
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
  if (reader.items(discs, "eigenvalues").length !== n) throw new Malformed(`there are ${discs.length} discs for ${n} eigenvalues`);
  const places = discs.map((disc) => reader.fields(disc, ["real", "imag", "radius"], "a disc"));
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
  return Math.min(Math.max(usual, LITTLE_WORK), MOST_OF_A_CHARACTER * characters);
}

/** About how many products of digits the check takes. */
function work(program, n, bits) {
  let products = 60 * n ** 3; // ten products of matrices, each of the middles and twice of the radii, and a margin
  for (const { name, size, numbers } of program) {
    products += 6 * size * (n + 1) * (name === "linear" ? numbers[0]?.length ?? 1 : 1);
    if (name === "tanh" || name === "sigmoid") products += 4 * size * bits; // the terms of eight exponentials
  }
  return products * Math.floor(30 + ((2 * bits) / 30) ** 1.6); // as Python counts it, with Karatsuba's exponent
}
