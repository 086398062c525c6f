"""Which roots lie on one continuum: found by walking along it, each step along the tangent and back onto the roots.

References
----------
Allgower and Georg, Introduction to Numerical Continuation Methods (2003), chapters 6 and 10.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from torch import Tensor

from dynlab.numerics.arrays import Real
from dynlab.numerics.isolation import Equations
from dynlab.numerics.merging import scale
from dynlab.numerics.roots import tolerance

STEP, SHORTEST = 0.05, 1e-4  # times max(1, ‖h‖): of a walk; it is halved where the tangent turns or no root is near
TURN = 0.95  # the cosine of the angle between two tangents is above
MOST_STEPS = 2000
CORRECTIONS = 12
SINGULAR = 1e-15  # times the largest singular value: below it a correction goes no way
SETTLED = 1e-12  # times max(1, ‖h‖): a correction below that ends the iteration
LEFT = 10.0  # times the tolerance of a root: what may be left of f where the iteration settles
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
    distance = cdist(roots, curve)
    nearest = curve[distance.argmin(axis=1)]
    found: NDArray[np.bool_] = distance.min(axis=1) <= 2 * STEP * scale(roots)
    if not found.any():
        return found
    roots, nearest = roots[found], nearest[found]
    tangents = _null(equations, nearest, 1)
    there, settled = _corrected(equations, nearest + _along(tangents, roots - nearest), tangents)
    found[found] = settled & (np.linalg.norm(there - roots, axis=1) <= ON * scale(roots))
    return found


def joined(equations: Equations, roots: Real, goals: Real, dimension: int) -> NDArray[np.bool_]:
    """Whether a walk along a continuum of that dimension leads from each root (k, n) to its goal (k, n), shape (k,)."""
    here, arrived = roots.copy(), np.zeros(len(roots), dtype=bool)
    walking = np.arange(len(roots))
    for _ in range(MOST_STEPS):
        apart, unit = goals[walking] - here[walking], scale(here[walking])
        distance = np.linalg.norm(apart, axis=1)
        arrived[walking] = distance <= ON * unit
        walking, apart, unit, distance = (each[distance > ON * unit] for each in (walking, apart, unit, distance))
        if len(walking) == 0:
            break
        planes = _null(equations, here[walking], dimension)
        along = _along(planes, apart)
        forward = np.linalg.norm(along, axis=1)
        ahead = forward > FORWARD * distance
        shorter = np.minimum(1.0, STEP * unit / np.maximum(forward, np.finfo(float).tiny))
        there, settled = _corrected(equations, here[walking] + along * shorter[:, None], planes)
        ahead &= settled & (np.linalg.norm(goals[walking] - there, axis=1) < distance)
        here[walking] = there
        walking = walking[ahead]
    return arrived


def _walk(equations: Equations, root: Real, tangent: Real, box: Real) -> tuple[list[Real], bool]:
    """The states of a walk one way, and whether it came back to where it began."""
    states: list[Real] = []
    here, length = root, STEP
    while len(states) < MOST_STEPS and length >= SHORTEST:
        step = length * float(scale(here))
        ahead, settled = _corrected(equations, (here + step * tangent)[None], tangent[None, None])
        there = ahead[0]
        turned = _tangent(equations, there, tangent) if settled[0] else None
        if turned is None or turned @ tangent < TURN or np.linalg.norm(there - here) > 2 * step:
            length /= 2
            continue
        states.append(there)
        if len(states) > 2 and np.linalg.norm(there - root) <= step:
            return states, True
        if ((there < box[0]) | (there > box[1])).any():
            break
        here, tangent, length = there, turned, min(STEP, 2 * length)
    return states, False


def _corrected(equations: Equations, starts: Real, normals: Real) -> tuple[Real, NDArray[np.bool_]]:
    """The roots (k, n) in the planes through `starts` with the normals (k, d, n), and where the iteration settles."""
    here, settled = starts.copy(), np.zeros(len(starts), dtype=bool)
    left = np.arange(len(starts))
    for _ in range(CORRECTIONS):
        points = torch.as_tensor(here[left])
        values, matrices = equations.value(points).numpy(), equations.matrix(points).numpy()
        finite = np.isfinite(values).all(axis=1) & np.isfinite(matrices).all(axis=(1, 2))
        left, values, matrices = left[finite], values[finite], matrices[finite]
        if len(left) == 0:
            break
        off = np.concatenate([values, (normals[left] @ (here[left] - starts[left])[..., None])[..., 0]], axis=1)
        bordered = np.concatenate([matrices, normals[left]], axis=1)
        step = -(np.linalg.pinv(bordered, rcond=SINGULAR) @ off[..., None])[..., 0]
        here[left] += step
        done = np.linalg.norm(step, axis=1) <= SETTLED * scale(here[left])
        small = np.linalg.norm(values, axis=1) <= LEFT * tolerance(points).numpy()[finite]
        settled[left[done]] = small[done]  # what settles elsewhere is a least square, and no root
        left = left[~done]
        if len(left) == 0:
            break
    return here, settled


def _null(equations: Equations, states: Real, dimension: int) -> Real:
    """Orthonormal vectors (k, d, n) of the d smallest singular values of f' at each state (k, n)."""
    return np.linalg.svd(equations.matrix(torch.as_tensor(states)).numpy())[2][:, -dimension:]


def _along(planes: Real, vectors: Real) -> Real:
    """The part of each vector (k, n) that lies in the plane spanned by orthonormal vectors (k, d, n)."""
    return (planes.swapaxes(1, 2) @ (planes @ vectors[..., None]))[..., 0]


def _tangent(equations: Equations, state: Real, along: Real) -> Real:
    """The tangent of the curve at a state, in the sense of `along`."""
    tangent = _null(equations, state[None], 1)[0, 0]
    return tangent if tangent @ along >= 0 else -tangent


def box_of(states: Tensor | Real) -> Real:
    """The box of `curve_of` that holds these states (k, n), a fifth wider than they are."""
    values = np.asarray(states)
    low, high = values.min(axis=0), values.max(axis=0)
    wider = 0.2 * (high - low) + STEP
    return np.stack([low - wider, high + wider])
