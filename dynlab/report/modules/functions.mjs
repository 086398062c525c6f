// Functions of an interval [m, r] on the grid of an Arithmetic: each gives an interval of the value and one of the slope.
// Those that end in At are of one integer x, the number x 2^−bits, and give two integers that the value lies between.

import { Arithmetic, between, bitLength, larger, rootOf, size } from "./intervals.mjs";
import { Rejected } from "./rejected.mjs";

const MOST_ANGLE = 64; // bits before the binary point of a sine's argument
const GUARD = 64n; // more bits inside functions, whose steps double their error
const SMALL = 8; // arguments of series are halved until they are below 2^−SMALL

/** The ends of value ± error in units that are 2^shift times as large. */
const coarser = (value, error, shift) => [(value - error) >> shift, ((value + error) >> shift) + 1n];
const increasing = (at, a, [m, r]) => between(at(a, m - r)[0], at(a, m + r)[1]);
/** Of an even function that falls with the modulus. */
const even = (at, a, [m, r]) => between(at(a, size(m) + r)[0], at(a, larger(0n, size(m) - r))[1]);

/** Σ sign^j z^(2j + 1)/(2j + 1) in units of 2^−q, artanh z or arctan z, where z ≤ 1/2 is right to two units. */
function oddSeries(z, q, sign) {
  const square = (z * z) >> q;
  let [power, total, n] = [z, 0n, 1n];
  while (power) {
    total += (power / n) * (n & 2n ? sign : 1n);
    [power, n] = [(power * square) >> q, n + 2n];
  }
  return [total, 8n + 3n * n]; // 8: of z, and of all terms left out
}

/** 2 arctan(z/(1 + √(1 + z²))) in units of 2^−q, for z ≤ 1. */
function halvedAtan(z, q) {
  const one = 1n << q;
  const [value, error] = oddSeries((z << q) / (one + rootOf(one * one + z * z)), q, -1n);
  return [2n * value, 2n * error];
}

/** The series of e^z for |z| < 2^−SMALL, squared again and again. */
function expAt(a, x) {
  const whole = size(x) >> a.bits;
  if (whole > a.bits) {
    if (x > 0n) throw new Rejected(`an exponential of more than ${a.bits} is taken`);
    return [0n, 1n];
  }
  const q = a.bits + GUARD + (x > 0n ? 2n * whole : 0n);
  const halvings = bitLength(whole) + SMALL;
  const z = (size(x) << (q - a.bits)) >> BigInt(halvings);
  let [term, total, error, n] = [1n << q, 1n << q, 8n, 0n]; // 8: of z, and of all terms left out
  while (term) {
    n += 1n;
    term = ((term * z) >> q) / n;
    total += x < 0n && n % 2n ? -term : term;
    error += 2n; // of the term's two roundings, and of those before it, which shrink
  }
  for (let i = 0; i < halvings; i++) [total, error] = [(total * total) >> q, (((2n * total + error) * error) >> q) + 2n];
  const [low, high] = coarser(total, error, q - a.bits);
  return [larger(low, 0n), high];
}

function sigmoidAt(a, x) {
  const [low, high] = expAt(a, -size(x));
  if (x < 0n) return [(low << a.bits) / (a.one + low), (high << a.bits) / (a.one + high) + 1n]; // e/(1 + e) grows with e
  return [a.one ** 2n / (a.one + high), a.one ** 2n / (a.one + low) + 1n];
}

function sigmoidSlopeAt(a, x) {
  const [low, high] = expAt(a, -size(x));
  const of = (e) => (e << (2n * a.bits)) / (a.one + e) ** 2n; // e/(1 + e)² grows with e up to e = 1
  return [of(low), of(high < a.one ? high : a.one) + 1n];
}

/** max(x, 0) + log(1 + e^−|x|). */
function softplusAt(a, x) {
  const [low, high] = expAt(a, -size(x));
  return [larger(x, 0n) + logAt(a, a.one + low)[0], larger(x, 0n) + logAt(a, a.one + high)[1]];
}

/** k log 2 + 2 artanh((u − 1)/(u + 1)), u = x 2^−k from 1 to 2, for x > 0. */
function logAt(a, x) {
  const q = a.bits + GUARD;
  const digits = BigInt(bitLength(x)) - 1n;
  const [power, k] = [1n << digits, digits - a.bits];
  const [value, error] = oddSeries(((x - power) << q) / (x + power), q, 1n);
  const [log2, wrong] = oddSeries((1n << q) / 3n, q, 1n);
  return coarser(2n * (value + k * log2), 2n * (error + size(k) * wrong), GUARD);
}

