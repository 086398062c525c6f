"""The time that a mode lasts and the speed at which it turns, from its eigenvalue and that eigenvalue's error."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynlab.numerics.arrays import Complex, Real

EPS = float(np.finfo(np.float64).eps)
DECAYS, GROWS, UNDECIDED = "decays", "grows", "undecided"


class Lasting(NamedTuple):
    """Fate and times of modes, arrays of the shape of their eigenvalues.

    Attributes
    ----------
    fate : ndarray of str
        "decays", "grows", or "undecided" where abs(μ) is 1, or of a flow Re λ is 0, within its error.
    time_constant : ndarray
        −1/ln abs(μ) in steps, or −1/Re λ in seconds: negative where the mode grows, inf where that is undecided.
    error : ndarray
        Bound on its error; NaN where it is undecided.
    doubling_time : ndarray
        ln 2/ln abs(μ) in steps, or ln 2/Re λ in seconds, where the mode grows, else NaN.
    frequency : ndarray
        arg μ/2π in cycles a step, from −½ to ½, NaN where μ is zero within its error; or Im λ/2π in cycles a second.
    """

    fate: NDArray[np.str_]
    time_constant: Real
    error: Real
    doubling_time: Real
    frequency: Real


@np.errstate(divide="ignore", invalid="ignore")
def lasting(values: Complex, errors: Real, is_flow: bool = False) -> Lasting:
    """Return the fate of modes with these eigenvalues, of a map or a flow, and bounds on the error of each."""
    size = values.real if is_flow else np.abs(values)
    excess = size if is_flow else size - 1
    fate = np.where(excess > errors, GROWS, np.where(-excess > errors, DECAYS, UNDECIDED))
    known = fate != UNDECIDED
    sides = [size + side * errors for side in (-1, 0, 1)]
    low, constant, high = (-1 / (each if is_flow else np.log(np.maximum(each, 0))) + 0.0 for each in sides)
    rounding = 2 * EPS * (np.abs(constant) + (0 if is_flow else constant**2))  # of |μ|, its logarithm and the quotient
    error = np.where(known, np.maximum(np.abs(low - constant), np.abs(high - constant)) + rounding, np.nan)
    doubling = np.where(fate == GROWS, -np.log(2) * constant, np.nan)
    turning = values.imag if is_flow else np.where(size > errors, np.angle(values), np.nan)
    return Lasting(fate, np.where(known, constant, np.inf), error, doubling, turning / (2 * np.pi))
