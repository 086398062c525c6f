// One step of a network over a box of states in interval arithmetic, with its Jacobian.
//
// A result is {values, slopes}: an interval of each number, and a matrix, null where the result is the same for all states.

import { FUNCTIONS } from "./functions.mjs";
import { diagonal, sum, zeros } from "./intervals.mjs";
import { Rejected } from "./rejected.mjs";

const SIGNS = { add: [1, 1], subtract: [1, -1], negate: [-1] };

/** Intervals of the step, and where `slopes` are asked for of its Jacobian: {values, jacobian}. */
export function evaluate(arithmetic, program, box, slopes = true) {
  const state = { values: box, slopes: slopes ? diagonal(box.length, arithmetic.one) : null };
  const limit = 1n << (2n * arithmetic.bits);
  const beyond = (row) => row.some((entry) => entry >= limit || -entry >= limit);
  const results = [];
  for (const operation of program) {
    const found = carriedOut(arithmetic, operation, operation.reads.map((index) => results[index]), state);
    const rows = found.slopes ? [...found.values, ...found.slopes.mids, ...found.slopes.rads] : found.values;
    // numbers that are squared again and again would fill any memory
    if (rows.some(beyond)) throw new Rejected(`a result of the program is beyond 2^${arithmetic.bits}`);
    results.push(found);
  }
  const last = results.at(-1);
  return { values: last.values, jacobian: last.slopes ?? zeros(box.length, box.length) };
}

function carriedOut(arithmetic, operation, read, state) {
  const { name, size, held } = operation;
  if (name === "state") return state;
  if (name === "number") return { values: [arithmetic.read(held)], slopes: null };
  if (name === "constant") return { values: vector(arithmetic, operation), slopes: null };
  if (name === "linear") return multiplied(arithmetic, operation, read[0]);
  if (name === "take") return taken(read[0], held);
  if (name === "join") return joined(read, state.values.length);
  if (name === "sum") return grouped(read[0], held);
  const wide = read.map((part) => (part.values.length === size ? part : taken(part, new Array(size).fill(0))));
  const [first, second] = wide;
  if (name in SIGNS) return combined(wide, SIGNS[name]);
  if (name === "multiply" || name === "divide") {
    const factors = name === "multiply" ? second.values : second.values.map((each) => arithmetic.inverse(each));
    const values = first.values.map((each, i) => arithmetic.times(each, factors[i]));
    const partial = name === "multiply" ? first.values : values.map((each, i) => arithmetic.times(each, factors[i]));
    const parts = [scaled(arithmetic, factors, first.slopes), scaled(arithmetic, partial, second.slopes)];
    return { values, slopes: totalSlopes(parts, [1, name === "multiply" ? 1 : -1]) };
  }
  const thresholds = name === "modrelu" ? vector(arithmetic, operation) : null;
  const pairs = first.values.map((each, i) => FUNCTIONS[name](arithmetic, each, thresholds ? thresholds[i] : held));
  return { values: pairs.map(([value]) => value), slopes: scaled(arithmetic, pairs.map(([, slope]) => slope), first.slopes) };
}

/** The vector that an operation holds; one number of a modReLU serves all. */
function vector(arithmetic, { held, radius, size }) {
  const { mids, rads } = arithmetic.matrix(held, radius);
  const found = mids[0].map((m, i) => [m, rads[0][i]]);
  return found.length === size ? found : Array.from({ length: size }, () => found[0]);
}

function multiplied(arithmetic, { held, radius }, { values, slopes }) {
  const matrix = arithmetic.matrix(held, radius);
  const { mids, rads } = arithmetic.product(matrix, { mids: values.map(([m]) => [m]), rads: values.map(([, r]) => [r]) });
  return { values: mids.map(([m], i) => [m, rads[i][0]]), slopes: slopes && arithmetic.product(matrix, slopes) };
}

const chosen = (matrix, index) => matrix && { mids: index.map((i) => matrix.mids[i]), rads: index.map((i) => matrix.rads[i]) };
const taken = ({ values, slopes }, index) => ({ values: index.map((i) => values[i]), slopes: chosen(slopes, index) });

function joined(read, n) {
  const values = read.flatMap((part) => part.values);
  if (!read.some(({ slopes }) => slopes)) return { values, slopes: null };
  const parts = read.map((part) => part.slopes ?? zeros(part.values.length, n));
  return { values, slopes: { mids: parts.flatMap(({ mids }) => mids), rads: parts.flatMap(({ rads }) => rads) } };
}

/** Sums of groups of so many neighbours. */
function grouped(read, length) {
  const starts = Array.from({ length: read.values.length / length }, (_, k) => k * length);
  const groups = Array.from({ length }, (_, k) => taken(read, starts.map((start) => start + k)));
  return combined(groups, new Array(length).fill(1));
}

/** The sum of results, each with its sign. */
function combined(parts, signs) {
  const middle = (i) => parts.reduce((total, { values }, k) => (signs[k] > 0 ? total + values[i][0] : total - values[i][0]), 0n);
  const radius = (i) => parts.reduce((total, { values }) => total + values[i][1], 0n);
  return { values: parts[0].values.map((_, i) => [middle(i), radius(i)]), slopes: totalSlopes(parts.map(({ slopes }) => slopes), signs) };
}

function totalSlopes(parts, signs) {
  const add = (total, part, k) => part && sum(total ?? zeros(part.mids.length, part.mids[0]?.length ?? 0), part, signs[k]);
  return parts.reduce((total, part, k) => add(total, part, k) ?? total, null);
}

function scaled(arithmetic, factors, matrix) {
  if (!matrix) return null;
  const rows = matrix.mids.map((row, i) => row.map((m, j) => arithmetic.times(factors[i], [m, matrix.rads[i][j]])));
  return { mids: rows.map((row) => row.map(([m]) => m)), rads: rows.map((row) => row.map(([, r]) => r)) };
}
