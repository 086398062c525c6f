"""Eigenvalues, Schur forms and singular values of one matrix, by LAPACK's routines."""

from typing import NamedTuple

import numpy as np

from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.lapack_call import call
from dynlab.numerics.qr_iteration import LARGE, large_schur

# Scales farther from their median would balance rows of dead units, and the roundings of one row would drown another:
# an eigenvalue of condition 3.5 had a left eigenvector that gave 6,000.
EVEN = 2.0**6


def geev(matrix: Real, *, vectors: bool) -> tuple[Complex, Real, Real]:
    """Eigenvalues of a real matrix, with right and left eigenvectors as rows of two real matrices.

    Parameters
    ----------
    matrix : ndarray, shape (n, n)
    vectors : bool
        Whether eigenvectors are wanted.

    Returns
    -------
    values : ndarray of complex, shape (n,)
        A complex pair is adjacent, the positive imaginary part first. NaN where the QR iteration did not converge.
    right, left : ndarray, shape (n, n)
        Row i is the eigenvector of a real eigenvalue; of a pair the first row is its real part, the second its
        imaginary part, of the eigenvalue with the positive imaginary part. Each has length 1. Empty where they are not
        wanted.
    """
    n, job = len(matrix), b"V" if vectors else b"N"
    scale = np.ones(1) if n > LARGE else _scale(matrix)
    if n > LARGE or scale.max(initial=1.0) > EVEN**2 * scale.min(initial=np.inf):
        return schur(matrix, vectors=vectors)[:3]
    a = np.array(matrix, dtype=np.float64, order="F")
    real, imaginary = np.empty(n), np.empty(n)
    # LAPACK's columns are the rows of an array in C's order
    right, left = (np.empty((n, n) if vectors else (1, 1)) for _ in range(2))
    work = np.empty(max(1, 34 * n))  # 4 n are needed, 32 more columns let the reduction work in blocks
    leading = len(right)
    info = call("dgeev", job, job, n, a, n, real, imaginary, left, leading, right, leading, work, len(work))
    return np.where(info == 0, real + 1j * imaginary, np.nan), right, left


class Schur(NamedTuple):
    """A real matrix A = D Q T Qᵀ D⁻¹, its eigenvalues, and right and left eigenvectors as those of `geev`.

    Attributes
    ----------
    values : ndarray of complex, shape (n,)
    right, left : ndarray, shape (n, n)
    triangle : ndarray, shape (n, n)
        T, upper triangular but for a block of 2 × 2 for each pair.
    basis : ndarray, shape (n, n)
        Q, orthogonal.
    scale : ndarray, shape (n,)
        D's diagonal, powers of 2 that balance A, within `EVEN` of their median.
    """

    values: Complex
    right: Real
    left: Real
    triangle: Real
    basis: Real
    scale: Real


def schur(matrix: Real, *, vectors: bool = True) -> Schur:
    """The real Schur form of a balanced matrix, with the eigenvectors that `geev` makes of it.

    NaN where the QR iteration did not converge. Balanced, eigenvalues that are far smaller than others keep digits.
    Without `vectors` these are empty.
    """
    n = len(matrix)
    scale = _scale(matrix)
    middle = np.exp2(np.round(np.median(np.log2(scale)))) if n else 1.0
    scale = np.clip(scale, middle / EVEN, middle * EVEN)
    a = np.array(matrix * (scale / scale[:, None]), order="F")
    work, unused, found = np.empty(max(1, 34 * n)), np.empty(n, np.int32), np.empty(1, np.int32)
    if n > LARGE:
        values, a, basis = large_schur(a)
    else:
        real, imaginary, basis = np.empty(n), np.empty(n), np.empty((n, n), order="F")
        # the third argument is a function that chooses eigenvalues, and is not called
        info = call("dgees", b"V", b"N", unused, n, a, n, found, real, imaginary, basis, n, work, len(work), unused)
        values = np.where(info == 0, real + 1j * imaginary, np.nan)
    if not vectors:
        return Schur(values, np.empty((0, n)), np.empty((0, n)), a, basis, scale)
    right, left = np.empty((n, n)), np.empty((n, n))  # LAPACK's columns are the rows of an array in C's order
    call("dtrevc", b"B", b"A", unused, n, a, n, left, n, right, n, n, found, work)
    partner = np.arange(n) + np.sign(np.nan_to_num(values.imag)).astype(np.intp)
    with np.errstate(all="ignore"):  # of what has not converged
        for rows, size in ((right, scale), (left, 1 / scale)):
            rows[:] = (rows @ basis.T) * size
            squares = np.einsum("ij,ij->i", rows, rows)
            rows /= np.sqrt(squares + np.where(partner != np.arange(n), squares[partner], 0.0))[:, None]
    return Schur(values, right, left, a, basis, scale)


def _scale(matrix: Real) -> Real:
    """Powers of 2 that balance a matrix: D⁻¹AD has rows as long as columns, shape (n,)."""
    n, scale = len(matrix), np.ones(len(matrix))
    call("dgebal", b"S", n, np.array(matrix, dtype=np.float64, order="F"), n, 0, 0, scale)
    return scale


def gejsv(matrix: Real) -> tuple[Real, bool]:
    """Logarithms of the singular values, decreasing, accurate however small one is, and whether they converged.

    One-sided Jacobi, preconditioned by QR with column pivoting: accurate for B·D with D diagonal, however graded, and B
    well conditioned.

    References
    ----------
    Drmač and Veselić, "New fast and accurate Jacobi SVD algorithm", SIAM J. Matrix Anal. Appl. 29 (2008), parts I, II.
    """
    n = len(matrix)
    a = np.array(matrix, dtype=np.float64, order="F")
    values, unused = np.empty(n), np.empty((1, 1))
    work, integers = np.empty(max(7, 2 * n * n + 6 * n)), np.empty(max(3, 4 * n), dtype=np.int32)
    # accuracy for B·D, no vectors, no small column is dropped, not transposed, no perturbation of denormal numbers
    jobs = (b"C", b"N", b"N", b"N", b"N", b"N")
    info = call("dgejsv", *jobs, n, n, a, n, values, unused, 1, unused, 1, work, len(work), integers)
    with np.errstate(divide="ignore"):
        return np.log(values) + np.log(work[0] / work[1]), info == 0
