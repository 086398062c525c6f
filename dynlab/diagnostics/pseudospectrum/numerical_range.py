"""The numerical range {xᴴ A x : ‖x‖ = 1}: its border, its rightmost and its farthest point.

References
----------
Johnson, "Numerical determination of the field of values of a general complex matrix", SIAM J. Numer. Anal. 15 (1978).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    angles = 2 * np.pi * np.arange(ANGLES) / ANGLES
    # a real matrix has a range that is symmetric about the real axis
    half = angles[: ANGLES // 2 + 1]
    turned = np.exp(-1j * half)[:, None, None] * matrix
    supports, vectors = np.linalg.eigh((turned + turned.conj().swapaxes(1, 2)) / 2)
    touching = vectors[:, :, -1]
    upper = np.einsum("ai,ij,aj->a", touching.conj(), matrix, touching)
    border = np.concatenate([upper, upper[-2:0:-1].conj()])
    return NumericalRange(border, float(supports[0, -1]), float(supports[:, -1].max()))
