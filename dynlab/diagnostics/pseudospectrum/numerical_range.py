"""The numerical range {xᴴ A x : ‖x‖ = 1}: its border, its rightmost and its farthest point.

References
----------
Johnson, "Numerical determination of the field of values of a general complex matrix", SIAM J. Numer. Anal. 15 (1978).
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.block_triangular import real_times
from dynlab.numerics.singular_values import ALL_UP_TO
from dynlab.numerics.threads import in_threads
from dynlab.progress import through

ANGLES = 180  # of supporting lines
BASIS = 10  # vectors of Arnoldi's iteration, which starts from what the angle before has given
RESIDUAL = 1e-8  # of it, relative: the supporting line is off by the square of it


@dataclass(frozen=True)
class NumericalRange:
    """The numerical range of a matrix.

    Attributes
    ----------
    border : ndarray, shape (angle,), complex
        Points of the border, where lines of each slope touch it.
    abscissa : float
        ω = max Re xᴴAx, the largest eigenvalue of (A + Aᵀ)/2: the slope of ‖e^{tA}‖ at t = 0.
    radius : float
        Largest modulus of the points found, a lower bound that is short by a factor cos(π/ANGLES) at most.
    """

    border: Complex
    abscissa: float
    radius: float


def numerical_range(matrix: Real) -> NumericalRange:
    """Largest eigenvalues of the Hermitian parts of e^{−iθ}A: the line xᴴAx·e^{−iθ} = that touches the range."""
    # a real matrix has a range that is symmetric about the real axis
    half = 2 * np.pi * np.arange(ANGLES // 2 + 1) / ANGLES
    symmetric, skew = (matrix + matrix.T) / 2, (matrix - matrix.T) / 2

    def work(rows: slice) -> tuple[Real, Complex]:
        before, supports, upper = None, [], []
        for angle in through(half[rows]):
            support, before = _support(symmetric, skew, angle, before)
            supports.append(support)
            upper.append(before.conj() @ real_times(matrix, before[:, None])[:, 0])
        return np.array(supports), np.array(upper)

    supports, upper = in_threads(work, len(half))
    border = np.concatenate([upper, upper[-2:0:-1].conj()])
    return NumericalRange(border, float(supports[0]), float(supports.max()))


def _support(symmetric: Real, skew: Real, angle: float, before: Complex | None) -> tuple[float, Complex]:
    """The largest eigenvalue of the Hermitian part of e^{−iθ}A and its eigenvector; `before` is that of an angle near.

    All eigenvalues are sought of a small matrix, by products with vectors that of a large one.
    """
    n, along, across = len(symmetric), np.cos(angle), -1j * np.sin(angle)
    if n <= ALL_UP_TO:
        hermitian = along * symmetric + across * skew
        values, vectors = eigh(hermitian, subset_by_index=[n - 1, n - 1], overwrite_a=True, check_finite=False)
    else:

        def part(x: Complex) -> Complex:
            column = x.reshape(n, 1)
            return np.asarray(along * real_times(symmetric, column) + across * real_times(skew, column))

        start = np.random.default_rng(0).standard_normal(n) + 0j if before is None else before
        values, vectors = eigsh(
            LinearOperator((n, n), part, dtype=complex), k=1, which="LA", v0=start, ncv=BASIS, tol=RESIDUAL
        )
    return float(values[-1]), vectors[:, -1]
