// The phase plane of the flow, or of the map that an integrator makes of it: field, nullclines, orbits, separatrices, equilibria.

import { energy } from "./cell.mjs";
import { clipped, disc, drawCross, frame, line, path } from "./axes.mjs";
import { contour, sampled } from "./contours.mjs";
import { along, colourOf } from "./palette.mjs";

const ARROWS = 21; // in each direction
const GRID = 64; // of nullclines
const LEVELS = 6; // of a conserved quantity
const STAR = 8; // pixels
const BANDS = 12; // of an orbit's colours, light early and dark late

/** `of` is "flow" or "map"; `slow` is what is drawn once it is computed: { curves, ends, alone }. */
export function drawPlane(pen, size, palette, model, of, slow, cursor) {
  const { state } = model;
  const range = [-state.half, state.half];
  const axes = frame(pen, { ...size, palette, x: range, y: range, labels: state.flow ? ["x", "y"] : ["h₁", "h₂"], equal: true });
  clipped(pen, axes, () => {
    const { field, step } = model.cell;
    drawField(pen, axes, of === "flow" ? field : (h) => step(h).map((each, i) => each - h[i]));
    if (of === "flow" && model.cell.conserved) drawEnergy(pen, axes, model);
    drawNullclines(pen, axes, model);
    if (of === "flow") drawCurves(pen, axes, slow.curves ?? []);
    else drawEnds(pen, axes, slow.ends ?? []);
    for (const orbit of model.orbits) drawOrbit(pen, axes, orbit, of);
    for (const point of model.points) drawPoint(pen, axes, point, of);
    if (of === "map") for (const point of slow.alone ?? []) drawAlone(pen, axes, point);
    for (const orbit of model.orbits) drawStar(pen, axes.toX(orbit.start[0]), axes.toY(orbit.start[1]), palette);
    if (cursor) drawCross(pen, axes, cursor);
  });
  return axes;
}

function drawField(pen, axes, rate) {
  const { x, y, palette } = axes;
  const [spaceX, spaceY] = [(x[1] - x[0]) / ARROWS, (y[1] - y[0]) / ARROWS];
  const found = [];
  for (let i = 0; i < ARROWS; i++) {
    for (let j = 0; j < ARROWS; j++) {
      const h = [x[0] + (i + 0.5) * spaceX, y[0] + (j + 0.5) * spaceY];
      found.push([h, rate(h)]);
    }
  }
  const fastest = Math.max(...found.map(([, [u, v]]) => Math.max(Math.abs(u) / spaceX, Math.abs(v) / spaceY))) || 1;
  pen.strokeStyle = palette.arrow;
  pen.lineWidth = 1;
  pen.setLineDash([]);
  pen.beginPath();
  for (const [h, [u, v]] of found) {
    const [dx, dy] = [(0.42 * u * axes.perX) / fastest, (-0.42 * v * axes.perY) / fastest];
    const [left, top] = [axes.toX(h[0]), axes.toY(h[1])];
    line(pen, left - dx, top - dy, left + dx, top + dy);
    // the head: two strokes of a third of the arrow
    for (const side of [1, -1]) line(pen, left + dx, top + dy, left + dx - 0.45 * dx + side * 0.3 * dy, top + dy - 0.45 * dy - side * 0.3 * dx);
  }
  pen.stroke();
}

function drawNullclines(pen, axes, { cell }) {
  sampled(cell.field, axes.x, axes.y, GRID).forEach((rows, i) => {
    pen.strokeStyle = i === 0 ? axes.palette.sky : axes.palette.orange;
    pen.lineWidth = 1.3;
    pen.setLineDash(i === 0 ? [] : [2, 2.5]); // segments are short: longer dashes would not show
    strokeSegments(pen, axes, contour(rows, axes.x, axes.y, 0));
  });
  pen.setLineDash([]);
}

function drawEnergy(pen, axes, { cell }) {
  const [rows] = sampled((h) => [energy(cell, h), 0], axes.x, axes.y, GRID);
  const most = Math.max(...rows.map((row) => Math.max(...row)));
  pen.strokeStyle = axes.palette.undecided;
  pen.lineWidth = 0.8;
  for (let level = 1; level <= LEVELS; level++) strokeSegments(pen, axes, contour(rows, axes.x, axes.y, (most * level) / (LEVELS + 1)));
}

