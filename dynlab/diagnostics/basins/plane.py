"""The plane that starts of basins lie on, and the box in the whole state space from which others are drawn."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike

from dynlab.errors import UserError
from dynlab.numerics.arrays import Real
from dynlab.numerics.principal import principal_components
from dynlab.systems.autonomous import Held
from dynlab.trajectories.following import orbit

MARGIN = 1.3  # of the window, and of the box, beyond the states that span the plane
EXTENT = 3.0  # half the width of a planar system's window
ORBITS, STEPS = 64, 32  # random ones of a larger system, whose states show where it moves


@dataclass(frozen=True)
class Plane:
    """The states origin + x·directions[0] + y·directions[1] in a window, and a box in all dimensions.

    Attributes
    ----------
    origin : ndarray, shape (state,)
    directions : ndarray, shape (2, state)
        Orthonormal.
    window : ndarray, shape (2, 2)
        Its ends along each direction.
    box : ndarray, shape (2, state)
        The box's lowest and highest states.
    share : float
        Part of the states' variance that lies in the plane; 1 where the plane is the whole state space.
    """

    origin: Real
    directions: Real
    window: Real
    box: Real
    share: float = 1.0

    @property
    def reach(self) -> float:
        """Return a bound on the distance of the window's states from 0."""
        return float(np.linalg.norm(self.origin)) + float(np.abs(self.window).max())

    def states(self, x: Real, y: Real) -> Real:
        """Return the states of a grid, shape (y, x, state)."""
        return self.origin + x[None, :, None] * self.directions[0] + y[:, None, None] * self.directions[1]

    def coordinates(self, states: Real) -> Real:
        """Return the coordinates in the plane of the projections of states (..., state), shape (..., 2)."""
        return np.asarray((states - self.origin) @ self.directions.T)

    def drawn(self, count: int, seed: int) -> Real:
        """Return random states of the box, shape (count, state); none where the plane is all there is."""
        planar = len(self.origin) == len(self.directions)
        return np.random.default_rng(seed).uniform(self.box[0], self.box[1], (count * (not planar), len(self.origin)))


def plane_of_starts(
    held: Held, states: ArrayLike | None, extent: float | None, box: ArrayLike | None, largest: float, seed: int
) -> Plane:
    """Return the plane of the two leading principal components of `states` (..., state), or of random orbits' states.

    A planar system has its own plane.

    Raises
    ------
    UserError
        For states or a box of the wrong shape, or that are not finite.
    """
    n = held.system.state_size
    given = _finite("states", np.zeros((0, n)) if states is None else states, n).reshape(-1, n)
    ends = None if box is None else _finite("box", box, n)
    if ends is not None and (ends.shape != (2, n) or (ends[0] >= ends[1]).any()):
        raise UserError(f"box= is the lowest and the highest state, shape (2, {n}), each coordinate with a range.")
    if n == 2:
        half = extent or (MARGIN * (float(np.abs(given).max()) or 1.0) if len(given) else EXTENT)
        ends = np.array([[-half] * 2, [half] * 2]) if ends is None else ends
        return Plane(np.zeros(2), np.eye(2), ends.T, ends)
    given = given if len(given) else _states_of_orbits(held, ends, largest, seed)
    found = principal_components(given)
    total = found.variances.sum()
    reach = float(np.abs((given - found.origin) @ found.directions[:2].T).max()) or 1.0
    half = extent or MARGIN * reach
    middle, width = (given.max(axis=0) + given.min(axis=0)) / 2, np.ptp(given, axis=0) / 2
    ends = np.stack([middle - MARGIN * width, middle + MARGIN * width]) if ends is None else ends
    share = float(found.variances[:2].sum() / total) if total else 1.0
    return Plane(found.origin, found.directions[:2], np.array([[-half, half]] * 2), ends, share)


def _states_of_orbits(held: Held, box: Real | None, largest: float, seed: int) -> Real:
    """Return random states, of a box where there is one, and those along their orbits that stay."""
    generator, size = np.random.default_rng(seed), (ORBITS, held.system.state_size)
    begin = generator.standard_normal(size) if box is None else generator.uniform(box[0], box[1], size)
    visited = orbit(held, torch.as_tensor(begin).to(held.input), STEPS)[0].double().cpu().numpy()
    stays = (np.abs(visited) <= largest).all(axis=(0, 2))
    return np.concatenate([begin, visited[:, stays].reshape(-1, size[1])])


def _finite(name: str, values: ArrayLike, n: int) -> Real:
    given = np.asarray(values, dtype=float)
    if given.ndim < 2 or given.shape[-1] != n or not np.isfinite(given).all():
        raise UserError(f"The {name} must be finite numbers of shape (..., {n}), got shape {given.shape}.")
    return given
