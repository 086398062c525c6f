"""Discs that hold the eigenvalues of real matrices, proved afterwards from what LAPACK has found.

With computed eigenvectors X, an approximate inverse W and computed eigenvalues Λ, X⁻¹(A + E)X = Λ + M, where M =
(I + G)⁻¹ W (A X − X Λ + E X) and G = W X − I. The residual A X − X Λ and G are computed, and their rounding is bounded
entry by entry, so that Gershgorin's theorem holds for the exact eigenvalues of every A + E. A similarity by a
power of abs(Λ), 1 for graded columns, makes the discs of a graded matrix shrink with its eigenvalues. A disc that meets
no other shrinks by scaling, which leaves the eigenvalue's condition times the error and terms of second order.

References
----------
Golub and Van Loan, Matrix Computations, sections 7.2.1 and 7.2.2; Rump, Acta Numerica 19 (2010), section 13.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.eigenvalue_sets import matched

UNIT = float(np.finfo(np.float64).eps) / 2  # the relative error of one rounding
SAFE = 1.001  # times a bound: covers the roundings of the bound itself
UNDERFLOW = 1e-290  # absolute: covers what underflows in products of eigenvectors with entries
POWERS = (0.0, 0.5, 1.0)  # of abs(Λ), by which M is scaled: for rows, both, and columns of all sizes
NARROW = 1e-9  # times the largest entry: discs that reach farther are tried once more


class Discs(NamedTuple):
    """Discs about the eigenvalues of k matrices.

    Attributes
    ----------
    centers : ndarray of complex, shape (k, n)
        LAPACK's eigenvalues; NaN where its iteration does not converge.
    radii : ndarray, shape (k, n)
        There is a pairing with the exact eigenvalues in which each is within its radius: discs that meet reach over
        their whole union.
    right, left : ndarray of complex, shape (k, n, n)
        Eigenvectors as columns X, and an approximate inverse of X.
    """

    centers: Complex
    radii: Real
    right: Complex
    left: Complex


def attempted(solve: Callable[[Any], tuple[Any, ...]], stack: Real | Complex) -> tuple[Any, ...]:
    """Return the arrays of ``solve(stack)``, NaN for each matrix for which LAPACK fails."""
    try:
        return tuple(solve(stack))
    except np.linalg.LinAlgError:
        if len(stack) > 1:
            several = [attempted(solve, one[None]) for one in stack]
            return tuple(np.concatenate(parts) for parts in zip(*several, strict=True))
        return tuple(np.full_like(part, np.nan) for part in solve(np.eye(stack.shape[-1])[None]))


def eigenvectors(matrices: Real) -> tuple[Complex, Complex, Complex]:
    """Return eigenvalues (k, n), eigenvectors as columns X (k, n, n), and the inverse of X, NaN where there is none.

    A conjugate pair is adjacent, the positive imaginary part first. Rows go to LAPACK in decreasing size: balanced,
    rows of saturated units, far smaller than others, would else spoil eigenvectors.
    """
    falling = np.argsort(-np.abs(matrices).max(axis=2), axis=1, kind="stable")
    rows = np.take_along_axis(matrices, falling[:, :, None], axis=1)
    turned = np.take_along_axis(rows, falling[:, None, :], axis=2)
    values, X = (part.astype(complex) for part in attempted(np.linalg.eig, turned))
    X = np.take_along_axis(X, np.argsort(falling, axis=1)[:, :, None], axis=1)
    (W,) = attempted(lambda stack: (np.linalg.inv(stack),), X)
    return values, X, W.astype(complex)


def discs(matrices: Real, error: Real) -> Discs:
    """Enclose the eigenvalues of matrices (k, n, n), finite, whose entries are wrong by at most `error` (k, n, n).

    Where eigenvectors are parallel, or as good as that, those of a matrix beside it serve: one as far off as `error`.
    """
    found, sizes = _by(matrices, error, matrices), np.abs(matrices).max(axis=(1, 2), initial=0.0)
    (doubtful,) = np.nonzero(~(found.radii.max(axis=1) <= NARROW * sizes))
    if len(doubtful):
        own, wrong, sizes = matrices[doubtful], error[doubtful], sizes[doubtful]
        off = np.maximum(np.minimum(wrong.max(axis=(1, 2)), sizes), own.shape[-1] * UNIT * sizes)
        other = _by(own, wrong, own + off[:, None, None] * np.random.default_rng(0).uniform(-1, 1, own.shape[1:]))
        for place, centers, radii in zip(doubtful, other.centers, other.radii, strict=True):
            if np.isfinite(radii).all() and np.isfinite(found.centers[place]).all():
                pairs = matched(found.centers[place], centers)
                reach = SAFE * (radii[pairs] + np.abs(found.centers[place] - centers[pairs]))
                if reach.max() < np.nan_to_num(found.radii[place].max(), nan=np.inf):
                    found.radii[place] = reach
    return found


def _by(matrices: Real, error: Real, of: Real) -> Discs:
    """Discs of the matrices' eigenvalues by the eigenvectors of `of`."""
    values, X, W = eigenvectors(of)
    with np.errstate(all="ignore"):  # what overflows or is not a number proves nothing
        M = _rest(matrices, error, values, X, W)
        own = np.einsum("kii->ki", M).copy()
        np.einsum("kii->ki", M)[:] = 0.0
        size = np.maximum(np.maximum(np.abs(values), own), UNDERFLOW)
        tried = [_radii(values, own, M * (size[:, :, None] / size[:, None, :]) ** power) for power in POWERS]
        sums = np.array([np.log(np.maximum(radii, UNDERFLOW)).sum(axis=1) for radii, _ in tried])
        best = np.nan_to_num(sums, nan=np.inf).argmin(axis=0)
        radii, alone = (np.stack(each)[best, np.arange(len(best))] for each in zip(*tried, strict=True))
        partner = np.arange(values.shape[1]) + np.sign(np.nan_to_num(values.imag)).astype(np.intp)
        radii = np.maximum(radii, np.take_along_axis(radii, partner, axis=1))
        for number in np.flatnonzero(~alone.all(axis=1)):
            radii[number] = _joined(values[number], radii[number], alone[number])
    return Discs(values, radii, X, W)


