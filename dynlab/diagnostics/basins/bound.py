"""The bound beyond which an orbit has left, where nobody says it: beyond the window, and beyond what rests far out."""

import numpy as np

from dynlab.diagnostics.basins.ends import GONE, Ends, ends
from dynlab.diagnostics.basins.plane import Plane
from dynlab.diagnostics.basins.starts import Starts
from dynlab.numerics.arrays import Real
from dynlab.systems.held import Held

LARGEST_STATE, BEYOND_WINDOW = 1e6, 1e3  # the latter times how far the window reaches
FARTHEST, FAR_ONES = 1e100, 512  # a bound within which so many of the orbits that leave the usual one are followed


def ends_within(
    held: Held, begin: Starts, steps: int, largest_state: float | None, max_memory: float
) -> tuple[Ends, float]:
    """Where the starts end, and the bound that they were cut at: `largest_state` where that is given."""
    if largest_state is not None:
        return ends(held, begin.states, steps, largest_state, max_memory), largest_state
    usual = _beyond_all(begin.plane, begin.half)
    found = ends(held, begin.states, steps, usual, max_memory)
    farther = _farther(held, begin.states, found, steps, max_memory)
    return (ends(held, begin.states, steps, farther, max_memory), farther) if farther > usual else (found, usual)


def _beyond_all(plane: Plane, half: float) -> float:
    """The norm beyond which an orbit has left, where nobody says: far outside of the window."""
    return max(LARGEST_STATE, BEYOND_WINDOW * (float(np.linalg.norm(plane.origin)) + half))


def _farther(held: Held, starts: Real, found: Ends, steps: int, max_memory: float) -> float:
    """Far outside of where orbits rest or repeat that have left the usual bound; 0 where none does."""
    gone = np.flatnonzero(found.period == GONE)
    if not len(gone):
        return 0.0
    later = ends(held, starts[gone[:: -(-len(gone) // FAR_ONES)]], steps, FARTHEST, max_memory)
    sizes = np.linalg.norm(np.asarray(held.unit) * later.states[later.period > 0], axis=1)
    return min(FARTHEST, BEYOND_WINDOW * float(sizes.max(initial=0.0)))
