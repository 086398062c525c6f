"""Where J − I is singular: a continuum of fixed points, or one that is degenerate."""

from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.jacobians import displacement_matrices
from dynlab.numerics import merging
from dynlab.numerics.levenberg_marquardt import solve
from dynlab.systems.held import Held

# Times max(1, ‖J‖₂): a σ_min(J − I) below is singular. A simple fold computed to a residual of 1e-12 still has 1e-6.
SINGULAR = 1e-8
PROBE = 0.05  # times max(1, ‖h‖): how far along the singular direction the next root of a continuum is looked for
STAYED = 0.5  # of the probe's length: on a continuum a probe ends nearer than that to where it was put


def on_continuum(frozen: Held, points: NDArray[np.float64], directions: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether there are other fixed points close by in the direction in which J − I is singular.

    A point is moved by `PROBE` that way, and back to the nearest root: on a continuum that is another one, while a
    degenerate root pulls it back or lets it go nowhere.

    Parameters
    ----------
    frozen : Held
    points : ndarray, shape (m, n)
        Roots with a singular J − I.
    directions : ndarray, shape (m, n)
        Unit vectors v with (J − I) v ≈ 0.
    """
    shift = PROBE * merging.scale(points)[:, None] * directions
    found = np.zeros(len(points), dtype=bool)
    for probes in (points + shift, points - shift):
        found |= _stays(frozen, probes, STAYED * np.linalg.norm(shift, axis=1))
    return found


def continua(frozen: Held, points: NDArray[np.float64]) -> NDArray[np.int64]:
    """The number of the continuum that each point lies on.

    Two lie on one where a chain of neighbours connects them, halfway between each two of which is a root too.
    """
    edges = merging.spanning_edges(points)
    ends = points[edges]
    middle = ends.mean(axis=1)
    kept = _stays(frozen, middle, STAYED * np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) / 2)
    return merging.in_order(points, merging.components(len(points), edges[kept]))


def _stays(frozen: Held, probes: NDArray[np.float64], reach: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether the nearest root is within `reach` of where each probe was put."""
    if len(probes) == 0:
        return np.zeros(0, dtype=bool)
    ended = solve(frozen.displacement, partial(displacement_matrices, frozen), torch.as_tensor(probes))
    moved = np.linalg.norm(ended.states.numpy() - probes, axis=1)
    return ended.converged.numpy() & (moved <= reach)
