"""The plane that starts of basins lie on, and the box in the whole state space from which others are drawn."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike

from dynlab.errors import UserError
from dynlab.numerics.arrays import Real
from dynlab.numerics.principal import principal_components
from dynlab.systems.held import Held
from dynlab.trajectories.following import orbit

MARGIN = 1.3  # of the window, and of the box, beyond the states that span the plane
EXTENT = 3.0  # half the width of a planar system's window
ORBITS, STEPS = 64, 32  # random ones of a larger system, whose states show where it moves


@dataclass(frozen=True)
class Plane:
    """The states origin + x·directions[0] + y·directions[1] in a window, and a box about it in all dimensions.

    Attributes
    ----------
    origin : ndarray, shape (state,)
    directions : ndarray, shape (2, state)
        Orthonormal.
    half : float
        Half the width of the window.
    lowest, highest : ndarray, shape (state,)
        Of the box: of the states that span the plane, with a margin.
    share : float
        Of the states' variance that lies in the plane; 1 where the plane is the whole state space.
    """

    origin: Real
    directions: Real
    half: float
    lowest: Real
    highest: Real
    share: float = 1.0

    def states(self, line: Real) -> Real:
        """Return the states of a grid, shape (y, x, state)."""
        return self.origin + line[None, :, None] * self.directions[0] + line[:, None, None] * self.directions[1]

    def coordinates(self, states: Real) -> Real:
        """Return the coordinates in the plane of the projections of states (..., state), shape (..., 2)."""
        return np.asarray((states - self.origin) @ self.directions.T)

    def drawn(self, count: int, seed: int) -> Real:
        """Return random states of the box, shape (count, state); none where the plane is all there is."""
        if len(self.origin) == len(self.directions):
            return np.zeros((0, len(self.origin)))
        return np.random.default_rng(seed).uniform(self.lowest, self.highest, (count, len(self.origin)))


def plane_of(states: Real, half: float | None = None) -> Plane:
    """Return the plane of the two leading principal components of states (k, state), in a window that holds them."""
    found = principal_components(states)
    total = found.variances.sum()
    share = float(found.variances[:2].sum() / total) if total else 1.0
    reach = float(np.abs((states - found.origin) @ found.directions[:2].T).max()) or 1.0
    middle, width = (states.max(axis=0) + states.min(axis=0)) / 2, np.ptp(states, axis=0) / 2
    corners = (middle - MARGIN * width, middle + MARGIN * width)
    return Plane(found.origin, found.directions[:2], half or MARGIN * reach, *corners, share)


def plane_of_starts(held: Held, states: ArrayLike | None, extent: float | None, largest: float, seed: int) -> Plane:
    """Return the plane that `states` (..., state) span, or that of a system's own random orbits.

    Raises
    ------
    UserError
        For states of the wrong width, or that are not finite.
    """
    n = held.system.state_size
    if states is not None:
        given = np.asarray(states, dtype=float)
        if given.ndim < 2 or given.shape[-1] != n or not np.isfinite(given).all():
            raise UserError(f"The states must be finite numbers of shape (..., {n}), got shape {given.shape}.")
        given = given.reshape(-1, n)
        if n > 2:
            return plane_of(given, extent)
        extent = extent or MARGIN * (float(np.abs(given).max()) or 1.0)
    if n == 2:
        half = extent or EXTENT
        return Plane(np.zeros(2), np.eye(2), half, np.full(2, -half), np.full(2, half))
    begin = np.random.default_rng(seed).standard_normal((ORBITS, n))
    with torch.no_grad():
        visited = orbit(held, torch.as_tensor(begin).to(held.input), STEPS)[0].double().cpu().numpy()
    stays = (np.abs(visited) <= largest).all(axis=(0, 2))
    return plane_of(np.concatenate([begin, visited[:, stays].reshape(-1, n)]), extent)
