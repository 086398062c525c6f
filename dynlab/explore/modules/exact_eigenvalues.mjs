// Both eigenvalues of a matrix of integers over a positive integer, from its exact trace, determinant and discriminant.

import { sorted } from "./planar_matrix.mjs";

const BITS = 256n; // of the discriminant's root beyond its whole part: none of them is left in a double
const DIGITS = 64; // of a quotient, in bits: a double has 53
const ERROR = 2 ** -51; // relative, of each part of an eigenvalue

/** As `eigenvalues` of planar_matrix gives them: { values, errors }. */
export function exactEigenvalues([a, b, c, d], unit) {
  const [trace, determinant, spread] = [a + d, a * d - b * c, (a - d) ** 2n + 4n * b * c];
  const lift = 1n << BITS;
  const root = squareRoot((spread < 0n ? -spread : spread) * lift * lift);
  let values;
  if (spread < 0n) {
    const [real, imaginary] = [quotient(trace, 2n * unit), quotient(root, 2n * unit * lift)];
    values = [[real, imaginary], [real, -imaginary]];
  } else {
    const larger = trace * lift + (trace < 0n ? -root : root);
    // the smaller one of a product would be lost in a difference
    const other = larger === 0n ? 0 : quotient(2n * determinant * lift, unit * larger);
    values = sorted([[quotient(larger, 2n * unit * lift), 0], [other, 0]]);
  }
  return { values, errors: values.map((value) => ERROR * Math.hypot(...value)) };
}

const bits = (integer) => 4 * integer.toString(16).length;

/** The double next to above/below, or its neighbour. */
function quotient(above, below) {
  const shift = DIGITS + bits(below) - bits(above);
  const whole = shift >= 0 ? (above << BigInt(shift)) / below : above / (below << BigInt(-shift));
  const half = Math.trunc(shift / 2); // in two parts: 2^−shift may underflow
  return Number(whole) * 2 ** -half * 2 ** (half - shift);
}

/** The whole part of the square root of an integer ≥ 0, by Newton's method from above. */
function squareRoot(integer) {
  if (integer === 0n) return 0n;
  let root = 1n << BigInt(Math.ceil(bits(integer) / 2));
  for (;;) {
    const next = (root + integer / root) / 2n;
    if (next >= root) return root;
    root = next;
  }
}
