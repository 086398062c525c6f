// The views beside the phase plane: eigenvalues with the region of stability, the growth of a gradient, and the plane of (γ, ε).

import { bounds, clipped, disc, frame, line, path, written } from "./axes.mjs";
import { describe, makeCell } from "./cell.mjs";
import { solve } from "./equilibria.mjs";
import { borderOf } from "./methods.mjs";
import { along, colourOf } from "./palette.mjs";
import { length } from "./planar_matrix.mjs";

const COLUMNS = 120; // of the plane of (γ, ε)

/**
 * The flow's eigenvalues at one equilibrium, and the region |R(ε λ)| ≤ 1 in which the map keeps them stable. `held` is
 * the frame that stays while one is dragged, `marked` the one that the keyboard moves.
 */
export function drawSpectrum(pen, size, palette, model, point, held, marked = -1) {
  const radius = 1 / model.state.step;
  const reach = point ? Math.max(...point.eigenvalues.map(([real, imaginary]) => Math.max(Math.abs(real), Math.abs(imaginary)))) : 1;
  const half = Math.max(1.35 * reach, Math.min(2.1 * radius, 1.6));
  const { x, y } = held ?? { x: [-half, half], y: [-half, half] };
  const axes = frame(pen, { ...size, palette, x, y, labels: ["Re λ (1/s)", "Im λ (1/s)"], equal: true });
  clipped(pen, axes, () => {
    const far = 1e3 * axes.x[1];
    const border = borderOf(model.cell.method)?.map(([x, y]) => [x * radius, y * radius]) ?? [[0, -far], [0, far], [-far, far], [-far, -far]];
    pen.beginPath();
    path(pen, axes, border);
    pen.closePath();
    pen.fillStyle = palette.region;
    pen.fill();
    pen.strokeStyle = palette.accent;
    pen.lineWidth = 1.4;
    pen.stroke();
    pen.strokeStyle = palette.ink;
    pen.lineWidth = 1;
    pen.beginPath();
    line(pen, axes.toX(0), 0, axes.toX(0), size.height);
    line(pen, 0, axes.toY(0), size.width, axes.toY(0));
    pen.stroke();
    for (const [i, [real, imaginary]] of (point?.eigenvalues ?? []).entries()) {
      const excess = Math.hypot(...point.multipliers[i]) - 1;
      const stable = excess < -point.multiplierErrors[i] ? 1 : excess > point.multiplierErrors[i] ? 0 : -1;
      disc(pen, axes.toX(real), axes.toY(imaginary), 6.5, stable === 1 ? palette.stable : palette.paper, colourOf(palette, stable), 2.4);
      if (i === marked) disc(pen, axes.toX(real), axes.toY(imaginary), 11, null, palette.accent, 1.5);
    }
  });
  return axes;
}

/** ‖∂h_t/∂h_0‖ along every orbit of the map, in powers of ten. */
export function drawGrowth(pen, size, palette, model) {
  const all = model.orbits.map((orbit) => orbit.logNorms.map((each) => each / Math.LN10));
  const [low, high] = bounds(all, -0.2, 0.2);
  const margin = 0.08 * (high - low);
  const labels = ["step t", "log₁₀ ‖∂h_t/∂h_0‖"];
  const axes = frame(pen, { ...size, palette, x: [0, model.state.steps], y: [low - margin, high + margin], labels });
  clipped(pen, axes, () => {
    pen.strokeStyle = palette.ink;
    pen.lineWidth = 1;
    pen.beginPath();
    line(pen, axes.toX(0), axes.toY(0), axes.toX(model.state.steps), axes.toY(0));
    pen.stroke();
    all.forEach((values, i) => {
      pen.strokeStyle = along([palette.accent, palette.purple, palette.orange], all.length > 1 ? i / (all.length - 1) : 0);
      pen.lineWidth = 2;
      pen.beginPath();
      path(pen, axes, values.map((value, t) => [t, value]).filter(([, value]) => Number.isFinite(value)));
      pen.stroke();
    });
  });
  return axes;
}

/** The critical step over γ, following one equilibrium: [[γ, ε_c]], null where the equilibrium is lost. */
export function criticalSteps(state, point, [low, high]) {
  const follow = (from, to) => {
    const found = [];
    let at = point.state;
    for (let i = 0; i <= COLUMNS; i++) {
      const gamma = from + ((to - from) * i) / COLUMNS;
      const there = { ...state, gamma };
      const cell = makeCell(there);
      const root = solve(cell, at, 1e-12 * (1 + length(at)));
      found.push([gamma, root ? describe(there, cell, root, 0).criticalStep : null]);
      if (root) at = root;
    }
    return found;
  };
  const here = Math.min(Math.max(state.gamma, low), high);
  return [...follow(here, low).reverse(), ...follow(here, high)];
}

/** The parts of a curve [[γ, ε_c]] between the places where the equilibrium is lost. */
function unbroken(curve) {
  const parts = [[]];
  for (const [gamma, step] of curve) {
    if (step === null) parts.push([]);
    else parts[parts.length - 1].push([gamma, step]);
  }
  return parts.filter((part) => part.length > 1);
}

/** The plane of (γ, ε): shaded where the map keeps the equilibrium stable. `held` is the frame that stays in a drag. */
export function drawStability(pen, size, palette, model, point, held) {
  const { state } = model;
  const around = { x: [Math.min(0, 1.5 * state.gamma), Math.max(1, 1.5 * state.gamma)], y: [0, Math.max(0.3, 2 * state.step)] };
  const { x: gammas, y: steps } = held ?? around;
  const axes = frame(pen, { ...size, palette, x: gammas, y: steps, labels: ["diffusion γ", "step size ε"] });
  clipped(pen, axes, () => {
    for (const part of point ? unbroken(criticalSteps(state, point, gammas)) : []) {
      const shown = part.map(([gamma, step]) => [gamma, Number.isNaN(step) ? 0 : Math.min(step, 2 * steps[1])]);
      pen.beginPath();
      path(pen, axes, [...shown, [shown[shown.length - 1][0], 0], [shown[0][0], 0]]);
      pen.closePath();
      pen.fillStyle = palette.region;
      pen.fill();
      pen.strokeStyle = palette.accent;
      pen.lineWidth = 1.8;
      pen.beginPath();
      path(pen, axes, shown);
      pen.stroke();
    }
    const colour = point ? colourOf(palette, point.map.stable) : palette.undecided;
    disc(pen, axes.toX(state.gamma), axes.toY(state.step), 6.5, point?.map.stable === 1 ? colour : palette.paper, colour, 2.4);
  });
  return axes;
}

/** What the plane of eigenvalues shows, for a reader who does not see it; `marked` is the one that arrows move. */
export function spectrumInWords(model, point, marked) {
  if (!point) return "There is no equilibrium within reach, so no eigenvalue is shown.";
  const each = ([real, imaginary]) => (imaginary === 0 ? written(real) : `${written(real)} ${imaginary < 0 ? "−" : "+"} ${written(Math.abs(imaginary))} i`);
  return `Eigenvalues λ = ${point.eigenvalues.map(each).join(" and ")} at (${point.state.map((x) => written(x, 3)).join(", ")}); the largest modulus of a multiplier is ${written(point.radius)}. Arrows move ${each(point.eigenvalues[marked])}, Enter takes the other one.`;
}
