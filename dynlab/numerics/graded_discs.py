"""Discs that hold the eigenvalues of graded matrices, whose rows or columns differ by orders of magnitude.

Saturated units make the rows of a Jacobian as small as their slopes. Its small eigenvalues are then known to nearly as
many digits as its entries are, although all of them lie below the rounding of its norm. A similarity by powers of 2
balances the matrix, and every bound that `dynlab.numerics.eigenvalue_discs` has in norms is taken entry by entry here:
with eigenvectors X, W ≈ X⁻¹ and G = W X − I, X⁻¹(A + E)X = Λ + M, and abs(M) ≤ (I + H) abs(W) (R + abs(E) abs(X)).
Gershgorin's discs of T (Λ + M) T⁻¹ with T = abs(Λ)^½ shrink with their eigenvalues.

References
----------
Golub and Van Loan, Matrix Computations, sections 7.2.1 and 7.5.7 (balancing); Barlow and Demmel, "Computing accurate
eigensystems of scaled diagonally dominant matrices", SIAM J. Numer. Anal. 27 (1990).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import matrix_balance

from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.eigenvalue_discs import UNIT, shrunk

SMALLEST = float(np.finfo(np.float64).smallest_subnormal)  # the error of a product that underflows
# Beside a largest entry of 1: covers all that underflows in products of eigenvectors and errors.
UNDERFLOW = 1e-285


def graded_discs(matrix: Real, error: Real) -> tuple[Complex, Real] | None:
    """Centres and radii of discs about the eigenvalues of a real matrix.

    Parameters
    ----------
    matrix, error : ndarray, shape (n, n)
        Numbers, and a bound on what each is wrong by.

    Returns
    -------
    centers, radii : ndarray, shape (n,)
        As many eigenvalues lie in a union of discs that meets no other disc as it has centres; a pair's discs are each
        other's mirror images, the positive imaginary part first. None where nothing is proved.
    """
    if not (np.isfinite(matrix).all() and np.isfinite(error).all()):
        return None
    exponent = int(np.frexp(np.abs(matrix).max())[1])
    with np.errstate(all="ignore"):  # what overflows or is not a number proves nothing
        B, F = _balanced(np.ldexp(matrix, -exponent), np.ldexp(error, -exponent))
        if not (np.isfinite(B).all() and np.isfinite(F).all()):
            return None
        try:
            values, right = np.linalg.eig(B)
            left = np.linalg.inv(right)
        except np.linalg.LinAlgError:
            return None
        found = _rest(B, F, values.astype(complex), right.astype(complex), left.astype(complex))
        if found is None:
            return None
        centers, own, M, partner = found
        weight = np.sqrt(np.maximum(np.abs(centers), own))
        radii = shrunk(centers[None], own[None], (M * (weight[:, None] / weight))[None], partner[None])[0][0]
        size = np.ldexp(1.0, exponent)
        return (centers * size, radii * size) if np.isfinite(centers).all() and np.isfinite(radii).all() else None


def _balanced(matrix: Real, error: Real) -> tuple[Real, Real]:
    """D⁻¹AD with powers of 2, the largest rows first, and the errors of its entries, those of underflow too."""
    scale = matrix_balance(np.abs(matrix) + error, permute=False, separate=True)[1][0]
    ratio = scale / scale[:, None]
    B, F = matrix * ratio, error * ratio + SMALLEST * ((matrix != 0) | (error > 0))
    falling = np.argsort(-(np.abs(B) + F).max(axis=1), kind="stable")  # the QR iteration then keeps small ones apart
    return B[np.ix_(falling, falling)], F[np.ix_(falling, falling)]


def _rest(
    B: Real, F: Real, values: Complex, X: Complex, W: Complex
) -> tuple[Complex, Real, Real, NDArray[np.intp]] | None:
    """Corrected eigenvalues λ_i + M_ii, what is left of the M_ii, bounds on M's other entries, and pairs' partners."""
    n = len(B)
    rounding = 2 * (n + 6) * UNIT  # of a sum of n complex products, as a share of the sum of their moduli
    x, w = np.abs(X), np.abs(W)
    G = np.abs(W @ X - np.eye(n)) + rounding * (w @ x)
    residual = B @ X - X * values
    wrong = rounding * (np.abs(B) @ x + x * np.abs(values)) + F @ x
    first = W @ residual
    left_out = w @ wrong + rounding * (w @ np.abs(residual))
    P = np.abs(first) + left_out
    # (I + G)⁻¹ = I − G + G² − …, and entry (i, j) of G^k Z is at most Σ_l G_il g^(k−1) max_l Z_lj
    g = G.sum(axis=1)
    if not g.max() < 0.5:
        return None
    GP = G @ P
    beyond = GP + np.outer(g / (1 - g.max()), GP.max(axis=0))
    centers = values + first.diagonal()
    index = np.arange(n)
    partner = index + np.sign(values.imag).astype(np.intp)  # of a pair the other one, of a real eigenvalue itself
    mirrored = (centers + centers[partner].conj()) / 2
    own = (left_out + beyond).diagonal() + np.abs(mirrored - centers) + 4 * UNIT * np.abs(mirrored) + UNDERFLOW
    M = P + beyond
    M[index, index] = 0.0
    return mirrored, np.maximum(own, own[partner]), M, partner
