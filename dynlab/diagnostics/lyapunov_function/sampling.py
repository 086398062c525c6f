"""Samples of V = |T (h − h*)|²: on levels around h*, and on the plane of its two slowest directions."""

from typing import Any

import numpy as np
import scipy.linalg
import torch

from dynlab.numerics.arrays import Real
from dynlab.systems.autonomous import Held

DIRECTIONS = 512  # drawn on each level, beside the axes of the set
AROUND = 128  # directions in the plane of the two slowest
MOST_AXES = 256  # of a set, the slowest, along which states are sampled
LEVELS = 81  # sampled radii
WIDEST = 1e3  # the largest level, in radii that are proved
SMALLEST = 2.0**-30  # times the unit ball's level: below nothing is looked for
ROUNDED = 1e-6  # of the plane's width: nearer to h* rounding may be what grows
GRID = 81  # points of the plane in each direction
ROOM = 1.3  # of the plane beyond the sampled set


def sampled(at_rest: Held, state: Real, T: Real, radius: float, others: Real, seed: int) -> dict[str, Any]:
    """Sample the rate at which V changes around the fixed point h* = `state`, (n,).

    `radius` |T (h − h*)| is proved, 0 where none is; at `others` (k, n), other fixed points, V does not fall.

    Returns
    -------
    dict
        ``sampled_radius``, ``sampled_rate``, ``level``, ``largest_rate``, ``extent`` and ``ratio``.
    """
    axes, sizes, _ = np.linalg.svd(T)
    offsets = (others - state) @ T.T
    away = np.linalg.norm(offsets, axis=1)
    offsets, away = offsets[away > 0], away[away > 0]
    along = np.concatenate([_directions(axes, np.random.default_rng(seed)), offsets / away[:, None]])
    base = radius or float(sizes[0])  # the unit ball of states is not larger than this level

    def largest_rate(level: float) -> float:
        return float(_rates(at_rest, state, T, level * along).max())

    while not radius and base > SMALLEST * sizes[0] and not largest_rate(base / WIDEST) < 0:
        base /= WIDEST
    levels = base * np.geomspace(1 / WIDEST, WIDEST, LEVELS)
    largest = np.array([largest_rate(level) for level in levels])
    falls = (largest < 0) & (levels < away.min(initial=np.inf))
    reach = float(np.append(0.0, levels)[np.append(~falls, True).argmax()])  # the last level before V grows
    extent = ROOM * max(radius, reach)
    plane = np.stack(np.meshgrid(np.linspace(-1, 1, GRID), np.linspace(-1, 1, GRID)), axis=-1)
    leading = axes.T[:2] if len(state) > 1 else np.array([[1.0], [0.0]])
    u = (extent * plane @ leading).reshape(-1, len(state))
    rates, distance = _rates(at_rest, state, T, u), np.linalg.norm(u, axis=1)
    growing = distance[(rates >= 0) & (distance > max(radius, ROUNDED * extent))].min(initial=np.inf)
    if reach >= growing > radius:  # the plane has many more states of its two directions
        reach = float(levels[levels < growing].max(initial=0.0))
    seen = float(largest[levels <= radius].max(initial=-np.inf)) if radius else np.nan
    found = {"sampled_radius": reach, "sampled_rate": seen if at_rest.is_flow else float(np.exp(seen))}
    return found | {"level": levels, "largest_rate": largest, "extent": extent, "ratio": rates.reshape(GRID, GRID)}


def _directions(axes: Real, generator: np.random.Generator) -> Real:
    """Return unit vectors u = T x, (direction, state): both ways along the set's axes, in a plane of two, at random.

    Along T's leading singular vectors, the columns of `axes`, the slowest first, V is largest for its distance: most is
    left to fall. In many dimensions none drawn at random comes near to them.
    """
    drawn = generator.standard_normal((DIRECTIONS, len(axes)))
    slowest = axes.T[:MOST_AXES]
    around = np.exp(2j * np.pi * np.arange(AROUND) / AROUND)
    plane = np.outer(around.real, slowest[0]) + np.outer(around.imag, slowest[min(1, len(slowest) - 1)])
    plane = plane[: AROUND * (len(slowest) > 1)]
    return np.concatenate([slowest, -slowest, plane, drawn / np.linalg.norm(drawn, axis=1, keepdims=True)])


@np.errstate(divide="ignore", invalid="ignore")
def _rates(at_rest: Held, state: Real, T: Real, u: Real) -> Real:
    """Return ln |T (F(h) − h*)|/|u| at h = h* + T⁻¹ u, or for a flow the rate of ln |T (h − h*)|; NaN at u = 0."""
    moved = at_rest.moved(torch.from_numpy(state + scipy.linalg.solve_triangular(T, u.T).T)).numpy()
    size = np.linalg.norm(u, axis=1)
    if at_rest.is_flow:
        return np.asarray((u * (moved @ T.T)).sum(axis=1) / size**2)
    return np.asarray(np.log(np.linalg.norm((moved - state) @ T.T, axis=1) / size))
