"""The numerical range {xᴴ A x : ‖x‖ = 1}: its border, its rightmost and its farthest point.

References
----------
Johnson, "Numerical determination of the field of values of a general complex matrix", SIAM J. Numer. Anal. 15 (1978).
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.singular_values import ALL_UP_TO
from dynlab.numerics.threads import in_threads
from dynlab.progress import through

ANGLES, OF_LARGE = 180, 60  # of supporting lines, and of more than `ALL_UP_TO` states
RESIDUAL = 1e-8  # of an eigenvector of a large matrix, relative: the eigenvalue is off by its square
VECTORS = 40  # of Lanczos's iteration before it starts anew


class NumericalRange(NamedTuple):
    """The numerical range of a matrix.

    Attributes
    ----------
    border : ndarray, shape (angle,), complex
        Points of the border, where lines of each slope touch it.
    abscissa : float
        ω = max Re xᴴAx, the largest eigenvalue of (A + Aᵀ)/2: the slope of ‖e^{tA}‖ at t = 0.
    radius : float
        Largest modulus, a lower bound.
    radius_error : float
        By how much it is short at most.
    """

    border: Complex
    abscissa: float
    radius: float
    radius_error: float


def numerical_range(matrix: Real) -> NumericalRange:
    """Return the range whose supporting lines are largest eigenvalues of the Hermitian parts of e^{−iθ}A.

    The support is at least r cos(δ) at a distance δ from the angle of the largest one, the radius r.
    """
    count = ANGLES if len(matrix) <= ALL_UP_TO else OF_LARGE
    # a real matrix has a range that is symmetric about the real axis
    half = 2 * np.pi * np.arange(count // 2 + 1) / count
    symmetric, skew = (matrix + matrix.T) / 2, (matrix - matrix.T) / 2

    def work(rows: slice) -> tuple[Real, Complex]:
        found = [_supporting(np.cos(angle) * symmetric - 1j * np.sin(angle) * skew) for angle in through(half[rows])]
        supports, vectors = (np.array(each) for each in zip(*found, strict=True))
        return supports, np.einsum("ij,ij->i", vectors.conj(), vectors @ matrix.T)

    supports, upper = in_threads(work, len(half))
    border, radius = np.concatenate([upper, upper[-2:0:-1].conj()]), float(np.abs(upper).max())
    rounding = len(matrix) * np.finfo(float).eps * float(np.linalg.norm(matrix))
    short = float(supports.max()) / np.cos(np.pi / count) - radius
    return NumericalRange(border, float(supports[0]), radius, max(short, 0.0) + rounding)


def _supporting(hermitian: Complex) -> tuple[float, Complex]:
    """Return the largest eigenvalue, and a unit eigenvector."""
    n = len(hermitian)
    if n > ALL_UP_TO and hermitian.any():
        start = np.random.default_rng(0).standard_normal(n) + 0j
        values, columns = eigsh(hermitian, k=1, which="LA", v0=start, ncv=VECTORS, tol=RESIDUAL)
    else:
        values, columns = eigh(hermitian, subset_by_index=[n - 1, n - 1], check_finite=False)
    if not len(values):  # LAPACK's search for one of many equal ones may end with none
        values, columns = eigh(hermitian, check_finite=False)
    return float(values[-1]), columns[:, -1]
