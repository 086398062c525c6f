// One step of a network over a box of states in interval arithmetic, with its Jacobian.

import { FUNCTIONS } from "./functions.mjs";
import { sum, zeros } from "./intervals.mjs";
import { Rejected } from "./rejected.mjs";

const SIGNS = { add: [1, 1], subtract: [1, -1], negate: [-1] };

/** Intervals of the step, and where `slopes` are asked for of its Jacobian: {values, jacobian}.
 *
 * Each result is a matrix: its first column is the value, the others are its derivative by the state. */
export function evaluate(arithmetic, program, box, slopes = true) {
  const width = slopes ? box.length : 0;
  const state = {
    mids: box.map(([m], i) => [m, ...Array.from({ length: width }, (_, j) => (i === j ? arithmetic.one : 0n))]),
    rads: box.map(([, r]) => [r, ...new Array(width).fill(0n)]),
  };
  const limit = 1n << (2n * arithmetic.bits);
  const beyond = (row) => row.some((entry) => entry >= limit || -entry >= limit);
  const results = [];
  const last = new Map(program.flatMap(({ reads }, number) => reads.map((index) => [index, number])));
  for (const [number, operation] of program.entries()) {
    const found = carriedOut(arithmetic, operation, operation.reads.map((index) => results[index]), state);
    // numbers that are squared again and again would fill any memory
    if (found.mids.some(beyond) || found.rads.some(beyond)) throw new Rejected(`a result of the program is beyond 2^${arithmetic.bits}`);
    results.push(found);
    for (const index of operation.reads) if (last.get(index) === number) results[index] = null; // nothing reads it again
  }
  const { mids, rads } = results.at(-1);
  return { values: valuesOf(results.at(-1)), jacobian: { mids: mids.map((row) => row.slice(1)), rads: rads.map((row) => row.slice(1)) } };
}

function carriedOut(arithmetic, operation, read, state) {
  const { name, held, size } = operation;
  if (name === "state") return state;
  if (name === "number" || name === "constant") {
    const values = name === "number" ? [arithmetic.read(held)] : vector(arithmetic, operation);
    return withValues(values, zeros(size, state.mids[0].length));
  }
  if (name === "linear") return arithmetic.product(arithmetic.matrix(held, operation.radius), read[0]);
  if (name === "take") return rowsOf(read[0], held);
  if (name === "join") return { mids: read.flatMap(({ mids }) => mids), rads: read.flatMap(({ rads }) => rads) };
  if (name === "sum") return grouped(read[0], held, size);
  const wide = read.map((part) => (part.mids.length === size ? part : rowsOf(part, new Array(size).fill(0))));
  if (name in SIGNS) return total(wide, SIGNS[name]);
  const [first, last] = [valuesOf(wide[0]), valuesOf(wide.at(-1))];
  if (name === "multiply" || name === "divide") {
    const factors = name === "multiply" ? last : last.map((each) => arithmetic.inverse(each));
    const found = first.map((each, i) => arithmetic.times(each, factors[i]));
    const other = name === "multiply" ? first : found.map((each, i) => arithmetic.times(each, factors[i]));
    return withValues(found, total([scaled(arithmetic, factors, wide[0]), scaled(arithmetic, other, wide[1])], [1, name === "multiply" ? 1 : -1]));
  }
  const thresholds = name === "modrelu" ? vector(arithmetic, operation) : null;
  const pairs = first.map((each, i) => FUNCTIONS[name](arithmetic, each, thresholds ? thresholds[i] : held));
  return withValues(pairs.map(([value]) => value), scaled(arithmetic, pairs.map(([, slope]) => slope), wide[0]));
}

/** The vector that an operation holds; one number of a modReLU serves all. */
function vector(arithmetic, { held, radius, size }) {
  const found = valuesOf(arithmetic.matrix(held[0].map((number) => [number]), radius));
  return found.length === size ? found : Array.from({ length: size }, () => found[0]);
}

const rowsOf = ({ mids, rads }, index) => ({ mids: index.map((i) => mids[i]), rads: index.map((i) => rads[i]) });
const valuesOf = ({ mids, rads }) => mids.map((row, i) => [row[0], rads[i][0]]);

/** Sums of groups of so many neighbours. */
function grouped(read, length, size) {
  const groups = Array.from({ length }, (_, k) => rowsOf(read, Array.from({ length: size }, (_, i) => i * length + k)));
  return total(groups, new Array(length).fill(1));
}

/** The sum of matrices, each with its sign. */
function total(parts, signs) {
  return parts.reduce((found, part, k) => sum(found, part, signs[k]), zeros(parts[0].mids.length, parts[0].mids[0]?.length ?? 0));
}

/** The result with this first column. */
function withValues(values, { mids, rads }) {
  return { mids: mids.map((row, i) => [values[i][0], ...row.slice(1)]), rads: rads.map((row, i) => [values[i][1], ...row.slice(1)]) };
}

function scaled(arithmetic, factors, { mids, rads }) {
  const rows = mids.map((row, i) => row.map((m, j) => arithmetic.times(factors[i], [m, rads[i][j]])));
  return { mids: rows.map((row) => row.map(([m]) => m)), rads: rows.map((row) => row.map(([, r]) => r)) };
}
