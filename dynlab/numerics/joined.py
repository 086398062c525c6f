"""Whether two roots lie on one continuum: a walk along it, from one straight towards the other."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.numerics.arrays import Real
from dynlab.numerics.continua import CONTRACTION, CROSSED, MOST_STEPS, STEP, STRAIGHT, TURN
from dynlab.numerics.isolation import Equations
from dynlab.numerics.merging import scale
from dynlab.numerics.roots_in_planes import ON, along, corrected

FORWARD = 0.1  # of the way to the other root must lie along the continuum, or there is no way


def joined(equations: Equations, roots: Real, goals: Real, dimension: int) -> NDArray[np.bool_]:
    """Whether a walk along a continuum of that dimension leads from each root (k, n) to its goal (k, n), shape (k,)."""
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
        left = np.linalg.norm(goals[walking] - there, axis=1)
        settled = (settled | (left <= ON * unit)) & (left < distance)  # at a goal with a singular f' none settles
        settled &= kept | (length[walking] < CROSSED)
        straight = settled & (np.linalg.norm(there - ahead, axis=1) <= STRAIGHT * size)
        again = ~settled & (length[walking] >= CROSSED)  # once more, with a shorter step
        length[walking] = np.where(straight, 2 * length[walking], np.minimum(STEP, length[walking] / 2**again))
        moved = walking[settled]
        here[moved], sides[moved] = there[settled], turned.sides[settled]
        planes[moved], lefts[moved] = turned.planes[settled], turned.lefts[settled]
        walking = walking[(forward > FORWARD * distance) & (settled | again)]
    return arrived


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
