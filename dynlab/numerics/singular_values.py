"""Singular values of many small matrices, some of which may not be finite."""

import numpy as np
from numpy.typing import NDArray

from dynlab.numerics.threads import in_threads


def singular_values(matrices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Those of matrices (..., m, n) in decreasing order, NaN of a matrix that is not finite."""
    flat = matrices.reshape(-1, *matrices.shape[-2:])
    found = np.full((len(flat), min(flat.shape[1:])), np.nan)
    finite = np.isfinite(flat).all(axis=(1, 2))
    good = flat[finite]
    (found[finite],) = in_threads(lambda some: (np.linalg.svd(good[some], compute_uv=False),), len(good))
    return found.reshape(*matrices.shape[:-2], -1)


def rounding_of(singular: NDArray[np.float64]) -> NDArray[np.float64]:
    """What rounding leaves of n × n matrices with these singular values (..., n): n ε σ_max."""
    return singular.shape[-1] * np.finfo(np.float64).eps * singular[..., 0]
