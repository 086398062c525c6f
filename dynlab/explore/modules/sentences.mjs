// What the page says of its picture, live.

import { written } from "./axes.mjs";
import { METHODS } from "./methods.mjs";

export const capital = (text) => text[0].toUpperCase() + text.slice(1);

const SHOWN = 4; // fixed points that are named one by one

const place = (point) => `(${point.state.map((each) => written(each, 3)).join(", ")})`;

// a kind as a sentence on a map has it
const ofMap = (kind) => kind.replace("equilibria", "fixed points");

const withArticle = (noun) => (noun.startsWith("undecided") ? `a kind that is ${noun}` : `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`);

/** The headline: the kind for flow and map at the chosen equilibrium, and the critical step. */
export function verdict({ state, points }, point) {
  if (!point) return "No equilibrium lies within twice the window.";
  const step = `${METHODS[state.integrator].map} at ε = ${written(state.step)}`;
  const at = `At ${place(point)} the flow has ${withArticle(point.flow.name)}`;
  const count = points.length > 1 ? ` It is one of ${points.length} equilibria.` : "";
  return `${at}; for ${step} it is ${withArticle(ofMap(point.map.name))}. ${criticalInWords(point, state)}${count}`;
}

function criticalInWords(point, state) {
  const critical = point.criticalStep;
  if (Number.isNaN(critical)) return "Its critical step is undecided.";
  if (critical === 0) return "The critical step is 0: at every ε a disturbance grows.";
  if (critical === Infinity) return "No step is too large: the critical step is infinite.";
  const side = state.step > critical ? "above" : state.step < critical ? "below" : "at";
  return `The critical step is ${written(critical)}, and ε is ${side} it.`;
}

/** The fixed points that the map has besides the flow's equilibria. */
export function aloneInWords(alone) {
  if (alone.length === 0) return "";
  const shown = alone.slice(0, SHOWN).map((point) => `${place(point)}, ${withArticle(point.map.name)}`);
  const more = alone.length > SHOWN ? `; and ${alone.length - SHOWN} more` : "";
  const first = alone.length === 1 ? "The map alone stays at" : `The map alone stays at ${alone.length} more points:`;
  return `${first} ${shown.join("; ")}${more}. The flow moves on from there.`;
}

/** Every equilibrium in a line of its own, for the list beside the picture. */
export function lineOf(point) {
  const set = point.continuum ? "one of a set of equilibria: " : "";
  return `${place(point)}: ${set}${point.flow.name}; map: ${ofMap(point.map.name)}`;
}
