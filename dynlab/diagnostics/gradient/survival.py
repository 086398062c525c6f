"""Say in words how much of a small change is left after a whole sequence."""

import math

import numpy as np

from dynlab.numerics.arrays import Real
from dynlab.words import READABLE, number, power, ranged

UNCHANGED = 0.05  # nats: a factor nearer to 1 is told as a power of e alone
SURVIVES = 0.1  # a direction survives where its singular value is at least this


def sized(exponents: Real) -> str:
    """Return how large numbers are whose logarithms (sample,) are given: the median, the range, and how many are 0.

    Examples
    --------
    >>> sized(np.array([-3.0])), sized(np.array([-np.inf, -3.0])), sized(np.array([np.nan]))
    ('e^−3.00 ≈ 0.05', 'e^−3.00 ≈ 0.05 (median of 1 of 2 samples), exactly 0 in 1', 'not known')
    """
    finite, zeros, samples = exponents[np.isfinite(exponents)], int(np.isneginf(exponents).sum()), len(exponents)
    if not finite.size:
        return "exactly 0" if 0 < zeros == samples else "not known"
    median, low, high = float(np.median(finite)), power(finite.min()), power(finite.max())
    text = power(median)
    if UNCHANGED <= abs(median) <= READABLE:
        text += f" ≈ {number(math.exp(median), 2)}"
    if samples > 1:
        of = f"{finite.size:,} of " * (finite.size < samples) + f"{samples:,} samples"
        text += f" (median of {of}{f', range {low} to {high}' * (low != high)})"
    return text + f", exactly 0 in {zeros:,}" * bool(zeros)


def surviving(kept: Real, n: int) -> str:
    """Return how many of the `n` singular values of ∂h_T/∂h_0 are at least `SURVIVES`, without a full stop.

    Parameters
    ----------
    kept : ndarray, shape (sample,)
        Number of those, in each sample; NaN where that is undecided.
    n : int

    Examples
    --------
    >>> surviving(np.array([1.0, 0.0, np.nan]), 3)
    '0.5 (range 0 to 1) of 3 singular values are at least 0.1, where that is known (2 of 3 samples)'
    """
    known = np.isfinite(kept)
    if not known.any():
        return f"How many of {n:,} singular values are at least {SURVIVES} is undecided"
    where = "" if known.all() else f", where that is known ({known.sum():,} of {kept.size:,} samples)"
    return f"{ranged(kept, 0)} of {n:,} singular values are at least {SURVIVES}{where}"
