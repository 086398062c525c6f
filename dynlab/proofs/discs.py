"""All eigenvalues of a real matrix of balls, in discs: Gershgorin's theorem after an approximate diagonalisation.

With exact matrices V, Y and Y V = I − R, ρ = ‖R‖_∞ < 1, the matrix V⁻¹ J V = (I − R)⁻¹ Y J V has its eigenvalues in
the discs about b_ii with radius Σ_{j≠i} |b_ij| + ρ/(1 − ρ) ‖B‖_∞, B = Y J V. Discs that are connected hold as many
eigenvalues together as they are: this counts clusters and multiple eigenvalues, which no separate discs could.

References
----------
Golub and Van Loan, Matrix Computations, section 7.2.1; Miyajima, "Fast enclosure for all eigenvalues in generalized
eigenvalue problems", J. Comput. Appl. Math. 233 (2010).
"""

from typing import Any, NamedTuple

import numpy as np
from flint import acb, acb_mat, arb, arb_mat, ctx
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from dynlab.numerics.arrays import Index
from dynlab.program.enclosure import doubles, exact_matrix, identity

REFINEMENTS = 3  # quadratic: 1e-13, 1e-26, 1e-52
SMALL_STEP = 1e-10  # the couplings after one are below its square, which is enough
SEPARATED = 0.05  # a pair is refined where its coupling is below this times its eigenvalues' distance
PERTURBATION_BITS = 8  # where eigenvectors are exactly parallel, those of a matrix this many bits off rounding serve


class Basis(NamedTuple):
    """V, approximate eigenvectors, and Y, an approximate inverse; both exact."""

    vectors: acb_mat
    inverse: acb_mat


class ProvedDiscs(NamedTuple):
    """Discs that hold all eigenvalues, and what shows it.

    Attributes
    ----------
    centers : list of acb
        Exact.
    radii : list of arb
        Exact.
    basis : Basis
    component : ndarray, shape (n,)
        The number of the connected set of discs that each belongs to.
    """

    centers: list[acb]
    radii: list[arb]
    basis: Basis
    component: Index


class Counts(NamedTuple):
    """Numbers of eigenvalues outside the unit circle, inside it, and in sets of discs that meet it."""

    outside: int
    inside: int
    undecided: int


def eigenvalue_discs(jacobian: arb_mat, thorough: bool) -> ProvedDiscs | None:
    """Discs of the eigenvalues of every matrix in `jacobian`.

    Parameters
    ----------
    jacobian : arb_mat
    thorough : bool
        Compute the eigenvectors in the precision at hand (seconds for n = 128), not in double precision and refined.

    Returns
    -------
    ProvedDiscs or None
        None where no invertible matrix of approximate eigenvectors was found.
    """
    middle = jacobian.mid()
    try:
        basis = _thorough(middle) if thorough else _refined(middle)
    except (ZeroDivisionError, np.linalg.LinAlgError):
        return None
    return discs_of(jacobian, basis)


def discs_of(jacobian: arb_mat, basis: Basis) -> ProvedDiscs | None:
    """Discs of the eigenvalues of every matrix in `jacobian`, by these approximate eigenvectors; None where none."""
    n = jacobian.nrows()
    missing = _row_sums(acb_mat(identity(n)) - basis.inverse * basis.vectors)
    similar = basis.inverse * (acb_mat(jacobian) * basis.vectors)
    sizes = _row_sums(similar)
    if not all(size.is_finite() for size in (*missing, *sizes)) or not max(missing) < 1:
        return None
    rest = (max(missing) / (1 - max(missing)) * max(sizes)).upper()
    centers = [similar[i, i].mid() for i in range(n)]
    for i in range(n):
        similar[i, i] -= centers[i]  # what is left adds to the radius
    radii = [(size + rest).upper() for size in _row_sums(similar)]
    if not all(radius.is_finite() for radius in radii):
        return None
    return ProvedDiscs(centers, radii, basis, _components(centers, radii))


def count(discs: ProvedDiscs) -> Counts:
    """The eigenvalues inside and outside the unit circle; connected discs are decided together or not at all."""
    pairs = zip(discs.centers, discs.radii, strict=True)
    sides = np.array([int(abs(center) - radius > 1) - int(abs(center) + radius < 1) for center, radius in pairs])
    outside = inside = 0
    for number in range(int(discs.component.max()) + 1):
        members = sides[discs.component == number]
        outside += len(members) * bool((members == 1).all())
        inside += len(members) * bool((members == -1).all())
    return Counts(outside, inside, len(sides) - outside - inside)


def _row_sums(matrix: acb_mat) -> list[arb]:
    """Upper bounds on Σ_j |m_ij|: the sums of |Re| + |Im|, as the checker of certificates takes them."""
    sizes = ([entry.real.abs_upper() + entry.imag.abs_upper() for entry in row] for row in matrix.tolist())
    return [sum(row, arb(0)).upper() for row in sizes]


def _refined(middle: arb_mat) -> Basis:
    """Eigenvectors in double precision, refined: V ← V (I + X), x_ij = b_ij/(b_jj − b_ii).

    Couplings of second order are left where eigenvalues are apart.
    """
    values, vectors = np.linalg.eig(doubles(middle))
    columns, matrix = _exact(vectors), acb_mat(middle)
    inverse = _nearer(_exact(np.linalg.inv(vectors)), columns)
    distance = values[None, :] - values[:, None]
    diagonal = _exact(np.diag(values))
    for _ in range(REFINEMENTS):
        # less the eigenvalues, beside whose rounding couplings would be lost
        coupling = inverse * (matrix * columns) - diagonal
        shown = np.array([complex(entry) for entry in coupling.entries()]).reshape(distance.shape)
        apart = np.abs(shown) < SEPARATED * np.abs(distance)
        step = np.where(apart, shown, 0) / np.where(apart, distance, 1)
        columns = (columns + columns * _exact(step)).mid()
        inverse = _nearer(inverse, columns)
        if not np.abs(step).max() > SMALL_STEP:
            break
    return Basis(columns, inverse)


def _exact(values: NDArray[Any]) -> acb_mat:
    """A matrix of real or complex doubles as it is."""
    return acb_mat(values.shape[0], values.shape[1], values.ravel().tolist())


def _nearer(inverse: acb_mat, matrix: acb_mat) -> acb_mat:
    """Newton's step towards the inverse, which squares what is missing."""
    return (inverse + (acb_mat(identity(matrix.nrows())) - inverse * matrix) * inverse).mid()


def _thorough(middle: arb_mat) -> Basis:
    """Eigenvectors in the precision at hand; of a defective matrix, those of one beside it."""
    try:
        _, vectors = acb_mat(middle).eig(right=True, algorithm="approx")
        return Basis(vectors.mid(), vectors.mid().inv().mid())
    except ZeroDivisionError:
        n = middle.nrows()
        scale = arb(2) ** (PERTURBATION_BITS - ctx.prec)
        beside = middle + exact_matrix(np.random.default_rng(0).standard_normal((n, n))) * scale
        _, vectors = acb_mat(beside.mid()).eig(right=True, algorithm="approx")
        return Basis(vectors.mid(), vectors.mid().inv().mid())


def _components(centers: list[acb], radii: list[arb]) -> Index:
    """Numbers of the connected sets; two discs that may touch are connected."""
    pairs = list(zip(centers, radii, strict=True))
    meet = [[not abs(a - b) > r + s for b, s in pairs] for a, r in pairs]
    return connected_components(np.array(meet), directed=False)[1].astype(np.int64)
