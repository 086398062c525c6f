"""Left and right eigenvectors of a real matrix, biorthonormal, and how far each may be off.

References
----------
Golub and Van Loan, Matrix Computations, sections 7.2.2 to 7.2.4; Stewart and Sun, Matrix Perturbation Theory, chapter
V.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynlab.numerics.arrays import Complex, Index, Real
from dynlab.numerics.block_triangular import parts_of, real_times, whole_eigenvectors
from dynlab.numerics.eigenvalue_discs import UNIT
from dynlab.numerics.eigenvalue_sets import order
from dynlab.numerics.eigenvalues import solved

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


def eigenmodes(jacobian: Real, value_errors: ArrayLike = 0.0) -> Eigenmodes:
    """Of a real matrix (n, n), finite, with the errors (n,) of its eigenvalues, as `eigenvalues` gives them.

    Notes
    -----
    The entries are wrong by no more than an eigenvalue's error over its condition, in the 2-norm, whichever it is of.
    The exact eigenvector holds at most M_ji/gap_ij of each other computed one, M being what `eigenvalue_discs` bounds
    and the gap that between the two discs, and the exact left one M_ij/gap_ij of each other left one.
    """
    if not np.isfinite(jacobian).all():
        raise ValueError("eigenmodes takes a matrix whose entries are finite")
    known, discs, sorts = solved(jacobian[None], np.zeros(1))
    single = discs.alone[0, sorts[0]]
    changes = np.broadcast_to(value_errors, single.shape)[single] / known.conditions[0, single]
    found, discs, sorts = solved(jacobian[None], np.array([changes.min(initial=np.inf)]))
    pick = sorts[0]
    values, alone = discs.centers[0], discs.alone[0]
    right, left = _complex(discs.right[0], values, 1.0), _complex(discs.left[0], values, -0.5)
    largest = right[np.arange(len(right)), np.abs(right).argmax(axis=1)]
    with np.errstate(invalid="ignore", over="ignore"):
        scale = np.linalg.norm(right, axis=1) * largest / np.abs(largest)
        right, left = right / scale[:, None], left * scale[:, None]
        x, w, share = (np.linalg.norm(discs.right[0], axis=1), np.linalg.norm(discs.left[0], axis=1), discs.turned[0])
        turn = np.maximum(x @ share / x, share @ w / w)
    pairs = np.arange(len(values)) + np.sign(values.imag).astype(int)
    turn = np.where(alone & np.isfinite(turn), BEYOND_FIRST_ORDER * np.maximum(turn, turn[pairs]), np.inf)
    return Eigenmodes(found.values[0], found.errors[0], right[pick], left[pick], found.conditions[0], turn[pick])


def leading_modes(jacobian: Real, value_errors: Real, blocks: Sequence[int], count: int) -> Eigenmodes:
    """The first `count` of `eigenmodes`, of a lower block triangular matrix with diagonal blocks of these sizes.

    Eigenvectors are those of the blocks, carried into the blocks below; the errors (n,) of the eigenvalues are those of
    `dynlab.numerics.eigenvalues.eigenvalues_along_diagonal`. M_ji is |l_j (J r_i − λ_i r_i)| and M_ij is
    |(l_i J − λ_i l_i) r_j|, both with what errors of the entries do to them. These are in proportion to the entries, as
    rows of large layers differ by many orders of magnitude, and as large as the errors of the eigenvalues say.
    """
    parts = parts_of(blocks)
    values, right, left = whole_eigenvectors(jacobian, parts)
    first = order(values)
    values, right, left = values[first], right[first], left[first]
    with np.errstate(all="ignore"):
        x, w = (np.linalg.norm(rows, axis=1) for rows in (right, left))
        shown, conditions = slice(count), x * w
        gap = np.abs(values[shown, None] - values) - value_errors[shown, None] - value_errors
        gap[np.arange(count), np.arange(count)] = np.inf
        alone = (gap > 0).all(axis=1)
        size = np.abs(jacobian)
        wrong = max(
            _relative(size[part, part], right[:, part], left[:, part], value_errors, first, part) for part in parts
        )
        wrong += ROUNDED * len(values) * UNIT
        r, selects = right[shown], left[shown]
        beside = real_times(jacobian, r.T).T - values[shown, None] * r
        below = real_times(jacobian.T, selects.T).T - values[shown, None] * selects
        into = (np.abs(beside @ left.T) + wrong * (np.abs(r) @ size.T) @ np.abs(left).T) / gap
        out_of = (np.abs(below @ right.T) + wrong * (np.abs(selects) @ size) @ np.abs(right).T) / gap
        turn = np.maximum(into @ x / x[shown], out_of @ w / w[shown])
        largest = r[np.arange(count), np.abs(r).argmax(axis=1)]
        scale = (x[shown] * largest / np.abs(largest))[:, None]
        errors = np.where(alone & np.isfinite(turn), BEYOND_FIRST_ORDER * turn, np.inf)
        return Eigenmodes(values[shown], value_errors[shown], r / scale, selects * scale, conditions[shown], errors)


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


def _complex(rows: Real, values: Complex, sign: float) -> Complex:
    """Complex rows r ± i s, times `sign`, of pairs of real ones r, s; of inverse rows (r ∓ i s)/2 for `sign` −1/2."""
    found = rows.astype(complex)
    (first,) = np.nonzero(values.imag > 0)
    scale = min(1.0, abs(sign))
    found[first] = scale * (rows[first] + 1j * np.sign(sign) * rows[first + 1])
    found[first + 1] = found[first].conj()
    return found
