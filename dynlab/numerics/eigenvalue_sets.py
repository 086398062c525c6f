"""The order of eigenvalues, and which of one set belongs to which of another."""

import numpy as np
from numpy.typing import NDArray

from dynlab.numerics.arrays import Complex

# Relative: moduli that differ by less are equal, so that rounding does not decide which of x and −x comes first.
TIE = 1e-10


def order(values: Complex) -> NDArray[np.intp]:
    """The indices that sort eigenvalues: decreasing modulus, of equal ones decreasing real part, a pair's + first.

    Parameters
    ----------
    values : ndarray of complex, shape (..., n)
        A conjugate pair's members are adjacent, the positive imaginary part first, and stay so.

    Returns
    -------
    ndarray of int, shape (..., n)
        NaN last.

    Examples
    --------
    >>> values = np.array([-0.9 - 1e-16, 0.3 + 0.4j, 0.3 - 0.4j, 0.9, 0.5])
    >>> values[order(values)].real.round(12).tolist()
    [0.9, -0.9, 0.5, 0.3, 0.3]
    """
    sizes = np.abs(values)
    first = np.argsort(-sizes, axis=-1, kind="stable")
    falling = np.take_along_axis(sizes, first, axis=-1)
    new = falling[..., :-1] - falling[..., 1:] > TIE * falling[..., :-1]
    tied = np.zeros(values.shape, dtype=np.int64)
    np.put_along_axis(tied, first[..., 1:], np.cumsum(new, axis=-1), axis=-1)
    lower = values.imag < 0
    pair = np.arange(values.shape[-1]) - lower  # both members have the first one's place
    return np.lexsort((lower, pair, -np.abs(values.imag), -values.real, tied, np.isnan(sizes)))


def matched(first: Complex, second: Complex) -> NDArray[np.intp]:
    """Return the index in `second` that belongs to each of `first`, (n,): the assignment of least total distance.

    Parameters
    ----------
    first, second : ndarray of complex, shape (n,)
    """
    from scipy.optimize import linear_sum_assignment  # a second import of half a second, which few callers need

    return np.asarray(linear_sum_assignment(np.abs(first[:, None] - second))[1])
