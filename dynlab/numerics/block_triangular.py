"""Eigenvectors of a block triangular matrix, and the conditions of its eigenvalues, from its diagonal blocks.

With A = (A_ji), zero for j < i, an eigenvalue λ of A_kk has a right eigenvector v that vanishes above block k, is that
of A_kk there, and below it solves (λ − A_jj) v_j = Σ_{i<j} A_ji v_i. Left eigenvectors are the right ones of Aᵀ, the
blocks from the last to the first. The blocks' Schur forms solve these: their eigenvectors may be nearly parallel.

References
----------
Golub and Van Loan, Matrix Computations, sections 7.1.4 and 7.2.2.
"""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dynlab.numerics.eigenvalue_discs import Discs, left_inverses
from dynlab.numerics.lapack import Schur, schur
from dynlab.numerics.shifted_solves import shifted_solutions

Complex = NDArray[np.complex128]
Real = NDArray[np.float64]

# A block whose balanced form has scales that differ by more than half of the digits is solved with in a form without.
FAR_APART = 2.0**26


def parts_of(sizes: Sequence[int]) -> list[slice]:
    """Where blocks of these sizes lie along the diagonal."""
    return [slice(*ends) for ends in itertools.pairwise(np.cumsum([0, *sizes]).tolist())]


def whole_conditions(
    matrix: Real, parts: Sequence[slice], forms: Sequence[Schur], blocks: Sequence[Discs], number: int
) -> Real:
    """‖l_i‖‖v_i‖, with l_i v_i = 1, of all eigenvalues of a lower block triangular matrix, block after block.

    Parameters
    ----------
    matrix : ndarray, shape (n, n)
    parts : sequence of slice
        `parts_of` its diagonal blocks.
    forms : sequence of Schur
        Of its diagonal blocks.
    blocks : sequence of Discs
        Of each diagonal block of several matrices.
    number : int
        Which of these `matrix` is.

    Returns
    -------
    ndarray, shape (n,)
        inf or NaN where an eigenvalue of one block is one of another too.
    """
    modes = [
        form._replace(values=block.centers[number], right=block.right[number], left=block.left[number])
        for form, block in zip(forms, blocks, strict=True)
    ]
    conditions = np.full(len(matrix), np.nan)
    for own, other, *both in _vectors(matrix, parts, modes):
        lengths = [np.sqrt(np.einsum("ij,ij->j", each, each).reshape(2, -1).sum(axis=0)) for each in both]
        conditions[own] = conditions[other] = lengths[0] * lengths[1]
    return conditions


def whole_eigenvectors(matrix: Real, parts: Sequence[slice]) -> tuple[Complex, Complex, Complex]:
    """Eigenvalues (n,) of a lower block triangular matrix, with right and left eigenvectors as rows, l_i v_j = δ_ij.

    Not finite where an eigenvalue of one block is one of another too.
    """
    found = [schur(matrix[part, part], balanced=True) for part in parts]
    modes = [each._replace(left=np.asarray(left_inverses(each.right.T[None])[0], np.float64)) for each in found]
    vectors = np.zeros((2, *matrix.shape), dtype=complex)
    for own, other, *both in _vectors(matrix, parts, modes):
        for rows, columns in zip(vectors, both, strict=True):
            real, imaginary = columns.reshape(len(matrix), 2, -1).transpose(1, 2, 0)
            rows[other], rows[own] = real - 1j * imaginary, real + 1j * imaginary
    return np.concatenate([each.values for each in found]), vectors[0], vectors[1]


def _vectors(
    matrix: Real, parts: Sequence[slice], modes: Sequence[Schur]
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], Real, Real]]:
    """For each block, rows of its eigenvalues, of a pair's both, and their right and left eigenvectors as columns.

    Of m eigenvalues, a pair being one, the first m columns are real parts, and the other m imaginary parts.
    """
    several = len(parts) > 1
    forms = [_even(matrix[part, part], mode) if several else mode for part, mode in zip(parts, modes, strict=True)]
    with np.errstate(all="ignore"):
        for k, (values, right, left, *_) in enumerate(modes):
            own = np.flatnonzero(values.imag >= 0)  # the other one of a pair is conjugate
            other = own + (values[own].imag > 0)
            pair = (other > own)[:, None]
            v = np.concatenate([right[own], np.where(pair, right[other], 0.0)])
            w = np.concatenate([left[own], np.where(pair, -left[other], 0.0)]) / np.where([*pair, *pair], 2.0, 1.0)
            forward = _extended(matrix, parts, v.T, values[own], forms, range(k, len(modes)))
            backward = _extended(matrix.T, parts, w.T, values[own], forms, range(k, -1, -1))
            yield own + parts[k].start, other + parts[k].start, forward, backward


def _even(block: Real, mode: Schur) -> Schur:
    """A form whose scales do not differ so much that the roundings of one row drown another."""
    return mode if mode.scale.max() <= FAR_APART * mode.scale.min() else schur(block, balanced=False, vectors=False)


def _extended(
    matrix: Real, parts: Sequence[slice], first: Real, shifts: Complex, forms: Sequence[Schur], order: range
) -> Real:
    """The eigenvectors (n, 2 m) to the eigenvalues `shifts` that are `first` in the first block of the order."""
    whole, forward = np.zeros((len(matrix), first.shape[1])), order.step > 0
    whole[parts[order[0]]] = first
    for number, j in enumerate(order[1:], 1):
        fed = sum(matrix[parts[j], parts[i]] @ whole[parts[i]] for i in order[:number])
        form, scale = forms[j], forms[j].scale[:, None]
        into, back = (1 / scale, scale) if forward else (scale, 1 / scale)
        turned = shifted_solutions(form.triangle, shifts, form.basis.T @ (into * fed), transposed=not forward)
        whole[parts[j]] = back * (form.basis @ turned)
    return whole


def real_times(matrix: Real, vectors: Complex) -> Complex:
    """A real matrix times complex vectors, its columns: in real arithmetic, one pass through the matrix."""
    both = matrix @ np.concatenate([vectors.real, vectors.imag], axis=1)
    return np.asarray(both[:, : vectors.shape[1]] + 1j * both[:, vectors.shape[1] :])
