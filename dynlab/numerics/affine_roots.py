"""The roots of an affine function A h + b whose entries carry rounding: one point, a whole affine set, or none.

A is as singular as its entries say: with |ΔA| ≤ E entry by entry, E = ε times their sizes, A + ΔA is regular for every
such ΔA where ρ(|A⁻¹| E) < 1. Its rank is read off the singular values of R A C, with diagonal R and C that make the
rows and columns of R E C equally large, so that units of very different scales do not hide one another.

References
----------
Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition (2002), sections 6.2 and 7.2; Demmel, "The
componentwise distance to the nearest singular matrix", SIAM J. Matrix Anal. Appl. 13 (1992); Sinkhorn and Knopp,
Pacific J. Math. 21 (1967) (R and C).
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.linalg import matrix_balance

from dynlab.numerics.arrays import Real
from dynlab.numerics.eigenvalues import approximate_eigenvalues

EPS = float(np.finfo(np.float64).eps)
# Times ε, entry by entry. Of 4,800 matrices S diag(1, …) S⁻¹ with 2 to 64 rows, as computed, every one lies within 1.6
# of a singular one; a matrix that is farther than `TOLD` is regular whatever a few more roundings were.
ROUNDED, TOLD = 4.0, 16.0
FARTHEST = 1e6  # a matrix that may be regular by its rounding has a root somewhere; farther away than this it is none
EXACT_UP_TO = 16  # states: larger matrices take too long in fractions
SWEEPS = 20  # of Sinkhorn's iteration: R and C need not be exact, they only have to be of the right size


class AffineRoots(NamedTuple):
    """Where A h + b = 0.

    Attributes
    ----------
    exists : int
        1 where there are roots, 0 where there are none up to `FARTHEST`, −1 where rounding does not tell.
    point : ndarray, shape (n,)
        The root nearest to the origin; where there is none, where ‖A h + b‖ is least.
    directions : ndarray, shape (d, n)
        Orthonormal: the roots are `point` and what these span from it. Empty where the point is the only one.
    decided : bool
        Whether rounding tells how many directions there are.
    exact : bool
        Whether A is told from every singular matrix, or is one itself; else the root of A as it stands may be far away.
    """

    exists: int
    point: Real
    directions: Real
    decided: bool
    exact: bool


def affine_roots(A: Real, b: Real, sizes: Real, error: Real) -> AffineRoots:
    """The roots of A h + b.

    Parameters
    ----------
    A : ndarray, shape (n, n)
    b : ndarray, shape (n,)
    sizes : ndarray, shape (n, n)
        What each entry of A is as large as before its own cancellation, such as |I| + |J| for J − I. An entry that is
        not 0 counts for no less than the largest of its row or of its column, in units of states that make these most
        alike: a small one is what rounding has left of these as a rule, while 0 is 0.
    error : ndarray, shape (n,)
        A bound on what rounding has left in b.

    Examples
    --------
    >>> line = np.array([[0.0, 0.0], [0.0, -0.5]])
    >>> found = affine_roots(line, np.array([0.0, 1.0]), np.abs(line) + 1, np.zeros(2))
    >>> found.exists, np.abs(found.point).round(12).tolist(), np.abs(found.directions).round(12).tolist()
    (1, [0.0, 2.0], [[1.0, 0.0]])
    >>> affine_roots(line, np.array([1e-8, 1.0]), np.abs(line) + 1, np.zeros(2)).exists
    0
    """
    units = matrix_balance(sizes, permute=False, separate=True)[1][0]  # of the states: with them sizes are more alike
    alike = sizes * units / units[:, None]
    least = np.minimum(alike.max(axis=1)[:, None], alike.max(axis=0)) * units[:, None] / units
    E = EPS * np.where(A == 0, sizes, np.maximum(sizes, least))
    if _surely_regular(A, TOLD * E):
        point = np.linalg.solve(A, -b).astype(np.float64)
        return AffineRoots(1, point, np.zeros((0, len(b))), True, True)
    left, right = _equilibrating(E)
    u, sigma, v = np.linalg.svd(left[:, None] * A * right)
    unit = float(np.linalg.norm(left[:, None] * E * right, 2))
    rank = int((sigma > ROUNDED * unit).sum())
    inverse = (v[:rank].T / sigma[:rank]) @ u[:, :rank].T
    point = -right * (inverse @ (left * b))
    directions = np.linalg.qr(right[:, None] * v[rank:].T)[0].T
    point = point - directions.T @ (directions @ point)
    # along the left null vectors b must vanish, to its own rounding and to that of the entries that meet the root
    missed = np.abs(u[:, rank:].T @ (left * b))
    rounding = np.abs(u[:, rank:]).T @ (left * (error + EPS * np.abs(b) + E @ np.abs(point)))
    beyond = np.abs(u[:, rank:]).T @ (left * np.where(A == 0, 0.0, E).sum(axis=1)) * FARTHEST
    none = missed > TOLD * np.maximum(rounding, beyond)
    exists = 1 if (missed <= ROUNDED * rounding).all() else 0 if none.any() else -1
    decided = not ((sigma > ROUNDED * unit) & (sigma <= TOLD * unit)).any()
    return AffineRoots(exists, point, directions, decided, _has_rank(A, rank))


def _has_rank(A: Real, rank: int) -> bool:
    """Whether the rank of A as it stands is that; of a large matrix by its rows or columns of zeros alone."""
    if len(A) - rank <= max(int((A == 0).all(axis=axis).sum()) for axis in (0, 1)):
        return True
    rows, found = [[Fraction(value) for value in row] for row in A.tolist()] if len(A) <= EXACT_UP_TO else [], 0
    for column in range(len(rows)):  # Gauss's elimination
        lead = next((row for row in rows if row[column]), None)
        if lead is None:
            continue
        rows = [
            [a - b * row[column] / lead[column] for a, b in zip(row, lead, strict=True)]
            for row in rows
            if row is not lead
        ]
        found += 1
    return bool(len(A) <= EXACT_UP_TO) and found == rank


def _surely_regular(A: Real, E: Real) -> bool:
    try:
        inverse = np.abs(np.linalg.inv(A))
    except np.linalg.LinAlgError:
        return False
    return bool(np.isfinite(inverse).all() and np.abs(approximate_eigenvalues(inverse @ E)).max() < 1)


def _equilibrating(E: Real) -> tuple[Real, Real]:
    """Diagonals of R and C with which every row and column of R E C sums to about 1; one of zeros stays."""
    left, right = np.ones(len(E)), np.ones(len(E))
    for _ in range(SWEEPS):
        left = _reciprocal(E @ right)
        right = _reciprocal(E.T @ left)
    return left, right


def _reciprocal(sums: Real) -> Real:
    return 1 / np.where(sums > 0, sums, 1.0)
