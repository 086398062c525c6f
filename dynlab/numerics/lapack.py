"""LAPACK's routines for one matrix, called without Python's lock, so that threads do not wait for each other.

SciPy's own wrappers of ``geev`` and ``gejsv`` hold that lock; the same routines are called here through the pointers
that `scipy.linalg.cython_lapack` publishes.
"""

import ctypes
import functools
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cython_lapack

from dynlab.numerics.arrays import Complex, Real


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
    a = np.array(matrix, dtype=np.float64, order="F")
    real, imaginary = np.empty(n), np.empty(n)
    # LAPACK's columns are the rows of an array in C's order
    right, left = (np.empty((n, n) if vectors else (1, 1)) for _ in range(2))
    work = np.empty(max(1, 34 * n))  # 4 n are needed, 32 more columns let the reduction work in blocks
    leading = len(right)
    info = _call("dgeev", job, job, n, a, n, real, imaginary, left, leading, right, leading, work, len(work))
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
        D's diagonal, powers of 2 that balance A.
    """

    values: Complex
    right: Real
    left: Real
    triangle: Real
    basis: Real
    scale: Real


def schur(matrix: Real, *, balanced: bool, vectors: bool = True) -> Schur:
    """The real Schur form, with the eigenvectors that `geev` makes of it, in about the same time.

    NaN where the QR iteration did not converge. Balanced, eigenvalues that are far smaller than others keep digits.
    Without `vectors` these are empty.
    """
    n = len(matrix)
    a, scale = np.array(matrix, dtype=np.float64, order="F"), np.ones(n)
    if balanced:
        _call("dgebal", b"S", n, a, n, np.empty(1, np.int32), np.empty(1, np.int32), scale)
    real, imaginary, basis = np.empty(n), np.empty(n), np.empty((n, n), order="F")
    work, unused, found = np.empty(max(1, 34 * n)), np.empty(n, np.int32), np.empty(1, np.int32)
    # the third argument is a function that chooses eigenvalues, and is not called
    info = _call("dgees", b"V", b"N", unused, n, a, n, found, real, imaginary, basis, n, work, len(work), unused)
    values = np.where(info == 0, real + 1j * imaginary, np.nan)
    if not vectors:
        return Schur(values, np.empty((0, n)), np.empty((0, n)), a, basis, scale)
    right, left = np.empty((n, n)), np.empty((n, n))  # LAPACK's columns are the rows of an array in C's order
    _call("dtrevc", b"B", b"A", unused, n, a, n, left, n, right, n, n, found, work)
    partner = np.arange(n) + np.sign(imaginary).astype(np.intp)
    with np.errstate(all="ignore"):  # of what has not converged
        for rows, size in ((right, scale), (left, 1 / scale)):
            rows[:] = (rows @ basis.T) * size
            squares = np.einsum("ij,ij->i", rows, rows)
            rows /= np.sqrt(squares + np.where(partner != np.arange(n), squares[partner], 0.0))[:, None]
    return Schur(values, right, left, a, basis, scale)


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
    info = _call("dgejsv", *jobs, n, n, a, n, values, unused, 1, unused, 1, work, len(work), integers)
    with np.errstate(divide="ignore"):
        return np.log(values) + np.log(work[0] / work[1]), info == 0


def _call(name: str, *arguments: Any) -> int:
    """Call a routine whose last argument is INFO, and return that."""
    info = ctypes.c_int()
    holders = [ctypes.c_int(value) if isinstance(value, int) else value for value in arguments]
    _routine(name, len(arguments) + 1)(*(_pointer(holder) for holder in holders), ctypes.byref(info))
    if info.value < 0:
        raise ValueError(f"argument {-info.value} of {name} is wrong")
    return info.value


def _pointer(holder: Any) -> Any:
    if isinstance(holder, bytes):
        return ctypes.c_char_p(holder)
    if isinstance(holder, np.ndarray):
        return holder.ctypes.data_as(ctypes.c_void_p)
    return ctypes.byref(holder)


@functools.cache
def _routine(name: str, arguments: int) -> Any:
    """The routine that SciPy was built with; a call through ctypes releases Python's lock."""
    capsule = cython_lapack.__pyx_capi__[name]
    named = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
    pointed = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(pointed(capsule, named(capsule)))
