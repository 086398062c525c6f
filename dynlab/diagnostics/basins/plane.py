"""A plane in the state space, on which the starts lie."""

from dataclasses import dataclass

import numpy as np

from dynlab.numerics.arrays import Real
from dynlab.numerics.principal import principal_components

MARGIN = 1.3  # of the window beyond the states that span the plane


@dataclass(frozen=True)
class Plane:
    """origin + x·directions[0] + y·directions[1].

    Attributes
    ----------
    origin : ndarray, shape (state,)
    directions : ndarray, shape (2, state)
        Orthonormal.
    share : float
        Of the states' variance that lies in the plane; 1 where the plane is the whole state space.
    """

    origin: Real
    directions: Real
    share: float = 1.0

    def states(self, x: Real, y: Real) -> Real:
        """Of a grid, shape (y, x, state)."""
        return self.origin + x[None, :, None] * self.directions[0] + y[:, None, None] * self.directions[1]

    def coordinates(self, states: Real) -> Real:
        """Of the projections of states (..., state) on the plane, shape (..., 2)."""
        return np.asarray((states - self.origin) @ self.directions.T)


def plane_of(states: Real) -> tuple[Plane, float]:
    """The plane of the two leading principal components of states (k, state), and half the width of its window."""
    found = principal_components(states)
    total = found.variances.sum()
    plane = Plane(found.origin, found.directions[:2], float(found.variances[:2].sum() / total) if total else 1.0)
    reach = float(np.abs(plane.coordinates(states)).max())
    return plane, MARGIN * (reach or 1.0)
