// Intervals in exact integers: [m, r] is the interval from (m − r) 2^−bits to (m + r) 2^−bits. Every rounding widens it.
// A matrix is {mids, rads}, each a list of rows, of all m and of all r.

import { bitLength } from "./document.mjs";
import { Rejected } from "./rejected.mjs";

const GUARD = 64n; // more bits inside the exponential, whose squarings double the error
const SMALL = 8; // its argument is halved until it is below 2^−SMALL

const size = (value) => (value < 0n ? -value : value);
const larger = (a, b) => (a > b ? a : b);

/** The largest integer that is not above a/b, for b > 0. */
const floored = (a, b) => (a < 0n ? -((-a + b - 1n) / b) : a / b);

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

function between(low, high) {
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

  matrix(rows) {
    const read = rows.map((row) => row.map((number) => this.read(number)));
    return { mids: read.map((row) => row.map(([m]) => m)), rads: read.map((row) => row.map(([, r]) => r)) };
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

  /** Integers that e^(−y 2^−bits) lies between, for y ≥ 0. */
  expMinus(y) {
    const whole = y >> this.bits;
    if (whole > this.bits) return [0n, 1n];
    const q = this.bits + GUARD;
    const halvings = bitLength(whole) + SMALL;
    const z = (y << GUARD) >> BigInt(halvings);
    let [term, total, error, n] = [1n << q, 1n << q, 8n, 0n]; // 8: of z, and of all terms left out
    while (term) {
      n += 1n;
      term = ((term * z) >> q) / n;
      total += n % 2n ? -term : term;
      error += 2n; // of the term's two roundings, and of those before it, which shrink
    }
    for (let i = 0; i < halvings; i++) [total, error] = [(total * total) >> q, 2n * error + 3n];
    return [larger(0n, (total - error) >> GUARD), ((total + error) >> GUARD) + 1n];
  }

  /** An interval of tanh, and one of its derivative 1/cosh²; both are monotone in |x|. */
  tanh([m, r]) {
    const [left, right] = [m - r, m + r];
    const nearest = left <= 0n && right >= 0n ? 0n : size(left) < size(right) ? size(left) : size(right);
    const farthest = larger(size(left), size(right));
    return [between(this.tanhBetween(left)[0], this.tanhBetween(right)[1]), between(this.slope(farthest)[0], this.slope(nearest)[1])];
  }

  sigmoid([xm, xr]) {
    const [[m, r], [sm, sr]] = this.tanh([xm >> 1n, (xr >> 1n) + 1n]);
    return [[(this.one + m) >> 1n, (r >> 1n) + 1n], [sm >> 2n, (sr >> 2n) + 2n]];
  }

  relu([m, r]) {
    if (m - r > 0n) return [[m, r], [this.one, 0n]];
    if (m + r < 0n) return [[0n, 0n], [0n, 0n]];
    throw new Rejected("the argument of a ReLU may be 0: the network is not smooth there");
  }

  /** sign(x) max(|x| + b, 0): it may jump at 0 where b > 0, and has kinks at |x| = −b where b < 0. */
  modrelu([m, r], [bm, br]) {
    if (size(m) + r + bm + br < 0n) return [[0n, 0n], [0n, 0n]];
    if (size(m) > r && size(m) - r + bm - br > 0n) return [[m > 0n ? m + bm : m - bm, r + br], [this.one, 0n]];
    throw new Rejected("the argument of a modReLU may be at its border: the network is not smooth there");
  }

  reciprocal([xm, xr]) {
    const [least, most] = [size(xm) - xr, size(xm) + xr];
    if (least <= 0n) throw new Rejected("a quotient by 0 may be taken");
    const [m, r] = between(this.one ** 2n / most, this.one ** 2n / least + 1n);
    const found = [xm > 0n ? m : -m, r];
    const square = this.times(found, found);
    return [found, [-square[0], square[1]]];
  }

  sqrt([xm, xr]) {
    if (xm - xr <= 0n) throw new Rejected("a root of 0 may be taken: the network is not smooth there");
    const root = between(rootOf((xm - xr) << this.bits), rootOf((xm + xr) << this.bits) + 1n);
    const [[m, r]] = this.reciprocal(root);
    return [root, [m >> 1n, (r >> 1n) + 1n]];
  }

  tanhBetween(x) {
    const [low, high] = this.expMinus(2n * size(x));
    const least = floored((this.one - high) << this.bits, this.one + high); // (1 − e)/(1 + e) falls with e
    const most = floored((this.one - low) << this.bits, this.one + low) + 1n;
    return x >= 0n ? [least, most] : [-most, -least];
  }

  slope(x) {
    const [low, high] = this.expMinus(2n * x);
    const of = (e) => floored((4n * e) << (2n * this.bits), (this.one + e) ** 2n); // 4 e/(1 + e)² grows with e up to 1
    return [larger(of(low), 0n), of(high < this.one ? high : this.one) + 1n];
  }
}
