// The planar cell, of typed equations or of a matrix: h' = φ(p) − κ h with p = (W − γ I) h + x + b, or σ(p + b_z) φ(p) − κ h where it has a gate, and the
// map that an integrator makes of it, h ← h + ε h' of Euler's. At ε = κ = 1 that is the vanilla RNN h ← φ(W h + x + b).

import { readEquations, slopesOf, valueOf } from "./equations.mjs";
import { exactEigenvalues } from "./exact_eigenvalues.mjs";
import { exactStep } from "./exact_steps.mjs";
import { exponentialCriticalStep, exponentialWeights } from "./exponential_weights.mjs";
import { stepOf } from "./integrators.mjs";
import { CENTER, exactFlowKind, exactMapKind, flowKind, kindOf, mapKind, onlyLinear, overOne, rational } from "./kinds.mjs";
import { METHODS, criticalStep, factor, factorError } from "./methods.mjs";
import { eigenvalues, eigenvector, length, norm, product } from "./planar_matrix.mjs";

const ROUNDING = 2 ** -53;
const TYPED = 15; // digits: a number with more is no decimal that a person wrote, but a rounded one
const WEIGHTS = 256; // roundings of the derivative of a step, of half a unit each

const AT_KINK = kindOf("undecided, at a kink of ReLU", -1, 0, 2);

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

/**
 * What is computed of a state of the page: `field`, `jacobian`, `step`, `stepJacobian`, all of pairs of numbers, and what
 * the terms of field and Jacobian add up to without their signs, `fieldSize` and `slopeSize`.
 */
export const makeCell = (state) => (state.flow ? typedCell(state) : matrixCell(state));

/** The cell of typed equations. */
function typedCell({ flow, set, integrator, step }) {
  const { trees } = readEquations(flow);
  const field = (h) => trees.map((tree) => valueOf(tree, h, set));
  const both = (h) => trees.map((tree) => slopesOf(tree, h, set));
  const jacobian = (h) => both(h).flatMap(({ slopes }) => slopes);
  const { next, derivative } = stepOf(integrator, field, jacobian, step);
  return {
    method: METHODS[integrator],
    vanishesAtZeroAlone: false,
    field,
    jacobian,
    step: next,
    stepJacobian: derivative,
    conserved: null,
    fieldSize: (h) => both(h)[0].size + both(h)[1].size,
    slopeSize: (h) => both(h).flatMap(({ sizes }) => sizes).reduce((all, each) => all + each, 0),
  };
}