def _rest(A: Real, F: Real, values: Complex, X: Complex, W: Complex) -> Real:
    """Return a bound on the entries of M, NaN or inf where X is too ill-conditioned for one."""
    n = A.shape[-1]
    rounding = SAFE * 2 * (n + 4) * UNIT  # of a sum of n complex products, in parts of the sum of their moduli
    x, w = np.abs(X), np.abs(W)
    residual, wrong = _residual(A, X, values)
    P = np.abs(W @ residual) + w @ (wrong + F @ x + rounding * np.abs(residual))
    G = np.abs(W @ X - np.eye(n)) + rounding * (w @ x)
    g = G.sum(axis=2)
    largest = g.max(axis=1, initial=0.0)
    # (I + G)⁻¹ = I − G + G² − …, and entry (i, j) of G^k P is at most g_i max(g)^(k−2) max_l (G P)_lj
    GP = G @ P
    beyond = GP + (g / (1 - largest)[:, None])[:, :, None] * GP.max(axis=1, keepdims=True)
    M = SAFE * (P + beyond)
    M[~(largest < 0.5)] = np.nan
    return np.asarray(np.where(M > 0, M + UNDERFLOW, M))


def _residual(A: Real, X: Complex, values: Complex) -> tuple[Complex, Real]:
    """Return A X − X Λ and a bound on the rounding of each entry, as if A X were formed in more than double digits.

    The leading bits of the rows of A and of the columns of X have products and sums without rounding (Rump); the rest
    is smaller by as many bits.
    """
    n, parts, scaled = A.shape[-1], np.concatenate([X.real, X.imag], axis=2), X * values[:, None, :]
    bits = (53 - n.bit_length()) // 2
    first, rows = _leading(A, bits, 2)
    second, columns = _leading(parts, bits, 1)
    exact, rest = first @ second, (A - first) @ parts + first @ (parts - second)
    residual = exact[:, :, :n] + 1j * exact[:, :, n:] - scaled + rest[:, :, :n] + 1j * rest[:, :, n:]
    lost = 2 * n * 2.0**-bits * rows * (columns[:, :, :n] + columns[:, :, n:])
    wrong = (n + 4) * UNIT * np.minimum(lost, np.abs(A) @ np.abs(X)) + 4 * UNIT * (np.abs(scaled) + np.abs(residual))
    return residual, SAFE * wrong


def _leading(values: Real, bits: int, axis: int) -> tuple[Real, Real]:
    """Return the leading bits of numbers, beside the power of 2 above the largest along an axis, and that power."""
    size = np.ldexp(1.0, np.frexp(np.abs(values).max(axis=axis, keepdims=True))[1])
    shift = 1.5 * 2.0 ** (52 - bits) * size
    return values + shift - shift, size


def _radii(centers: Complex, own: Real, M: Real) -> tuple[Real, NDArray[np.bool_]]:
    """Return Gershgorin's radii (k, n), those of discs that meet no other shrunk, and which discs these are.

    Row i scaled by α and column i by 1/α leave disc i the radius own + α Σ_j M_ij. The other discs grow by M_ji/α,
    which must stay below the gaps.
    """
    rest = M.sum(axis=2)
    radii = SAFE * (own + rest)
    gap = np.abs(centers[:, :, None] - centers[:, None, :]) * (1 - 8 * UNIT) - radii[:, :, None] - radii[:, None, :]
    np.einsum("kii->ki", gap)[:] = np.inf
    alone = np.asarray((gap > 0).all(axis=2))
    alpha = np.minimum((M / gap).max(axis=1, initial=0.0), 1.0)
    return np.where(alone, SAFE * (own + alpha * rest), radii), alone


def _joined(centers: Complex, radii: Real, alone: NDArray[np.bool_]) -> Real:
    """Return how far each centre is from the far end of the discs that a chain connects with its own."""
    if not np.isfinite(radii).all():
        return np.full(len(centers), np.inf)
    distance = np.abs(centers[:, None] - centers)
    meets = (distance <= SAFE * (radii[:, None] + radii)) & ~alone & ~alone[:, None]
    group = connected_components(meets, directed=False)[1]
    return np.asarray(np.where(group[:, None] == group, SAFE * (distance + radii), 0.0).max(axis=1))
