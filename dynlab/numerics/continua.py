"""Which roots lie on one continuum: found by walking along it, each step along the tangent and back onto the roots.

References
----------
Allgower and Georg, Introduction to Numerical Continuation Methods (2003), chapters 6 and 10.
"""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from torch import Tensor

from dynlab.numerics.arrays import Real
from dynlab.numerics.isolation import Equations, rounding
from dynlab.numerics.merging import scale
from dynlab.numerics.roots import tolerance

STEP, SHORTEST = 0.05, 1e-8  # times max(1, ‖h‖): of a walk; it is halved where the tangent turns or no root is near
STRAIGHT = 1e-3  # of a step: where no more than that leads from its end back onto the roots, the next is twice as long
TURN = 0.95  # the cosine of the angle between two tangents is above
FARTHEST = 100.0  # times max(1, ‖h‖): a walk ends so far from where it began
MOST_STEPS = 1000
CORRECTIONS = 12
SINGULAR = 1e-15  # times the largest singular value: below it a correction goes no way
SETTLED = 1e-12  # times max(1, ‖h‖): a correction below that ends the iteration
LEFT = 10.0  # times the tolerance of a root: what may be left of f where the iteration settles
ON = 1e-6  # times max(1, ‖h‖): a root this near to the walk is on the continuum
FORWARD = 0.1  # of the way to the other root must lie along the continuum, or there is no way
STORED = 16  # + n, times the rounding of f: what the rounding of stored weights makes of an f that is 0 without it
IN_SUCCESSION = 3  # states at which f is told from 0, unless the walk ends there
SMOOTH = 1e-4  # times 1 + ‖f'‖: a smallest singular value that is larger where f is just told from 0 is a jump


def curve_of(equations: Equations, root: Real, tangent: Real, plane: int = 1) -> Real:
    """States along a curve of roots, both ways from one of them to where it closes, ends, or is far away.

    Parameters
    ----------
    equations : Equations
    root : ndarray, shape (n,)
    tangent : ndarray, shape (n,)
    plane : int
        The number of directions in which f' is singular; the walk goes straight on in their plane.

    Returns
    -------
    ndarray, shape (m, n)
        In order; the first and the last are neighbours where the curve closes. The root is among them.
    """
    ahead, closed = _walk(equations, root, tangent, plane)
    if closed:
        return np.stack([root, *ahead])
    behind, _ = _walk(equations, root, -tangent, plane)
    return np.stack([*behind[::-1], root, *ahead])


class Told(NamedTuple):
    """Where f is told from 0 along a curve through a root.

    Attributes
    ----------
    before, after : float
        The sign of f there, before and after the root; 0 where it is told from 0 nowhere.
    states : ndarray, shape (k, n)
        The states of the curve from where to where, or to its ends.
    """

    before: float
    after: float
    states: Real


def told_ends(equations: Equations, curve: Real, root: Real, plane: int = 1, left: Real | None = None) -> Told:
    """Which sign f has on either side of a root on a curve, where it is told from 0, and the states between.

    The states of a walk are roots to the solver's tolerance. Where f rises out of its rounding along them, f is 0
    nowhere near: an analytic f that is 0 on a stretch is 0 everywhere. On a continuum it does not, unless it jumps, as
    at a kink, at which a continuum may end.

    Parameters
    ----------
    equations : Equations
    curve : ndarray, shape (m, n)
        Of `curve_of`.
    root : ndarray, shape (n,)
    plane : int
        The number of directions in which f' is singular.
    left : ndarray, shape (n,), optional
        The left singular vector of the smallest singular value at the root: f has its sign along it, and along what it
        becomes from state to state. Without it the signs say no more than that f is told from 0.
    """
    points = torch.as_tensor(curve)
    values, matrices = equations.value(points), equations.matrix(points)
    u, sigma, _ = torch.linalg.svd(matrices)
    here, along = int(np.linalg.norm(curve - root, axis=1).argmin()), u[:, :, -1]
    turned = torch.where((along[1:] * along[:-1]).sum(-1) < 0, -1.0, 1.0).to(along)
    turned = torch.cat([turned.new_ones(1), turned.cumprod(0)])
    sign = ((along * values).sum(-1).sign() * turned * turned[here]).numpy()
    sign = np.ones(len(sign)) if left is None else sign if along[here].numpy() @ left > 0 else -sign
    noise = (STORED + points.shape[1]) * rounding(equations, points, values, matrices)
    told = ((values.abs() > noise).any(-1) & (sigma[:, -plane] <= SMOOTH * (1 + sigma[:, 0]))).numpy()
    first, last = here - _first_told(told[here::-1]), here + _first_told(told[here:])
    behind, ahead = (float(sign[end]) if end != here and told[end] else 0.0 for end in (first, last))
    return Told(behind, ahead, curve[first : last + 1])


def _first_told(told: NDArray[np.bool_]) -> int:
    """The number of the first of several in succession, as one may be rounding; of the last where there is none."""
    beyond = np.concatenate([told, np.ones(IN_SUCCESSION - 1, dtype=bool)])
    runs = np.lib.stride_tricks.sliding_window_view(beyond, IN_SUCCESSION).all(axis=1)
    return int(runs.argmax()) if runs.any() else len(told) - 1


def on_curve(equations: Equations, curve: Real, roots: Real) -> NDArray[np.bool_]:
    """Whether each root (k, n) lies on the curve, whose states are `curve` (m, n)."""
    nearest, distance = _nearest(curve, roots)
    found: NDArray[np.bool_] = distance <= 2 * STEP * scale(roots)
    if not found.any():
        return found
    roots, nearest = roots[found], nearest[found]
    tangents = _null(equations, nearest, 1)
    there, settled, _ = corrected(equations, nearest + _along(tangents, roots - nearest), tangents)
    found[found] = settled & (np.linalg.norm(there - roots, axis=1) <= ON * scale(roots))
    return found


