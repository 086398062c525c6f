"""The eigenvalues of real matrices: their order, their conditions, and a bound on the error of each."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.eigenvalue_discs import UNIT, attempted, discs, eigenvectors
from dynlab.numerics.eigenvalue_sets import matched, order
from dynlab.numerics.eigenvectors import coupled, parts_of
from dynlab.numerics.threads import in_threads

METHOD = (  # for the methods of diagnostics
    "Eigenvalues are LAPACK's, in float64. The error of each is a true bound, from Gershgorin discs about the residual "
    "of its eigenvectors. For an isolated eigenvalue it is the condition ‖l‖‖r‖ of left and right eigenvectors times "
    "the error of the matrix, plus terms of second order. Discs that meet reach over their union"
)
ARRAYS = 27  # of the size of a matrix that its discs need


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
    matrices: Real, error: ArrayLike = 0.0, blocks: Sequence[int] = (), *, conditions: bool = True
) -> Eigenvalues:
    """Return eigenvalues with a true bound on the error of each.

    Parameters
    ----------
    matrices : ndarray, shape (..., n, n)
    error : array_like, shape (), (...) or (..., n, n)
        A bound on the error of each entry; 0 where the matrices are meant as stored.
    blocks : sequence of int, optional
        Sizes of the diagonal blocks of matrices that are lower block triangular, with exact zeros. The eigenvalues are
        then those of the blocks, the conditions those of the whole matrix.
    conditions : bool
        Compute the conditions; else they are inf.

    Notes
    -----
    Entries that a permutation moves off the blocks of a triangular form change no eigenvalue, and are set to zero
    first: eigenvalues of triangular matrices, and zeros of dead units, are known to the last digits.

    References
    ----------
    `dynlab.numerics.eigenvalue_discs` has the theorem and its sources.

    Examples
    --------
    >>> skewed = np.array([[1 - 1e-9, 1e6], [0.0, 0.5]])  # the condition of 1 − 1e-9 is 2e6
    >>> exact, rounded = (eigenvalues(skewed, error).errors[0] for error in (0.0, 1e-12))
    >>> bool(exact < 1e-14), f"{rounded:.0e}"
    (True, '2e-06')
    """
    stack = np.asarray(matrices, dtype=np.float64)
    *before, n = stack.shape[:-1]
    stack = stack.reshape(-1, n, n)
    parts = parts_of(blocks or (n,))
    given = np.asarray(error, dtype=np.float64)
    entries = given if given.ndim == len(before) + 2 else given[..., None, None]
    wrong = np.broadcast_to(entries, (*before, n, n)).reshape(-1, n, n)

    def work(rows: slice) -> tuple[NDArray[np.inexact], ...]:
        return _solved(stack[rows], wrong[rows], parts, conditions)

    found = in_threads(work, len(stack), 8 * ARRAYS * max(part.stop - part.start for part in parts) ** 2)
    return Eigenvalues(*(part.reshape(*before, n) for part in found))


def approximate_eigenvalues(matrices: Real) -> Complex:
    """Return eigenvalues (..., n) of matrices (..., n, n) in the same order, without errors, in half the time.

    NaN where a matrix is not finite, or LAPACK's iteration does not converge.
    """
    stack = np.asarray(matrices, dtype=np.float64)
    flat = stack.reshape(-1, *stack.shape[-2:])

    def work(rows: slice) -> tuple[Complex]:
        (values,) = attempted(lambda some: (np.linalg.eigvals(some),), flat[rows])
        return (np.take_along_axis(values, order(values), axis=1).astype(complex),)

    return np.asarray(in_threads(work, len(flat))[0].reshape(stack.shape[:-1]))


def _solved(stack: Real, wrong: Real, parts: Sequence[slice], wanted: bool) -> tuple[NDArray[np.inexact], ...]:
    """Return the fields of `Eigenvalues` of matrices (k, n, n)."""
    finite: NDArray[np.bool_] = np.asarray(np.isfinite(stack).all(axis=(1, 2)))
    stack = np.where(finite[:, None, None], stack, 0.0)
    known, modes, places = [], [], []
    for part in parts:
        block, error = stack[:, part, part], wrong[:, part, part]
        inside = _irreducible(block, error)
        centers, radii, right, left = discs(block * inside, np.where(inside, error, 0.0))
        known.append((centers, radii))
        place = np.tile(np.arange(part.start, part.stop), (len(stack), 1))
        if wanted and not inside.all():
            others, right, left = eigenvectors(block)
            for row in np.flatnonzero(np.isfinite(others).all(axis=1)):
                place[row] = part.start + matched(centers[row], others[row])
            centers = others
        modes.append((centers, right, left))
        places.append(place)
    values, errors = (np.concatenate(each, axis=1) for each in zip(*known, strict=True))
    conditions = np.full(values.shape, np.inf)
    if wanted:
        _, X, W = coupled(stack, parts, modes)
        with np.errstate(all="ignore"):
            lengths = np.linalg.norm(X, axis=1) * np.linalg.norm(W, axis=2)
        lengths[~(lengths * lengths.shape[1] * UNIT < 1)] = np.inf
        conditions = np.take_along_axis(lengths, np.concatenate(places, axis=1), axis=1)
    sorts = order(values)
    told = np.asarray(finite[:, None] & np.isfinite(values))
    return tuple(
        np.take_along_axis(np.where(told, part, np.nan), sorts, axis=1) for part in (values, errors, conditions)
    )


def _irreducible(matrices: Real, error: Real) -> NDArray[np.bool_]:
    """Return which entries lie in the diagonal blocks of the triangular form that a permutation gives, (k, n, n)."""
    n = matrices.shape[-1]
    linked = (matrices != 0) | (error > 0) | np.eye(n, dtype=bool)
    if linked.all():
        return linked
    paths = linked.astype(np.float32)
    for _ in range(int(n - 1).bit_length()):
        paths = np.minimum(paths @ paths, 1)
    return np.asarray((paths > 0) & (paths > 0).swapaxes(1, 2))
