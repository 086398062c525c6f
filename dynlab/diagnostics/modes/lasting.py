"""How long a mode lasts and how fast it turns, from its eigenvalue and that eigenvalue's error."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynlab.numerics.arrays import Complex, Real

EPS = float(np.finfo(np.float64).eps)
DECAYS, GROWS, UNDECIDED = "decays", "grows", "undecided"


class Lasting(NamedTuple):
    """Of eigenvalues μ of a map, arrays of their shape.

    Attributes
    ----------
    fate : ndarray of str
        "decays", "grows", or "undecided" where abs(μ) is 1 within its error.
    time_constant : ndarray
        −1/ln abs(μ) in steps: 0 for μ = 0, negative where the mode grows, inf where that is undecided.
    error : ndarray
        How far that may be off; NaN where it is undecided.
    doubling_time : ndarray
        ln 2/ln abs(μ) in steps where the mode grows, else NaN.
    frequency : ndarray
        arg μ/2π in cycles a step, from −½ to ½; NaN where μ is zero within its error.
    """

    fate: NDArray[np.str_]
    time_constant: Real
    error: Real
    doubling_time: Real
    frequency: Real


def lasting(values: Complex, errors: Real) -> Lasting:
    """Of eigenvalues with a bound on the error of each."""
    modulus = np.abs(values)
    fate = np.where(modulus - 1 > errors, GROWS, np.where(1 - modulus > errors, DECAYS, UNDECIDED))
    known = fate != UNDECIDED
    with np.errstate(divide="ignore", invalid="ignore"):
        low, constant, high = (-1 / np.log(np.maximum(modulus + side * errors, 0)) + 0.0 for side in (-1, 0, 1))
        rounding = 2 * EPS * (np.abs(constant) + constant**2)  # of |μ|, of its logarithm and of the quotient
        error = np.where(known, np.maximum(np.abs(low - constant), np.abs(high - constant)) + rounding, np.nan)
    doubling = np.where(fate == GROWS, -np.log(2) * constant, np.nan)
    turning = np.where(modulus > errors, np.angle(values) / (2 * np.pi), np.nan)
    return Lasting(fate, np.where(known, constant, np.inf), error, doubling, turning)
