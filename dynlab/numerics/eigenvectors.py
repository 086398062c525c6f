"""Left and right eigenvectors of a real matrix, biorthonormal, and how far each may be off.

With A = (A_ji) block triangular, zero for j < i, an eigenvalue λ of A_kk has a right eigenvector that vanishes above
block k, is that of A_kk there, and below it solves (λ − A_jj) v_j = Σ_{i<j} A_ji v_i.

References
----------
Golub and Van Loan, Matrix Computations, sections 7.1.4 and 7.2.2 to 7.2.4; Stewart and Sun, Matrix Perturbation Theory,
chapter V.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.eigenvalue_discs import UNIT, eigenvectors
from dynlab.numerics.eigenvalue_sets import order

# An eigenvector that its matrix's own error may turn by more than this is not told from its neighbours'.
UNRESOLVED = 1e-3
ROUNDED = 8.0  # times n u: what LAPACK and products with eigenvectors leave, as a relative error of the entries
BEYOND_FIRST_ORDER = 2.0  # times the first-order bound on an eigenvector's turn


class Eigenmodes(NamedTuple):
    """λ_i with J r_i = λ_i r_i, l_i J = λ_i l_i and l_i r_j = δ_ij.

    Attributes
    ----------
    values : ndarray of complex, shape (n,)
        Eigenvalues in the order of `dynlab.numerics.eigenvalues`.
    value_errors : ndarray, shape (n,)
    right : ndarray of complex, shape (n, n)
        Rows r_i of length 1, their entry of largest modulus real and positive.
    left : ndarray of complex, shape (n, n)
        Rows l_i, not conjugated in l_i r_j.
    conditions : ndarray, shape (n,)
        ‖l_i‖‖r_i‖ = 1/|cos| of the angle between the two, inf for a defective matrix.
    errors : ndarray, shape (n,)
        A first-order bound on the angle by which r_i and l_i may be turned, inf where eigenvalues are not separated.
    """

    values: Complex
    value_errors: Real
    right: Complex
    left: Complex
    conditions: Real
    errors: Real

    @property
    def resolved(self) -> NDArray[np.bool_]:
        """Tell which modes have vectors of their own, shape (n,)."""
        return self.errors < UNRESOLVED


def parts_of(sizes: Sequence[int]) -> list[slice]:
    """Return the slices along the diagonal where blocks of these sizes lie."""
    return [slice(*ends) for ends in itertools.pairwise(np.cumsum([0, *sizes]).tolist())]


def coupled(
    matrices: Real, parts: Sequence[slice], modes: Sequence[tuple[Complex, Complex, Complex]]
) -> tuple[Complex, Complex, Complex]:
    """Return eigenvalues (k, n), eigenvectors as columns X (k, n, n), and X⁻¹, of lower block triangular matrices.

    Parameters
    ----------
    matrices : ndarray, shape (k, n, n)
    parts : sequence of slice
        `parts_of` the diagonal blocks.
    modes : sequence of tuple
        Eigenvalues, eigenvectors and their inverse of each diagonal block; not finite where an eigenvalue of one block
        is one of another too.
    """
    X, W = (np.zeros(matrices.shape, dtype=complex) for _ in range(2))
    with np.errstate(all="ignore"):
        for j, row in enumerate(parts):
            values, V, Y = modes[j]
            X[:, row, row], W[:, row, row] = V, Y
            for i, column in enumerate(parts[:j]):
                between = slice(column.start, row.start)
                fed = Y @ (matrices[:, row, between] @ X[:, between, column])
                X[:, row, column] = V @ (fed / (modes[i][0][:, None, :] - values[:, :, None]))
            above = slice(0, row.start)
            W[:, row, above] = -Y @ (X[:, row, above] @ W[:, above, above])
    return np.concatenate([values for values, _, _ in modes], axis=1), X, W


def eigenmodes(
    jacobian: Real, value_errors: ArrayLike = 0.0, blocks: Sequence[int] = (), count: int | None = None
) -> Eigenmodes:
    """Return the first `count` modes, or all, of a real matrix (n, n), finite.

    Parameters
    ----------
    jacobian : ndarray, shape (n, n)
    value_errors : array_like, shape (n,)
        As `dynlab.numerics.eigenvalues` gives them, in its order.
    blocks : sequence of int, optional
        The sizes of the diagonal blocks of a matrix that is lower block triangular.
    count : int, optional

    Notes
    -----
    The exact eigenvector r_i holds at most M_ji/gap_ij of each other computed one, and l_i at most M_ij/gap_ij of each
    other left one. The gap is that between the two eigenvalues less their errors. M is the residual W (J X − X Λ), its
    rounding, and the error of J: the largest error over condition of the separated eigenvalues.
    """
    n, parts = len(jacobian), parts_of(blocks or (len(jacobian),))
    modes = [eigenvectors(jacobian[None, part, part]) for part in parts]
    values, X, W = (each[0] for each in coupled(jacobian[None], parts, modes))
    first, errors = order(values), np.broadcast_to(np.asarray(value_errors, dtype=np.float64), n)
    values, X, W = values[first], X[:, first], W[first]
    with np.errstate(all="ignore"):
        x, w = np.linalg.norm(X, axis=0), np.linalg.norm(W, axis=1)
        largest = X[np.abs(X).argmax(axis=0), np.arange(n)]
        scale = x * largest / np.abs(largest)
        X, W, conditions = X / scale, W * scale[:, None], x * w
        gap = np.abs(values[:, None] - values) - errors[:, None] - errors
        np.fill_diagonal(gap, np.inf)
        apart = (gap > 0).all(axis=1)
        moved = (errors / conditions)[apart & np.isfinite(errors) & (conditions < np.inf)].max(initial=0.0)
        rounding = ROUNDED * n * UNIT * np.abs(jacobian)
        M = np.abs(W @ (jacobian @ X - X * values)) + np.abs(W) @ rounding @ np.abs(X) + moved * conditions[:, None]
        turn = np.maximum((M / gap).sum(axis=0), ((M / gap) @ conditions) / conditions)
        turned = np.where(apart & np.isfinite(turn), BEYOND_FIRST_ORDER * turn, np.inf)
        conditions = np.where(np.isfinite(conditions), conditions, np.inf)
    shown = slice(count)
    return Eigenmodes(values[shown], errors[shown], X.T[shown], W[shown], conditions[shown], turned[shown])


def real_axes(vector: Complex) -> Real:
    """Return the semi-axes of the ellipse of Re(e^{iφ} r), longest first, shape (2, n); (r, 0) for a real r.

    Notes
    -----
    The phase that makes real and imaginary part orthogonal is half that of r·r; the longer axis is scaled to 1.
    """
    turned = vector * np.exp(-0.5j * np.angle((vector**2).sum()))
    axes = np.stack([turned.real, turned.imag])
    return np.asarray(axes / np.linalg.norm(axes[0]))
