"""Say in words how much of a small change is left after a whole sequence."""

import math
from typing import Any

import numpy as np

from dynlab.numerics.arrays import Real
from dynlab.words import READABLE, agree, number, power

UNCHANGED = 0.05  # nats: a factor nearer to 1 is told as a power of e alone
SURVIVES = 0.1  # a direction survives where its singular value is at least this


def sized(exponents: Real) -> str:
    """Return how large numbers are whose logarithms (sample,) are given, those that are exactly 0 counted.

    Examples
    --------
    >>> sized(np.array([-3.0])), sized(np.array([-np.inf, -3.0])), sized(np.array([np.nan]))
    ('e^−3.00 ≈ 0.05', 'exactly 0 in 1 of 2 samples, in the others e^−3.00 ≈ 0.05', 'not known')
    """
    finite, zeros, samples = exponents[np.isfinite(exponents)], int(np.isneginf(exponents).sum()), len(exponents)
    if zeros == samples:
        return "exactly 0"
    size = f"{factor(float(np.median(finite)))}{among(finite, samples - zeros)}" if finite.size else "not known"
    return f"exactly 0 in {zeros} of {samples} samples, in the others {size}" if zeros else size


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
    'At most 1 of 3 singular values is at least 0.1 (median 0.5; known in 2 of 3 samples)'
    """
    known = kept[np.isfinite(kept)]
    values = f"singular {'value' if n == 1 else 'values'}"
    if not known.size:
        return f"How many of the {n:,} {values} are at least {SURVIVES} is undecided"
    most, varies = int(known.max()), bool(known.min() < known.max())
    count = f"{'At most ' * varies}{most:,} of {n:,}" if most else f"None of the {n:,}"
    remarks = [f"median {float(np.median(known)):g}"] * varies
    remarks += [f"known in {known.size:,} of {kept.size:,} samples"] * (known.size < kept.size)
    said = f"{count} {values} {agree(most or 1)} at least {SURVIVES}"
    return f"{said} ({'; '.join(remarks)})" if remarks else said


def factor(exponent: float) -> str:
    """Write a power of e and what it is: "e^−3.00 ≈ 0.05"; alone where that is no number to read."""
    if abs(exponent) < UNCHANGED:
        return power(exponent)
    return power(exponent) + (f" ≈ {number(math.exp(exponent), 2)}" if abs(exponent) <= READABLE else "")


def among(exponents: Any, samples: int) -> str:
    """Say of how many samples a power of e is the median, and its range; `exponents` are those that are known.

    Examples
    --------
    >>> among([-2.0, -1.0], 2), among([-2.0, -1.0], 3), among([-1.0], 3)
    (' (median of 2 samples, range e^−2.00 to e^−1.00)',
     ' (median of the 2 of 3 samples in which it is known, range e^−2.00 to e^−1.00)',
     ' (in the one of 3 samples in which it is known)')
    """
    known = int(np.size(exponents))
    if samples == 1:
        return ""
    if known == 1:
        return f" (in the one of {samples:,} samples in which it is known)"
    of = f"{samples:,} samples" if known == samples else f"the {known:,} of {samples:,} samples in which it is known"
    low, high = power(np.min(exponents)), power(np.max(exponents))
    return f" (median of {of}" + (")" if low == high else f", range {low} to {high})")
