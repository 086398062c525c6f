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

import numpy as np
from numpy.typing import NDArray

from dynlab.numerics.eigenvalue_discs import Discs

Complex = NDArray[np.complex128]
Real = NDArray[np.float64]


def parts_of(sizes: Sequence[int]) -> list[slice]:
    """Where blocks of these sizes lie along the diagonal."""
    return [slice(*ends) for ends in itertools.pairwise(np.cumsum([0, *sizes]).tolist())]


def whole_conditions(matrix: Real, parts: Sequence[slice], blocks: Sequence[Discs]) -> Real:
    """‖l_i‖‖v_i‖, with l_i v_i = 1, of all eigenvalues of a lower block triangular matrix, block after block.

    Parameters
    ----------
    matrix : ndarray, shape (n, n)
    parts : sequence of slice
        `parts_of` its diagonal blocks.
    blocks : sequence of Discs
        Of each diagonal block, the first matrix's.

    Returns
    -------
    ndarray, shape (n,)
        inf or NaN where an eigenvalue of one block is one of another too.
    """
    found = []
    values = [block.centers[0] for block in blocks]
    with np.errstate(all="ignore"):
        for k, block in enumerate(blocks):
            own = np.flatnonzero(values[k].imag >= 0)  # the other one of a pair has the same conditions
            other = own + (values[k][own].imag > 0)
            turning = 1j * (other > own)
            v, w = block.right[0, own] + turning[:, None] * block.right[0, other], block.left[0, own]
            w = (w - turning[:, None] * block.left[0, other]) / np.where(other > own, 2.0, 1.0)[:, None]
            right = _length(matrix, parts, v.T, values[k][own], blocks, range(k, len(blocks)))
            left = _length(matrix.T, parts, w.T, values[k][own], blocks, range(k, -1, -1))
            each = np.empty(len(values[k]))
            each[own] = each[other] = right * left
            found.append(each)
    return np.concatenate(found)


def _length(
    matrix: Real, parts: Sequence[slice], first: Complex, shifts: Complex, blocks: Sequence[Discs], order: range
) -> Real:
    """The lengths of eigenvectors to the eigenvalues `shifts` that are `first` (rows, vector) in the first block."""
    known = [first]
    for number, j in enumerate(order[1:], 1):
        forward, block = order.step > 0, blocks[j]
        basis, dual = (block.right[0], block.left[0]) if forward else (block.left[0], block.right[0])
        fed = sum(_times(matrix[parts[j], parts[i]], v) for i, v in zip(order[:number], known, strict=True))
        known.append(_times(basis.T, _divided(_times(dual, np.asarray(fed)), shifts, block.centers[0], forward)))
    return np.asarray(np.sqrt(sum((each.real**2 + each.imag**2).sum(axis=0) for each in known)))


def _times(matrix: Real, vectors: Complex) -> Complex:
    """A real matrix times complex vectors, in real arithmetic."""
    both = matrix @ np.concatenate([vectors.real, vectors.imag], axis=1)
    return np.asarray(both[:, : vectors.shape[1]] + 1j * both[:, vectors.shape[1] :])


def _divided(y: Complex, shifts: Complex, values: Complex, forward: bool) -> Complex:
    """(λ − Λ)⁻¹ y for each shift λ and its column of y; Λ has ((a, b), (−b, a)) for a pair a ± i b; backward, Λᵀ."""
    a, b = values.real[:, None], (values.imag if forward else -values.imag)[:, None]
    partner = np.arange(len(values)) + np.sign(values.imag).astype(np.intp)
    return np.asarray(((shifts - a) * y + b * y[partner]) / ((shifts - a - 1j * b) * (shifts - a + 1j * b)))
