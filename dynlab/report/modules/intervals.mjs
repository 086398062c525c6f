// Intervals in exact integers: [m, r] is the interval from (m − r) 2^−bits to (m + r) 2^−bits. Every rounding widens it.
// A matrix is {mids, rads}, each a list of rows, of all m and of all r.

import { Rejected } from "./rejected.mjs";

export const size = (value) => (value < 0n ? -value : value);
export const larger = (a, b) => (a > b ? a : b);

/** How many binary digits the size of an integer has. */
export function bitLength(value) {
  if (value === 0n) return 0;
  const digits = size(value).toString(16);
  return 4 * digits.length - Math.clz32(parseInt(digits[0], 16)) + 28;
}

/** The largest integer whose square is not above `value`. */
export function rootOf(value) {
  if (value < 2n) return value;
  let guess = 1n << BigInt((bitLength(value) + 1) >> 1);
  for (;;) {
    const next = (guess + value / guess) >> 1n;
    if (next >= guess) return guess;
    guess = next;
  }
}

/** The least integer that is not below |real + i imag|, or one more. */
export const modulus = (real, imag) => (real === 0n && imag === 0n ? 0n : rootOf(real * real + imag * imag) + 1n);

export function between(low, high) {
  const middle = (low + high) >> 1n;
  return [middle, larger(high - middle, middle - low)];
}

/** Σ a_k b_k; most a_k of radii are 0. */
function dot(a, b) {
  let sum = 0n;
  for (let k = 0; k < a.length; k++) if (a[k]) sum += a[k] * b[k];
  return sum;
}

const transposed = (rows) => (rows.length ? rows[0].map((_, j) => rows.map((row) => row[j])) : []);
const combined = (a, b, how) => a.map((row, i) => row.map((each, j) => how(each, b[i][j])));

/** a + b, or a − b. */
export function sum(a, b, sign = 1) {
  return { mids: combined(a.mids, b.mids, sign > 0 ? (p, q) => p + q : (p, q) => p - q), rads: combined(a.rads, b.rads, (p, q) => p + q) };
}

export function zeros(rows, columns) {
  const each = () => Array.from({ length: rows }, () => new Array(columns).fill(0n));
  return { mids: each(), rads: each() };
}

export function diagonal(n, entry) {
  const found = zeros(n, n);
  found.mids.forEach((row, i) => (row[i] = entry));
  return found;
}

export class Arithmetic {
  constructor(bits) {
    this.bits = BigInt(bits);
    this.one = 1n << this.bits;
  }

  /** An interval that holds a number of the file. */
  read({ mantissa, exponent }) {
    if (!mantissa) return [0n, 0n];
    const shift = exponent + Number(this.bits);
    if (shift >= 0) return [mantissa << BigInt(shift), 0n];
    if (bitLength(mantissa) <= -shift) return [mantissa < 0n ? -1n : 0n, 1n]; // below the grid, by however much
    const cut = BigInt(-shift);
    return [mantissa >> cut, BigInt.asUintN(-shift, mantissa) ? 1n : 0n];
  }

  /** The number itself, which the grid holds. */
  exactly(number) {
    const [middle, radius] = this.read(number);
    if (radius) throw new Rejected(`a number of a ball has more digits than ${this.bits} bits hold`);
    return middle;
  }

  /** Intervals of all numbers that are within the radius of those of the file. */
  matrix(rows, radius = { mantissa: 0n, exponent: 0 }) {
    const [middle, more] = this.read(radius);
    const read = rows.map((row) => row.map((number) => this.read(number)));
    return { mids: read.map((row) => row.map(([m]) => m)), rads: read.map((row) => row.map(([, r]) => r + middle + more)) };
  }

  times([am, ar], [bm, br]) {
    return [(am * bm) >> this.bits, ((size(am) * br + size(bm) * ar + ar * br) >> this.bits) + 2n];
  }

  product(a, b) {
    if (a.mids.some((row) => row.length !== b.mids.length)) throw new Rejected(`two matrices do not fit: one has ${a.mids[0].length} columns, the other ${b.mids.length} rows`);
    const columns = transposed(b.mids);
    const errors = transposed(b.rads);
    const reach = combined(columns, errors, (m, r) => size(m) + r);
    const exact = errors.map((column) => column.every((each) => each === 0n));
    const rads = a.mids.map((mid, i) => {
      const sizes = mid.map(size);
      return columns.map((_, j) => (((exact[j] ? 0n : dot(errors[j], sizes)) + dot(a.rads[i], reach[j])) >> this.bits) + 2n);
    });
    return { mids: a.mids.map((mid) => columns.map((column) => dot(column, mid) >> this.bits)), rads };
  }

  /** Upper bounds on Σ_j |a_ij|, in units of the grid. */
  rowSums({ mids, rads }) {
    return mids.map((row, i) => row.reduce((total, m, j) => total + size(m) + rads[i][j], 0n));
  }

  /** 1/x. */
  inverse([m, r]) {
    const [least, most] = [size(m) - r, size(m) + r];
    if (least <= 0n) throw new Rejected("a quotient by 0 may be taken");
    const [middle, radius] = between(this.one ** 2n / most, this.one ** 2n / least + 1n);
    return [m > 0n ? middle : -middle, radius];
  }

  /** The interval itself, which is refused where repeated products would fill any memory. */
  bounded([m, r]) {
    if (size(m) + r >> (2n * this.bits)) throw new Rejected(`a result of the program is beyond 2^${this.bits}`);
    return [m, r];
  }
}
