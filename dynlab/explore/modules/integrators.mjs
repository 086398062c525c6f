// One step of a method that integrates a planar flow, and its derivative by the state. Names and steps are those of
// dynlab.systems.integrators.

import { exponentialWeights } from "./exponential_weights.mjs";
import { eulerMatrix, inverse, length, product, solve2 } from "./planar_matrix.mjs";

const NEWTON = { steps: 50, halvings: 20, tolerance: 10 * 2 * 2 ** -52 }; // of the implicit midpoint
const IDENTITY = [1, 0, 0, 1];

const moved = (h, share, rate) => [h[0] + share * rate[0], h[1] + share * rate[1]];
const applied = ([a, b, c, d], [x, y]) => [a * x + b * y, c * x + d * y];
const sum = (first, second, share = 1) => first.map((entry, i) => entry + share * second[i]);

/** Each makes of `field`, its `jacobian` and a step size what `next(h)` and `derivative(h)` are. */
const INTEGRATORS = {
  euler: (field, jacobian, step) => ({
    next: (h) => moved(h, step, field(h)),
    derivative: (h) => eulerMatrix(jacobian(h), step),
  }),
  midpoint: (field, jacobian, step) => {
    const middle = (h) => moved(h, step / 2, field(h));
    return {
      next: (h) => moved(h, step, field(middle(h))),
      derivative(h) {
        const [first, second] = [jacobian(h), jacobian(middle(h))];
        return sum(IDENTITY, sum(second, product(second, first), step / 2), step);
      },
    };
  },
  rk4: (field, jacobian, step) => ({
    next(h) {
      const [, , , , k1, k2, k3, k4] = stages(field, h, step);
      return h.map((each, i) => each + (step / 6) * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]));
    },
    derivative(h) {
      const [A1, A2, A3, A4] = stages(field, h, step).slice(0, 4).map(jacobian);
      const K2 = sum(A2, product(A2, A1), step / 2);
      const K3 = sum(A3, product(A3, K2), step / 2);
      const K4 = sum(A4, product(A4, K3), step);
      return IDENTITY.map((each, i) => each + (step / 6) * (A1[i] + 2 * K2[i] + 2 * K3[i] + K4[i]));
    },
  }),
  "implicit-midpoint": (field, jacobian, step) => ({
    next(h) {
      const middle = midpointBetween(field, jacobian, step, h);
      return middle ? middle.map((each, i) => 2 * each - h[i]) : [NaN, NaN];
    },
    derivative(h) {
      const middle = midpointBetween(field, jacobian, step, h);
      const rate = middle && jacobian(middle);
      const solved = rate && inverse(eulerMatrix(rate, -step / 2));
      return solved ? product(solved, eulerMatrix(rate, step / 2)) : [NaN, NaN, NaN, NaN];
    },
  }),
  "exponential-euler": (field, jacobian, step) => {
    const weights = exponentialWeights(jacobian([0, 0]), step);
    return {
      next: (h) => moved(h, 1, applied(weights, field(h))),
      derivative: (h) => sum(IDENTITY, product(weights, jacobian(h))),
    };
  },
};

export const stepOf = (name, field, jacobian, step) => INTEGRATORS[name](field, jacobian, step);

/** The four states at which Runge–Kutta's method takes the velocity, and the four velocities. */
function stages(field, h, step) {
  const states = [h];
  const rates = [field(h)];
  for (const reach of [step / 2, step / 2, step]) {
    states.push(moved(h, reach, rates[rates.length - 1]));
    rates.push(field(states[states.length - 1]));
  }
  return [...states, ...rates];
}

/** The midpoint m = h + (ε/2) f(m) by Newton's method with halved steps, or null where it is not found. */
function midpointBetween(field, jacobian, step, h) {
  const off = (m) => {
    const rate = field(m);
    return [m[0] - h[0] - (step / 2) * rate[0], m[1] - h[1] - (step / 2) * rate[1]];
  };
  const small = (gap, m) => length(gap) <= NEWTON.tolerance * (1 + length(m));
  let middle = h;
  let gap = off(middle);
  for (let i = 0; i < NEWTON.steps && !small(gap, middle); i++) {
    const change = solve2(eulerMatrix(jacobian(middle), -step / 2), gap);
    if (!change) return null;
    let share = 1;
    for (let k = 0; k < NEWTON.halvings; k++, share /= 2) {
      const tried = moved(middle, -share, change);
      const left = off(tried);
      if (length(left) < length(gap)) {
        [middle, gap] = [tried, left];
        share = 0;
        break;
      }
    }
    if (share > 0) break;
  }
  return small(gap, middle) ? middle : null;
}