function atanAt(a, x) {
  const q = a.bits + GUARD;
  const [far, one] = [size(x) << GUARD, 1n << q];
  let [value, error] = halvedAtan(far > one ? (one * one) / far : far, q);
  if (far > one) {
    const [quarter, wrong] = halvedAtan(one, q);
    [value, error] = [2n * quarter - value, 2n * wrong + error];
  }
  return coarser(x > 0n ? value : -value, error, GUARD);
}

/** 2/√π e^(−x²) Σ x (2x²)^n/(1 · 3 ⋯ (2n + 1)), and beside 1 where erfc(x) < e^(−x²) is nothing. */
function erfAt(a, x) {
  const whole = (x * x) >> (2n * a.bits);
  if (whole > a.bits) return x > 0n ? [a.one - 1n, a.one] : [-a.one, 1n - a.one];
  const inner = new Arithmetic(a.bits + GUARD + 3n * whole); // the sum is up to e^(x²)
  const [q, shift] = [inner.bits, inner.bits - a.bits];
  const square = q > 2n * a.bits ? (x * x) << (q - 2n * a.bits) : (x * x) >> (2n * a.bits - q);
  let [term, error, n] = [size(x) << shift, 0n, 0n];
  let [total, wrong] = [term, 0n];
  while (term || 4n * (square + 1n) > (2n * n + 3n) << q) { // until each term is less than half of the one before
    error = ((error * 2n * (square + 1n) + 2n * term) >> q) / (2n * n + 3n) + 4n;
    term = ((term * 2n * square) >> q) / (2n * n + 3n);
    n += 1n;
    [total, wrong] = [total + term, wrong + error];
  }
  const [m, r] = inner.times([total, wrong + 2n * error + 2n], gaussian(inner, [square, 1n]));
  const [low, high] = coarser(m, r, shift);
  const most = high < a.one ? high : a.one;
  return x > 0n ? [low, most] : [-most, -low];
}

function erfSlopeAt(a, x) {
  const [m, r] = gaussian(a, [(x * x) >> a.bits, 1n]);
  return [m - r, m + r];
}

/** 2/√π e^−square. */
function gaussian(a, [m, r]) {
  const [quarter, wrong] = halvedAtan(a.one, a.bits);
  const [root] = FUNCTIONS.sqrt(a, [4n * quarter, 4n * wrong]);
  return a.times(a.times([2n * a.one, 0n], a.inverse(root)), between(expAt(a, -m - r)[0], expAt(a, r - m)[1]));
}

/** Intervals of the sine and the cosine: series for |z| < 2^−SMALL, the angle doubled again and again. */
function circleAt(a, x) {
  const doublings = Math.max(0, bitLength(x) - Number(a.bits)) + SMALL;
  if (doublings > MOST_ANGLE + SMALL) throw new Rejected(`the sine of a number beyond 2^${MOST_ANGLE} is taken`);
  const inner = new Arithmetic(a.bits + GUARD + 2n * BigInt(doublings));
  const [q, shift] = [inner.bits, inner.bits - a.bits];
  const z = (size(x) << shift) >> BigInt(doublings);
  const sums = [inner.one, 0n];
  let [term, n] = [inner.one, 0];
  while (term) {
    n += 1;
    term = ((term * z) >> q) / BigInt(n);
    sums[n % 2] += n & 2 ? -term : term;
  }
  let [cosine, sine] = sums.map((total) => [total, BigInt(8 + 2 * n)]);
  for (let i = 0; i < doublings; i++) {
    const [square, product] = [inner.times(sine, sine), inner.times(sine, cosine)];
    [sine, cosine] = [[2n * product[0], 2n * product[1]], [inner.one - 2n * square[0], 2n * square[1]]];
  }
  const [s, c] = [sine, cosine].map(([m, r]) => between(...coarser(m, r, shift)));
  return [x > 0n ? s : [-s[0], s[1]], c];
}

/** By the mean value theorem: |sin(m + r) − sin m| ≤ min(r, |cos m| r + r²). */
function spread(a, value, slope, radius) {
  const steep = (((size(slope[0]) + slope[1] + radius) * radius) >> a.bits) + 1n;
  return [value[0], value[1] + (radius < steep ? radius : steep)];
}

