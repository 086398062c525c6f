"""The starts on a plane, and the unit that each coordinate of their states is measured in."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import ArrayLike

from dynlab.diagnostics.basins.plane import Plane, plane_of
from dynlab.diagnostics.fixed_points.starts import ORDINARY, unit_of
from dynlab.errors import UserError
from dynlab.numerics.arrays import Real
from dynlab.systems.held import Held

EXTENT = 3.0  # half the width of a planar system's window
# One of the states that the plane was made from is followed for so many starts on it, and so many at most.
OTHERS, MOST_OTHERS = 16, 256


@dataclass(frozen=True)
class Starts:
    """Where orbits start: on a grid of the plane, and at some of the states that the plane was made from.

    Attributes
    ----------
    plane : Plane
    line : ndarray, shape (grid,)
        The plane's coordinates of the grid, in both directions.
    half : float
        Half the width of the window.
    unit : float or ndarray, shape (state,)
        What each coordinate of a state is measured in.
    states : ndarray, shape (start, state)
        In that unit, those of the grid first.
    """

    plane: Plane
    line: Real
    half: float
    unit: float | Real
    states: Real

    @property
    def on_plane(self) -> int:
        """How many of them lie on the grid."""
        return len(self.line) ** 2

    @property
    def others(self) -> int:
        """How many are states that the plane was made from: their ends say what the plane misses."""
        return len(self.states) - self.on_plane

    def in_unit(self, held: Held) -> Held:
        """The system with its states measured in that unit."""
        return held if isinstance(self.unit, float) else replace(held, unit=torch.as_tensor(self.unit).to(held.input))


def starts_on_plane(
    held: Held, states: ArrayLike | None, grid: int, extent: float | None, largest_state: float, seed: int
) -> Starts:
    """The starts on a grid of the plane that `states` (..., state) span, or what a system has of its own.

    Raises
    ------
    UserError
        For states of the wrong width, or that are not finite.
    """
    plane, wide_enough, spanning = _plane(held, states, seed, largest_state)
    half = wide_enough if extent is None else extent
    line = np.linspace(-half, half, grid)
    on_plane, unit = plane.states(line, line).reshape(-1, held.system.state_size), _unit(held, half)
    return Starts(plane, line, half, unit, np.concatenate([on_plane, _some_of(spanning, len(on_plane))]) / unit)


def _plane(held: Held, states: ArrayLike | None, seed: int, largest_state: float) -> tuple[Plane, float, Real]:
    """The plane of the starts, half the width of its window, and the states (k, n) that span it, none of all states."""
    n = held.system.state_size
    if states is not None:
        given = np.asarray(states, dtype=float)
        if given.ndim < 2 or given.shape[-1] != n or not np.isfinite(given).all():
            raise UserError(f"The states must be finite numbers of shape (..., {n}), got shape {given.shape}.")
        given = given.reshape(-1, n)
        if n != 2:
            return *plane_of(given), given
        return Plane(np.zeros(2), np.eye(2)), 1.3 * (float(np.abs(given).max()) or 1.0), np.zeros((0, 2))
    if n == 2:
        return Plane(np.zeros(2), np.eye(2)), EXTENT, np.zeros((0, 2))
    # orbits from random starts show where a network's states are; of those that leave nothing is shown
    orbits = [torch.as_tensor(np.random.default_rng(seed).standard_normal((64, n)))]
    with torch.no_grad():
        for _ in range(32):
            orbits.append(held.moved(orbits[-1]))
    visited = torch.stack(orbits[1:]).numpy()
    stays = (np.abs(visited) <= largest_state).all(axis=(0, 2))
    spanning = visited[:, stays].reshape(-1, n) if stays.any() else orbits[0].numpy()
    return *plane_of(spanning), spanning


def _some_of(spanning: Real, starts: int) -> Real:
    """Some of the states that span the plane, evenly spaced, and few beside so many starts on it."""
    count = min(len(spanning), MOST_OTHERS, -(-starts // OTHERS))
    return spanning[np.linspace(0, len(spanning) - 1, count).astype(np.int64)]


def _unit(held: Held, half: float) -> float | Real:
    """What each coordinate is measured in: a large one in its own unit, others in a window's of less than 1/1000."""
    own = np.maximum(np.broadcast_to(unit_of(held), held.system.state_size), 1.0)  # a small one may be rounding
    window = 2.0 ** np.floor(np.log2(half))
    units = np.where(own == 1, window if ORDINARY * window < 1 else 1.0, own)
    return units if (units != 1).any() else 1.0
