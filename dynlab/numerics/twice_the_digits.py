"""Sums of products of float64 numbers, to about twice their digits, by error-free transformations.

They need nothing of the machine beyond float64 with rounding to nearest, and are the same everywhere; a wider type
such as np.longdouble has 64 bits on some machines and 53 on others.

References
----------
Dekker, Numer. Math. 18 (1971); Ogita, Rump and Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput. 26 (2005),
algorithms 3.1 to 3.3 and 5.3.
"""

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]

UNIT = float(np.finfo(np.float64).eps) / 2  # the relative error of one rounding
SPLITTER = 2.0**27 + 1  # Dekker's: it cuts 53 bits into two halves of at most 26
UNDERFLOW = 1e-290  # products below this may lose bits; numbers are scaled to be about 1


def two_sum(a: Real, b: Real) -> tuple[Real, Real]:
    """The rounded sum and its error, a + b = sum + error exactly."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def two_product(a: Real, b: Real) -> tuple[Real, Real]:
    """The rounded product and its error, a · b = product + error exactly where nothing under- or overflows."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _split(a), _split(b)
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def dot(a: Real, b: Real) -> tuple[Real, Real, Real]:
    """Σ a·b over the last dimension: its leading part, the rest, and a bound on the error of the two together.

    Parameters
    ----------
    a, b : ndarray, shapes (..., k) that broadcast
        Numbers of modulus up to about 1e100.

    Returns
    -------
    high, low, error : ndarray, shape (...)
        |Σ a·b − (high + low)| ≤ error, of about k log₂ k u² Σ |a·b|.

    Notes
    -----
    The products are summed in pairs, pairs of pairs and so on. With L = ⌈log₂ k⌉ such levels no partial sum exceeds
    S = Σ |a·b| by more than its roundings, so that the errors of products and sums are (L + 1) u S in all, up to higher
    order, and their plain sum, of fewer than 2k terms, errs by at most 2k u times that.
    """
    values, errors = two_product(a, b)
    count, levels = values.shape[-1], 0
    size = np.abs(values).sum(axis=-1)
    low = errors.sum(axis=-1)
    while values.shape[-1] > 1:
        half = values.shape[-1] // 2
        rest = values[..., 2 * half :]
        sums, errors = two_sum(values[..., :half], values[..., half : 2 * half])
        low = low + errors.sum(axis=-1)
        values, levels = np.concatenate([sums, rest], axis=-1), levels + 1
    bound = 2 * (2 * count + levels + 2) * (levels + 2) * UNIT**2 * size + count * UNDERFLOW
    return values[..., 0], low, bound


def _split(a: Real) -> tuple[Real, Real]:
    scaled = SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high
