"""The flat pieces of roots that end or bend at kinks."""

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.kinks import probes_of
from dynlab.numerics.arrays import Real
from dynlab.numerics.isolation import Equations, rounding

NULL = 1e-8  # times 1 + ‖f'‖: singular values of directions along which a flat piece may begin
WIDTH = 1e-3  # a piece is looked at so far beside the direction into it, along each null direction
FLAT = 1e-5  # singular values of what stays 0 above that are its dimensions
ALONG = (1e-6, 1e-5, 1e-4)  # times max(1, ‖h‖): how far along these f must be rounding
BETWEEN = (0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875)  # of the way between two roots, where f must be rounding


def flat_piece(equations: Equations, state: Real) -> Real:
    """Orthonormal directions (d, n) of the largest flat piece of roots that the root at a kink belongs to.

    Every side of a kink has a matrix of its own. A direction of its null space that points to that side is one along
    which f stays 0; those of several sides belong to one piece where f also stays 0 between them. None is found where
    the root is alone.
    """
    probes = probes_of(state)
    beside = equations.matrix(torch.as_tensor(state + probes)).numpy()
    pieces = [_rays(equations, state, matrix, probe) for matrix, probe in zip(beside, probes, strict=True)]
    largest = max(pieces, key=_rank)
    if len(largest) == 0:
        return largest
    rays = np.concatenate(pieces)
    together = rays[_vanishes_from(equations, state, largest.mean(axis=0) + WIDTH * rays)]
    return np.linalg.svd(together, full_matrices=False)[2][: _rank(together)]


def _rays(equations: Equations, state: Real, matrix: Real, probe: Real) -> Real:
    """Directions (k, n) on one side of a kink, the side of the probe, along which f stays 0."""
    _, sigma, v = np.linalg.svd(matrix)
    null = v[sigma <= NULL * (1 + sigma[0])]
    inward = null.T @ (null @ probe)
    if not inward.any():
        return null[:0]
    around = inward / np.linalg.norm(inward) + np.concatenate([np.zeros((1, len(state))), WIDTH * null])
    return around[_vanishes_from(equations, state, around)]


def _rank(rays: Real) -> int:
    return int((np.linalg.svd(rays, compute_uv=False) > FLAT).sum()) if len(rays) else 0


def _vanishes_from(equations: Equations, state: Real, directions: Real) -> NDArray[np.bool_]:
    """Whether f is rounding from `state` a little way along each direction (k, n), shape (k,)."""
    unit = max(1.0, float(np.linalg.norm(state)))
    ways = unit * np.array(ALONG)[None, :, None] * directions[:, None]
    return _vanishes(equations, state, state + ways)


def rounds_to_zero(equations: Equations, state: Real) -> bool:
    """Whether f at a kink is no more than rounding leaves of it, of the steepest side's: else there is no root."""
    point = torch.as_tensor(state)[None]
    beside = equations.matrix(torch.as_tensor(state + probes_of(state))).abs().amax(dim=0)
    values = equations.value(point)
    return bool((values.abs() <= len(state) * rounding(equations, point, values, beside[None])).all())


def straight_between(equations: Equations, roots: Real, goals: Real) -> NDArray[np.bool_]:
    """Whether f is rounding on the straight way from each root (k, n) to its goal (k, n), shape (k,)."""
    ways = np.array(BETWEEN)[None, :, None] * (goals - roots)[:, None]
    return np.array([_vanishes(equations, root, (root + way)[None])[0] for root, way in zip(roots, ways, strict=True)])


def _vanishes(equations: Equations, root: Real, states: Real) -> NDArray[np.bool_]:
    """Whether f is rounding, of the steepest side there, or what it is at the root, at all (k, m, n) of each row."""
    points = torch.as_tensor(states.reshape(-1, states.shape[-1]))
    values = equations.value(points)
    near = torch.as_tensor(np.array([point + probes_of(point) for point in points.numpy()]))
    beside = equations.matrix(near.flatten(end_dim=1)).abs().reshape(*near.shape, -1).amax(dim=1)
    noise = rounding(equations, points, values, beside)
    left = 2 * equations.value(torch.as_tensor(root)[None]).abs()
    vanishes: NDArray[np.bool_] = (values.abs() <= noise + left).all(-1).reshape(states.shape[:-1]).all(-1).numpy()
    return vanishes
