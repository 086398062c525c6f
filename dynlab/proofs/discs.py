"""All eigenvalues of a real matrix of balls, in discs: Gershgorin's theorem after an approximate diagonalisation.

With exact matrices V, Y and Y V = I − R, ρ = ‖R‖_∞ < 1, the matrix V⁻¹ J V = (I − R)⁻¹ Y J V has its eigenvalues in
the discs about b_ii with radius Σ_{j≠i} |b_ij| + ρ/(1 − ρ) ‖B‖_∞, B = Y J V. Discs that are connected hold as many
eigenvalues together as they are: this counts clusters and multiple eigenvalues, which no separate discs could.

Of a pair of conjugate columns u ± i w of V only the real u and w are kept, so that products of matrices are real:
V = W T with T = [[1, 1], [i, −i]] for each pair, and Y = T⁻¹ Z.

References
----------
Golub and Van Loan, Matrix Computations, section 7.2.1; Miyajima, "Fast enclosure for all eigenvalues in generalized
eigenvalue problems", J. Comput. Appl. Math. 233 (2010).
"""

from typing import NamedTuple

import numpy as np
from flint import acb, acb_mat, arb, arb_mat, ctx

from dynlab.numerics.arrays import Complex, Index, Real
from dynlab.proofs.balls import doubles, exact_matrix, identity

REFINEMENTS = 3  # quadratic: 1e-13, 1e-26, 1e-52
SMALL_STEP = 1e-10  # the couplings after one are below its square, which is enough
SEPARATED = 0.05  # a pair is refined where its coupling is below this times its eigenvalues' distance
TINY = 1e-300  # above what many numbers below the smallest double sum to
PERTURBATION_BITS = 8  # where eigenvectors are exactly parallel, those of a matrix this many bits off rounding serve


class Basis(NamedTuple):
    """W and Z, exact, and the first columns of W's pairs; the other columns belong to real eigenvalues."""

    columns: arb_mat
    inverse: arb_mat
    pairs: Index


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
    """How many eigenvalues are outside the unit circle, inside it, or in sets of discs that meet it."""

    outside: int
    inside: int
    undecided: int


def eigenvalue_discs(jacobian: arb_mat, thorough: bool) -> ProvedDiscs | None:
    """Discs of the eigenvalues of every matrix in `jacobian`.

    Parameters
    ----------
    jacobian : arb_mat
    thorough : bool
        Whether the eigenvectors are computed in the precision at hand (seconds for n = 128) or in double precision and
        refined.

    Returns
    -------
    ProvedDiscs or None
        None where no invertible matrix of approximate eigenvectors was found.
    """
    middle = jacobian.mid()
    try:
        return discs_of(jacobian, _thorough(middle) if thorough else _refined(middle))
    except (ZeroDivisionError, ValueError, np.linalg.LinAlgError):
        return None


def count(discs: ProvedDiscs) -> Counts:
    """The eigenvalues inside and outside the unit circle; connected discs are decided together or not at all."""
    sides = np.array([_side(c, r) for c, r in zip(discs.centers, discs.radii, strict=True)])
    outside = inside = 0
    for number in range(int(discs.component.max()) + 1):
        members = sides[discs.component == number]
        outside += len(members) * bool((members == 1).all())
        inside += len(members) * bool((members == -1).all())
    return Counts(outside, inside, len(sides) - outside - inside)


def complex_basis(basis: Basis) -> tuple[acb_mat, acb_mat]:
    """V = W T and Y = T⁻¹ Z, exact in the precision that W and Z have."""
    columns, rows = basis.columns.transpose().tolist(), basis.inverse.tolist()
    vectors = [[acb(entry) for entry in column] for column in columns]
    inverse = [[acb(entry) for entry in row] for row in rows]
    for i in basis.pairs.tolist():
        vectors[i] = [acb(u, w) for u, w in zip(columns[i], columns[i + 1], strict=True)]
        vectors[i + 1] = [acb(u, -w) for u, w in zip(columns[i], columns[i + 1], strict=True)]
        inverse[i] = [acb(u / 2, -w / 2) for u, w in zip(rows[i], rows[i + 1], strict=True)]
        inverse[i + 1] = [acb(u / 2, w / 2) for u, w in zip(rows[i], rows[i + 1], strict=True)]
    return acb_mat(vectors).transpose().mid(), acb_mat(inverse).mid()


