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
    own, other = _pairs(np.concatenate([each.values for each in modes]))
    conditions = np.full(len(matrix), np.nan)
    squares = [np.einsum("ij,ij->i", rows, rows) for rows in _vectors(matrix, parts, modes)]
    lengths = [np.sqrt(each[own] + np.where(other > own, each[other], 0.0)) for each in squares]
    conditions[own] = conditions[other] = lengths[0] * lengths[1] / np.where(other > own, 2.0, 1.0)
    return conditions


def whole_eigenvectors(matrix: Real, parts: Sequence[slice]) -> tuple[Complex, Complex, Complex]:
    """Eigenvalues (n,) of a lower block triangular matrix, with right and left eigenvectors as rows, l_i v_j = δ_ij.

    Not finite where an eigenvalue of one block is one of another too.
    """
    found = [geev(matrix[part, part], vectors=True)[:2] for part in parts]
    modes = [Modes(values, right, np.asarray(left_inverses(right.T[None])[0], np.float64)) for values, right in found]
    values = np.concatenate([values for values, _ in found])
    own, other = _pairs(values)
    pairs = (other > own)[:, None]
    vectors = np.zeros((2, *matrix.shape), dtype=complex)
    for rows, real, turning, share in zip(vectors, _vectors(matrix, parts, modes), (1j, -1j), (1.0, 0.5), strict=True):
        found_rows = np.where(pairs, share * (real[own] + turning * real[other]), real[own])
        rows[other], rows[own] = found_rows.conj(), found_rows
    return values, vectors[0], vectors[1]


def _pairs(values: Complex) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first row of each pair and the second; of a real eigenvalue its own row twice."""
    own = np.flatnonzero(values.imag >= 0)
    return own, own + (values[own].imag > 0)


def _vectors(matrix: Real, parts: Sequence[slice], modes: Sequence[Modes]) -> tuple[Real, Real]:
    """Right and left eigenvectors of the whole matrix as rows (n, n), two for a pair, as those of its blocks are.

    In the blocks' own eigenvectors X_j and X_j⁻¹ what couples the blocks is M_ji = X_j⁻¹ A_ji X_i, a right eigenvector
    of block i is Z_ji there, (λ − Λ_j) Z_ji = M_ji + Σ_{i<k<j} M_jk Z_ki, and a left one of block j is Y_ji in block i.
    """
    count = len(modes)
    right, left = np.zeros_like(matrix), np.zeros_like(matrix)
    for part, mode in zip(parts, modes, strict=True):
        right[part, part], left[part, part] = mode.right, mode.left
    coupled: dict[tuple[int, int], Real] = {}
    forward: dict[tuple[int, int], Real] = {}
    backward: dict[tuple[int, int], Real] = {}
    with np.errstate(all="ignore"):
        for distance in range(1, count):
            for i in range(count - distance):
                j, between = i + distance, range(i + 1, i + distance)
                coupled[j, i] = modes[j].left @ matrix[parts[j], parts[i]] @ modes[i].right.T
                ahead = sum((coupled[j, k] @ forward[k, i] for k in between), coupled[j, i])
                back = sum((backward[j, k] @ coupled[k, i] for k in between), coupled[j, i])
                forward[j, i] = _divided(ahead, modes[i].values, modes[j].values)
                backward[j, i] = -forward[j, i] if back is ahead else -_divided(back, modes[i].values, modes[j].values)
                right[parts[i], parts[j]] = forward[j, i].T @ modes[j].right
                left[parts[j], parts[i]] = backward[j, i] @ modes[i].left
    return right, left


def real_times(matrix: Real, vectors: Complex) -> Complex:
    """A real matrix times complex vectors, its columns: in real arithmetic, one pass through the matrix."""
    both = matrix @ np.concatenate([vectors.real, vectors.imag], axis=1)
    return np.asarray(both[:, : vectors.shape[1]] + 1j * both[:, vectors.shape[1] :])


def _divided(coupling: Real, shifts: Complex, values: Complex) -> Real:
    """Z with Z Λ_i − Λ_j Z = `coupling`, (m_j, m_i), where Λ has ((a, b), (−b, a)) for a pair a ± i b of its values."""
    own, other = _pairs(shifts)
    y = coupling[:, own] + 1j * np.where(other > own, coupling[:, other], 0.0)
    a, b = values.real[:, None], values.imag[:, None]
    partner = np.arange(len(values)) + np.sign(values.imag).astype(np.intp)
    shift = shifts[own]
    z = ((shift - a) * y + b * y[partner]) / ((shift - a - 1j * b) * (shift - a + 1j * b))
    found = np.empty_like(coupling)
    found[:, other], found[:, own] = z.imag, z.real
    return found
