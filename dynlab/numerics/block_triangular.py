"""Eigenvectors of a block triangular matrix from those of its diagonal blocks.

With A = (A_ji), zero for j < i, an eigenvalue λ of A_kk has a right eigenvector that vanishes above block k, is that of
A_kk there, and below it solves (λ − A_jj) v_j = Σ_{i<j} A_ji v_i.

References
----------
Golub and Van Loan, Matrix Computations, sections 7.1.4 and 7.2.2.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from dynlab.numerics.arrays import Complex, Real


def parts_of(sizes: Sequence[int]) -> list[slice]:
    """Where blocks of these sizes lie along the diagonal."""
    return [slice(*ends) for ends in itertools.pairwise(np.cumsum([0, *sizes]).tolist())]


def coupled(
    matrices: Real, parts: Sequence[slice], modes: Sequence[tuple[Complex, Complex, Complex]]
) -> tuple[Complex, Complex, Complex]:
    """Return eigenvalues (k, n), eigenvectors as columns X (k, n, n), and X⁻¹, of lower block triangular matrices.

    Parameters
    ----------
    matrices : ndarray, shape (k, n, n)
    parts : sequence of slice
        `parts_of` the diagonal blocks.
    modes : sequence of tuple
        Eigenvalues, eigenvectors and their inverse of each diagonal block; not finite where an eigenvalue of one block
        is one of another too.
    """
    X, W = (np.zeros(matrices.shape, dtype=complex) for _ in range(2))
    with np.errstate(all="ignore"):
        for j, row in enumerate(parts):
            values, V, Y = modes[j]
            X[:, row, row], W[:, row, row] = V, Y
            for i, column in enumerate(parts[:j]):
                between = slice(column.start, row.start)
                fed = Y @ (matrices[:, row, between] @ X[:, between, column])
                X[:, row, column] = V @ (fed / (modes[i][0][:, None, :] - values[:, :, None]))
            above = slice(0, row.start)
            W[:, row, above] = -Y @ (X[:, row, above] @ W[:, above, above])
    return np.concatenate([values for values, _, _ in modes], axis=1), X, W