def real_basis(vectors: Complex, inverse: Complex) -> Basis:
    """W and Z of V = W T and Y = T⁻¹ Z, whose conjugate columns and rows stand beside each other."""
    pairs = np.flatnonzero(vectors.imag.any(axis=0))[::2]
    columns, rows = vectors.real.copy(), inverse.real.copy()
    columns[:, pairs + 1] = vectors.imag[:, pairs]
    rows[pairs], rows[pairs + 1] = 2 * inverse.real[pairs], -2 * inverse.imag[pairs]
    return Basis(exact_matrix(columns), exact_matrix(rows), pairs)


def _side(center: acb, radius: arb) -> int:
    modulus = abs(center)
    return 1 if modulus - radius > 1 else -1 if modulus + radius < 1 else 0


def _refined(middle: arb_mat) -> Basis:
    """Eigenvectors in double precision, refined: V ← V (I + X), x_ij = b_ij/(b_jj − b_ii).

    Couplings of second order are left where eigenvalues are apart.
    """
    n = middle.nrows()
    values, vectors = np.linalg.eig(doubles(middle))
    pairs = np.flatnonzero(values.imag > 0)
    vectors = np.where(values.imag < 0, -vectors.imag, vectors.real)  # of a pair the real and the imaginary part
    columns = exact_matrix(vectors)
    inverse = _nearer(exact_matrix(np.linalg.inv(vectors)), columns)
    T, T_inverse = _turning(n, pairs)
    distance = values[None, :] - values[:, None]
    blocks = exact_matrix((T * values @ T_inverse).real)
    for _ in range(REFINEMENTS):
        # less the blocks of the eigenvalues, beside whose rounding couplings would be lost
        shown = T_inverse @ doubles(inverse * (middle * columns) - blocks) @ T
        apart = np.abs(shown) < SEPARATED * np.abs(distance)
        step = np.where(apart, shown, 0) / np.where(apart, distance, 1)
        columns = (columns + columns * exact_matrix((T @ step @ T_inverse).real)).mid()
        inverse = _nearer(inverse, columns)
        if not np.abs(step).max() > SMALL_STEP:
            break
    return Basis(columns, inverse, pairs)


def _nearer(inverse: arb_mat, matrix: arb_mat) -> arb_mat:
    """Newton's step towards the inverse, which squares what is missing."""
    return (inverse + (identity(matrix.nrows()) - inverse * matrix) * inverse).mid()


def _turning(n: int, pairs: Index) -> tuple[Complex, Complex]:
    """T and T⁻¹."""
    T, inverse = np.eye(n, dtype=complex), np.eye(n, dtype=complex)
    for i in pairs:
        T[i : i + 2, i : i + 2] = [[1, 1], [1j, -1j]]
        inverse[i : i + 2, i : i + 2] = [[0.5, -0.5j], [0.5, 0.5j]]
    return T, inverse


def _thorough(middle: arb_mat) -> Basis:
    """Eigenvectors in the precision at hand; of a defective matrix, those of one beside it."""
    try:
        return _paired(*acb_mat(middle).eig(right=True, algorithm="approx"))
    except ZeroDivisionError:
        n = middle.nrows()
        scale = arb(2) ** (PERTURBATION_BITS - ctx.prec)
        beside = middle + exact_matrix(np.random.default_rng(0).standard_normal((n, n))) * scale
        return _paired(*acb_mat(beside.mid()).eig(right=True, algorithm="approx"))


