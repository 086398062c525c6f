"""The rate of linear convergence of a sequence, measured by regression."""

import numpy as np
from numpy.typing import NDArray

ROUNDING = 100  # times ε max(1, ‖g*‖): distances below are rounding
PART = 3  # the last third of what lies above rounding is used
FEWEST = 4  # distances that a regression needs
LARGEST = 1e100  # distances above are those of an iteration that has long diverged
AGREEMENT = 0.02  # of the slope: where the two halves of the window differ by more, the rate has not settled
LINEAR = 1e-3  # of the first distance: above it the iteration need not be linear yet, however straight its line


def measured_rate(distance: NDArray[np.float64], floor: float, cycle: int = 1) -> tuple[float, bool]:
    """The rate at which a distance falls, by regression of its logarithm, and whether that has settled.

    The regression is over the last third of what lies above rounding: before, faster modes still count.
    Where many modes decay alike, as in a large random net, the slowest one does not dominate before rounding sets in:
    the measured rate is then a little below the true one, although it has settled.

    Parameters
    ----------
    distance : ndarray, shape (iteration,)
    floor : float
        Below it a distance is rounding.
    cycle : int
        The window is a multiple of this: the period of the step sizes.

    Returns
    -------
    rate : float
        NaN where fewer than `FEWEST` distances lie in the window.
    settled : bool
        Whether the slopes of the window's halves agree within `AGREEMENT`, and the distance has fallen to `LINEAR`.
    """
    usable = np.isfinite(distance) & (distance > floor) & (distance < LARGEST)
    length = len(distance) if usable.all() else int(np.argmin(usable))
    width = (length // PART) // (2 * cycle) * (2 * cycle)
    if width < FEWEST:
        return np.nan, False
    window = np.log(distance[length - width : length])
    slope = _slope(window)
    early, late = _slope(window[: width // 2]), _slope(window[width // 2 :])
    close = distance[length - 1] <= LINEAR * distance[0]
    return float(np.exp(slope)), bool(close and abs(early - late) <= AGREEMENT * abs(slope))


def floor_of(equilibrium: NDArray[np.float64], error: float) -> float:
    """The distance below which an iterate cannot be told from an equilibrium (state,) known up to `error`."""
    return max(ROUNDING * np.finfo(np.float64).eps * max(1.0, float(np.linalg.norm(equilibrium))), error)


def _slope(values: NDArray[np.float64]) -> float:
    steps = np.arange(len(values)) - (len(values) - 1) / 2
    return float(steps @ values / (steps @ steps))
