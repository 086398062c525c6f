// The fixed points that a map has and its flow does not: explicit methods of several stages make them at large steps.

import { kindOfDerivative } from "./cell.mjs";
import { equilibria } from "./equilibria.mjs";
import { length } from "./planar_matrix.mjs";

const AT_REST = 1e-9; // of the flow's velocity, in parts of its largest in the window: an equilibrium of the flow

/** [{state, map}] within the window: where the map stays although the flow moves. */
export function fixedPointsAlone({ state, cell }) {
  if (cell.method.numerator.length < 3) return []; // one stage, an implicit midpoint or an exponential stay with the flow
  const displaced = {
    ...cell,
    vanishesAtZeroAlone: false,
    field: (h) => cell.step(h).map((each, i) => (each - h[i]) / state.step),
    jacobian(h) {
      const [a, b, c, d] = cell.stepJacobian(h);
      return [(a - 1) / state.step, b / state.step, c / state.step, (d - 1) / state.step];
    },
  };
  const speed = (h) => length(cell.field(h));
  const corners = [[1, 1], [1, -1], [-1, 1], [-1, -1]].map((corner) => speed(corner.map((each) => each * state.half)));
  return equilibria(displaced, state.half)
    .filter((root) => speed(root.state) > AT_REST * Math.max(...corners))
    .map((root) => ({ state: root.state, map: kindOfDerivative(cell, root.state, root.moved) }));
}
