"""All eigenvalues of a matrix of balls, in discs: Gershgorin's theorem after an approximate diagonalisation.

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

REFINEMENTS = 3  # quadratic: 1e-13, 1e-26, 1e-52
SEPARATED = 0.05  # a pair is refined where its coupling is below this times its eigenvalues' distance
PERTURBATION_BITS = 8  # where eigenvectors are exactly parallel, those of a matrix this many bits off rounding serve


class Discs(NamedTuple):
    """Discs that hold all eigenvalues, and what shows it.

    Attributes
    ----------
    centers : list of acb
        Exact.
    radii : list of arb
        Exact.
    vectors, inverse : acb_mat
        V and Y, exact.
    component : ndarray, shape (n,)
        The number of the connected set of discs that each belongs to.
    """

    centers: list[acb]
    radii: list[arb]
    vectors: acb_mat
    inverse: acb_mat
    component: NDArray[np.int64]


class Counts(NamedTuple):
    """How many eigenvalues are outside the unit circle, inside it, or in sets of discs that meet it."""

    outside: int
    inside: int
    undecided: int


def eigenvalue_discs(jacobian: arb_mat, thorough: bool) -> Discs | None:
    """Discs of the eigenvalues of every matrix in `jacobian`.

    Parameters
    ----------
    jacobian : arb_mat
    thorough : bool
        Whether the eigenvectors are computed in the precision at hand (seconds for n = 128) or in double precision and
        refined.

    Returns
    -------
    Discs or None
        None where no invertible matrix of approximate eigenvectors was found.
    """
    middle = jacobian.mid()
    try:
        vectors = _thorough_vectors(middle) if thorough else _double_vectors(middle)
        inverse = vectors.inv().mid()
    except (ZeroDivisionError, ValueError, np.linalg.LinAlgError):
        return None
    if not thorough:
        vectors, inverse = _refined(middle, vectors, inverse)
    return _discs(jacobian, vectors, inverse)


def count(discs: Discs) -> Counts:
    """The eigenvalues inside and outside the unit circle; connected discs are decided together or not at all."""
    sides = np.array([_side(c, r) for c, r in zip(discs.centers, discs.radii, strict=True)])
    outside = inside = 0
    for number in range(int(discs.component.max()) + 1):
        members = sides[discs.component == number]
        outside += len(members) * bool((members == 1).all())
        inside += len(members) * bool((members == -1).all())
    return Counts(outside, inside, len(sides) - outside - inside)


def _side(center: acb, radius: arb) -> int:
    modulus = abs(center)
    return 1 if modulus - radius > 1 else -1 if modulus + radius < 1 else 0


def _double_vectors(middle: arb_mat) -> acb_mat:
    n = middle.nrows()
    matrix = np.array([float(entry) for entry in middle.entries()]).reshape(n, n)
    return _exact(np.linalg.eig(matrix)[1])


def _thorough_vectors(middle: arb_mat) -> acb_mat:
    n = middle.nrows()
    vectors = acb_mat(middle).eig(right=True, algorithm="approx")[1].mid()
    try:
        vectors.inv()
    except ZeroDivisionError:
        # a defective matrix: it has no basis of eigenvectors, one beside it has
        noise = np.random.default_rng(0).standard_normal((n, n))
        scale = arb(2) ** (PERTURBATION_BITS - ctx.prec)
        beside = acb_mat(middle) + acb_mat(n, n, [acb(scale * float(entry)) for entry in noise.ravel()])
        vectors = beside.eig(right=True, algorithm="approx")[1].mid()
    return _normalised(vectors)


def _normalised(vectors: acb_mat) -> acb_mat:
    """Columns scaled by powers of 2 to entries of modulus about 1."""
    n = vectors.nrows()
    rows = vectors.tolist()
    scales = []
    for j in range(n):
        largest = max(float(row[j].abs_upper()) for row in rows)
        scales.append(arb(2) ** -int(np.frexp(largest)[1]))
    return acb_mat(n, n, [row[j] * scales[j] for row in rows for j in range(n)]).mid()


def _refined(middle: arb_mat, vectors: acb_mat, inverse: acb_mat) -> tuple[acb_mat, acb_mat]:
    """V ← V (I + X), x_ij = b_ij/(b_jj − b_ii), which leaves couplings of second order where eigenvalues are apart."""
    n = middle.nrows()
    matrix = acb_mat(middle)
    for _ in range(REFINEMENTS):
        coupled = (inverse * (matrix * vectors)).mid()
        shown = np.array([complex(entry) for entry in coupled.entries()]).reshape(n, n)
        distance = np.diag(shown)[None, :] - np.diag(shown)[:, None]
        apart = np.abs(shown) < SEPARATED * np.abs(distance)
        step = np.where(apart, shown, 0) / np.where(apart, distance, 1)
        if not np.abs(step).max() > float(arb(2) ** (8 - ctx.prec)):
            break
        vectors = (vectors + vectors * _exact(step)).mid()
        inverse = vectors.inv().mid()
    return vectors, inverse


def _discs(jacobian: arb_mat, vectors: acb_mat, inverse: acb_mat) -> Discs | None:
    n = jacobian.nrows()
    identity = acb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])
    defect = _row_sums(identity - inverse * vectors)
    rho = _largest(defect)
    if not rho < 1:
        return None
    similar = inverse * (acb_mat(jacobian) * vectors)
    rest = (rho / (1 - rho)).upper() * _largest(_row_sums(similar))
    centers, radii = [], []
    for i, row in enumerate(similar.tolist()):
        center = acb(row[i].real.mid(), row[i].imag.mid())
        off = sum((entry.abs_upper() for j, entry in enumerate(row) if j != i), arb(0))
        radii.append((off + (row[i] - center).abs_upper() + rest).upper())
        centers.append(center)
    if not all(radius.is_finite() for radius in radii):
        return None
    return Discs(centers, radii, vectors, inverse, _components(centers, radii))


def _components(centers: list[acb], radii: list[arb]) -> NDArray[np.int64]:
    """Numbers of the connected sets; two discs that may touch are connected."""
    n = len(centers)
    number = np.arange(n)
    places = np.array([complex(center) for center in centers])
    reach = np.array([float(radius) for radius in radii])
    # far apart in double precision is apart; the close ones are told in balls
    near = np.abs(places[:, None] - places[None, :]) <= 2 * (reach[:, None] + reach[None, :]) + _coarse(places)
    for i, j in np.argwhere(np.triu(near, 1)):
        if number[i] != number[j] and not abs(centers[i] - centers[j]) > radii[i] + radii[j]:
            number[number == number[j]] = number[i]
    return np.unique(number, return_inverse=True)[1].astype(np.int64)


def _coarse(places: NDArray[np.complex128]) -> float:
    """What rounding may make of a distance between these numbers, generously."""
    return 1e-12 * float(max(1.0, np.abs(places).max()))


def _row_sums(matrix: acb_mat) -> list[arb]:
    return [sum((entry.abs_upper() for entry in row), arb(0)).upper() for row in matrix.tolist()]


def _largest(values: list[arb]) -> arb:
    largest = arb(0)
    for value in values:
        largest = largest.max(value)
    return largest.upper()


def _exact(matrix: NDArray[Any]) -> acb_mat:
    n, m = matrix.shape
    return acb_mat(n, m, [acb(complex(entry)) for entry in matrix.ravel()])
