// What an integrator makes of an eigenvalue: its stability function R, the largest step that keeps |R(ε λ)| ≤ 1, and
// where in the plane that is. Names and functions are those of dynlab.diagnostics.stability.methods.

const ROUNDINGS = 8 * 2 ** -52; // of R, relative to 1 + |z|^s
const BEYOND_FIRST_ORDER = 1.5; // what the first-order bound on the error of R is multiplied by
const ON_AXIS = 1e-12; // of the largest coefficient: what of |N|² − |D|² on the imaginary axis is rounding
const HALVINGS = 100; // of an interval with a root: a double has no more digits
const BORDER = 160; // corners of half a border

/** R = numerator/denominator, coefficients from the constant on; both empty for R = e^z. */
export const METHODS = {
  euler: { title: "Euler", map: "Euler’s map", formula: "h ← h + ε f(h)", numerator: [1, 1], denominator: [1] },
  midpoint: { title: "explicit midpoint", map: "the explicit midpoint map", formula: "h ← h + ε f(h + ½ ε f(h))", numerator: [2, 2, 1], denominator: [2] },
  rk4: { title: "Runge–Kutta 4", map: "the Runge–Kutta 4 map", formula: "h ← h + ε (k₁ + 2 k₂ + 2 k₃ + k₄)/6", numerator: [24, 24, 12, 4, 1], denominator: [24] },
  "implicit-midpoint": { title: "implicit midpoint", map: "the implicit midpoint map", formula: "h ← h⁺ with h⁺ = h + ε f((h + h⁺)/2)", numerator: [2, 1], denominator: [2, -1] },
  "exponential-euler": { title: "exponential Euler", map: "the exponential Euler map", formula: "h ← h + ε φ₁(ε L) f(h) with L = ∂f/∂h at 0", numerator: [], denominator: [] },
};

const times = ([a, b], [c, d]) => [a * c - b * d, a * d + b * c];

function over([a, b], [c, d]) {
  if (d === 0) return [a / c, b / c];
  const size = c * c + d * d;
  return [(a * c + b * d) / size, (b * c - a * d) / size];
}

const valueAt = (coefficients, z) => coefficients.reduceRight((sum, each) => times(sum, z).map((part, i) => part + (i === 0 ? each : 0)), [0, 0]);
const slopeOf = (coefficients) => coefficients.slice(1).map((each, k) => each * (k + 1));

/** R(z). */
export function factor({ numerator, denominator }, z) {
  if (!numerator.length) return [Math.exp(z[0]) * Math.cos(z[1]), Math.exp(z[0]) * Math.sin(z[1])];
  return over(valueAt(numerator, z), valueAt(denominator, z));
}

/** R′(z). */
function slope(method, z) {
  if (!method.numerator.length) return factor(method, z);
  const [p, q] = [method.numerator, method.denominator].map((part) => valueAt(part, z));
  const [byP, byQ] = [method.numerator, method.denominator].map((part) => valueAt(slopeOf(part), z));
  const [first, second] = [times(byP, q), times(p, byQ)];
  return over([first[0] - second[0], first[1] - second[1]], times(q, q));
}

/** A bound on the error of R(z), for z known up to `error`. */
export function factorError(method, z, error) {
  const degree = Math.max(1, method.numerator.length - 1);
  const linear = degree === 1 && method.denominator.length === 1;
  return (linear ? 1 : BEYOND_FIRST_ORDER) * Math.hypot(...slope(method, z)) * error + ROUNDINGS * (1 + Math.hypot(...z) ** degree);
}

/**
 * The largest ε up to which no |R(ε λ)| exceeds 1, Infinity where none does. An exact λ = 0 is set aside; NaN where none
 * other is left, and where an error does not separate a real part from 0.
 */
export function criticalStep(method, values, errors = [0, 0]) {
  const moving = values.map((value, i) => [...value, errors[i]]).filter(([real, imaginary, error]) => real !== 0 || imaginary !== 0 || error !== 0);
  if (moving.length === 0) return NaN;
  if (moving.some(([real, , error]) => real > error)) return 0;
  if (!moving.every(([real, , error]) => real < -error || (real === 0 && error === 0))) return NaN;
  return Math.min(
    ...moving.map(([real, imaginary]) => {
      const size = Math.hypot(real, imaginary);
      return firstExit(method, real / size) / size;
    }),
  );
}

