// The state of the page: what its controls hold, how a link writes it, and what a link may say.

import { ACTIVATIONS } from "./cell.mjs";
import { numberOf, numbersOf, refused } from "./decimals.mjs";
import { parametersOf, readEquations } from "./equations.mjs";
import { METHODS } from "./methods.mjs";
import { checkTogether, isOfNetwork, networkParts, withPart } from "./network_state.mjs";
import { TEXTBOOK } from "./textbook.mjs";

/** Every number that a slider and a field hold: where it stands in the state, its label, and its slider's range. */
export const NUMBERS = [
  { name: "W", index: 0, ofMatrix: true, label: "W₁₁", low: -3, high: 3, step: 0.01 },
  { name: "W", index: 1, ofMatrix: true, label: "W₁₂", low: -3, high: 3, step: 0.01 },
  { name: "W", index: 2, ofMatrix: true, label: "W₂₁", low: -3, high: 3, step: 0.01 },
  { name: "W", index: 3, ofMatrix: true, label: "W₂₂", low: -3, high: 3, step: 0.01 },
  { name: "gamma", ofMatrix: true, label: "diffusion γ", low: 0, high: 2, step: 0.01 },
  { name: "leak", ofMatrix: true, label: "leak κ", low: 0, high: 2, step: 0.01 },
  { name: "step", label: "step size ε", low: 0.005, high: 1.5, step: 0.005, least: 1e-6 },
  { name: "bias", index: 0, ofMatrix: true, label: "bias b₁", low: -2, high: 2, step: 0.01 },
  { name: "bias", index: 1, ofMatrix: true, label: "bias b₂", low: -2, high: 2, step: 0.01 },
  { name: "input", index: 0, ofMatrix: true, label: "input x₁", low: -2, high: 2, step: 0.01 },
  { name: "input", index: 1, ofMatrix: true, label: "input x₂", low: -2, high: 2, step: 0.01 },
  { name: "gateBias", ofMatrix: true, label: "gate’s bias b_z", low: -6, high: 6, step: 0.05 },
  { name: "steps", label: "steps", low: 1, high: 500, step: 1, least: 1, most: 20000, whole: true },
  { name: "half", label: "window ±", low: 0.5, high: 8, step: 0.1, least: 1e-3, most: 1e5 },
];
const MOST_STARTS = 40;
const LENGTHS = { W: 4, gamma: 1, leak: 1, step: 1, bias: 2, input: 2, gateBias: 1, steps: 1, half: 1 };
const PLACE = "point"; // of the chosen equilibrium
const SWITCHES = ["past", "gated"];
const CHOICES = { activation: ACTIVATIONS, integrator: METHODS };

export const numberAt = (state, { name, index }) => (index === undefined ? state[name] : state[name][index]);

/** The state with one number changed. */
export function withNumber(state, { name, index }, value) {
  const inside = state[name];
  return { ...state, [name]: index === undefined ? value : Array.isArray(inside) ? inside.map((each, i) => (i === index ? value : each)) : { ...inside, [index]: value } };
}

/** The state as a link's fragment; `point` of it is where the chosen equilibrium lies, if not the first one. */
export function toFragment(state) {
  const parts = Object.keys(LENGTHS).map((name) => `${name}=${[state[name]].flat().join(",")}`);
  parts.push(...Object.keys(CHOICES).map((name) => `${name}=${state[name]}`), ...SWITCHES.map((name) => `${name}=${state[name] ? 1 : 0}`));
  if (state.flow) parts.push(`flow=${encodeURIComponent(state.flow)}`, `set=${Object.entries(state.set).map((pair) => pair.join(":")).join(",")}`);
  if (state.point) parts.push(`point=${state.point.join(",")}`);
  if (state.textbook) parts.push(`textbook=${state.textbook.join(",")}`);
  if (state.network) parts.push(...networkParts(state.network));
  parts.push(`starts=${state.starts.map((start) => start.join(",")).join(";")}`);
  return parts.join("&");
}

/**
 * The state that a fragment says, over `otherwise` where it says nothing: { state, problem }. A fragment with anything
 * wrong in it changes nothing, and `problem` is the sentence that says what is wrong. `held` is the network that the page
 * holds, if it does: { points, inputs, atFirst }, how many it has and where it is at first.
 */
export function fromFragment(fragment, otherwise, held = null) {
  const state = { ...otherwise };
  let network = null; // a link says all of it: nothing is mixed with what the page opened with
  try {
    for (const part of decodeURIComponent(fragment.replace(/^#/, "")).split("&").filter(Boolean)) {
      const [name, ...rest] = part.split("=");
      const text = rest.join("=");
      if (!isOfNetwork(name)) state[name] = parsed(name, text);
      else if (!held) throw new Error(`it says “${name}” of a trained network, and this page holds none`);
      else network = withPart(network ?? held.atFirst, name, text, held);
    }
    if (state.flow) state.set = parametersOf(state.flow, state.set);
    if (network) checkTogether((state.network = network));
    return { state, problem: "" };
  } catch (error) {
    const reason = error instanceof URIError ? "it is not written as a link is" : error.message;
    return { state: otherwise, problem: `The link cannot be followed: ${reason}. The preset is shown in its place.` };
  }
}

function parsed(name, text) {
  if (Object.hasOwn(CHOICES, name)) {
    if (!Object.hasOwn(CHOICES[name], text)) throw new Error(`${name} is “${text}”, which is none of ${Object.keys(CHOICES[name]).join(", ")}`);
    return text;
  }
  if (SWITCHES.includes(name)) {
    if (text !== "0" && text !== "1") throw new Error(`${name} is “${text}”, which is neither 0 nor 1`);
    return text === "1";
  }
  if (name === "textbook") return textbookOf(text.split(","));
  if (name === "starts") {
    const starts = text === "" ? [] : text.split(";").map((pair) => numbers("starts", pair, 2));
    if (starts.length > MOST_STARTS) throw new Error(`it has ${starts.length} starts, and ${MOST_STARTS} is the most`);
    return starts;
  }
  if (name === "flow") return readEquations(text).texts.join(", ");
  if (name === "set") return Object.fromEntries(text.split(",").filter(Boolean).map((pair) => [pair.split(":")[0], numbers("set", pair.split(":")[1] ?? "", 1)[0]]));
  if (name === PLACE) return numbers(name, text, 2);
  if (!Object.hasOwn(LENGTHS, name)) throw new Error(`it says “${name}”, which this page does not know`);
  const found = numbers(name, text, LENGTHS[name]);
  return LENGTHS[name] === 1 ? found[0] : found;
}

function textbookOf([system, ...values]) {
  if (!Object.hasOwn(TEXTBOOK, system)) throw new Error(`textbook is “${system}”, which is none of ${Object.keys(TEXTBOOK).join(", ")}`);
  const { parameters } = TEXTBOOK[system];
  if (values.length !== parameters.length) throw new Error(`${system} has ${values.length} numbers in place of ${parameters.length}`);
  parameters.forEach(([label, least, most], i) => {
    const reason = refused({ label, least, most }, values[i]);
    if (reason) throw new Error(reason);
  });
  return [system, ...values.map(numberOf)];
}

function numbers(name, text, count) {
  const row = { ...NUMBERS.find((each) => each.name === name), label: name };
  return numbersOf(name, text, Array(count).fill(row));
}
