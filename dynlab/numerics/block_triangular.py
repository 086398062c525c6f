"""Conditions of the eigenvalues of a block triangular matrix, from the eigenvectors of its diagonal blocks.

With A = (A_ji), zero for j < i, an eigenvalue λ of A_kk has a right eigenvector v that vanishes above block k, is that
of A_kk there, and below it solves (λ − A_jj) v_j = Σ_{i<j} A_ji v_i. Left eigenvectors are the right ones of Aᵀ, the
blocks from the last to the first. The blocks' own eigenvectors make a division of each solve.

References
----------
Golub and Van Loan, Matrix Computations, sections 7.1.4 and 7.2.2.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynlab.numerics.eigenvalue_discs import Discs

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
    found = []
    with np.errstate(all="ignore"):
        for k, (values, right, left) in enumerate(modes):
            own = np.flatnonzero(values.imag >= 0)  # the other one of a pair has the same conditions
            other = own + (values[own].imag > 0)
            turning = 1j * (other > own)[:, None]
            v = right[own] + turning * right[other]
            w = np.asarray(left[own] - turning * left[other], np.complex128)
            w /= np.where(other > own, 2.0, 1.0)[:, None]
            forward = _lengths(matrix, parts, v.T, values[own], modes, range(k, len(modes)))
            backward = _lengths(matrix.T, parts, w.T, values[own], modes, range(k, -1, -1))
            each = np.empty(len(values))
            each[own] = each[other] = forward * backward
            found.append(each)
    return np.concatenate(found)


def _lengths(
    matrix: Real, parts: Sequence[slice], first: Complex, shifts: Complex, modes: Sequence[Modes], order: range
) -> Real:
    """The lengths of eigenvectors to the eigenvalues `shifts` that are `first` (rows, vector) in the first block."""
    known, forward = [first], order.step > 0
    for number, j in enumerate(order[1:], 1):
        basis, dual = (modes[j].right, modes[j].left) if forward else (modes[j].left, modes[j].right)
        fed = np.zeros((len(modes[j].values), len(shifts)), dtype=complex)
        for i, vectors in zip(order[:number], known, strict=True):
            fed += real_times(matrix[parts[j], parts[i]], vectors)
        known.append(real_times(basis.T, _divided(real_times(dual, fed), shifts, modes[j].values, forward)))
    return np.sqrt(np.sum([(each.real**2 + each.imag**2).sum(axis=0) for each in known], axis=0))


def real_times(matrix: Real, vectors: Complex) -> Complex:
    """A real matrix times complex vectors, its columns: in real arithmetic, one pass through the matrix."""
    both = matrix @ np.concatenate([vectors.real, vectors.imag], axis=1)
    return np.asarray(both[:, : vectors.shape[1]] + 1j * both[:, vectors.shape[1] :])


def _divided(y: Complex, shifts: Complex, values: Complex, forward: bool) -> Complex:
    """(λ − Λ)⁻¹ y for each shift λ and its column of y; Λ has ((a, b), (−b, a)) for a pair a ± i b; backward, Λᵀ."""
    a, b = values.real[:, None], (values.imag if forward else -values.imag)[:, None]
    partner = np.arange(len(values)) + np.sign(values.imag).astype(np.intp)
    return np.asarray(((shifts - a) * y + b * y[partner]) / ((shifts - a - 1j * b) * (shifts - a + 1j * b)))