def joined(equations: Equations, roots: Real, goals: Real, dimension: int) -> NDArray[np.bool_]:
    """Whether a walk along a continuum of that dimension leads from each root (k, n) to its goal (k, n), shape (k,)."""
    here, arrived = roots.copy(), np.zeros(len(roots), dtype=bool)
    walking, length = np.arange(len(roots)), np.full(len(roots), STEP)
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
        shorter = length[walking] * unit / np.maximum(forward, length[walking] * unit)
        ahead = here[walking] + along * shorter[:, None]
        there, settled, _ = corrected(equations, ahead, planes)
        settled &= np.linalg.norm(goals[walking] - there, axis=1) < distance
        straight = settled & (np.linalg.norm(there - ahead, axis=1) <= STRAIGHT * shorter * forward)
        again = ~settled & (length[walking] > STEP)  # once more, with a shorter step
        length[walking] = np.where(straight, 2 * length[walking], STEP)
        here[walking[settled]] = there[settled]
        walking = walking[(forward > FORWARD * distance) & (settled | again)]
    return arrived


def _walk(equations: Equations, root: Real, tangent: Real, plane: int) -> tuple[list[Real], bool]:
    """The states of a walk one way, and whether it came back to where it began."""
    states: list[Real] = []
    here, normals, length = root, _null(equations, root[None], plane), STEP
    while len(states) < MOST_STEPS and length >= SHORTEST:
        step = length * float(scale(here))
        ahead = here + step * tangent
        (there,), settled, matrices = corrected(equations, ahead[None], normals)
        turned = there - here
        if settled[0]:
            planes = np.linalg.svd(matrices)[2][:, -plane:]
            turned = _along(planes, tangent[None])[0]
            turned /= max(float(np.linalg.norm(turned)), np.finfo(float).tiny)
        if not settled[0] or turned @ tangent < TURN or np.linalg.norm(there - here) > 2 * step:
            length /= 2
            continue
        states.append(there)
        if len(states) > 2 and np.linalg.norm(there - root) <= step:
            return states, True
        if np.linalg.norm(there - root) > FARTHEST * scale(root):
            break
        straight = np.linalg.norm(there - ahead) <= STRAIGHT * step
        here, tangent, normals, length = there, turned, planes, 2 * length if straight else min(STEP, 2 * length)
    return states, False


def corrected(equations: Equations, starts: Real, normals: Real) -> tuple[Real, NDArray[np.bool_], Real]:
    """The roots (k, n) in the planes through `starts` with the normals (k, d, n), where the iteration settles, and f'.

    The matrices (k, n, n) are those of the last iteration, as good as at the roots where it settles.
    """
    here, settled = starts.copy(), np.zeros(len(starts), dtype=bool)
    slopes = np.zeros((*starts.shape, starts.shape[1]))
    left = np.arange(len(starts))
    for _ in range(CORRECTIONS):
        points = torch.as_tensor(here[left])
        values, matrices = equations.value(points).numpy(), equations.matrix(points).numpy()
        finite = np.isfinite(values).all(axis=1) & np.isfinite(matrices).all(axis=(1, 2))
        left, values, matrices = left[finite], values[finite], matrices[finite]
        if len(left) == 0:
            break
        slopes[left] = matrices
        off = np.concatenate([values, (normals[left] @ (here[left] - starts[left])[..., None])[..., 0]], axis=1)
        bordered = np.concatenate([matrices, normals[left]], axis=1)
        step = -(np.linalg.pinv(bordered, rcond=SINGULAR) @ off[..., None])[..., 0]
        here[left] += step
        done = np.linalg.norm(step, axis=1) <= SETTLED * scale(here[left])
        small = is_left_of_a_root(torch.as_tensor(values), points[torch.as_tensor(finite)]).numpy()
        settled[left[done]] = small[done]  # what settles elsewhere is a least square, and no root
        left = left[~done]
        if len(left) == 0:
            break
    return here, settled, slopes


def is_left_of_a_root(values: Tensor, points: Tensor) -> Tensor:
    """Whether what f is at points (k, n) may be left of 0 where an iteration settled, shape (k,)."""
    return values.norm(dim=-1) <= LEFT * tolerance(points)


def _null(equations: Equations, states: Real, dimension: int) -> Real:
    """Orthonormal vectors (k, d, n) of the d smallest singular values of f' at each state (k, n)."""
    return np.linalg.svd(equations.matrix(torch.as_tensor(states)).numpy())[2][:, -dimension:]


def _along(planes: Real, vectors: Real) -> Real:
    """The part of each vector (k, n) that lies in the plane spanned by orthonormal vectors (k, d, n)."""
    return (planes.swapaxes(1, 2) @ (planes @ vectors[..., None]))[..., 0]


def _nearest(curve: Real, roots: Real) -> tuple[Real, Real]:
    """The nearest point to each root (k, n) on the straight pieces between a curve's states, and how far away it is."""
    begins, pieces = curve[:-1], np.diff(curve, axis=0)
    if not len(pieces):
        return np.broadcast_to(curve, roots.shape), np.linalg.norm(roots - curve, axis=1)
    squares, ways = (pieces**2).sum(axis=1), roots @ pieces.T - (begins * pieces).sum(axis=1)
    parts = (ways / squares).clip(0.0, 1.0)
    number = (cdist(roots, begins) ** 2 + parts * (parts * squares - 2 * ways)).argmin(axis=1)
    nearest: Real = begins[number] + np.take_along_axis(parts, number[:, None], axis=1) * pieces[number]
    return nearest, np.linalg.norm(nearest - roots, axis=1)