function wholePower(a, x, k) {
  const base = k < 0n ? a.inverse(x) : x;
  let found = [a.one, 0n];
  for (const digit of size(k).toString(2)) {
    found = a.bounded(a.times(found, found));
    if (digit === "1") found = a.bounded(a.times(found, base));
  }
  return found;
}

export const FUNCTIONS = {
  sigmoid: (a, x) => [increasing(sigmoidAt, a, x), even(sigmoidSlopeAt, a, x)],
  /** 2 σ(2x) − 1, whose slope 4 σ′(2x) does not cancel. */
  tanh(a, [xm, xr]) {
    const [[m, r], [slope, spread]] = FUNCTIONS.sigmoid(a, [2n * xm, 2n * xr]);
    return [[2n * m - a.one, 2n * r], [4n * slope, 4n * spread]];
  },
  exp(a, x) {
    const value = increasing(expAt, a, x);
    return [value, value];
  },
  expm1(a, x) {
    const value = increasing(expAt, a, x);
    return [[value[0] - a.one, value[1]], value];
  },
  log(a, x) {
    if (x[0] - x[1] <= 0n) throw new Rejected("a logarithm of 0 may be taken");
    return [increasing(logAt, a, x), a.inverse(x)];
  },
  log1p: (a, [m, r]) => FUNCTIONS.log(a, [a.one + m, r]),
  atan(a, x) {
    const [m, r] = a.times(x, x);
    return [increasing(atanAt, a, x), a.inverse([a.one + larger(m, r), r])];
  },
  erf: (a, x) => [increasing(erfAt, a, x), even(erfSlopeAt, a, x)],
  softplus: (a, x) => [increasing(softplusAt, a, x), increasing(sigmoidAt, a, x)],
  sin(a, [m, r]) {
    const [sine, cosine] = circleAt(a, m);
    return [spread(a, sine, cosine, r), spread(a, cosine, sine, r)];
  },
  cos(a, x) {
    const [[m, r], value] = FUNCTIONS.sin(a, x);
    return [value, [-m, r]];
  },
  relu(a, [m, r]) {
    if (m - r > 0n) return [[m, r], [a.one, 0n]];
    if (m + r < 0n) return [[0n, 0n], [0n, 0n]];
    throw new Rejected("the argument of a ReLU may be 0: the network is not smooth there");
  },
  abs(a, [m, r]) {
    if (size(m) <= r) throw new Rejected("the modulus of 0 may be taken: the network is not smooth there");
    return [[size(m), r], [m > 0n ? a.one : -a.one, 0n]];
  },
  /** sign(x) max(|x| + b, 0): it may jump at 0 where b > 0, and has kinks at |x| = −b where b < 0. */
  modrelu(a, [m, r], [bm, br]) {
    if (size(m) + r + bm + br < 0n) return [[0n, 0n], [0n, 0n]];
    if (size(m) > r && size(m) - r + bm - br > 0n) return [[m > 0n ? m + bm : m - bm, r + br], [a.one, 0n]];
    throw new Rejected("the argument of a modReLU may be at its border: the network is not smooth there");
  },
  sqrt(a, [m, r]) {
    if (m - r <= 0n) throw new Rejected("a root of 0 may be taken: the network is not smooth there");
    const root = between(rootOf((m - r) << a.bits), rootOf((m + r) << a.bits) + 1n);
    const [middle, radius] = a.inverse(root);
    return [root, [middle >> 1n, (radius >> 1n) + 1n]];
  },
  /** x^k and k x^(k − 1): products for a whole k, else e^(k log x). */
  power(a, x, { mantissa, exponent }) {
    if (!mantissa) return [[a.one, 0n], [0n, 0n]];
    if (exponent >= 0 || !BigInt.asUintN(-exponent, mantissa)) {
      const k = exponent >= 0 ? mantissa << BigInt(exponent) : mantissa >> BigInt(-exponent);
      const slope = wholePower(a, x, k - 1n);
      return [wholePower(a, x, k), [k * slope[0], size(k) * slope[1]]];
    }
    if (x[0] - x[1] <= 0n) throw new Rejected("a broken power of 0 may be taken: the network is not smooth there");
    const k = a.read({ mantissa, exponent });
    const value = increasing(expAt, a, a.times(k, FUNCTIONS.log(a, x)[0]));
    return [value, a.times(a.times(value, k), a.inverse(x))];
  },
};
