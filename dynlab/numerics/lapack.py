"""Singular values of one graded matrix, by LAPACK's one-sided Jacobi iteration."""

import numpy as np
from scipy.linalg.lapack import dgejsv

from dynlab.numerics.arrays import Real


def gejsv(matrix: Real) -> tuple[Real, bool]:
    """Return logarithms of the singular values, decreasing, accurate however small, and whether they converged.

    One-sided Jacobi, preconditioned by QR with column pivoting: accurate for B·D with D diagonal, however graded, and B
    well conditioned.

    References
    ----------
    Drmač and Veselić, "New fast and accurate Jacobi SVD algorithm", SIAM J. Matrix Anal. Appl. 29 (2008), parts I, II.
    """
    # accuracy for B·D, no vectors, no small column is dropped, not transposed, no perturbation of denormal numbers
    values, _, _, work, _, info = dgejsv(matrix, joba=0, jobu=3, jobv=3, jobr=0, jobt=0, jobp=0)
    with np.errstate(divide="ignore"):
        return np.log(values) + np.log(work[0] / work[1]), info == 0
