"""A second method for each root: MINPACK's hybrid one, `scipy.optimize.fsolve`, started off the root."""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.optimize

from dynlab.numerics import merging
from dynlab.numerics.arrays import Real

Function = Callable[[Real], Real]

OFFSETS = (1e-3, 1e-6, 1e-9)  # times max(1, ‖h‖): how far off the root fsolve starts, nearer where it ends elsewhere
XTOL = 1e-13
SMALLEST_DISTANCE = 1e-8  # times max(1, ‖h‖): up to which two computed roots always agree
RESIDUALS = 10.0  # times ‖f‖/σ_min(∇f): how far from the true root a computed one may be


class Check(NamedTuple):
    """The state that fsolve found.

    Attributes
    ----------
    state : ndarray, shape (n,)
    residual : float
        ‖f‖₂ there, computed anew: fsolve's own flag fails true roots near the origin.
    distance : float
        ‖state − root‖₂.
    """

    state: Real
    residual: float
    distance: float


def check(f: Function, jacobian: Function, root: Real, direction: Real) -> Check:
    """Start fsolve on both sides of the root along `direction`, a unit vector, until it ends at the root.

    It starts `OFFSETS` off, times max(1, ‖root‖); of several ends the nearest to the root is returned.
    """
    scale, ends = float(merging.scale(root)), []
    for length in [side * offset for offset in OFFSETS for side in (scale, -scale)]:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)
            state = scipy.optimize.fsolve(f, root + length * direction, fprime=jacobian, xtol=XTOL, full_output=True)[0]
        distance = float(np.nan_to_num(np.linalg.norm(state - root), nan=np.inf))
        ends.append(Check(state, float(np.linalg.norm(f(state))), distance))
        if distance <= SMALLEST_DISTANCE * scale:
            break
    return min(ends, key=lambda end: end.distance)


def position_error(residual: float, smallest_singular_value: float) -> float:
    """Return how far from the true root a computed one may be: 10 ‖f‖/σ_min(∇f); inf where that is singular."""
    return RESIDUALS * residual / smallest_singular_value if smallest_singular_value > 0 else np.inf
