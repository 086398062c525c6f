"""Discs that hold the eigenvalues of real matrices, proved afterwards from what LAPACK has found.

With computed eigenvectors X, an approximate inverse W and computed eigenvalues Λ, X⁻¹(A + E)X = Λ + M where
M = (I + G)⁻¹ W (A X − X Λ + E X) and G = W X − I. Nothing is taken on trust: the residual A X − X Λ and G are computed
and the rounding of that is bounded, so that Gershgorin's theorem holds for the exact eigenvalues of every A + E with
‖E‖₂ ≤ error. A disc is centred on λ_i + M_ii, and one that meets no other is shrunk by scaling, which leaves the
uncertainty of M_ii (the condition number times the error) and what is of second order.

Everything is in real arithmetic: the two rows of a complex pair hold its eigenvector's real and imaginary part, which
(1, ±i)/√2 turn, unitarily, into the two complex ones. Where a quantity of a pair is wanted, the root mean square of the
two rows' bounds it.

References
----------
Golub and Van Loan, Matrix Computations, sections 7.2.1 and 7.2.2; Stewart and Sun, Matrix Perturbation Theory, section
V.2; Rump, Acta Numerica 19 (2010), section 13; Ozaki, Ogita, Oishi and Rump, "Error-free transformations of matrix
multiplication", Numer. Algorithms 59 (2012).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.lapack import geev

UNIT = float(np.finfo(np.float64).eps) / 2  # the relative error of one rounding
SAFE = 1.001  # times a bound: covers the roundings of computing it from numbers that are not negative
GRADED = 2.0**5  # rows of eigenvectors that differ in length by more are scaled alike, and the matrix with them
GOOD = 1e-6  # a largest row of G up to this needs no better inverse than LAPACK's left eigenvectors
SMALL = 32  # of matrices up to this size the residual is always computed sharply, which costs little there
OUTWEIGHED = 0.5  # times what the error of the matrix does: of larger ones where rounding may do as much or more


class Discs(NamedTuple):
    """A disc for each eigenvalue of k matrices.

    Attributes
    ----------
    centers : ndarray of complex, shape (k, n)
        Better than LAPACK's eigenvalues: corrected by M_ii. Of a pair conjugate, the positive imaginary part first.
    radii : ndarray, shape (k, n)
        As many eigenvalues lie in a union of discs that meets no other disc as it has centres. inf or NaN where nothing
        is proved, as where X is singular to rounding.
    alone : ndarray of bool, shape (k, n)
        Whether the disc meets no other, and so holds one eigenvalue exactly.
    conditions : ndarray, shape (k, n)
        ‖l_i‖‖x_i‖; inf or NaN where l_i and x_i are orthogonal.
    right, left : ndarray, shape (k, n, n)
        Rows x_i of X and left eigenvectors l_i with l_i x_i = 1, two for a pair. W, where it is another inverse, may
        have rows that are far longer, if other eigenvectors are nearly parallel.
    turned : ndarray, shape (k, n, n)
        Entry (j, i): how much of x_j the exact eigenvector i may hold, to first order.
    """

    centers: Complex
    radii: Real
    alone: NDArray[np.bool_]
    conditions: Real
    right: Real
    left: Real
    turned: Real


def discs(matrices: Real, error: Real, solved: Sequence[tuple[Complex, Real, Real]] = ()) -> Discs:
    """Enclose the eigenvalues of several matrices.

    Parameters
    ----------
    matrices : ndarray, shape (k, n, n)
        Finite.
    error : ndarray, shape (k,) or (k, n, n)
        A bound on what each is wrong by: on ‖E‖₂, or on the modulus of each of E's entries.
    solved : sequence, optional
        What `geev` returns for each, where it is known.
    """
    exponent = np.frexp(np.abs(matrices).max(axis=(1, 2)))[1]  # a power of 2 changes no digit
    scaled = np.ldexp(matrices, -exponent[:, None, None])
    found = [(each[0] * np.ldexp(1.0, -power), *each[1:]) for each, power in zip(solved, exponent, strict=False)]
    found = found or [geev(matrix, vectors=True) for matrix in scaled]
    values, right, left = (np.stack(parts) for parts in zip(*found, strict=True))
    with np.errstate(all="ignore"):  # what overflows or is not a number proves nothing
        size = np.ldexp(1.0, exponent)[:, None]
        result = _discs(scaled, values, right, left, (error.T / size[:, 0]).T)
        return result._replace(centers=result.centers * size, radii=result.radii * size)


def left_inverses(stack: NDArray[np.inexact]) -> NDArray[np.inexact]:
    """W of each matrix X with W X = I as nearly as can be; NaN where it is exactly singular."""
    try:
        # solved for row by row: X W = I would leave as large a W X − I as X is ill-conditioned
        return np.asarray(np.linalg.inv(stack.swapaxes(1, 2))).swapaxes(1, 2)
    except np.linalg.LinAlgError:
        if len(stack) == 1:
            return np.full_like(stack, np.nan)
        return np.concatenate([left_inverses(each[None]) for each in stack])


def _discs(A: Real, values: Complex, right: Real, left: Real, error: Real) -> Discs:
    """`discs` of matrices whose largest entry is between 1/2 and 1."""
    count, n = values.shape
    at, index = np.arange(count)[:, None], np.arange(n)
    partner = index + np.sign(values.imag).astype(np.intp)  # the other row of a pair, of a real eigenvalue its own

    def both(v: Real) -> Real:
        return np.asarray(np.sqrt((v * v + (v * v)[at, partner]) / 2))

    d, size, B, X, Y = _balanced(A, right, left)
    values, error = values / size[:, None], (error.T / size).T
    X = X / both(_lengths(X))[:, :, None]
    own, W, G = _inverse(X, Y, partner)
    # of A itself, before it was balanced, whose E is bounded
    original, inverse = X * d[:, None, :], W / d[:, None, :]
    lefts = inverse if own is W else own / d[:, None, :]
    x, w = _lengths(original), _lengths(inverse)
    g = _lengths(G) + n * UNIT * _lengths(W) * np.sqrt(n)
    room = 1 - np.sqrt((g * g).sum(axis=1, keepdims=True))
    room[room < 0.5] = np.nan
    beyond = g * np.sqrt((w * w).sum(axis=1, keepdims=True)) / room  # what the exact inverse has beside W
    of_norm, of_entries, moved = np.zeros_like(g), np.zeros(1), np.zeros(1)
    if error.ndim == 1:
        of_norm = np.abs(error)[:, None] * both(w + beyond)
        moves = of_norm * both(x)
    else:
        of_entries = _of_entries(error, inverse, original, partner)
        moves = of_entries[:, index, index]
        moved = np.sqrt((of_entries * of_entries).sum(axis=1))  # columns of W E X, whose share of p is small

    R, wrong = _residual(B, X, values, partner, moves / both(_lengths(W)))
    P = W @ R.swapaxes(1, 2)
    # the rows of G(I + G)⁻¹P, and of W E X in place of P, are what is left out of M, at most g_i p_j
    rho = 4 * n * UNIT * _lengths(R) + wrong[:, None]
    squares = P * P
    p = (np.sqrt(squares.sum(axis=1)) + np.sqrt((W * W).sum(axis=(1, 2)))[:, None] * rho + moved) / room

    # M's entries but for the corrections M_ii, √2 because a pair's column is a mixture of two
    M = squares
    M += squares[at, partner]
    M *= 0.5
    np.sqrt(M, out=M)
    M += np.stack([both(_lengths(W)), both(g), of_norm], axis=2) @ np.stack([rho, p, x], axis=1)
    M *= np.sqrt(2)
    M += of_entries
    centers, left_out = _corrected(values, P, partner, np.sqrt(np.einsum("kij,kij->k", B, B)))
    itself = both(_lengths(W)) * both(rho) + both(g) * both(p) + moves
    itself += left_out + 6 * UNIT * np.abs(centers)
    radii, alone, turned = shrunk(centers, itself, M, partner)
    return Discs(
        centers * size[:, None],
        radii * size[:, None],
        alone,
        both(w if own is W else _lengths(lefts)) * both(x),
        original,
        lefts,
        turned,
    )


def shrunk(centers: Complex, own: Real, M: Real, partner: NDArray[np.intp]) -> tuple[Real, NDArray[np.bool_], Real]:
    """The radii of Gershgorin's discs, those that meet no other shrunk by scaling, and which these are.

    With row i scaled by α and column i by 1/α the other discs grow by M_ji/α, which must stay below the gap.

    Parameters
    ----------
    centers : ndarray of complex, shape (k, n)
    own : ndarray, shape (k, n)
        What each centre is wrong by itself.
    M : ndarray, shape (k, n, n)
        Bounds on the other entries of each row; overwritten.
    partner : ndarray of int, shape (k, n)
        Of a pair the other one, which is scaled alike; of a real eigenvalue itself.

    Returns
    -------
    radii : ndarray, shape (k, n)
    alone : ndarray of bool, shape (k, n)
    turned : ndarray, shape (k, n, n)
        M_ji over the gap between the discs j and i.
    """
    at, index = np.arange(len(M))[:, None], np.arange(M.shape[1])
    rest = M.sum(axis=2)
    radii = SAFE * (own + rest)
    gap = np.abs(centers[:, :, None] - centers[:, None, :])
    gap *= 1 - 8 * UNIT
    gap -= radii[:, :, None]
    gap -= radii[:, None, :]
    gap[:, index, index] = np.inf
    alone = np.asarray((gap > 0).all(axis=2))
    M /= gap
    alpha = M.max(axis=1)
    alpha = np.minimum(np.maximum(alpha, alpha[at, partner]), 1.0)
    return np.where(alone, SAFE * (own + alpha * rest), radii), alone, M


def _of_entries(error: Real, W: Real, X: Real, partner: NDArray[np.intp]) -> Real:
    """Bounds on the entries of W E X where those of E are bounded, of the complex rows and columns of pairs too."""
    at = np.arange(len(W))[:, None]
    rows, columns = (np.sqrt((each * each + (each * each)[at, partner]) / 2) for each in (W, X))
    return np.asarray(rows @ error @ columns.swapaxes(1, 2))


def _lengths(rows: Real) -> Real:
    return np.asarray(np.sqrt(np.einsum("kij,kij->ki", rows, rows)))


def _balanced(A: Real, right: Real, left: Real) -> tuple[Real, Real, Real, Real, Real]:
    """Powers of 2 d and s with rows of D⁻¹X alike in length; s; D⁻¹AD/s with entries up to 1; D⁻¹X; the rows of DY."""
    across = np.sqrt((right * right).sum(axis=1))  # X's rows are columns here
    across[across == 0] = 1.0
    d, size = np.ones_like(across), np.ones(len(A))
    if (across.max(axis=1) <= GRADED * across.min(axis=1)).all():
        return d, size, A, right, left
    d = np.ldexp(1.0, np.rint(np.log2(across)).astype(int))
    B = A * (d[:, None, :] / d[:, :, None])
    size = np.ldexp(1.0, np.frexp(np.abs(B).max(axis=(1, 2)))[1])
    return d, size, B / size[:, None, None], right / d[:, None, :], left * d[:, None, :]


def _inverse(X: Real, Y: Real, partner: NDArray[np.intp]) -> tuple[Real, Real, Real]:
    """Left eigenvectors, rows, divided by their products with right ones; W, these or a better inverse; G = W X − I."""
    at, index = np.arange(len(X))[:, None], np.arange(X.shape[1])
    other = Y[at, partner]
    along, across = np.einsum("kij,kij->ki", Y, X), np.einsum("kij,kij->ki", other, X)
    # yᴴx = (s + i t)/…, of a pair; of a real eigenvalue t = 0
    s, t = along + along[at, partner], across[at, partner] - across
    scale = 2 / (s * s + t * t)
    W = (scale * s)[:, :, None] * Y
    W -= (scale * t)[:, :, None] * other
    columns = X.swapaxes(1, 2)
    G = W @ columns
    G[:, index, index] -= 1
    own, poor = W, np.flatnonzero(~(np.abs(G).max(axis=(1, 2)) < GOOD))
    if len(poor):
        W = W.copy()
        W[poor] = left_inverses(columns[poor])
        G[poor] = W[poor] @ columns[poor]
        G[poor[:, None], index, index] -= 1
    return own, W, G


def _residual(B: Real, X: Real, values: Complex, partner: NDArray[np.intp], allowed: Real) -> tuple[Real, Real]:
    """B X − X Λ as rows, and a bound on the 2-norm of the error of each, (k,), which need not be far below `allowed`.

    The leading bits of each factor have products and sums without rounding; the rest is smaller by as many bits.
    """
    count, n = values.shape
    at = np.arange(count)[:, None]
    columns = B.swapaxes(1, 2)
    size = np.sqrt(np.einsum("kij,kij->k", B, B)) + np.abs(values).max(axis=1)
    rounding = 1.5 * (n + 10) * UNIT * size

    def times(a: Real, b: Real, rows: Real, others: Real) -> Real:
        """Λ of rows: a r − b s and b r + a s of a pair."""
        product = a[:, :, None] * rows
        product -= b[:, :, None] * others
        return product

    if n > SMALL and (rounding[:, None] <= OUTWEIGHED * allowed).all():
        return X @ columns - times(values.real, values.imag, X, X[at, partner]), rounding
    bits = (50 - int(np.ceil(np.log2(n)))) // 2
    (B1, B2), (X1, X2) = _split(columns.copy(), bits), _split(X, bits)
    (a1, a2), (b1, b2) = _split(values.real, bits), _split(values.imag, bits)
    others = X1[at, partner]
    found = X1 @ B1
    found -= times(a1, b1, X1, others)
    rest = X2 @ B1
    rest += X @ B2
    rest -= times(a2, b2, X1, others)
    rest -= times(values.real, values.imag, X2, X2[at, partner])
    found += rest
    return found, 4 * rounding * np.sqrt(n) * 2.0**-bits * (1 + np.sqrt(n) / np.where(size > 0, size, np.inf))


def _split(v: Real, bits: int) -> tuple[Real, Real]:
    """The multiple of 2^−bits next to each number of modulus up to 1 or so, and the rest, without rounding."""
    shift = 1.5 * 2.0 ** (52 - bits)
    high = v + shift
    high -= shift
    return high, v - high


def _corrected(values: Complex, P: Real, partner: NDArray[np.intp], norm: Real) -> tuple[Complex, Real]:
    """λ_i + P_ii of the complex P, and what is left out.

    That is all of a correction that might make a pair real, or that leads out of the disc of the `norm` (k,), in which
    all eigenvalues lie: nearly parallel eigenvectors magnify rounding without limit.
    """
    at, index = np.arange(len(P))[:, None], np.arange(P.shape[1])
    sign = np.sign(values.imag)
    along, across = P[:, index, index], P[at, index, partner] * sign
    shift = (along + along[at, partner]) / 2 + 1j * sign * (across + across[at, partner]) / 2
    size = np.abs(shift)
    small = (size < np.abs(values.imag)) | ((sign == 0) & np.isfinite(size))
    small &= np.abs(values + shift) <= SAFE * norm[:, None]
    return np.where(small, values + shift, values), np.where(small, 4 * UNIT * size, size)