function matrixCell({ W, gamma, leak, bias, input, activation, integrator, step, gated, gateBias }) {
  const { value, slope } = gated ? gatedBy(gateBias, ACTIVATIONS[activation]) : ACTIVATIONS[activation];
  const [a, b, c, d] = [W[0] - gamma, W[1], W[2], W[3] - gamma];
  const [q, r] = [input[0] + bias[0], input[1] + bias[1]];
  const preactivation = ([x, y]) => [a * x + b * y + q, c * x + d * y + r];
  const field = (h) => {
    const [p, s] = preactivation(h);
    return [value(p) - leak * h[0], value(s) - leak * h[1]];
  };
  const jacobian = (h) => {
    const [s, t] = preactivation(h).map(slope);
    return [s * a - leak, s * b, t * c, t * d - leak];
  };
  const { next, derivative } = stepOf(integrator, field, jacobian, step);
  return {
    matrix: [a, b, c, d],
    drive: [q, r],
    method: METHODS[integrator],
    vanishesAtZeroAlone: leak === 0 && (activation === "tanh" || activation === "identity"),
    preactivation,
    field,
    slopes: (h) => preactivation(h).map(slope),
    jacobian,
    step: next,
    stepJacobian: derivative,
    fieldSize: (h) => norm([a, b, c, d]) * length(h) + length([q, r]) + length(h),
    slopeSize: () => norm([a, b, c, d]),
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
  const wrong = moved === 0 && !state.gated && !state.flow ? matrixRounding(state, J) : jacobianError(cell, h, moved, J);
  const exact = h[0] === 0 && h[1] === 0 ? exactAtOrigin(state, cell) : null;
  const flow = exact ? exact.eigenvalues : eigenvalues(J, wrong);
  const { multipliers, bounds, critical } = stepped(state, cell, J, wrong, flow);
  const kinked = !state.flow && state.activation === "relu" && atKink(cell, h, moved);
  return {
    state: h,
    jacobian: J,
    eigenvalues: flow.values,
    errors: flow.errors,
    multipliers,
    multiplierErrors: bounds,
    flow: kinked ? AT_KINK : exact ? exact.flow : flowKind(flow.values, flow.errors),
    map: kinked ? AT_KINK : exact ? exact.map : mapKind(multipliers, bounds),
    criticalStep: kinked ? NaN : exact ? exactCriticalStep(cell.method, exact.linear, flow.values) : critical,
    vectors: flow.values.every(([, imaginary]) => imaginary === 0) ? flow.values.map(([real]) => eigenvector(J, real)) : [],
    radius: Math.max(...multipliers.map((each) => Math.hypot(...each))),
  };
}

/** Whether a unit may be where ReLU's slope jumps from 0 to 1: no Jacobian tells there what orbits do. */
function atKink(cell, h, moved) {
  const wrong = moved * norm(cell.matrix) + 8 * ROUNDING * (norm(cell.matrix) * Math.hypot(...h) + Math.hypot(...cell.drive));
  return cell.preactivation(h).some((p) => Math.abs(p) <= wrong);
}

/**
 * The multipliers R(ε λ) with bounds on their errors, and the critical step. Exponential Euler's are those of
 * I + ε φ₁(ε L) J: its L is the Jacobian at the origin, and R(ε λ) = e^{ε λ} only where that is J.
 */
function stepped({ step }, cell, J, wrong, flow) {
  const { method } = cell;
  const z = flow.values.map((value) => value.map((part) => step * part));
  const multipliers = z.map((each) => factor(method, each));
  const critical = criticalStep(method, flow.values, flow.errors);
  const L = cell.jacobian([0, 0]);
  if (method !== METHODS["exponential-euler"] || L.every((entry, i) => entry === J[i])) {
    return { multipliers, bounds: z.map((each, i) => factorError(method, each, step * flow.errors[i])), critical };
  }
  const weights = exponentialWeights(L, step);
  const [a, b, c, d] = product(weights, J);
  const size = norm(weights);
  const { values, errors } = eigenvalues([1 + a, b, c, 1 + d], size * wrong + WEIGHTS * ROUNDING * (1 + size * norm(J)));
  // in the order of the eigenvalues that they are near to
  const far = ([x, y], [u, v]) => Math.hypot(x - u, y - v);
  const crossed = far(values[0], multipliers[1]) + far(values[1], multipliers[0]) < far(values[0], multipliers[0]) + far(values[1], multipliers[1]);
  return { multipliers: crossed ? [values[1], values[0]] : values, bounds: errors, critical: critical > 0 ? exponentialCriticalStep(L, J) : critical };
}

/** The critical step by the exact linear kind: what is exactly 0 of computed eigenvalues is taken for 0. */
function exactCriticalStep(method, kind, values) {
  if (kind.name === CENTER) return criticalStep(method, values.map(([, imaginary]) => [0, imaginary]));
  return criticalStep(method, kind.name.includes("line of equilibria") ? [values[0], [0, 0]] : values);
}

/** Whether a number has as few digits as a decimal that a person writes, which then is meant exactly. */
const isTyped = (number) => String(number).split("e")[0].replace(/\D/g, "").replace(/^0+/, "").length <= TYPED;

/** The matrix W − γ I of numbers has the rounding of a difference, κ another one, and entries that nobody typed their own. */
function matrixRounding({ W, gamma, leak }, J) {
  if (gamma === 0 && leak === 0 && W.every(isTyped)) return 0;
  return 2 * ROUNDING * (norm(J) + Math.abs(leak) + Math.abs(gamma));
}

/** Twice what a `jacobian` changes by over `moved` along the axes. */
function changeAround(jacobian, h, moved) {
  const there = jacobian(h);
  const shifted = [[moved, 0], [-moved, 0], [0, moved], [0, -moved]].map(([x, y]) => {
    const other = jacobian([h[0] + x, h[1] + y]);
    return norm(other.map((entry, i) => entry - there[i]));
  });
  return 2 * Math.max(...shifted);
}

const jacobianError = (cell, h, moved, J) => changeAround(cell.jacobian, h, moved) + 8 * ROUNDING * (cell.slopeSize(h) + norm(J));

/** The kind of a fixed point `h` of the map, known to within `moved`, by its derivative there. */
export function kindOfDerivative(cell, h, moved) {
  const J = cell.stepJacobian(h);
  const { values, errors } = eigenvalues(J, changeAround(cell.stepJacobian, h, moved) + WEIGHTS * ROUNDING * (1 + norm(J)));
  return mapKind(values, errors);
}

/** Eigenvalues and kinds at the origin in rational arithmetic, where the origin is an equilibrium with slopes 1; else null. */
function exactAtOrigin(state, cell) {
  const { activation, W, gamma, leak, step, gated, flow: typed } = state;
  if (gated || typed || !["tanh", "identity"].includes(activation) || cell.drive.some((each) => each !== 0)) return null;
  if (![...W, gamma, leak, step].every(isTyped)) return null;
  const [[a, b, c, d, g, k, e], denominator] = overOne([...W, gamma, leak, step].map(rational));
  const J = [a - g - k, b, c, d - g - k];
  const flow = exactFlowKind(J);
  const map = exactKindOfStep(cell.method, flow, J.map((entry) => e * entry), denominator * denominator);
  const values = exactEigenvalues(J, denominator);
  if (activation === "identity") return { flow, map, linear: flow, eigenvalues: values };
  // tanh vanishes along the null space of W − γ I; with a leak it does not balance it
  const line = leak === 0;
  const onBorder = /center|equilibria|period-2/;
  const carried = (kind) => kind.name.includes("equilibria") && !kind.name.startsWith("flip") && line;
  const ofFlow = !onBorder.test(flow.name) || carried(flow) || (flow.name === CENTER && cell.conserved) ? flow : onlyLinear(flow);
  // R(ε λ) = 1 also at other λ than 0, where the map alone has a line of points at rest, and only if it is linear
  const ofMap = !onBorder.test(map.name) || (carried(map) && map.name === flow.name) ? map : onlyLinear(map);
  return { linear: flow, flow: ofFlow, map: ofMap, eigenvalues: values };
}

/** The kind of R(ε J) with ε J = `z`/`unit` in integers. That of e^{ε J} is the flow's: no ε Im λ is a multiple of π. */
function exactKindOfStep(method, flow, z, unit) {
  if (!method.numerator.length) return flow;
  const found = exactStep(method, z, unit);
  return found ? exactMapKind(...found) : kindOf("undecided, the step has a pole there", -1, 0, 2);
}
