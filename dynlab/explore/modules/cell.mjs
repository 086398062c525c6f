// The planar cell: h' = φ(p) − κ h with p = (W − γ I) h + x + b, or σ(p + b_z) φ(p) − κ h where it has a gate, and
// Euler's map h ← h + ε h'. At ε = κ = 1 the map is the vanilla RNN h ← φ(W h + x + b).

import { eigenvalues, eigenvector, eulerMatrix, norm, criticalStep } from "./planar_matrix.mjs";
import { CENTER, exactFlowKind, exactMapKind, flowKind, mapKind, onlyLinear, overOne, rational } from "./kinds.mjs";

const ROUNDING = 2 ** -53;

const sigmoid = (p) => 1 / (1 + Math.exp(-p));

/** Each with its slope, which is made of the pre-activation: 1 − tanh² cancels where the unit saturates. */
export const ACTIVATIONS = {
  tanh: { value: Math.tanh, slope: (p) => (1 / Math.cosh(p)) ** 2 },
  relu: { value: (p) => (p > 0 ? p : 0), slope: (p) => (p > 0 ? 1 : 0) },
  sigmoid: { value: sigmoid, slope: (p) => sigmoid(p) * sigmoid(-p) },
  identity: { value: (p) => p, slope: () => 1 },
};

/** σ(p + `bias`) φ(p): the gate of the gated AntisymmetricRNN, which sees what the candidate sees and a bias of its own. */
const gatedBy = (bias, { value, slope }) => ({
  value: (p) => sigmoid(p + bias) * value(p),
  slope: (p) => sigmoid(p + bias) * (slope(p) + sigmoid(-p - bias) * value(p)),
});

/** What is computed of a state of the page: `field`, `jacobian`, `step`, all on pairs of numbers. */
export function makeCell({ W, gamma, leak, bias, input, activation, step, gated, gateBias }) {
  const { value, slope } = gated ? gatedBy(gateBias, ACTIVATIONS[activation]) : ACTIVATIONS[activation];
  const [a, b, c, d] = [W[0] - gamma, W[1], W[2], W[3] - gamma];
  const [q, r] = [input[0] + bias[0], input[1] + bias[1]];
  const preactivation = ([x, y]) => [a * x + b * y + q, c * x + d * y + r];
  const field = (h) => {
    const [p, s] = preactivation(h);
    return [value(p) - leak * h[0], value(s) - leak * h[1]];
  };
  return {
    matrix: [a, b, c, d],
    drive: [q, r],
    stepSize: step,
    vanishesAtZeroAlone: leak === 0 && (activation === "tanh" || activation === "identity"),
    preactivation,
    field,
    slopes: (h) => preactivation(h).map(slope),
    jacobian(h) {
      const [s, t] = preactivation(h).map(slope);
      return [s * a - leak, s * b, t * c, t * d - leak];
    },
    step(h) {
      const [u, v] = field(h);
      return [h[0] + step * u, h[1] + step * v];
    },
    /** Σ cᵢ log cosh((W h)ᵢ) is conserved where W has no diagonal and entries of opposite sign: the weights c. */
    conserved:
      activation === "tanh" && !gated && leak === 0 && a === 0 && d === 0 && b * c < 0 && q === 0 && r === 0
        ? [Math.abs(c), Math.abs(b)].map((each) => each / Math.max(Math.abs(b), Math.abs(c)))
        : null,
  };
}

/** The conserved H of `cell` at a state. */
export function energy(cell, h) {
  const logCosh = (p) => Math.abs(p) + Math.log1p(Math.exp(-2 * Math.abs(p))) - Math.LN2;
  return cell.preactivation(h).reduce((sum, p, i) => sum + cell.conserved[i] * logCosh(p), 0);
}

/** All that is said of one equilibrium `h`, known to within `moved`. */
export function describe(state, cell, h, moved) {
  const J = cell.jacobian(h);
  const wrong = moved === 0 && !state.gated ? matrixRounding(state, J) : jacobianError(cell, h, moved, J);
  const flow = eigenvalues(J, wrong);
  const multipliers = flow.values.map(([real, imaginary]) => [1 + state.step * real, state.step * imaginary]);
  const bounds = multipliers.map((each, i) => state.step * flow.errors[i] + 2 * ROUNDING * Math.max(1, Math.hypot(...each)));
  const exact = h[0] === 0 && h[1] === 0 ? exactAtOrigin(state, cell) : null;
  return {
    state: h,
    jacobian: J,
    eigenvalues: flow.values,
    errors: flow.errors,
    multipliers,
    flow: exact ? exact.flow : flowKind(flow.values, flow.errors),
    map: exact ? exact.map : mapKind(multipliers, bounds),
    criticalStep: exact ? exactCriticalStep(exact.linear, flow.values) : criticalStep(flow.values, flow.errors),
    vectors: flow.values.every(([, imaginary]) => imaginary === 0) ? flow.values.map(([real]) => eigenvector(J, real)) : [],
    radius: Math.max(...multipliers.map((each) => Math.hypot(...each))),
    size: norm(eulerMatrix(J, state.step)),
  };
}

/** The critical step by the exact linear kind: what is exactly 0 of computed eigenvalues is taken for 0. */
function exactCriticalStep(kind, values) {
  if (kind.name === CENTER) return 0;
  return criticalStep(kind.name.includes("line of equilibria") ? [values[0], [0, 0]] : values);
}

/** The matrix W − γ I of numbers has the rounding of a difference, and κ another one. */
const matrixRounding = (state, J) => (state.gamma === 0 && state.leak === 0 ? 0 : 2 * ROUNDING * (norm(J) + state.leak + Math.abs(state.gamma)));

/** Twice what the Jacobian changes by over `moved` along the axes, and its own rounding. */
function jacobianError(cell, h, moved, J) {
  const shifted = [[moved, 0], [-moved, 0], [0, moved], [0, -moved]].map(([x, y]) => {
    const other = cell.jacobian([h[0] + x, h[1] + y]);
    return norm(other.map((entry, i) => entry - J[i]));
  });
  return 2 * Math.max(...shifted) + 8 * ROUNDING * (norm(cell.matrix) + norm(J));
}

/** Kinds at the origin in rational arithmetic, where the origin is an equilibrium with slopes 1; else null. */
function exactAtOrigin(state, cell) {
  const { activation, W, gamma, leak, step, gated } = state;
  if (gated || !["tanh", "identity"].includes(activation) || cell.drive.some((each) => each !== 0)) return null;
  const [[a, b, c, d, g, k, e], denominator] = overOne([...W, gamma, leak, step].map(rational));
  const J = [a - g - k, b, c, d - g - k];
  // I + ε J over the square of the common denominator
  const one = denominator * denominator;
  const euler = [one + e * J[0], e * J[1], e * J[2], one + e * J[3]];
  const [flow, map] = [exactFlowKind(J), exactMapKind(euler, one)];
  if (activation === "identity") return { flow, map, linear: flow };
  // tanh vanishes along the null space of W − γ I; with a leak it does not balance it
  const line = leak === 0;
  const onBorder = /center|equilibria|period-2/;
  const carried = (kind) => kind.name.includes("equilibria") && !kind.name.startsWith("flip") && line;
  const ofFlow = !onBorder.test(flow.name) || carried(flow) || (flow.name === CENTER && cell.conserved) ? flow : onlyLinear(flow);
  return { linear: flow, flow: ofFlow, map: !onBorder.test(map.name) || carried(map) ? map : onlyLinear(map) };
}
