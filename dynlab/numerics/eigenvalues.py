"""The eigenvalues of real matrices: their order, their conditions, and a bound on the error of each."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from dynlab.numerics.arrays import Complex, Real, frobenius
from dynlab.numerics.block_triangular import parts_of, whole_conditions
from dynlab.numerics.eigenvalue_discs import UNIT, Discs, discs
from dynlab.numerics.eigenvalue_sets import matched, order
from dynlab.numerics.graded_discs import SMALLEST, graded_discs
from dynlab.numerics.invariant_subspaces import LARGEST, eigenvalues_by_subspaces, reach
from dynlab.numerics.lapack import geev, schur
from dynlab.numerics.threads import in_threads

METHOD = (  # for the methods of diagnostics
    "Eigenvalues are LAPACK's, in float64, corrected by the residual of its eigenvectors. The error of each is "
    "a true bound, from Gershgorin discs about the residual or from invariant subspaces. Of one that is isolated it "
    "is the condition ‖l‖‖r‖ of left and right eigenvectors times the error of the matrix, and what is of second "
    "order"
)
# Times n u ‖A‖_F + error: discs that meet are looked at anew, by invariant subspaces, where they reach farther.
FAR = 30.0
# Times ‖A‖_F: where a matrix is too large for groups of neighbours, discs that reach less far are not looked at anew.
ONE_BLOCK = 0.1
# Times n u |λ|: a matrix with a disc that is wider may be graded, and is looked at anew as one where it is not large.
WIDE = 1e3
LARGEST_GRADED = 64
# Matrices whose largest entry is smaller are multiplied by 2 to the power of LIFT, which changes no digit.
NEARLY_SUBNORMAL, LIFT = 2.0**-960, 512
TINY = 1e-300  # errors below are alike
ARRAYS = 24  # of the size of a matrix that its discs need


class Eigenvalues(NamedTuple):
    """Eigenvalues λ_i of matrices, in the order of `dynlab.numerics.eigenvalue_sets.order`.

    Attributes
    ----------
    values : ndarray of complex, shape (..., n)
        NaN where a matrix is not finite, or LAPACK's iteration does not converge.
    errors : ndarray, shape (..., n)
        A bound on the error of each: there is a pairing with the exact eigenvalues in which each is within its error.
    conditions : ndarray, shape (..., n)
        ‖l_i‖‖r_i‖ of left and right eigenvectors with l_i r_i = 1; inf where the matrix is defective to rounding.
    """

    values: Complex
    errors: Real
    conditions: Real


def eigenvalues(
    matrices: Real, error: ArrayLike | list[Real] = 0.0, blocks: Sequence[int] = (), *, conditions: bool = True
) -> Eigenvalues:
    """Eigenvalues with a true bound on the error of each, near defective matrices as well.

    Parameters
    ----------
    matrices : ndarray, shape (..., n, n)
    error : array_like, shape (), (...) or (..., n, n)
        A bound on what the matrices are wrong by, in the 2-norm or entry by entry; 0 where they are meant as stored.
        Of the diagonal blocks a list, entry by entry, each (..., m, m): what the others are wrong by moves nothing.
    blocks : sequence of int, optional
        The sizes of the diagonal blocks of matrices that are lower block triangular, and are so exactly: their zeros
        are not wrong. The eigenvalues are then those of the blocks, the conditions those of the whole matrix.
    conditions : bool
        Whether these are wanted; inf of several blocks where they are not.

    Notes
    -----
    An isolated eigenvalue's error is its condition times `error`, a few roundings of itself, and what is of second
    order: its disc is proved from the residual of LAPACK's eigenvectors, with more than double digits where rounding
    would else outweigh `error`. Discs that meet are one: each error then reaches to the end of their union. Where that
    is far, invariant subspaces of neighbouring eigenvalues bound them, as the m-th root of the error for m of them. A
    matrix that a permutation makes block triangular is taken apart, and one whose rows or columns differ by orders of
    magnitude keeps the digits of its small eigenvalues.

    References
    ----------
    `dynlab.numerics.eigenvalue_discs`, `graded_discs` and `invariant_subspaces` beside it have theorems and sources.

    Examples
    --------
    >>> skewed = np.array([[1 - 1e-9, 1e6], [0.0, 0.5]])  # the condition of 1 − 1e-9 is 2e6
    >>> exact, rounded = (eigenvalues(skewed, error).errors[0] for error in (0.0, 1e-12))
    >>> bool(exact < 1e-15), f"{rounded:.0e}"
    (True, '2e-06')
    """
    stack = np.asarray(matrices, dtype=np.float64)
    *before, n = stack.shape[:-1]
    stack = stack.reshape(-1, n, n)
    sizes = blocks or (n,)
    if sum(sizes) != n:
        raise ValueError(f"blocks of sizes {tuple(sizes)} do not add up to a matrix of {n} rows")
    parts = parts_of(sizes)
    if isinstance(error, list):
        wrong = [each.reshape(-1, *each.shape[-2:]) for each in error]
    else:
        given = np.asarray(error, dtype=np.float64)
        entries = (n, n) if given.ndim == len(before) + 2 else ()
        given = np.broadcast_to(given, (*before, *entries)).reshape(-1, *entries)
        wrong = [given[:, part, part] if entries else given for part in parts]
    # below, products of a matrix with numbers below 1 would lose digits
    largest = np.maximum(stack.max(axis=(1, 2), initial=0.0), -stack.min(axis=(1, 2), initial=0.0))
    lift = np.where((largest > 0) & (largest < NEARLY_SUBNORMAL), LIFT, 0)
    if lift.any():
        with np.errstate(over="ignore"):  # an error of inf is what there is to say beside so small a matrix
            stack, *wrong = (np.ldexp(each.T, lift).T for each in (stack, *wrong))
    each = 8 * (ARRAYS * max(sizes) ** 2 + (4 * n * n if len(sizes) > 1 else 0))
    values, errors, known = in_threads(
        lambda rows: _along_diagonal(stack[rows], [one[rows] for one in wrong], parts, conditions), len(stack), each
    )
    values, errors = _lowered(values, errors, np.ldexp(1.0, -lift)[:, None])
    shape = (*before, n)
    return Eigenvalues(values.reshape(shape), errors.reshape(shape), known.reshape(shape))


def eigenvalues_along_diagonal(blocks: Sequence[Real], wrong: Sequence[Real]) -> tuple[Complex, Real]:
    """Eigenvalues (n,) of a block triangular matrix and their errors, from its diagonal blocks (m, m) and theirs."""
    found = [eigenvalues(block, error) for block, error in zip(blocks, wrong, strict=True)]
    values, errors = (np.concatenate(part) for part in list(zip(*found, strict=True))[:2])
    sorts = order(values)
    return values[sorts], errors[sorts]


def approximate_eigenvalues(matrices: Real) -> Complex:
    """Eigenvalues in the same order without errors, in half the time: for estimates, and where a residual will tell.

    Parameters
    ----------
    matrices : ndarray, shape (..., n, n)

    Returns
    -------
    ndarray of complex, shape (..., n)
        NaN where a matrix is not finite, or LAPACK's iteration does not converge.
    """
    stack = np.asarray(matrices, dtype=np.float64)
    n = stack.shape[-1]
    flat = stack.reshape(-1, n, n)

    def work(rows: slice) -> tuple[Complex]:
        values = np.full((len(flat[rows]), n), np.nan, dtype=complex)
        for number, matrix in enumerate(flat[rows]):
            if np.isfinite(matrix).all():
                found = geev(matrix, vectors=False)[0]
                values[number] = found[order(found)]
        return (values,)

    (values,) = in_threads(work, len(flat))
    return np.asarray(values.reshape(stack.shape[:-1]))


def _lowered(values: Complex, errors: Real, size: Real) -> tuple[Complex, Real]:
    """Both times a power of 2, and the errors of what that makes subnormal larger by what is lost."""
    centers, radii = values * size, errors * size
    lost = (centers / size != values) | (radii / size != errors)
    return centers, np.where(lost, radii + 2 * SMALLEST, radii)


def _along_diagonal(stack: Real, error: Sequence[Real], parts: Sequence[slice], wanted: bool) -> Eigenvalues:
    """The eigenvalues of matrices (k, n, n) from those of their diagonal blocks, each with its own error."""
    if len(parts) == 1:
        return solved(stack, error[0])[0]
    finite = np.asarray(np.isfinite(stack).all(axis=(1, 2)))
    if not finite.all():
        stack = np.where(finite[:, None, None], stack, 0.0)
    conditions = np.full(stack.shape[:2], np.inf)
    forms = [[schur(block) for block in stack[:, part, part]] for part in parts]
    found = [
        discs(stack[:, part, part], wrong, [each[:3] for each in known])
        for part, wrong, known in zip(parts, error, forms, strict=True)
    ]
    for number in range(len(stack) if wanted else 0):
        own = [each[number] for each in forms]
        conditions[number] = whole_conditions(stack[number], parts, own, found, number)
    for part, wrong, block in zip(parts, error, found, strict=True):
        _sharpen(stack[:, part, part], wrong, block, finite)
    centers, radii = (
        np.concatenate([getattr(block, name) for block in found], axis=1) for name in ("centers", "radii")
    )
    return _in_order(centers, radii, conditions, finite)[0]


def solved(stack: Real, error: Real) -> tuple[Eigenvalues, Discs, NDArray[np.intp]]:
    """The eigenvalues of matrices (k, n, n), the discs they come from, and what sorts these into the same order."""
    finite = np.asarray(np.isfinite(stack).all(axis=(1, 2)))
    stack = np.where(finite[:, None, None], stack, 0.0)
    found = discs(stack, error)
    _sharpen(stack, error, found, finite)
    known, sorts = _in_order(found.centers, found.radii, found.conditions, finite)
    return known, found, sorts


def _sharpen(stack: Real, error: Real, found: Discs, finite: NDArray[np.bool_]) -> None:
    """Look anew at the matrices whose discs meet or are wide, and put what is found there in place of their discs."""
    centers, radii = found.centers, found.radii
    with np.errstate(invalid="ignore"):
        sharp = found.alone & (radii <= WIDE * stack.shape[-1] * UNIT * np.abs(centers))
    for number in np.flatnonzero(~sharp.all(axis=1) & finite):
        first, alone = (centers[number], radii[number]), bool(found.alone[number].all())
        centers[number], radii[number] = _anew(stack[number], error[number], *first, alone)


def _in_order(
    centers: Complex, radii: Real, conditions: Real, finite: NDArray[np.bool_]
) -> tuple[Eigenvalues, NDArray[np.intp]]:
    """In the order of eigenvalues, with what sorts them; NaN of a matrix that is not finite."""
    sorts = order(centers)
    known = finite[:, None] & np.isfinite(np.take_along_axis(centers, sorts, axis=1))
    conditions = np.nan_to_num(conditions, nan=np.inf, posinf=np.inf)
    values, errors, conditions = (
        np.where(known, np.take_along_axis(part, sorts, axis=1), np.nan) for part in (centers, radii, conditions)
    )
    return Eigenvalues(values.astype(complex), errors.real, conditions.real), sorts


def _anew(matrix: Real, error: Real, centers: Complex, radii: Real, alone: bool) -> tuple[Complex, Real]:
    """Eigenvalues and errors of a matrix whose discs meet one another, or are none, or are wide."""
    entries = error if error.ndim else np.full_like(matrix, error)
    count, group = connected_components((matrix != 0) | (entries > 0), connection="strong")
    if count > 1:
        return _like(centers, *_of_blocks(matrix, entries, group))
    found = (centers, radii) if alone else _meeting(matrix, frobenius(error), centers, radii)
    if len(matrix) > LARGEST_GRADED or (error.ndim == 0 and error > 0):
        return found
    graded = graded_discs(matrix, entries)
    if graded is None:
        return found
    other = graded[0], reach(*graded)
    either = [_sharpened(found, other), _like(centers, *_sharpened(other, found))]
    return min(either, key=lambda each: np.log(np.maximum(each[1], TINY)).sum())


def _sharpened(first: tuple[Complex, Real], second: tuple[Complex, Real]) -> tuple[Complex, Real]:
    """The first eigenvalues and errors, with those of the second that are sharper and that they can only belong to.

    A disc of the second that meets no other of these holds one eigenvalue exactly; if it meets one disc of the first
    alone, that eigenvalue is the one in that disc.
    """
    (centers, errors), (values, radii) = first, second
    shorter = 1 - 8 * UNIT  # distances that are not rounded up
    with np.errstate(invalid="ignore"):
        apart = np.abs(values[:, None] - values) * shorter > radii[:, None] + radii
        meets = ~(np.abs(values[:, None] - centers) * shorter > radii[:, None] + errors)
    np.fill_diagonal(apart, True)
    place = meets.argmax(axis=1)
    better = apart.all(axis=1) & (meets.sum(axis=1) == 1) & (radii < errors[place])
    centers, errors = centers.copy(), errors.copy()
    centers[place[better]], errors[place[better]] = values[better], radii[better]
    return centers, errors


def _like(centers: Complex, values: Complex, errors: Real) -> tuple[Complex, Real]:
    """In the order of the centres that they are nearest to, where these are known."""
    own = matched(centers, values) if np.isfinite(centers).all() else np.arange(len(values))
    return values[own], errors[own]


def _meeting(matrix: Real, error: float, centers: Complex, radii: Real) -> tuple[Complex, Real]:
    """Eigenvalues and errors by invariant subspaces, where the discs reach far."""
    if not np.isfinite(centers).all():
        return centers, radii
    exponent = int(np.frexp(np.abs(matrix).max())[1])
    matrix, size = np.ldexp(matrix, -exponent), float(np.ldexp(1.0, exponent))
    first = reach(centers, radii) / size
    norm = float(np.linalg.norm(matrix))
    enough = FAR * (len(matrix) * UNIT * norm + error / size)
    if first.max() <= (enough if len(matrix) <= LARGEST else max(enough, ONE_BLOCK * norm)):
        return centers, first * size
    found, errors = eigenvalues_by_subspaces(matrix, error / size)
    if np.isfinite(errors).all():
        own = matched(centers / size, found)
        near = centers / size
        if (np.abs(near - found[own]) > errors[own]).any():  # nearly parallel eigenvectors have led the centres astray
            near = _as_pairs(near, found[own])
        found, errors = near, (errors[own] + np.abs(near - found[own])) * (1 + 8 * UNIT)
    better = np.log(np.maximum(errors, UNIT)).sum() < np.log(np.maximum(first, UNIT)).sum()
    return (size * found, size * errors) if better else (centers, size * first)


def _as_pairs(centers: Complex, values: Complex) -> Complex:
    """The values, made real where the centres are, and conjugate where these are a pair."""
    sign = np.sign(centers.imag)
    mean = (values + values[np.arange(len(centers)) + sign.astype(np.intp)].conj()) / 2
    return np.asarray(mean.real + 1j * sign * np.abs(mean.imag))


def _of_blocks(matrix: Real, error: Real, group: NDArray[np.int32]) -> tuple[Complex, Real]:
    """Of a matrix that a permutation makes block triangular: those of its blocks, an entry where one is 1 × 1."""
    values, errors = [], []
    for number in range(int(group.max()) + 1):
        place = np.flatnonzero(group == number)
        block, wrong = matrix[np.ix_(place, place)], error[np.ix_(place, place)]
        if len(place) == 1:
            values.append(block[0])
            errors.append(wrong[0])
        else:
            found = solved(block[None], wrong[None])[0]
            values.append(found.values[0])
            errors.append(found.errors[0])
    return np.concatenate(values), np.concatenate(errors)
