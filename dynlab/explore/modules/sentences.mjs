// What the page says of its picture, live.

import { written } from "./axes.mjs";

const place = (point) => `(${point.state.map((each) => written(each, 3)).join(", ")})`;

// a kind as a sentence on a map has it
const ofMap = (kind) => kind.replace("equilibria", "fixed points");

const withArticle = (noun) => (noun.startsWith("undecided") ? `a kind that is ${noun}` : `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`);

/** The headline: the kind for flow and map at the chosen equilibrium, and the critical step. */
export function verdict({ state, points }, point) {
  if (!point) return "No equilibrium lies within twice the window.";
  const step = `Euler’s map at ε = ${written(state.step)}`;
  const at = `At ${place(point)} the flow has ${withArticle(point.flow.name)}`;
  const count = points.length > 1 ? ` It is one of ${points.length} equilibria.` : "";
  return `${at}; for ${step} it is ${withArticle(ofMap(point.map.name))}. ${criticalInWords(point, state)}${count}`;
}

function criticalInWords(point, state) {
  const critical = point.criticalStep;
  if (Number.isNaN(critical)) return "Its critical step is undecided.";
  if (critical === 0) return "The critical step is 0: at every ε a disturbance grows.";
  const side = state.step > critical ? "above" : state.step < critical ? "below" : "at";
  return `The critical step is ${written(critical)}, and ε is ${side} it.`;
}

/** Every equilibrium in a line of its own, for the list beside the picture. */
export function lineOf(point) {
  const set = point.continuum ? "one of a set of equilibria: " : "";
  return `${place(point)}: ${set}${point.flow.name}; map: ${ofMap(point.map.name)}`;
}
