"""Which roots lie on one continuum: found by walking along it, each step along the tangent and back onto the roots.

References
----------
Allgower and Georg, Introduction to Numerical Continuation Methods (2003), chapters 6 and 10.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.numerics.isolation import Equations
from dynlab.numerics.merging import scale

Real = NDArray[np.float64]

STEP, SHORTEST = 0.05, 1e-4  # times max(1, ‖h‖): of a walk; it is halved where the tangent turns or no root is near
TURN = 0.95  # the cosine of the angle between two tangents is above
MOST_STEPS = 2000
CORRECTIONS = 12
SETTLED = 1e-12  # times max(1, ‖h‖): a correction below that ends the iteration
ON = 1e-6  # times max(1, ‖h‖): a root this near to the walk is on the continuum
FORWARD = 0.1  # of the way to the other root must lie along the continuum, or there is no way


def curve_of(equations: Equations, root: Real, tangent: Real, box: Real) -> Real:
    """States along a curve of roots, both ways from one of them to where it closes, ends, or leaves a box.

    Parameters
    ----------
    equations : Equations
    root : ndarray, shape (n,)
    tangent : ndarray, shape (n,)
    box : ndarray, shape (2, n)
        The least and the largest coordinate of what is walked.

    Returns
    -------
    ndarray, shape (m, n)
        In order; the first and the last are neighbours where the curve closes.
    """
    ahead, closed = _walk(equations, root, tangent, box)
    if closed:
        return np.stack([root, *ahead])
    behind, _ = _walk(equations, root, -tangent, box)
    return np.stack([*behind[::-1], root, *ahead])


def on_curve(equations: Equations, curve: Real, roots: Real) -> NDArray[np.bool_]:
    """Whether each root (k, n) lies on the curve, whose states are `curve` (m, n)."""
    found = np.zeros(len(roots), dtype=bool)
    for index, root in enumerate(roots):
        distance = np.linalg.norm(curve - root, axis=1)
        nearest = int(distance.argmin())
        if distance[nearest] <= 2 * STEP * scale(root):
            tangent = _tangent(equations, curve[nearest], root - curve[nearest])
            start = curve[nearest] + tangent * float(tangent @ (root - curve[nearest]))
            there = _corrected(equations, start, tangent[None])
            found[index] = there is not None and float(np.linalg.norm(there - root)) <= ON * scale(root)
    return found


def joined(equations: Equations, first: Real, second: Real, dimension: int) -> bool:
    """Whether a walk along a continuum of that dimension leads from one root to another."""
    here = first
    for _ in range(MOST_STEPS):
        apart = second - here
        distance, unit = float(np.linalg.norm(apart)), float(scale(here))
        if distance <= ON * unit:
            return True
        plane = _null(equations, here, dimension)
        along = plane.T @ (plane @ apart)
        forward = float(np.linalg.norm(along))
        if forward <= FORWARD * distance:
            return False
        there = _corrected(equations, here + along * min(1.0, STEP * unit / forward), plane)
        if there is None or float(np.linalg.norm(second - there)) >= distance:
            return False
        here = there
    return False


def _walk(equations: Equations, root: Real, tangent: Real, box: Real) -> tuple[list[Real], bool]:
    """The states of a walk one way, and whether it came back to where it began."""
    states: list[Real] = []
    here, length = root, STEP
    while len(states) < MOST_STEPS and length >= SHORTEST:
        step = length * float(scale(here))
        there = _corrected(equations, here + step * tangent, tangent[None])
        turned = None if there is None else _tangent(equations, there, tangent)
        if there is None or turned is None or turned @ tangent < TURN or np.linalg.norm(there - here) > 2 * step:
            length /= 2
            continue
        states.append(there)
        if len(states) > 2 and np.linalg.norm(there - root) <= step:
            return states, True
        if ((there < box[0]) | (there > box[1])).any():
            break
        here, tangent, length = there, turned, min(STEP, 2 * length)
    return states, False


def _corrected(equations: Equations, start: Real, normals: Real) -> Real | None:
    """The root in the plane through `start` with these normals (d, n); None where the iteration does not settle."""
    here = start
    for _ in range(CORRECTIONS):
        point = torch.as_tensor(here)[None]
        value, matrix = equations.value(point)[0].numpy(), equations.matrix(point)[0].numpy()
        if not (np.isfinite(value).all() and np.isfinite(matrix).all()):
            return None
        off = np.concatenate([value, normals @ (here - start)])
        step = np.linalg.lstsq(np.concatenate([matrix, normals]), -off, rcond=None)[0]
        here = here + step
        if np.linalg.norm(step) <= SETTLED * scale(here):
            return here
    return None


def _null(equations: Equations, state: Real, dimension: int) -> Real:
    return np.linalg.svd(equations.matrix(torch.as_tensor(state)[None])[0].numpy())[2][-dimension:]


def _tangent(equations: Equations, state: Real, along: Real) -> Real:
    """The tangent of the curve at a state, in the sense of `along`."""
    tangent = _null(equations, state, 1)[0]
    return tangent if tangent @ along >= 0 else -tangent


def box_of(states: Tensor | Real) -> Real:
    """The box of `curve_of` that holds these states (k, n), a fifth wider than they are."""
    values = np.asarray(states)
    low, high = values.min(axis=0), values.max(axis=0)
    wider = 0.2 * (high - low) + STEP
    return np.stack([low - wider, high + wider])
