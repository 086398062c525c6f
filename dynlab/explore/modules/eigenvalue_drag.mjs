// An eigenvalue is moved, and the matrix follows: eigenvectors stay, and so does the equilibrium.

import { eigenvector } from "./planar_matrix.mjs";
import { LARGEST } from "./decimals.mjs";

const PARALLEL = 1e-6; // of the sine between two eigenvectors: they are taken for one

/**
 * The frame in which the Jacobian is [[α, −β], [β, α]] or diagonal, taken where a drag begins. Where two real eigenvalues
 * have one direction of eigenvectors, it is upper triangular in an orthonormal frame, with `corner` above the diagonal.
 */
export function frameOf({ jacobian, eigenvalues }) {
  const [[real, imaginary], [other]] = eigenvalues;
  const [a, b, c, d] = jacobian;
  if (imaginary !== 0) {
    // J v = (α + i β) v with v = u + i w: in the frame (u, −w) it is [[α, −β], [β, α]]
    const columns = Math.abs(b) >= Math.abs(c) ? [b, real - a, 0, imaginary] : [real - d, c, imaginary, 0];
    return { complex: true, basis: [columns[0], -columns[2], columns[1], -columns[3]] };
  }
  const [first, second] = [real, other].map((value) => eigenvector(jacobian, value));
  const basis = [first[0], second[0], first[1], second[1]];
  if (real !== other && Math.abs(first[0] * second[1] - first[1] * second[0]) > PARALLEL) return { complex: false, corner: 0, basis };
  const [x, y] = first;
  const corner = x * (b * x - a * y) + y * (d * x - c * y);
  return { complex: false, equal: real === other, corner, basis: [x, -y, y, x] };
}

/** The Jacobian with eigenvalue `index` at [real, imaginary] in the frame; `values` are those where the drag began. */
export function movedJacobian(frame, values, index, [real, imaginary]) {
  const [p, q, r, s] = frame.basis;
  const determinant = p * s - q * r;
  if (determinant === 0) return null;
  let inside;
  if (frame.complex || (frame.equal && imaginary !== 0)) {
    const above = frame.corner || -Math.abs(imaginary);
    inside = [real, above, frame.corner ? -(imaginary ** 2) / above : Math.abs(imaginary), real];
  } else inside = index === 0 ? [real, frame.corner, 0, values[1][0]] : [values[0][0], frame.corner, 0, real];
  const [a, b, c, d] = inside;
  const [e, f, g, h] = [p * a + q * c, p * b + q * d, r * a + s * c, r * b + s * d];
  return [(e * s - f * r) / determinant, (f * p - e * q) / determinant, (g * s - h * r) / determinant, (h * p - g * q) / determinant];
}

/**
 * The state whose Jacobian at the point is `jacobian`: W follows, and of a point that is not the origin the bias, so that
 * it stays an equilibrium with the same slopes. Null where a slope is 0, or a number would be larger than the page takes.
 */
export function stateWith(state, cell, point, jacobian) {
  const [s, t] = cell.slopes(point.state);
  if (s === 0 || t === 0) return null;
  const [a, b, c, d] = jacobian;
  const M = [(a + state.leak) / s, b / s, c / t, (d + state.leak) / t];
  const shorter = (each) => Number(each.toPrecision(6));
  const W = [M[0] + state.gamma, M[1], M[2], M[3] + state.gamma].map(shorter);
  const [x, y] = point.state;
  const moved = cell.preactivation(point.state);
  const used = [(W[0] - state.gamma) * x + W[1] * y, W[2] * x + (W[3] - state.gamma) * y];
  const bias = x === 0 && y === 0 ? state.bias : state.bias.map((_, i) => moved[i] - used[i] - state.input[i]);
  return [...W, ...bias].every((each) => Math.abs(each) <= LARGEST) ? { ...state, W, bias } : null;
}
