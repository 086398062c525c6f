"""Conditions of the eigenvalues of a block triangular matrix, from the eigenvectors of its diagonal blocks.

With A = (A_ji), zero for j < i, an eigenvalue λ of A_kk has a right eigenvector v that vanishes above block k, is that
of A_kk there, and below it solves (λ − A_jj) v_j = Σ_{i<j} A_ji v_i. Left eigenvectors are the right ones of Aᵀ, the
blocks from the last to the first. The blocks' own eigenvectors make a division of each solve.

References
----------
Golub and Van Loan, Matrix Computations, sections 7.1.4 and 7.2.2.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynlab.numerics.eigenvalue_discs import Discs, left_inverses
from dynlab.numerics.lapack import geev

Complex = NDArray[np.complex128]
Real = NDArray[np.float64]


class Modes(NamedTuple):
    """Eigenvalues of one diagonal block (m,), and right and left eigenvectors as rows (m, m), two for a pair."""

    values: Complex
    right: Real
    left: Real


def parts_of(sizes: Sequence[int]) -> list[slice]:
    """Where blocks of these sizes lie along the diagonal."""
    return [slice(*ends) for ends in itertools.pairwise(np.cumsum([0, *sizes]).tolist())]


def whole_conditions(matrix: Real, parts: Sequence[slice], blocks: Sequence[Discs], number: int) -> Real:
    """‖l_i‖‖v_i‖, with l_i v_i = 1, of all eigenvalues of a lower block triangular matrix, block after block.

    Parameters
    ----------
    matrix : ndarray, shape (n, n)
    parts : sequence of slice
        `parts_of` its diagonal blocks.
    blocks : sequence of Discs
        Of each diagonal block of several matrices.
    number : int
        Which of these `matrix` is.

    Returns
    -------
    ndarray, shape (n,)
        inf or NaN where an eigenvalue of one block is one of another too.
    """
    modes = [Modes(block.centers[number], block.right[number], block.left[number]) for block in blocks]
    conditions = np.empty(len(matrix))
    for own, other, forward, backward in _vectors(matrix, parts, modes):
        conditions[own] = conditions[other] = _lengths(forward) * _lengths(backward)
    return conditions


def whole_eigenvectors(matrix: Real, parts: Sequence[slice]) -> tuple[Complex, Complex, Complex]:
    """Eigenvalues (n,) of a lower block triangular matrix, with right and left eigenvectors as rows, l_i v_j = δ_ij.

    Not finite where an eigenvalue of one block is one of another too.
    """
    found = [geev(matrix[part, part], vectors=True)[:2] for part in parts]
    modes = [Modes(values, right, np.asarray(left_inverses(right.T[None])[0], np.float64)) for values, right in found]
    vectors = np.zeros((2, *matrix.shape), dtype=complex)
    for own, other, *both in _vectors(matrix, parts, modes):
        for rows, columns in zip(vectors, both, strict=True):
            rows[own] = columns.T
            pairs = other > own
            rows[other[pairs]] = columns.T[pairs].conj()
    return np.concatenate([values for values, _ in found]), vectors[0], vectors[1]


def _vectors(
    matrix: Real, parts: Sequence[slice], modes: Sequence[Modes]
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], Complex, Complex]]:
    """For each block, rows of its eigenvalues, of a pair's both, and their right and left eigenvectors as columns."""
    with np.errstate(all="ignore"):
        for k, (values, right, left) in enumerate(modes):
            own = np.flatnonzero(values.imag >= 0)  # the other one of a pair is conjugate
            other = own + (values[own].imag > 0)
            turning = 1j * (other > own)[:, None]
            v = right[own] + turning * right[other]
            w = np.asarray(left[own] - turning * left[other], np.complex128)
            w /= np.where(other > own, 2.0, 1.0)[:, None]
            forward = _extended(matrix, parts, v.T, values[own], modes, range(k, len(modes)))
            backward = _extended(matrix.T, parts, w.T, values[own], modes, range(k, -1, -1))
            yield own + parts[k].start, other + parts[k].start, forward, backward


def _extended(
    matrix: Real, parts: Sequence[slice], first: Complex, shifts: Complex, modes: Sequence[Modes], order: range
) -> Complex:
    """The eigenvectors (n, vector) to the eigenvalues `shifts` that are `first` in the first block of the order."""
    whole, forward = np.zeros((len(matrix), len(shifts)), dtype=complex), order.step > 0
    whole[parts[order[0]]] = first
    for number, j in enumerate(order[1:], 1):
        basis, dual = (modes[j].right, modes[j].left) if forward else (modes[j].left, modes[j].right)
        fed = np.zeros((len(modes[j].values), len(shifts)), dtype=complex)
        for i in order[:number]:
            fed += real_times(matrix[parts[j], parts[i]], whole[parts[i]])
        whole[parts[j]] = real_times(basis.T, _divided(real_times(dual, fed), shifts, modes[j].values, forward))
    return whole


def _lengths(vectors: Complex) -> Real:
    return np.asarray(np.sqrt((vectors.real**2 + vectors.imag**2).sum(axis=0)))


def real_times(matrix: Real, vectors: Complex) -> Complex:
    """A real matrix times complex vectors, its columns: in real arithmetic, one pass through the matrix."""
    both = matrix @ np.concatenate([vectors.real, vectors.imag], axis=1)
    return np.asarray(both[:, : vectors.shape[1]] + 1j * both[:, vectors.shape[1] :])


def _divided(y: Complex, shifts: Complex, values: Complex, forward: bool) -> Complex:
    """(λ − Λ)⁻¹ y for each shift λ and its column of y; Λ has ((a, b), (−b, a)) for a pair a ± i b; backward, Λᵀ."""
    a, b = values.real[:, None], (values.imag if forward else -values.imag)[:, None]
    partner = np.arange(len(values)) + np.sign(values.imag).astype(np.intp)
    return np.asarray(((shifts - a) * y + b * y[partner]) / ((shifts - a - 1j * b) * (shifts - a + 1j * b)))
