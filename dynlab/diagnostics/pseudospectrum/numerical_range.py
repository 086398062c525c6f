"""The numerical range {xᴴ A x : ‖x‖ = 1}: its border, its rightmost and its farthest point.

References
----------
Johnson, "Numerical determination of the field of values of a general complex matrix", SIAM J. Numer. Anal. 15 (1978).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

ANGLES = 180  # of supporting lines


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

    border: NDArray[np.complex128]
    abscissa: float
    radius: float


def numerical_range(matrix: NDArray[np.float64]) -> NumericalRange:
    """Largest eigenvalues of the Hermitian parts of e^{−iθ}A: the line xᴴAx·e^{−iθ} = that touches the range."""
    # a real matrix has a range that is symmetric about the real axis
    half = 2 * np.pi * np.arange(ANGLES // 2 + 1) / ANGLES
    supports, touching = zip(*(_support(matrix, angle) for angle in half), strict=True)
    upper = np.array([x.conj() @ (matrix @ x) for x in touching])
    border = np.concatenate([upper, upper[-2:0:-1].conj()])
    return NumericalRange(border, supports[0], max(supports))


def _support(matrix: NDArray[np.float64], angle: float) -> tuple[float, NDArray[np.complex128]]:
    """The largest eigenvalue of the Hermitian part of e^{−iθ}A and its eigenvector: those of one angle at a time."""
    turned = np.exp(-1j * angle) * matrix
    top = [len(matrix) - 1, len(matrix) - 1]
    values, vectors = eigh((turned + turned.conj().T) / 2, subset_by_index=top, overwrite_a=True, check_finite=False)
    return float(values[-1]), vectors[:, -1]
