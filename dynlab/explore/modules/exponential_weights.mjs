// The matrix ε φ₁(ε L), φ₁(z) = (e^z − 1)/z, of the exponential Euler method, and the largest step at which it is stable.

import { eigenvalues, norm, product } from "./planar_matrix.mjs";

const TERMS = 18; // of φ₁'s series at ‖z‖ ≤ 1/2: the next one is below rounding
const FARTHEST = 2 ** 40; // of ‖ε L‖: beyond, nothing is left of a double's digits
const TRIED = { from: 1e-3, to: 1e3, count: 64 }; // steps, in parts of 1/‖A‖
const HALVINGS = 40; // between a stable step and an unstable one

const plusOne = ([a, b, c, d]) => [1 + a, b, c, 1 + d];

/** ε φ₁(ε L): the series of a small part of it, doubled by φ₁(2 z) = φ₁(z) (e^z + 1)/2 and e^{2 z} = (e^z)². */
export function exponentialWeights(L, step) {
  const size = step * norm(L);
  if (!(size <= FARTHEST)) return [NaN, NaN, NaN, NaN];
  const doublings = size > 0.5 ? Math.ceil(Math.log2(size)) + 1 : 0;
  const z = L.map((entry) => (entry * step) / 2 ** doublings);
  let phi = [1, 0, 0, 1];
  for (let k = TERMS; k > 1; k--) phi = plusOne(product(z, phi).map((entry) => entry / k));
  let power = plusOne(product(z, phi));
  for (let i = 0; i < doublings; i++) {
    phi = product(phi, plusOne(power)).map((entry) => entry / 2);
    power = product(power, power);
  }
  return phi.map((entry) => entry * step);
}

/**
 * The largest step up to which no multiplier of I + ε φ₁(ε L) A exceeds 1, for a stable A other than L: the first change
 * between steps that are tried, Infinity where there is none.
 */
export function exponentialCriticalStep(L, A) {
  const isStable = (step) => Math.max(...eigenvalues(plusOne(product(exponentialWeights(L, step), A))).values.map((each) => Math.hypot(...each))) <= 1;
  const scale = norm(A);
  let [low, high] = [0, 0];
  for (let i = 0; i <= TRIED.count; i++) {
    high = (TRIED.from * (TRIED.to / TRIED.from) ** (i / TRIED.count)) / scale;
    if (!isStable(high)) break;
    if (i === TRIED.count) return Infinity;
    low = high;
  }
  for (let i = 0; i < HALVINGS; i++) {
    const middle = (low + high) / 2;
    if (isStable(middle)) low = middle;
    else high = middle;
  }
  return low;
}
