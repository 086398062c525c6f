// What a link says of a trained network that runs in the page: where it started, which pulses it got, how far it has come.

import { numbersOf } from "./decimals.mjs";

export const MOST_PULSES = 40;
export const MOST_STEPS = 20000; // a page that a link opens runs them all at once
export const SIZE = { name: "networkSize", key: "size" };
export const LENGTH = { name: "networkLength", key: "length", least: 1, most: 10000, whole: true };
const STEP = { name: "networkStep", key: "step", least: 0, most: MOST_STEPS, whole: true };
const NUMBERS = [
  STEP,
  SIZE,
  LENGTH,
  { name: "networkSpeed", key: "speed", least: 1, most: 20, whole: true },
  { name: "networkRunning", key: "running", least: 0, most: 1, whole: true },
];
const START = "networkStart";
const PULSES = "networkPulses";

export const isOfNetwork = (name) => [START, PULSES, ...NUMBERS.map((row) => row.name)].includes(name);

/** A network at rest, as the page opens with it: at its first stable fixed point, or in the middle of the plane. */
export function atFirst(points) {
  const memory = points.findIndex((point) => point.stable === 1);
  return { start: memory < 0 ? ["plane", 0, 0] : ["fixed", memory], pulses: [], step: 0, size: 1, length: 1, speed: 1, running: 0 };
}

/** Its parts of a link. A pulse is [the step before which it is given, the input from 1 on, its size, its length]. */
export function networkParts({ start, pulses, ...rest }) {
  const given = pulses.length ? [`${PULSES}=${pulses.map((pulse) => pulse.join(",")).join(";")}`] : [];
  return [`${START}=${start.join(",")}`, ...given, ...NUMBERS.map(({ name, key }) => `${name}=${rest[key]}`)];
}

/** `found` with one part of a link, for a network with so many fixed `points` and `inputs`; an error says what is wrong. */
export function withPart(found, name, text, { points, inputs }) {
  if (name === START) return { ...found, start: startOf(text, points) };
  if (name === PULSES) return { ...found, pulses: pulsesOf(text, inputs) };
  const row = NUMBERS.find((each) => each.name === name);
  return { ...found, [row.key]: numbersOf(name, text, [{ ...row, label: name }])[0] };
}

function startOf(text, points) {
  const [kind, ...rest] = text.split(",");
  const label = START;
  if (kind === "plane") return [kind, ...numbersOf(label, rest.join(","), [{ label }, { label }])];
  if (kind !== "fixed") throw new Error(`${label} is “${kind}”, which is none of fixed, plane`);
  if (points === 0) throw new Error(`${label} names a fixed point, and this network has none that is known`);
  return [kind, ...numbersOf(label, rest.join(","), [{ label, least: 0, most: points - 1, whole: true }])];
}

function pulsesOf(text, inputs) {
  const pulses = text === "" ? [] : text.split(";");
  if (pulses.length > MOST_PULSES) throw new Error(`it has ${pulses.length} pulses, and ${MOST_PULSES} is the most`);
  if (pulses.length && inputs === 0) throw new Error("it has a pulse, and this network takes no input");
  const rows = [STEP, { least: 1, most: inputs, whole: true }, SIZE, LENGTH].map((row) => ({ ...row, label: PULSES }));
  return pulses.map((pulse) => numbersOf(PULSES, pulse, rows));
}

/** What is wrong with the parts together, as an error. */
export function checkTogether({ pulses, step }) {
  pulses.forEach(([at], i) => {
    if (i > 0 && at <= pulses[i - 1][0]) throw new Error(`a pulse at step ${at} follows one at step ${pulses[i - 1][0]}: each needs a later step`);
    if (at > step) throw new Error(`a pulse at step ${at} is after the last step, ${step}`);
  });
}

/** The state as far as a link can hold it: so many pulses, and the steps before the next one. */
export function asLinked(state) {
  const step = Math.min(state.step, MOST_STEPS, state.pulses[MOST_PULSES]?.[0] ?? Infinity);
  return { ...state, step, pulses: state.pulses.slice(0, MOST_PULSES).filter(([at]) => at <= step) };
}
