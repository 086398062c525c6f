"""Singular values of many matrices, some of which may not be finite; the norm of a large one; and graded products'.

The singular values of a graded product e^d T have logarithms however many orders of magnitude they span.
"""

from contextlib import suppress

import numpy as np
from scipy.linalg.lapack import dgejsv

from dynlab.numerics.arrays import Real
from dynlab.numerics.threads import in_threads

ALL_UP_TO = 256  # rows: of a larger matrix the norm is found by products with vectors
RESIDUAL = 1e-5  # relative, of the norm of a large matrix: that of its square, which is what is sought, is 1e-10


def norm(matrix: Real) -> float:
    """Return ‖A‖₂ of a square matrix: the largest singular value, of a large one by Lanczos's method on AᵀA."""
    from scipy.sparse.linalg import ArpackNoConvergence, svds  # here, since it takes long to import

    n, largest = len(matrix), float(np.abs(matrix).max(initial=0.0))
    if n > ALL_UP_TO and 0 < largest < np.inf:
        start = np.random.default_rng(0).standard_normal(n)
        with suppress(ArpackNoConvergence):  # squares of entries up to 1 neither overflow nor underflow
            return largest * float(svds(matrix / largest, 1, v0=start, tol=RESIDUAL, return_singular_vectors=False)[0])
    return float(np.linalg.norm(matrix, 2))


def singular_values(matrices: Real) -> Real:
    """Return the singular values of matrices (..., m, n), decreasing; NaN of a matrix that is not finite."""
    flat = matrices.reshape(-1, *matrices.shape[-2:])
    found = np.full((len(flat), min(flat.shape[1:])), np.nan)
    finite = np.isfinite(flat).all(axis=(1, 2))
    good = flat[finite]
    (found[finite],) = in_threads(lambda some: (np.linalg.svd(good[some], compute_uv=False),), len(good))
    return found.reshape(*matrices.shape[:-2], -1)


def rounding_of(singular: Real) -> Real:
    """Return n ε σ_max, the rounding of n × n matrices with these singular values (..., n)."""
    return singular.shape[-1] * np.finfo(np.float64).eps * singular[..., 0]


# LAPACK works in windows of modes that floating-point numbers hold with their squares; modes beyond the margin change
# those in the core of the window by the square of e^-40, nothing. A product of 10,000 factors spans thousands.
CORE = 200.0
MARGIN = 40.0
# Where σ spans no more than this factor e^5, any backward-stable SVD is as accurate (n ε e^5), and seven times faster.
PLAIN = 5.0


def log_singular_values(log_scale: Real, rows: Real) -> Real:
    """Return the logarithms of the singular values of e^d T.

    Parameters
    ----------
    log_scale : ndarray, shape (product, state)
        d; −inf for rows that are exactly zero.
    rows : ndarray, shape (product, state, state)
        T, whose rows have length 1.

    Returns
    -------
    ndarray, shape (product, state)
        Decreasing; −inf for singular values that are exactly zero; NaN where LAPACK did not converge.
    """

    def several(some: slice) -> tuple[Real]:
        return (np.stack([_one(d, T) for d, T in zip(log_scale[some], rows[some], strict=True)]),)

    return np.asarray(in_threads(several, len(rows))[0])


def gejsv(matrix: Real) -> tuple[Real, bool]:
    """Return logarithms of the singular values, decreasing, accurate however small, and whether they converged.

    One-sided Jacobi, preconditioned by QR with column pivoting: accurate for B·D with D diagonal, however graded, and B
    well conditioned.

    References
    ----------
    Drmač and Veselić, "New fast and accurate Jacobi SVD algorithm", SIAM J. Matrix Anal. Appl. 29 (2008), parts I, II.
    """
    # accuracy for B·D, no vectors, no small column is dropped, not transposed, no perturbation of denormal numbers
    values, _, _, work, _, info = dgejsv(matrix, joba=0, jobu=3, jobv=3, jobr=0, jobt=0, jobp=0)
    with np.errstate(divide="ignore"):
        return np.log(values) + np.log(work[0] / work[1]), info == 0


def _one(log_scale: Real, rows: Real) -> Real:
    found = np.full(len(log_scale), -np.inf)
    order = np.argsort(-log_scale, kind="stable")
    order = order[np.isfinite(log_scale[order])]
    d, T = log_scale[order], rows[order]
    if len(d) == 0:
        return found
    if d[0] - d[-1] <= PLAIN:
        with np.errstate(divide="ignore"):
            found[: len(d)] = np.log(np.linalg.svd(np.exp(d - d[0])[:, None] * T, compute_uv=False)) + d[0]
        return found
    # (e^d T)ᵀ = Tᵀ e^d = Q R e^d, so e^d Rᵀ has the same singular values; it is triangular, and its columns fall off
    # below the diagonal as the modes separate, which takes the windows apart.
    lower = np.asarray(np.linalg.qr(T.T, mode="r")).T
    start = 0
    while start < len(d):
        stop = int(np.searchsorted(-d, -(d[start] - CORE), side="right"))
        first = int(np.searchsorted(-d, -(d[start] + MARGIN), side="left"))
        last = int(np.searchsorted(-d, -(d[stop - 1] - MARGIN), side="right"))
        window = slice(first, last)
        values, converged = gejsv(np.exp(d[window] - d[first])[:, None] * lower[window, window])
        found[start:stop] = values[start - first : stop - first] + d[first] if converged else np.nan
        start = stop
    found[: len(d)] = np.sort(found[: len(d)])[::-1]
    return found
