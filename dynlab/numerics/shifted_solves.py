"""Solutions of (λ − T) x = y for many λ, where T is a real Schur form: real products and divisions of two rows at most.

References
----------
Golub and Van Loan, Matrix Computations, section 7.6.3 (Sylvester equations by Schur forms).
"""

import numpy as np

from dynlab.numerics.arrays import Complex, Real

ROWS = 8  # of the triangle that are solved one by one; all between them and others are matrix products
GROWN = 2.0**400  # columns beyond it are scaled down: ROWS rows more do not overflow


def shifted_solutions(triangle: Real, shifts: Complex, right: Complex, *, transposed: bool = False) -> Complex:
    """Solve (λ_i − T) x_i = y_i, or with Tᵀ, column by column.

    Parameters
    ----------
    triangle : ndarray, shape (n, n)
        Upper triangular but for blocks of 2 × 2 along the diagonal, whose two diagonal entries are equal.
    shifts : ndarray of complex, shape (m,)
    right : ndarray of complex, shape (n, m)
        y.

    Returns
    -------
    ndarray of complex, shape (n, m)
        inf or NaN where λ is an eigenvalue of T.
    """
    turn = slice(None, None, -1 if transposed else 1)
    T = np.ascontiguousarray(triangle[turn, turn].T if transposed else triangle)
    x, exponent = solved(T, inverses_of_blocks(T, shifted_gaps(T, shifts)), right[turn])
    if exponent.any():
        x *= np.exp2(exponent)
    return x[turn]


def shifted_gaps(T: Real, shifts: Complex) -> Complex:
    """λ less each eigenvalue of T's diagonal blocks, of a pair the positive imaginary part first, shape (n, m)."""
    return np.asarray(shifts - eigenvalues_of_form(T)[:, None])


def eigenvalues_of_form(T: Real) -> Complex:
    """Those of a real Schur form's diagonal blocks, of a pair the positive imaginary part first, shape (n,)."""
    turning = np.zeros(len(T))
    turning[:-1] = np.sqrt(np.abs(T.diagonal(1))) * np.sqrt(np.abs(T.diagonal(-1)))
    turning[1:] -= turning[:-1].copy()
    return np.asarray(T.diagonal() + 1j * turning)


def inverses_of_blocks(T: Real, gaps: Complex) -> Complex:
    """(λ − B)⁻¹ of each diagonal block B, of a pair ((a, b), (c, a)) first (λ − a)/det(λ − B), then 1/det(λ − B).

    `gaps` are the `shifted_gaps`, of the same shape (n, m).
    """
    (first,) = np.nonzero(T.diagonal(-1))
    with np.errstate(under="ignore"):  # 1/det beside (λ − a)/det
        found = 1 / gaps
        found[first + 1] *= found[first]
        found[first] = (gaps[first] + gaps[first + 1]) / 2 * found[first] / gaps[first + 1]
    return np.asarray(found)


def solved(T: Real, inverses: Complex, right: Complex) -> tuple[Complex, Real]:
    """(λ − T)⁻¹ of each column of `right`, with its own λ, which `inverses_of_blocks` belong to.

    Returns the columns, and the exponents of the powers of 2 that they are to be multiplied by.
    """
    x, exponent = np.array(right, order="C"), np.zeros(right.shape[1])
    if len(T):
        tied = [*(T.diagonal(-1) != 0).tolist(), False]  # rows that are the first ones of their block
        _solve_rows(0, len(T), T, tied, inverses, x, exponent)
    return x, exponent


def _solve_rows(
    start: int, stop: int, T: Real, tied: list[bool], inverses: Complex, x: Complex, exponent: Real
) -> None:
    """Solve for these rows in place, what the later ones have in them being added already.

    It is no closure: one that calls itself would hold its arrays until the collector of cycles runs.
    """
    parts = x.view(np.float64)  # real and imaginary parts side by side: T's products are real
    if stop - start > ROWS:
        middle = (start + stop) // 2
        middle += tied[middle - 1]
        _solve_rows(middle, stop, T, tied, inverses, x, exponent)
        parts[start:middle] += T[start:middle, middle:stop] @ parts[middle:stop]
        _solve_rows(start, middle, T, tied, inverses, x, exponent)
        return
    last = stop
    while last > start:
        first = last - 2 if last - 1 > start and tied[last - 2] else last - 1
        if last < stop:
            parts[first:last] += T[first:last, last:stop] @ parts[last:stop]
        if last - first == 2:
            others = x[first:last][::-1] * inverses[last - 1]
            others *= T[[first, first + 1], [first + 1, first]][:, None]
            x[first:last] *= inverses[first]
            x[first:last] += others
        else:
            x[first] *= inverses[first]
        last = first
    scale_down(x, exponent, slice(start, stop), GROWN)


def scale_down(x: Complex, exponent: Real, rows: slice, beyond: float) -> None:
    """Divide columns by a power of 2 where `rows` have an entry beyond that, in place."""
    parts = x.view(np.float64)
    seen = parts[rows]
    if seen.max(initial=0.0) <= beyond and seen.min(initial=0.0) >= -beyond:  # false of a NaN
        return
    largest = np.maximum(seen.max(axis=0), -seen.min(axis=0)).reshape(-1, 2).max(axis=1)
    powers = np.where(largest > beyond, np.frexp(largest)[1], 0).astype(np.float64)
    half = np.floor(powers / 2)  # the whole power may overflow
    for factor in (half, powers - half):
        parts *= np.repeat(np.exp2(-factor), 2)
    exponent += powers
