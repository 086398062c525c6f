"""Which cycles of one period lie on one continuum of them, such as a circle whose points all come back at once."""

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.basins.attractor import Attractor
from dynlab.diagnostics.basins.cycles import Cycle, carried_with_jacobian
from dynlab.diagnostics.fixed_points.flat_pieces import straight_between
from dynlab.jacobians import finite_or_zero
from dynlab.numerics.arrays import Real
from dynlab.numerics.isolation import Equations
from dynlab.numerics.joined import joined
from dynlab.systems.held import Held

WALKED = 512  # ends that say which of several continua is near to others
ALONG = 1e-6  # times max(1, ‖J‖): singular values of J − I up to that lead along the continuum


def on_continuum(held: Held, period: int, states: Real, points: Real) -> NDArray[np.bool_]:
    """Whether roots of F^p(h) − h lead from each one (k, n) to the nearest of the points (m, n) of others."""
    equations = _equations(held, period)
    apart = np.linalg.norm(states[:, None] - points, axis=2)
    goals = points[apart.argmin(axis=1)]
    singular = np.linalg.svd(equations.matrix(torch.as_tensor(states[:1])).numpy()[0], compute_uv=False)
    dimension = max(1, int((singular <= ALONG * max(1.0, float(singular[0]))).sum()))
    reached = joined(equations, states, goals, dimension)
    reached[~reached] = straight_between(equations, states[~reached], goals[~reached])
    return reached


def parted(held: Held, period: int, neutral: list[Cycle]) -> list[list[Cycle]]:
    """Cycles with a multiplier of 1, those together that lie on one continuum."""
    groups: list[list[Cycle]] = []
    left = list(neutral)
    while left:
        group, left = left[:1], left[1:]
        while left:
            points = np.concatenate([cycle.points for cycle in group])
            reached = on_continuum(held, period, np.stack([cycle.points[0] for cycle in left]), points).tolist()
            if not any(reached):
                break
            group += [cycle for cycle, is_reached in zip(left, reached, strict=True) if is_reached]
            left = [cycle for cycle, is_reached in zip(left, reached, strict=True) if not is_reached]
        groups.append(group)
    return groups


def extended(held: Held, listed: list[Attractor], states: Real) -> list[Attractor]:
    """The attractors; of several continua each with those of some ends (k, n) that lie on it among its points."""
    several = [number for number, one in enumerate(listed) if one.is_family]
    if len(several) < 2:
        return listed
    some, found = states[:: -(-len(states) // WALKED)], list(listed)
    for number in several:
        one = found[number]
        reached = on_continuum(held, one.period, some, one.points)
        found[number], some = replace(one, points=np.concatenate([one.points, some[reached]])), some[~reached]
        if not len(some):
            break
    return found


def _equations(held: Held, period: int) -> Equations:
    def value(h: Tensor) -> Tensor:
        moved = h
        for _ in range(period):
            moved = held.moved(moved)
        return moved - h

    def matrix(h: Tensor) -> Tensor:
        product = carried_with_jacobian(held, period, h)[1]
        return finite_or_zero(product - torch.eye(h.shape[-1], dtype=h.dtype))

    return Equations(value, matrix)
