"""Eigenvectors of a block triangular matrix, and the conditions of its eigenvalues, from its diagonal blocks.

With A = (A_ji), zero for j < i, an eigenvalue λ of A_kk has a right eigenvector v that vanishes above block k, is that
of A_kk there, and below it solves (λ − A_jj) v_j = Σ_{i<j} A_ji v_i. Left eigenvectors are the right ones of Aᵀ, the
blocks from the last to the first. The blocks' Schur forms solve these: their eigenvectors may be nearly parallel.

References
----------
Golub and Van Loan, Matrix Computations, sections 7.1.4 and 7.2.2.
"""

import itertools
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from dynlab.numerics.eigenvalue_discs import Discs, left_inverses
from dynlab.numerics.lapack import Schur, schur
from dynlab.numerics.shifted_solves import shifted_solutions

Complex = NDArray[np.complex128]
Real = NDArray[np.float64]


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
    own, other, *both = _vectors(matrix, parts, modes)
    conditions = np.full(len(matrix), np.nan)
    conditions[own] = conditions[other] = _lengths(both[0]) * _lengths(both[1])
    return conditions


def block_modes(block: Real) -> Schur:
    """The Schur form of one diagonal block, its left eigenvectors being the inverse of the right ones."""
    found = schur(block)
    return found._replace(left=np.asarray(left_inverses(found.right.T[None])[0], np.float64))


def whole_eigenvectors(
    matrix: Real, parts: Sequence[slice], known: Mapping[int, Schur] = MappingProxyType({})
) -> tuple[Complex, Complex, Complex]:
    """Eigenvalues (n,) of a lower block triangular matrix, with right and left eigenvectors as rows, l_i v_j = δ_ij.

    `known` are the `block_modes` of some of its diagonal blocks, by their number. Not finite where an eigenvalue of one
    block is one of another too.
    """
    modes = [known.get(number) or block_modes(matrix[part, part]) for number, part in enumerate(parts)]
    own, other, *both = _vectors(matrix, parts, modes)
    vectors = np.zeros((2, *matrix.shape), dtype=complex)
    for rows, columns in zip(vectors, both, strict=True):
        rows[other], rows[own] = columns.T.conj(), columns.T
    return np.concatenate([each.values for each in modes]), vectors[0], vectors[1]


def _vectors(
    matrix: Real, parts: Sequence[slice], modes: Sequence[Schur]
) -> tuple[NDArray[np.intp], NDArray[np.intp], Complex, Complex]:
    """Rows of all eigenvalues, of a pair's both, and right and left eigenvectors of the first ones as columns."""
    rows, others, right, left = [], [], [], []
    with np.errstate(all="ignore"):
        for values, v, w, *_ in modes:
            own = np.flatnonzero(values.imag >= 0)  # the other one of a pair is conjugate
            other = own + (values[own].imag > 0)
            pair = (other > own)[:, None]
            right.append((v[own] + 1j * np.where(pair, v[other], 0.0)).T)
            left.append(((w[own] - 1j * np.where(pair, w[other], 0.0)) / np.where(pair, 2.0, 1.0)).T)
            rows.append(own)
            others.append(other)
        shifts = [values[own] for (values, *_), own in zip(modes, rows, strict=True)]
        forward = _extended(matrix, parts, right, shifts, modes)
        backward = _extended(matrix.T, parts, left, shifts, modes, -1)
    for each in (rows, others):
        each[:] = (own + part.start for own, part in zip(each, parts, strict=True))
    return np.concatenate(rows), np.concatenate(others), forward, backward


def _extended(
    matrix: Real,
    parts: Sequence[slice],
    first: Sequence[Complex],
    shifts: Sequence[Complex],
    forms: Sequence[Schur],
    step: int = 1,
) -> Complex:
    """The eigenvectors to the eigenvalues `shifts` of each block that are `first` there, as columns of all blocks.

    They vanish in the blocks before, which are taken in their order, or with `step` = −1 from the last to the first.
    """
    columns, order, every = parts_of([len(each) for each in shifts]), range(len(parts))[::step], np.concatenate(shifts)
    whole = np.zeros((len(matrix), len(every)), dtype=complex)
    for number, j in enumerate(order):
        whole[parts[j], columns[j]] = first[j]
        fed = np.zeros((len(first[j]), len(every)), dtype=complex)
        for i in order[:number]:
            seen = slice(columns[i].stop) if step > 0 else slice(columns[i].start, None)
            fed[:, seen] += real_times(matrix[parts[j], parts[i]], whole[parts[i], seen])
        if number:
            done = slice(columns[j].start) if step > 0 else slice(columns[j].stop, None)
            form, scale = forms[j], forms[j].scale[:, None]
            into, back = (1 / scale, scale) if step > 0 else (scale, 1 / scale)
            turned = real_times(form.basis.T, np.asarray(into * fed[:, done]))
            turned = shifted_solutions(form.triangle, every[done], turned, transposed=step < 0)
            whole[parts[j], done] = back * real_times(form.basis, turned)
    return whole


def _lengths(columns: Complex) -> Real:
    """‖v‖₂ of complex columns, without a copy of them."""
    parts = columns.view(np.float64)
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", parts, parts).reshape(-1, 2).sum(axis=1)))


def real_times(matrix: Real, vectors: Complex) -> Complex:
    """A real matrix times complex vectors, its columns: in real arithmetic, one pass through the matrix."""
    return np.asarray((matrix @ np.ascontiguousarray(vectors).view(np.float64)).view(np.complex128))
