// Orbits of the map and solutions of the flow, forward and backward, with the norm of what is linear along them.

import { length, norm, product, solve2 } from "./planar_matrix.mjs";

const TOLERANCE = 1e-12; // of one step of the flow's solver, relative and absolute
const MOST_STEPS = 20000; // of the flow's solver
const AWAY = 1e6; // times the window: an orbit that has gone so far is not followed
const SAFETY = 0.9;
const BACKWARD = { steps: 50, close: 1e-13 }; // Newton's, for the state before

/** States h_0 … h_n of a map `step`, fewer where they leave all bounds or have no next one. */
export function mapOrbit(step, start, steps, farthest = AWAY) {
  const states = [start];
  for (let t = 0; t < steps; t++) {
    const next = step(states[t]);
    if (!next.every((each) => !Number.isNaN(each))) break;
    states.push(next);
    if (!next.every((each) => Math.abs(each) <= farthest)) break;
  }
  return states;
}

/** States h_0, h_{−1}, … of the map, each the solution of step(h) = the one after; fewer where there is none. */
export function mapPast(cell, start, steps, farthest = AWAY) {
  const states = [start];
  for (let t = 0; t < steps; t++) {
    const found = stateBefore(cell, states[t]);
    if (!found || !found.every((each) => Math.abs(each) <= farthest)) break;
    states.push(found);
  }
  return states;
}

function stateBefore(cell, after) {
  let h = after;
  for (let i = 0; i < BACKWARD.steps; i++) {
    const reached = cell.step(h);
    const missing = [reached[0] - after[0], reached[1] - after[1]];
    const size = length(missing);
    if (!(size < Infinity)) return null;
    if (size <= BACKWARD.close * (1 + length(after))) return h;
    const change = solve2(cell.stepJacobian(h), missing);
    if (!change) return null;
    // half as far until it helps: the map may fold
    let share = 1;
    let next = h;
    for (; share > 1e-4; share /= 2) {
      next = [h[0] - share * change[0], h[1] - share * change[1]];
      const [x, y] = cell.step(next);
      if (length([x - after[0], y - after[1]]) < size) break;
    }
    if (share <= 1e-4) return null;
    h = next;
  }
  return null;
}

/** ln ‖∂h_t/∂h_0‖₂ of the map along `states`, t = 0 … n: rescaled at every step, so that nothing overflows. */
export function logNorms(cell, states) {
  let whole = [1, 0, 0, 1];
  let scale = 0;
  return states.map((state, t) => {
    if (t > 0) {
      whole = product(cell.stepJacobian(states[t - 1]), whole);
      const size = norm(whole);
      if (!(size > 0)) return size === 0 ? -Infinity : NaN;
      whole = whole.map((entry) => entry / size);
      scale += Math.log(size);
    }
    return scale;
  });
}

// Dormand and Prince, J. Comp. Appl. Math. 6 (1980): stages, the fifth order's weights, and their difference from the
// fourth's.
const STAGES = [
  [1 / 5],
  [3 / 40, 9 / 40],
  [44 / 45, -56 / 15, 32 / 9],
  [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
  [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
  [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
];
const DIFFERENCE = [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40];

/** The solution of h' = field(h) at times 0, spacing, …: states, fewer where it leaves all bounds or takes too long. */
export function flowOrbit(field, start, spacing, count, farthest = AWAY, tolerance = TOLERANCE, most = MOST_STEPS) {
  const states = [start];
  let [h, time, tried] = [start, 0, 0];
  let width = spacing / 8;
  let first = field(h);
  for (let t = 1; t <= count; t++) {
    const target = t * spacing;
    while (Math.abs(target - time) > 1e-12 * Math.abs(target)) {
      if (++tried > most) return states;
      const step = Math.abs(width) < Math.abs(target - time) ? width : target - time;
      const [next, error, last] = stepped(field, h, first, step, tolerance);
      if (error <= 1) {
        [h, first] = [next, last];
        time += step;
      }
      if (!h.every((each) => Math.abs(each) <= farthest)) return [...states, h];
      const grown = Number.isFinite(error) ? SAFETY * Math.max(error, 1e-8) ** -0.2 : 0.1;
      // a step cut short by the next time says nothing against a longer one
      if (error > 1 || step === width || Math.abs(step * grown) > Math.abs(width)) width = step * Math.min(5, Math.max(0.1, grown));
      if (Math.abs(width) < 1e-14 * Math.abs(spacing)) return states;
    }
    states.push(h);
  }
  return states;
}

/** One step: the state after it, its error in parts of the tolerance, and the field there. */
function stepped(field, h, first, step, tolerance) {
  const slopes = [first];
  let next = h;
  for (const weights of STAGES) {
    next = h.map((each, i) => each + step * weights.reduce((sum, weight, stage) => sum + weight * slopes[stage][i], 0));
    slopes.push(field(next));
  }
  const errors = h.map((each, i) => {
    const wrong = step * DIFFERENCE.reduce((sum, weight, stage) => sum + weight * slopes[stage][i], 0);
    return wrong / (tolerance * (1 + Math.max(Math.abs(each), Math.abs(next[i]))));
  });
  return [next, Math.hypot(...errors), slopes[6]];
}