/** The least r at which |R(r e^{iφ})| comes back to 1 and beyond, of the cosine of φ, from −1 to 0. */
function firstExit({ numerator, denominator }, cosine) {
  const [above, below] = [numerator, denominator].map((part) => squared(part, cosine));
  let excess = above.map((each, i) => each - (below[i] ?? 0)).slice(1); // |N|² = |D|² at r = 0, which is divided out
  if (cosine === 0) {
    const rounding = ON_AXIS * Math.max(...excess.map(Math.abs));
    const first = excess.findIndex((each) => Math.abs(each) > rounding);
    if (first < 0) return Infinity;
    excess = excess.slice(first);
    if (excess[0] > 0) return 0;
  }
  return positiveRoots(excess)[0] ?? Infinity;
}

/** The coefficients of |p(r e^{iφ})|² in r: p_j p_k cos((j − k) φ) of r^{j + k}. */
function squared(coefficients, cosine) {
  const cosines = [1, cosine];
  for (let k = 2; k < coefficients.length; k++) cosines.push(2 * cosine * cosines[k - 1] - cosines[k - 2]);
  const found = new Array(Math.max(1, 2 * coefficients.length - 1)).fill(0);
  coefficients.forEach((first, j) => coefficients.forEach((second, k) => (found[j + k] += first * second * cosines[Math.abs(j - k)])));
  return found;
}

/** The positive roots of a real polynomial where it changes sign, ascending: one at most between those of its slope. */
function positiveRoots(coefficients) {
  const degree = coefficients.findLastIndex((each) => each !== 0);
  if (degree < 1) return [];
  const kept = coefficients.slice(0, degree + 1);
  if (degree === 1) return kept[0] / kept[1] < 0 ? [-kept[0] / kept[1]] : [];
  const at = (x) => kept.reduceRight((sum, each) => sum * x + each, 0);
  const beyond = 1 + Math.max(...kept.slice(0, -1).map((each) => Math.abs(each / kept[degree])));
  const edges = [0, ...positiveRoots(slopeOf(kept)).filter((each) => each < beyond), beyond];
  const found = [];
  for (let i = 0; i + 1 < edges.length; i++) {
    let [low, high] = [edges[i], edges[i + 1]];
    const negative = at(low) < 0;
    if (at(high) < 0 === negative) continue;
    for (let k = 0; k < HALVINGS; k++) {
      const middle = (low + high) / 2;
      if (middle <= low || middle >= high) break;
      if (at(middle) < 0 === negative) low = middle;
      else high = middle;
    }
    found.push(high);
  }
  return found;
}

const borders = new Map();

/** The corners [re, im] of the border of |R(z)| ≤ 1 around the left half of the plane, or null where it is all of that half. */
export function borderOf(method) {
  if (method.denominator.length !== 1) return null;
  if (!borders.has(method)) borders.set(method, traced(method));
  return borders.get(method);
}

/** R(z) = e^{iθ} followed by Newton's method as θ turns s times half around, denser where it begins, and its mirror image. */
function traced(method) {
  const turn = Math.PI * (method.numerator.length - 1);
  const upper = [[0, 0]];
  let z = [0, 0];
  let before = 0;
  for (let i = 1; i <= BORDER; i++) {
    const angle = turn * (i / BORDER) ** 2;
    const ahead = over([-Math.sin(before), Math.cos(before)], slope(method, z));
    z = z.map((part, k) => part + (angle - before) * ahead[k]);
    for (let k = 0; k < 6; k++) {
      const value = factor(method, z);
      const change = over([value[0] - Math.cos(angle), value[1] - Math.sin(angle)], slope(method, z));
      z = [z[0] - change[0], z[1] - change[1]];
    }
    upper.push(z);
    before = angle;
  }
  return [...upper, ...upper.slice(1, -1).reverse().map(([x, y]) => [x, -y])];
}
