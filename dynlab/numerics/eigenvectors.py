"""Left and right eigenvectors of a real matrix, biorthonormal, and how far each may be off.

References
----------
Golub and Van Loan, Matrix Computations, sections 7.2.2 to 7.2.4; Stewart and Sun, Matrix Perturbation Theory, chapter
V.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynlab.numerics.arrays import Complex, Index, Real
from dynlab.numerics.block_triangular import parts_of, real_times, whole_eigenvectors
from dynlab.numerics.eigenvalue_discs import UNIT
from dynlab.numerics.eigenvalue_sets import order
from dynlab.numerics.lapack import Schur

# An eigenvector that its matrix's own error may turn by more than this is not told from its neighbours'.
UNRESOLVED = 1e-3
ROUNDED = 8.0  # times n u: what LAPACK and products with eigenvectors leave, as a relative error of the entries
BEYOND_FIRST_ORDER = 2.0  # times the first-order bound on an eigenvector's turn


class Eigenmodes(NamedTuple):
    """λ_i with J r_i = λ_i r_i, l_i J = λ_i l_i and l_i r_j = δ_ij.

    Attributes
    ----------
    values : ndarray of complex, shape (n,)
        In the order of `dynlab.numerics.eigenvalues`.
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
        """Which modes have vectors of their own, shape (n,)."""
        return self.errors < UNRESOLVED


def eigenmodes(
    jacobian: Real,
    value_errors: ArrayLike = 0.0,
    blocks: Sequence[int] = (),
    count: int | None = None,
    known: Mapping[int, Schur] = MappingProxyType({}),
) -> Eigenmodes:
    """The first `count` modes, or all, of a real matrix (n, n), finite, with the errors (n,) of its eigenvalues.

    Parameters
    ----------
    jacobian : ndarray, shape (n, n)
    value_errors : array_like, shape (n,)
        As `dynlab.numerics.eigenvalues` gives them, in its order.
    blocks : sequence of int, optional
        The sizes of the diagonal blocks of a matrix that is lower block triangular: eigenvectors are then those of the
        blocks, carried into the blocks below.
    count : int, optional
    known : mapping of int to Schur, optional
        `block_modes` of some of the blocks, by their number.

    Notes
    -----
    The exact eigenvector holds at most M_ji/gap_ij of each other computed one, the gap being that between the two
    eigenvalues less their errors, and the exact left one M_ij/gap_ij of each other left one. M_ji is
    |l_j (J r_i − λ_i r_i)| and M_ij is |(l_i J − λ_i l_i) r_j|, both with what errors of the entries do to them. These
    are as large as the errors of the eigenvalues say: of one block in the 2-norm, no more than an eigenvalue's error
    over its condition, whichever it is of; of several in proportion to the entries, as rows of large layers differ by
    many orders of magnitude.
    """
    if not np.isfinite(jacobian).all():
        raise ValueError("eigenmodes takes a matrix whose entries are finite")
    n = len(jacobian)
    count, parts = count or n, parts_of(blocks or (n,))
    values, right, left = whole_eigenvectors(jacobian, parts, known)
    first = order(values)
    values, right, left = values[first], right[first], left[first]
    value_errors = np.broadcast_to(np.asarray(value_errors, dtype=np.float64), n)
    with np.errstate(all="ignore"):
        x, w = (np.linalg.norm(rows, axis=1) for rows in (right, left))
        shown, conditions = slice(count), x * w
        gap = np.abs(values[shown, None] - values) - value_errors[shown, None] - value_errors
        gap[np.arange(count), np.arange(count)] = np.inf
        size = np.abs(jacobian)
        norm = 0.0
        if len(parts) == 1:
            relative = 0.0
            norm = float((value_errors / conditions)[conditions < np.inf].min(initial=np.inf))
        else:
            relative = max(
                _relative(size[part, part], right[:, part], left[:, part], value_errors, first, part) for part in parts
            )
        relative += ROUNDED * n * UNIT
        r, selects = right[shown], left[shown]
        beside = real_times(jacobian, r.T).T - values[shown, None] * r
        below = real_times(jacobian.T, selects.T).T - values[shown, None] * selects
        into = np.abs(beside @ left.T) + relative * (np.abs(r) @ size.T) @ np.abs(left).T + norm * np.outer(x[shown], w)
        out_of = np.abs(below @ right.T) + relative * (np.abs(selects) @ size) @ np.abs(right).T
        out_of += norm * np.outer(w[shown], x)
        turn = np.maximum((into / gap) @ x / x[shown], (out_of / gap) @ w / w[shown])
        largest = r[np.arange(count), np.abs(r).argmax(axis=1)]
        scale = (x[shown] * largest / np.abs(largest))[:, None]
        told = (gap > 0).all(axis=1) & np.isfinite(turn)
        errors = np.where(told, BEYOND_FIRST_ORDER * turn, np.inf)
        conditions = np.nan_to_num(conditions[shown], nan=np.inf)
        return Eigenmodes(values[shown], value_errors[shown], r / scale, selects * scale, conditions, errors)


def _relative(size: Real, right: Complex, left: Complex, value_errors: Real, first: Index, part: slice) -> float:
    """What entries of a diagonal block are wrong by as parts of their `size`: no more than any of its errors says."""
    own = (first >= part.start) & (first < part.stop)
    moved = ((np.abs(left[own]) @ size) * np.abs(right[own])).sum(axis=1)
    parts = (value_errors[own] / moved)[np.isfinite(moved) & (moved > 0)]
    return float(parts.min(initial=np.inf))


def real_axes(vector: Complex) -> Real:
    """The semi-axes of the ellipse that Re(e^{iφ} r) runs through, longest first, shape (2, n); of a real r, (r, 0).

    Notes
    -----
    The phase that makes real and imaginary part orthogonal is half that of r·r; the longer axis is scaled to 1.
    """
    turned = vector * np.exp(-0.5j * np.angle((vector**2).sum()))
    axes = np.stack([turned.real, turned.imag])
    return np.asarray(axes / np.linalg.norm(axes[0]))