def _paired(values: list[acb], vectors: acb_mat) -> Basis:
    """The real basis of approximate eigenvectors, which come in any order and with any complex factor.

    Raises
    ------
    ValueError
        Where the eigenvalues are not real or pairs.
    """
    border = arb(2) ** -(ctx.prec // 2) * max(abs(value).upper() for value in values)
    columns: list[list[arb]] = []
    pairs, turned = [], vectors.transpose().tolist()
    for value, vector in zip(values, turned, strict=True):
        if value.imag.mid() < -border:
            continue
        largest = max(vector, key=lambda entry: float(abs(entry).mid()))
        vector = [(entry / largest).mid() for entry in vector]
        if value.imag.mid() > border:
            pairs.append(len(columns))
            columns += [[entry.real for entry in vector], [entry.imag for entry in vector]]
        else:
            columns.append([entry.real for entry in vector])
    if len(columns) != len(values):
        raise ValueError(f"{len(columns)} columns of {len(values)} eigenvectors")
    basis = arb_mat(columns).transpose().mid()
    return Basis(basis, basis.inv().mid(), np.array(pairs, dtype=np.int64))


def discs_of(jacobian: arb_mat, basis: Basis) -> ProvedDiscs | None:
    """The discs that this basis of approximate eigenvectors shows; None where it shows none."""
    n = jacobian.nrows()
    rho = arb(_row_sums(identity(n) - basis.inverse * basis.columns, basis.pairs).max())
    if not rho < 1:
        return None
    similar = basis.inverse * (jacobian * basis.columns)
    rest = (rho / (1 - rho) * arb(_row_sums(similar, basis.pairs).max())).upper()
    centers: list[acb] = []
    firsts = set(basis.pairs.tolist())
    couplings = []
    for i in range(n):
        if i in firsts:
            # T⁻¹ E T of the 2 × 2 block E
            e11, e12, e21, e22 = (similar[i + k, i + m] for k in (0, 1) for m in (0, 1))
            value, coupling = acb(e11 + e22, e12 - e21) / 2, acb(e11 - e22, e12 + e21) / 2
            center = value.mid()
            centers += [center, center.conjugate()]
            couplings += 2 * [(value - center).abs_upper() + coupling.abs_upper()]
            for k, m in ((0, 0), (0, 1), (1, 0), (1, 1)):
                similar[i + k, i + m] = 0
        elif i - 1 not in firsts:
            center = acb(similar[i, i].mid())
            centers.append(center)
            couplings.append((similar[i, i] - center.real).abs_upper())
            similar[i, i] = 0
    radii = [
        (arb(off) + near + rest).upper()
        for off, near in zip(_row_sums(similar, basis.pairs).tolist(), couplings, strict=True)
    ]
    if not all(radius.is_finite() for radius in radii):
        return None
    return ProvedDiscs(centers, radii, basis, _components(centers, radii))


def _row_sums(matrix: arb_mat, pairs: Index) -> Real:
    """Upper bounds on Σ_j |(T⁻¹ M T)_ij|.

    With M's entries m_ij, it is at most Σ_j t_j |m_ij| in the row of a real eigenvalue, t_j = 2 in the columns of pairs
    and 1 in others, and at most the sum of all entries of both rows in those of a pair.
    """
    n = matrix.nrows()
    sizes = np.array([float(entry.abs_upper()) for entry in matrix.entries()]).reshape(n, n)
    weights = np.ones(n)
    weights[pairs] = weights[pairs + 1] = 2
    sums = sizes @ weights
    both = sizes[pairs].sum(axis=1) + sizes[pairs + 1].sum(axis=1)
    sums[pairs] = sums[pairs + 1] = both
    # each of n sums and roundings is off by 2⁻⁵² at most, relatively, or below the smallest double
    found: Real = sums * (1 + (n + 4) * 2.0**-51) + TINY
    return found


def _components(centers: list[acb], radii: list[arb]) -> Index:
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


def _coarse(places: Complex) -> float:
    """What rounding may make of a distance between these numbers, generously."""
    return 1e-12 * float(max(1.0, np.abs(places).max()))