function strokeSegments(pen, axes, segments) {
  pen.beginPath();
  for (const [from, to] of segments) line(pen, axes.toX(from[0]), axes.toY(from[1]), axes.toX(to[0]), axes.toY(to[1]));
  pen.stroke();
}

function drawCurves(pen, axes, curves) {
  for (const { stable, states } of curves) {
    pen.strokeStyle = stable ? axes.palette.accent : axes.palette.unstable;
    pen.lineWidth = 2;
    pen.setLineDash(stable ? [] : [8, 4]);
    pen.beginPath();
    path(pen, axes, states);
    pen.stroke();
  }
  pen.setLineDash([]);
}

function drawEnds(pen, axes, ends) {
  pen.fillStyle = axes.palette.purple;
  for (const states of ends) for (const [x, y] of states) pen.fillRect(axes.toX(x) - 1.5, axes.toY(y) - 1.5, 3, 3);
}

function drawOrbit(pen, axes, orbit, of) {
  const [states, past] = of === "map" ? [orbit.map, orbit.mapPast] : [orbit.flow, orbit.flowPast];
  pen.lineWidth = 1.2;
  pen.strokeStyle = axes.palette.past;
  pen.setLineDash([3, 3]);
  pen.beginPath();
  path(pen, axes, past);
  pen.stroke();
  pen.setLineDash([]);
  const last = states.length - 1;
  for (let band = 0; band < BANDS; band++) {
    const [from, to] = [band, band + 1].map((edge) => Math.round((edge * last) / BANDS));
    if (from === to) continue;
    pen.strokeStyle = pen.fillStyle = along(axes.palette.orbit, band / (BANDS - 1));
    pen.beginPath();
    path(pen, axes, states.slice(from, to + 1));
    pen.lineWidth = of === "map" ? 1 : 2;
    pen.stroke();
    if (of === "map") for (const [x, y] of states.slice(from + 1, to + 1)) pen.fillRect(axes.toX(x) - 1.75, axes.toY(y) - 1.75, 3.5, 3.5);
  }
}

/** Filled where stable, open where unstable, half as dark where undecided; lines along real eigenvectors. */
function drawPoint(pen, axes, point, of) {
  const kind = point[of];
  const colour = colourOf(axes.palette, kind.stable);
  const [left, top] = point.state.map((each, i) => (i === 0 ? axes.toX(each) : axes.toY(each)));
  pen.strokeStyle = axes.palette.ink;
  pen.lineWidth = 1;
  pen.beginPath();
  for (const [x, y] of point.vectors) line(pen, left - 30 * x, top + 30 * y, left + 30 * x, top - 30 * y);
  pen.stroke();
  disc(pen, left, top, 6, kind.stable === 1 ? colour : kind.stable === 0 ? axes.palette.paper : axes.palette.faint, colour, 2.2);
}

/** A diamond, filled as the discs are. */
function drawAlone(pen, axes, { state, map }) {
  const colour = colourOf(axes.palette, map.stable);
  const [left, top] = [axes.toX(state[0]), axes.toY(state[1])];
  pen.beginPath();
  [[0, -8], [8, 0], [0, 8], [-8, 0]].forEach(([x, y], i) => (i === 0 ? pen.moveTo(left + x, top + y) : pen.lineTo(left + x, top + y)));
  pen.closePath();
  pen.fillStyle = map.stable === 1 ? colour : map.stable === 0 ? axes.palette.paper : axes.palette.faint;
  pen.fill();
  pen.strokeStyle = colour;
  pen.lineWidth = 2;
  pen.stroke();
}

function drawStar(pen, left, top, palette) {
  pen.beginPath();
  for (let i = 0; i < 10; i++) {
    const [radius, angle] = [i % 2 ? 0.42 * STAR : STAR, (Math.PI * i) / 5 - Math.PI / 2];
    const [x, y] = [left + radius * Math.cos(angle), top + radius * Math.sin(angle)];
    if (i === 0) pen.moveTo(x, y);
    else pen.lineTo(x, y);
  }
  pen.closePath();
  pen.fillStyle = palette.ink;
  pen.fill();
  pen.strokeStyle = palette.paper;
  pen.lineWidth = 0.8;
  pen.stroke();
}
