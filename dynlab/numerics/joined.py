"""Whether two roots lie on one continuum: a walk along it, from one straight towards the other."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.numerics.arrays import Real
from dynlab.numerics.continua import CONTRACTION, CROSSED, LONGEST, MOST_STEPS, STEP, STRAIGHT, TURN
from dynlab.numerics.isolation import Equations
from dynlab.numerics.merging import scale
from dynlab.numerics.roots_in_planes import ON, along, corrected, is_left_of_a_root

FORWARD = 0.1  # of the way to the other root must lie along the continuum, or there is no way
PARTS = (0.25, 0.5, 0.75)  # of the way between two roots, where a third is looked for
NEAREST, ASIDE = 20, 0.5  # halvings of a way to a center; of the distance from it, how far aside a curve may run
AWAY = 0.2  # of a step: how far the continuum may be from half-way between its ends, or the step has left it


def joined(equations: Equations, roots: Real, goals: Real, dimension: int, *, simple: bool = True) -> NDArray[np.bool_]:
    """Whether a walk along a continuum leads from each root (k, n) to its goal (k, n), shape (k,).

    Parameters
    ----------
    equations : Equations
    roots, goals : ndarray, shape (k, n)
    dimension : int
        In how many directions f' is singular along the continuum: the walk keeps to their plane.
    simple : bool
        Whether that is the dimension of the continuum itself, so that a step onto a neighbour is seen. On double roots
        it is not.
    """
    equations = equations.walking()
    here, arrived = roots.copy(), np.zeros(len(roots), dtype=bool)
    planes, lefts, sides, _ = _oriented(equations.matrix(torch.as_tensor(here)).numpy(), dimension)
    walking, length = np.arange(len(roots)), np.full(len(roots), STEP)
    for _ in range(MOST_STEPS):
        apart, unit = goals[walking] - here[walking], scale(here[walking])
        distance = np.linalg.norm(apart, axis=1)
        arrived[walking] = distance <= ON * unit
        walking, apart, unit, distance = (each[distance > ON * unit] for each in (walking, apart, unit, distance))
        if len(walking) == 0 or equations.spent():
            break
        forwards = along(planes[walking], apart)
        forward = np.linalg.norm(forwards, axis=1)
        size = np.minimum(length[walking] * unit, forward)
        ahead = here[walking] + forwards * (size / np.maximum(forward, np.finfo(float).tiny))[:, None]
        there, settled, matrices, slowing = corrected(equations, ahead, planes[walking])
        turned = _oriented(matrices, dimension, planes[walking], lefts[walking])
        # as in `_stepped`: a long step that turns far, or changes the sign, has jumped onto a neighbour
        kept = (turned.cosines >= TURN) & (turned.sides == sides[walking]) & (slowing <= CONTRACTION)
        middle = (here[walking] + there) / 2
        between = corrected(equations, middle, planes[walking])
        kept &= between.settled & (np.linalg.norm(between.states - middle, axis=1) <= AWAY * size)
        left = np.linalg.norm(goals[walking] - there, axis=1)
        settled = (settled | (left <= ON * unit)) & (left < distance)  # at a goal with a singular f' none settles
        settled &= kept | (length[walking] < CROSSED) | (not simple)
        straight = settled & (np.linalg.norm(there - ahead, axis=1) <= STRAIGHT * size)
        again = ~settled & (length[walking] >= CROSSED)  # once more, with a shorter step
        length[walking] = np.where(
            straight, np.minimum(2 * length[walking], LONGEST), np.minimum(STEP, length[walking] / 2**again)
        )
        moved = walking[settled]
        here[moved], sides[moved] = there[settled], turned.sides[settled]
        planes[moved], lefts[moved] = turned.planes[settled], turned.lefts[settled]
        walking = walking[(forward > FORWARD * distance) & (settled | again)]
    return arrived


def without_gap(equations: Equations, roots: Real, goals: Real) -> NDArray[np.bool_]:
    """Whether there are roots beside the straight way from each root (k, n) to its goal (k, n), shape (k,).

    Of a root of high order all ends of a search are joined in this way, to the tolerance, also on a bent curve.
    """
    ways = goals - roots
    normals = (ways / np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), np.finfo(float).tiny))[:, None]
    found = np.ones(len(roots), dtype=bool)
    for part in PARTS:
        found &= _beside(equations, roots + part * ways, normals, AWAY * np.linalg.norm(ways, axis=1))
    return found


def lead_to(equations: Equations, roots: Real, center: Real) -> NDArray[np.bool_]:
    """Whether there are roots beside the straight way from each root (k, n) to the `center` (n,), however near it."""
    ways = roots - center
    normals = (ways / np.linalg.norm(ways, axis=1, keepdims=True))[:, None]
    found = np.ones(len(roots), dtype=bool)
    for halvings in range(1, NEAREST):
        middle = center + ways / 2.0**halvings
        found &= _beside(equations, middle, normals, ASIDE * np.linalg.norm(middle - center, axis=1))
    return found


def _beside(equations: Equations, states: Real, normals: Real, farthest: Real) -> NDArray[np.bool_]:
    """Whether each state (k, n) is a root to the tolerance, or has one in its plane within a distance (k,)."""
    there, settled, _, _ = corrected(equations, states, normals)
    points = torch.as_tensor(states)
    found: NDArray[np.bool_] = is_left_of_a_root(equations.value(points), points).numpy()
    return found | (settled & (np.linalg.norm(there - states, axis=1) <= farthest))


class _Oriented(NamedTuple):
    """The null vectors (k, d, n) of f' and of f'ᵀ at states of walks, and the signs (k,) of f' bordered by them.

    The cosines (k,) are of the largest angle between these planes of null vectors and those before.
    """

    planes: Real
    lefts: Real
    sides: Real
    cosines: Real


def _oriented(matrices: Real, dimension: int, planes: Real | None = None, lefts: Real | None = None) -> _Oriented:
    """The null vectors, turned within their planes to those of the state before."""
    u, _, v = np.linalg.svd(matrices)
    here, beside = v[:, -dimension:], u[:, :, -dimension:].swapaxes(1, 2)
    here, cosines = _turned_to(here, here if planes is None else planes)
    beside, _ = _turned_to(beside, beside if lefts is None else lefts)
    corner = np.zeros((len(matrices), dimension, dimension))
    bordered = np.block([[matrices, beside.swapaxes(1, 2)], [here, corner]])
    return _Oriented(here, beside, np.linalg.slogdet(bordered)[0], cosines)


def _turned_to(vectors: Real, before: Real) -> tuple[Real, Real]:
    """Orthonormal vectors (k, d, n) with the span of `vectors`, as near as can be to those before, and the cosines."""
    u, cosines, v = np.linalg.svd(before @ vectors.swapaxes(1, 2))
    return u @ v @ vectors, cosines[:, -1]
