"""Principal components of states."""

from dataclasses import dataclass

import numpy as np

from dynlab.numerics.arrays import Real


@dataclass(frozen=True)
class Components:
    """origin + Σ_i x_i directions[i].

    Attributes
    ----------
    origin : ndarray, shape (state,)
        The mean of the states.
    directions : ndarray, shape (state, state)
        Orthonormal rows, by decreasing variance; the entry of each that is largest in modulus is positive.
    variances : ndarray, shape (state,)
        Variance of the states along each direction.
    """

    origin: Real
    directions: Real
    variances: Real


def principal_components(states: Real) -> Components:
    """Return the mean of states (k, state) and the singular vectors of what differs from it.

    Without states the origin is 0, the directions are the axes and the variances are NaN.
    """
    count, n = states.shape
    if count == 0:
        return Components(np.zeros(n), np.eye(n), np.full(n, np.nan))
    origin = states.mean(axis=0)
    # R has the singular values and the right singular vectors of the tall matrix
    _, sizes, axes = np.linalg.svd(np.linalg.qr(states - origin, mode="r"), full_matrices=True)
    variances = np.zeros(n)
    variances[: len(sizes)] = sizes**2 / count
    signs = np.sign(axes[np.arange(n), np.abs(axes).argmax(axis=1)])
    return Components(origin, axes * signs[:, None], variances)
