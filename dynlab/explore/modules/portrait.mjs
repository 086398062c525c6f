// All that the views of a phase plane show, computed once for a state of the page.

import { describe, makeCell } from "./cell.mjs";
import { equilibria } from "./equilibria.mjs";
import { flowOrbit, logNorms, mapOrbit, mapPast } from "./orbits.mjs";

const DRAWN = 1e-8; // of the flow's solver, for what is only drawn
const SMOOTH = { spacing: 0.05, most: 1500 }; // seconds between states of a solution that is drawn, and how many at most
const FARTHEST = 100; // windows: an orbit is followed no farther
const [REACH, MARGIN] = [20, 1.12]; // of a window, as dynlab.phase_plane has them
const LONG = { steps: 2400, kept: 400 }; // of an orbit whose end is looked at
const SETTLED = 1e-3; // of the window: the last states of an orbit lie closer together where it has come to a point
const MANIFOLD = { offset: 1e-4, seconds: 40, samples: 400 }; // how far along a saddle's separatrix it is followed

export function portrait(state) {
  const cell = makeCell(state);
  const half = state.half;
  const farthest = FARTHEST * half;
  const points = equilibria(cell, Math.max(2 * half, 1)).map((root) => ({ ...describe(state, cell, root.state, root.moved), continuum: root.continuum }));
  const backward = (h) => cell.field(h).map((each) => -each);
  const parts = Math.max(1, Math.min(Math.ceil(state.step / SMOOTH.spacing), Math.floor(SMOOTH.most / state.steps)));
  const solution = (field, start) => flowOrbit(field, start, state.step / parts, parts * state.steps, farthest, DRAWN);
  const orbits = state.starts.map((start) => {
    const map = mapOrbit(cell.step, start, state.steps, farthest);
    return {
      start,
      map,
      flow: solution(cell.field, start),
      mapPast: state.past ? mapPast(cell, start, state.steps, farthest) : [],
      flowPast: state.past ? solution(backward, start) : [],
      logNorms: logNorms(cell, map),
    };
  });
  return { state, cell, points, orbits };
}

/** Half the width of a window that holds the orbits of the map, as far as they stay within reach of their starts. */
export function fittedHalf(state) {
  const { step } = makeCell(state);
  const reach = REACH * Math.max(1, ...state.starts.flat().map(Math.abs));
  let farthest = 1;
  for (const start of state.starts) {
    for (const each of mapOrbit(step, start, state.steps, reach).flat()) {
      if (Math.abs(each) <= reach) farthest = Math.max(farthest, Math.abs(each));
    }
  }
  return Number((MARGIN * farthest).toPrecision(3));
}

/** Where the orbits of the map end that come to no point: the last states of each, all that are within bounds. */
export function longOrbits({ state, cell }) {
  const found = [];
  for (const start of state.starts) {
    const states = mapOrbit(cell.step, start, LONG.steps, FARTHEST * state.half);
    const last = states.slice(-LONG.kept);
    if (states.length <= LONG.steps) continue;
    const [x, y] = [0, 1].map((i) => last.map((h) => h[i]));
    const spread = Math.max(Math.max(...x) - Math.min(...x), Math.max(...y) - Math.min(...y));
    const drifts = Math.abs(Math.hypot(...last[LONG.kept - 1]) - Math.hypot(...last[0])) > spread / 2;
    if (spread > SETTLED * state.half && !drifts) found.push(last);
  }
  return found;
}

/** The stable and unstable curves of the flow's saddles: [{ stable, states }]. */
export function separatrices({ state, cell, points }) {
  const forward = cell.field;
  const backward = (h) => cell.field(h).map((each) => -each);
  const curves = [];
  for (const point of points.filter((each) => each.flow.name === "saddle")) {
    point.vectors.forEach((vector, i) => {
      const stable = point.eigenvalues[i][0] < 0;
      for (const side of [1, -1]) {
        const start = point.state.map((each, axis) => each + side * MANIFOLD.offset * state.half * vector[axis]);
        const states = flowOrbit(stable ? backward : forward, start, MANIFOLD.seconds / MANIFOLD.samples, MANIFOLD.samples, 4 * state.half, DRAWN);
        curves.push({ stable, states: [point.state, ...states] });
      }
    });
  }
  return curves;
}
