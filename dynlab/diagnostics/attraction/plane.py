"""A plane in the state space, on which the starts lie."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]

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
    origin = states.mean(axis=0)
    _, sizes, axes = np.linalg.svd(states - origin, full_matrices=False)
    if len(axes) < 2 or sizes[1] == 0:
        # states on a line or a point: any direction beside it will do
        axes = np.linalg.qr(np.concatenate([axes[:1], np.eye(states.shape[1])[:3]]).T)[0].T
    directions = axes[:2] * np.sign(axes[:2][np.arange(2), np.abs(axes[:2]).argmax(axis=1)])[:, None]
    variance = sizes**2
    share = float(variance[:2].sum() / variance.sum()) if variance.sum() else 1.0
    plane = Plane(origin, directions, share)
    reach = float(np.abs(plane.coordinates(states)).max())
    return plane, MARGIN * (reach or 1.0)
