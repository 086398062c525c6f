"""Solutions of (λ − T) x = y for many λ, where T is a real Schur form: real products and divisions of two rows at most.

References
----------
Golub and Van Loan, Matrix Computations, section 7.6.3 (Sylvester equations by Schur forms).
"""

import numpy as np

from dynlab.numerics.arrays import Complex, Real

ROWS = 32  # of the triangle that are solved at a time, so that the rest is one product


def shifted_solutions(triangle: Real, shifts: Complex, right: Real, *, transposed: bool = False) -> Real:
    """Solve (λ_i − T) x_i = y_i, or with Tᵀ, column by column; real parts first, then imaginary ones: (n, 2 m).

    Parameters
    ----------
    triangle : ndarray, shape (n, n)
        Upper triangular but for blocks of 2 × 2 along the diagonal.
    shifts : ndarray of complex, shape (m,)
    right : ndarray, shape (n, 2 m)
        y, real parts of all columns first.

    Returns
    -------
    ndarray, shape (n, 2 m)
        inf or NaN where λ is an eigenvalue of T.
    """
    if transposed:
        return shifted_solutions(triangle[::-1, ::-1].T, shifts, right[::-1])[::-1]
    T, x, m = np.ascontiguousarray(triangle), right.copy(), len(shifts)
    gaps = shifts - T.diagonal()[:, None]
    tied = [False, *(T.diagonal(-1) != 0).tolist()]  # rows that are the second ones of their block
    stop = len(T)
    while stop:
        start = max(0, stop - ROWS)
        start -= tied[start]
        x[start:stop] += T[start:stop, stop:] @ x[stop:]
        last = stop
        while last > start:
            first = last - 1 - tied[last - 1]
            known = x[first:last] + T[first:last, last:stop] @ x[last:stop]
            y = known[:, :m] + 1j * known[:, m:]
            if last - first == 1:
                y /= gaps[first]
            else:
                b, c = T[first, first + 1], T[first + 1, first]
                y = (gaps[first:last][::-1] * y + np.array([[b], [c]]) * y[::-1]) / (
                    gaps[first] * gaps[first + 1] - b * c
                )
            x[first:last, :m], x[first:last, m:] = y.real, y.imag
            last = first
        stop = start
    return x
