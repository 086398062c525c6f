// One step of a network over a box of states in interval arithmetic, with its Jacobian.

import { sum, zeros } from "./intervals.mjs";
import { Rejected } from "./rejected.mjs";

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
  const results = [];
  for (const operation of program) {
    const found = carriedOut(arithmetic, operation, operation.reads.map((index) => results[index]), state);
    const beyond = (row) => row.some((entry) => entry >= limit || -entry >= limit);
    // numbers that are squared again and again would fill any memory
    if (found.mids.some(beyond) || found.rads.some(beyond)) throw new Rejected(`a result of the program is beyond 2^${arithmetic.bits}`);
    results.push(found);
  }
  const last = results.at(-1);
  return { values: valuesOf(last), jacobian: { mids: last.mids.map((row) => row.slice(1)), rads: last.rads.map((row) => row.slice(1)) } };
}

function carriedOut(arithmetic, { name, numbers, span, size }, read, state) {
  const width = state.mids[0].length;
  if (name === "state") return state;
  if (name === "constant") return withValues(numbers[0].map((number) => arithmetic.read(number)), zeros(size, width));
  if (name === "linear") {
    // a network without input multiplies its input weights with nothing
    return read[0].mids.length ? arithmetic.product(arithmetic.matrix(numbers), read[0]) : zeros(size, width);
  }
  if (name === "add" || name === "subtract") return sum(read[0], read[1], name === "add" ? 1 : -1);
  if (name === "part") return { mids: read[0].mids.slice(...span), rads: read[0].rads.slice(...span) };
  if (name === "join") return { mids: read.flatMap(({ mids }) => mids), rads: read.flatMap(({ rads }) => rads) };
  const first = valuesOf(read[0]);
  if (name === "multiply") {
    const last = valuesOf(read[1]);
    const slopes = sum(scaled(arithmetic, last, read[0]), scaled(arithmetic, first, read[1]));
    return withValues(first.map((each, i) => arithmetic.times(each, last[i])), slopes);
  }
  const thresholds = name === "modrelu" ? numbers[0].map((number) => arithmetic.read(number)) : [];
  const pairs = first.map((each, i) => arithmetic[name](each, thresholds[i]));
  return withValues(pairs.map(([value]) => value), scaled(arithmetic, pairs.map(([, slope]) => slope), read[0]));
}

const valuesOf = ({ mids, rads }) => mids.map((row, i) => [row[0], rads[i][0]]);

/** The result with this first column. */
function withValues(values, { mids, rads }) {
  return { mids: mids.map((row, i) => [values[i][0], ...row.slice(1)]), rads: rads.map((row, i) => [values[i][1], ...row.slice(1)]) };
}

function scaled(arithmetic, factors, { mids, rads }) {
  const rows = mids.map((row, i) => row.map((m, j) => arithmetic.times(factors[i], [m, rads[i][j]])));
  return { mids: rows.map((row) => row.map(([m]) => m)), rads: rows.map((row) => row.map(([, r]) => r)) };
}
