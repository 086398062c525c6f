"""An orbit that was followed, which stands for all that move on the same set."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from dynlab.numerics.arrays import Real
from dynlab.numerics.flat_orbits import FlatSpaces
from dynlab.numerics.threads import cores

BEYOND, LEAST = 1 + 1e-9, 1e-150  # times the distance that is near: beyond that, and beyond the least, is not near
MANY = 2**12  # states, of which the median stands for that of more, and more are looked at in threads


@dataclass(frozen=True)
class Cloud:
    """An orbit that was followed: its states, how near an end must be, and the number or the code that it has.

    Where orbits beside it leave, `inside` are the spaces that hold it, and an end must be in one of them too.
    """

    tree: cKDTree
    near: float
    number: int
    reason: str = ""
    inside: FlatSpaces | None = None

    def holds(self, states: Real) -> NDArray[np.bool_]:
        most = max(BEYOND * self.near, LEAST)  # what is farther away is not looked for
        near: NDArray[np.bool_] = np.asarray(np.isfinite(states).all(axis=1))
        workers = cores() if len(states) > MANY else 1
        near[near] = self.tree.query(states[near], distance_upper_bound=most, workers=workers)[0] <= self.near
        return near if self.inside is None else near & self.inside.hold(states)

    def distance(self, states: Real) -> float:
        """How far away half of the states are, by every so many of them."""
        return float(np.median(self.tree.query(states[:: max(1, len(states) // MANY)])[0]))
