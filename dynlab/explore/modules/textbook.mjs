// Textbook systems: cobwebs and orbit diagrams of maps of one dimension, the attractors of Hénon and Lorenz.

import { flowOrbit } from "./orbits.mjs";

const COLUMNS = 400; // of an orbit diagram
const DIAGRAM = { transient: 300, kept: 120 }; // steps in each column
const ATTRACTOR = { transient: 100, kept: 12000 }; // steps of a map
const SOLUTION = { spacing: 0.01, transient: 1000, kept: 8000, tolerance: 1e-9 }; // of Lorenz's flow, in seconds
const COBWEB = 60; // steps
const LARGEST = 1e3; // of a state: an orbit that has gone so far is not followed

/** Each with its parameters [name, low, high, at first], its start, and the range of its states. */
export const TEXTBOOK = {
  logistic: { title: "logistic map x ← r x (1 − x)", parameters: [["r", 0, 4, 3.7]], start: [0.2], range: [0, 1], step: ([x], [r]) => [r * x * (1 - x)] },
  unit: { title: "one unit h ← tanh(w h + b)", parameters: [["w", -5, 5, -2], ["b", -2, 2, 0.3]], start: [0.1], range: [-1, 1], step: ([h], [w, b]) => [Math.tanh(w * h + b)] },
  henon: { title: "Hénon’s map (1 − a x² + y, b x)", parameters: [["a", 0, 1.4, 1.4], ["b", -0.4, 0.4, 0.3]], start: [0.1, 0.1], range: [-1.5, 1.5], step: ([x, y], [a, b]) => [1 - a * x * x + y, b * x] },
  lorenz: {
    title: "Lorenz’s flow",
    parameters: [["σ", 0, 20, 10], ["ρ", 0, 60, 28], ["β", 0.1, 5, 8 / 3]],
    start: [1, 1, 20],
    velocity: ([x, y, z], [sigma, rho, beta]) => [sigma * (y - x), x * (rho - z) - y, x * y - beta * z],
  },
};

/** What the two pictures of a system show: pairs of numbers, one after the other, as points or as one line. */
export function textbookPictures(name, values) {
  const system = TEXTBOOK[name];
  if (system.velocity) return ofFlow(system, values);
  const first = system.start.length === 1 ? { kind: "line", values: cobweb(system, values) } : { kind: "points", values: attractor(system, values) };
  return [first, { kind: "points", values: orbitDiagram(system, values) }];
}

function ofFlow(system, values) {
  const count = SOLUTION.transient + SOLUTION.kept;
  const states = flowOrbit((h) => system.velocity(h, values), system.start, SOLUTION.spacing, count, LARGEST, SOLUTION.tolerance, 40 * count);
  const last = states.slice(SOLUTION.transient);
  return [
    { kind: "line", values: Float64Array.from(last.flatMap(([x, , z]) => [x, z])) },
    { kind: "line", values: Float64Array.from(last.slice(0, 3000).flatMap(([, , z], i) => [i * SOLUTION.spacing, z])) },
  ];
}

/** The staircase between the graph of a map and the diagonal. */
export function cobweb(system, values) {
  const found = [];
  let x = system.start[0];
  found.push(x, system.range[0]);
  for (let t = 0; t < COBWEB && Math.abs(x) <= LARGEST; t++) {
    const [next] = system.step([x], values);
    found.push(x, next, next, next);
    x = next;
  }
  return Float64Array.from(found);
}

function attractor(system, values) {
  const found = [];
  let h = system.start;
  for (let t = 0; t < ATTRACTOR.transient + ATTRACTOR.kept; t++) {
    h = system.step(h, values);
    if (!h.every((each) => Math.abs(each) <= LARGEST)) break;
    if (t >= ATTRACTOR.transient) found.push(h[0], h[1]);
  }
  return Float64Array.from(found);
}

/** The first coordinate after many steps, over the first parameter. */
export function orbitDiagram(system, values) {
  const [, low, high] = system.parameters[0];
  const found = [];
  for (let column = 0; column <= COLUMNS; column++) {
    const parameter = low + ((high - low) * column) / COLUMNS;
    let h = system.start;
    for (let t = 0; t < DIAGRAM.transient + DIAGRAM.kept; t++) {
      h = system.step(h, [parameter, ...values.slice(1)]);
      if (!(Math.abs(h[0]) <= LARGEST)) break;
      if (t >= DIAGRAM.transient) found.push(parameter, h[0]);
    }
  }
  return Float64Array.from(found);
}
