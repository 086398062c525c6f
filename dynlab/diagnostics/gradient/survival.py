"""How much of a small change is left after a whole sequence, in words."""

import numpy as np

from dynlab.numerics.arrays import Real
from dynlab.wording import agree, among, factor, ranged

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
        How many are, in each sample; NaN where that is undecided.
    n : int

    Examples
    --------
    >>> surviving(np.array([1.0, 0.0, np.nan]), 3)
    '0.5 (range 0 to 1) of the 3 singular values of ∂h_T/∂h_0 is at least 0.1 (known in 2 of 3 samples)'
    """
    known = kept[np.isfinite(kept)]
    values = f"singular {'value' if n == 1 else 'values'} of ∂h_T/∂h_0"
    if not known.size:
        return f"How many of the {n:,} {values} are at least {SURVIVES} is undecided"
    some = f" (known in {known.size:,} of {kept.size:,} samples)" if known.size < kept.size else ""
    count = f"{ranged(known, 0)} of the {n:,}" if known.any() else "None of the" + f" {n:,}" * (n > 1)
    return f"{count} {values} {agree(int(known.max()) or 1)} at least {SURVIVES}{some}"
