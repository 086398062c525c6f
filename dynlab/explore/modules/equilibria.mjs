// Where a planar field vanishes: Levenberg–Marquardt steps from a grid of starts, roots that are one merged.

import { length, norm, solve2 } from "./planar_matrix.mjs";

const STARTS = 9; // in each direction of the window, besides the origin
const STEPS = 60; // of one search
const CLOSE = 1e-13; // of the field, in parts of its largest value in the window: a root
const SAME = 1e-6; // of the window: roots nearer to each other are one
const FLAT = 1e-12; // of the field between two roots, in parts of its largest value: they belong to one set
const BETWEEN = [0.21, 0.5, 0.83];

/** [{state, moved, continuum}] with both coordinates within ±`half` of `centre`; `moved` bounds the state's error. */
export function equilibria(cell, half, centre = [0, 0]) {
  const only = onlyRoot(cell);
  if (only) return only.state.every((each, i) => Math.abs(each - centre[i]) <= half) ? [only] : [];
  const starts = [[0, 0]];
  for (let i = 0; i < STARTS; i++) {
    for (let j = 0; j < STARTS; j++) starts.push([centre[0] + half * ((2 * i) / (STARTS - 1) - 1), centre[1] + half * ((2 * j) / (STARTS - 1) - 1)]);
  }
  const largest = Math.max(...starts.map((h) => length(cell.field(h)))) || 1;
  const roots = [];
  for (const start of starts) {
    const root = solve(cell, start, CLOSE * largest);
    if (root && Math.abs(root[0] - centre[0]) <= half && Math.abs(root[1] - centre[1]) <= half) roots.push(root);
  }
  return grouped(cell, roots, half, FLAT * largest);
}

/** The root of φ((W − γ I) h + q) where φ vanishes at 0 alone, there is no leak and the matrix is not singular. */
function onlyRoot(cell) {
  const state = cell.vanishesAtZeroAlone ? solve2(cell.matrix, cell.drive.map((each) => 0 - each)) : null;
  if (!state || !state.every(Number.isFinite)) return null;
  return { state, moved: cell.drive.every((each) => each === 0) ? 0 : rootError(cell, state), continuum: false };
}

/** The root that the search from `start` comes to, or null. */
export function solve(cell, start, close) {
  let h = start;
  let f = cell.field(h);
  let damping = 1e-3;
  for (let i = 0; i < STEPS; i++) {
    const size = length(f);
    if (!(size > 0)) return Number.isNaN(size) ? null : h;
    const [a, b, c, d] = cell.jacobian(h);
    const [p, q, r] = [a * a + c * c, a * b + c * d, b * b + d * d];
    const lift = damping * (p + r);
    const determinant = (p + lift) * (r + lift) - q * q;
    const [u, v] = [a * f[0] + c * f[1], b * f[0] + d * f[1]];
    const change = determinant === 0 ? [0, 0] : [((r + lift) * u - q * v) / determinant, ((p + lift) * v - q * u) / determinant];
    const next = [h[0] - change[0], h[1] - change[1]];
    const value = cell.field(next);
    if (length(value) < size) {
      h = next;
      f = value;
      damping = Math.max(damping / 10, 1e-16);
    } else if (size <= close || damping > 1e8) return size <= close ? h : null;
    else damping *= 10;
  }
  return length(f) <= close ? h : null;
}

/** One root for each set of roots that lie together or have a field of rounding between them. */
function grouped(cell, roots, half, flat) {
  const groups = [];
  for (const root of [...roots].sort((x, y) => length(x) - length(y))) {
    const joined = groups.find((group) => group.some((other) => isOne(cell, root, other, half, flat)));
    if (joined) joined.push(root);
    else groups.push([root]);
  }
  return groups.map((group) => {
    const state = group[0].map((each) => (Math.abs(each) < 1e-9 * half && vanishesAtOrigin(cell) ? 0 : each));
    const reach = Math.max(...group.map((root) => distance(root, state)));
    return { state, moved: state[0] === 0 && state[1] === 0 ? 0 : rootError(cell, state), continuum: reach > 1e-3 * half };
  });
}

const distance = (x, y) => length([x[0] - y[0], x[1] - y[1]]);
const vanishesAtOrigin = (cell) => length(cell.field([0, 0])) === 0;

function isOne(cell, first, second, half, flat) {
  if (distance(first, second) < SAME * half) return true;
  return BETWEEN.every((share) => {
    const between = [0, 1].map((i) => first[i] + share * (second[i] - first[i]));
    return length(cell.field(between)) <= flat;
  });
}

/** How far the true root may lie: the field's value and rounding, over the least singular value of its Jacobian. */
function rootError(cell, h) {
  const J = cell.jacobian(h);
  const least = Math.abs(J[0] * J[3] - J[1] * J[2]) / (norm(J) || 1);
  const rounding = 2 ** -51 * cell.fieldSize(h);
  return least === 0 ? 1e-6 : (2 * (length(cell.field(h)) + rounding)) / least;
}
