"""How ‖A^k‖ and ‖e^{tA}‖ go, in log scale, with the error that repeated multiplication leaves."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

HALF = 0.5  # a norm whose relative error may exceed this is not reported


@dataclass(frozen=True)
class Powers:
    """Norms of powers.

    Attributes
    ----------
    log_norm : ndarray, shape (power,)
        ln ‖A^k‖₂ for k = 0, 1, …; −inf where the power is exactly zero, NaN where rounding drowns it.
    error : ndarray, shape (power,)
        A bound of first order on the absolute error of `log_norm`.
    """

    log_norm: NDArray[np.float64]
    error: NDArray[np.float64]


def power_norms(matrix: NDArray[np.float64], powers: int) -> Powers:
    """The logarithms of ‖A^k‖₂ for k = 0 … `powers`.

    With a relative error of n ε in each product, the k-th power is wrong by at most n ε Σ_j ‖A^{k−j}‖ ‖A‖ ‖A^{j−1}‖.
    """
    log_norm = np.full(powers + 1, -np.inf)
    log_norm[0] = 0.0
    product, scale = np.eye(len(matrix)), 0.0
    for k in range(1, powers + 1):
        product = product @ matrix
        size = float(np.linalg.norm(product, 2))
        if size == 0:
            break
        scale += np.log(size)
        log_norm[k] = scale
        product /= size
    unit = len(matrix) * np.finfo(float).eps
    error = np.zeros(powers + 1)
    for k in np.nonzero(np.isfinite(log_norm))[0][1:]:
        parts = log_norm[1] + log_norm[:k] + log_norm[k - 1 :: -1] - log_norm[k]
        error[k] = unit * np.exp(np.logaddexp.reduce(parts))
    return Powers(np.where(error > HALF, np.nan, log_norm), error)


def exponential_norms(matrix: NDArray[np.float64], duration: float, powers: int) -> Powers:
    """The logarithms of ‖e^{tA}‖₂ at `powers` + 1 times from 0 to `duration`, as powers of one exponential."""
    return power_norms(expm(duration / powers * matrix), powers)
