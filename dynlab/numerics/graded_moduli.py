"""Mean and deviation of the eigenvalues' moduli of a graded product, in log scale."""

import numpy as np
from numpy.typing import NDArray

from dynlab.numerics.eigenvalues import approximate_eigenvalues
from dynlab.numerics.threads import in_threads

# Each logarithm is computed twice, the second time with the product changed by as much as it may be wrong; where the
# two differ by more, it is not known.
LARGEST_CHANGE = 1e-6


def log_moduli(
    log_scale: NDArray[np.float64],
    rows: NDArray[np.float64],
    orthogonal: NDArray[np.float64],
    error: NDArray[np.float64],
    generator: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The logarithms of the mean and of the standard deviation of the moduli of the eigenvalues of Q e^d T.

    Parameters
    ----------
    log_scale : ndarray, shape (product, state)
        d.
    rows, orthogonal : ndarray, shape (product, state, state)
        T and Q.
    error : ndarray, shape (product, state)
        Relative error of each row of e^d T.
    generator : numpy.random.Generator
        Draws the change that tells how well the eigenvalues are determined.

    Returns
    -------
    log_mean, log_deviation : ndarray, shape (product,)
        NaN where the value is not determined: all eigenvalues are zero, or all moduli equal, to rounding.

    Notes
    -----
    Q e^d T is similar to G = e^{d/2} T Q e^{d/2}, whose rows and columns fall off alike: the QR iteration then keeps
    the digits of large and small eigenvalues, which in Q e^d T itself drown in ε σ₁. G is divided by its largest scale;
    what underflows then is beyond every digit of the mean.
    """
    changes = generator.standard_normal(rows.shape) / np.sqrt(rows.shape[-1])
    arrays = (log_scale, rows, orthogonal, np.clip(error, rows.shape[-1] * np.finfo(float).eps, 1), changes)

    def several(some: slice) -> tuple[NDArray[np.float64], ...]:
        """Mean and deviation of each product, and of each product changed, relative to its largest scale."""
        pairs = [_one(*each) for each in zip(*(array[some] for array in arrays), strict=True)]
        return np.stack([pair[0] for pair in pairs]), np.stack([pair[1] for pair in pairs])

    first, second = in_threads(several, len(rows))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs, changed = np.log(first), np.log(second)
        known = np.abs(changed - logs) <= LARGEST_CHANGE
    logs = np.where(known, logs + log_scale.max(axis=-1, keepdims=True), np.nan)
    return logs[:, 0], logs[:, 1]


def _one(
    log_scale: NDArray[np.float64],
    rows: NDArray[np.float64],
    orthogonal: NDArray[np.float64],
    error: NDArray[np.float64],
    change: NDArray[np.float64],
) -> NDArray[np.float64]:
    order = np.argsort(-log_scale, kind="stable")
    if np.isneginf(log_scale[order[0]]):
        return np.full((2, 2), np.nan)
    half = np.exp((log_scale[order] - log_scale[order[0]]) / 2)
    graded = half[:, None] * (rows @ orthogonal)[np.ix_(order, order)] * half
    changed = graded + (error * half)[:, None] * change * half
    moduli = np.abs(approximate_eigenvalues(np.stack([graded, changed])))
    return np.stack([moduli.mean(axis=-1), moduli.std(axis=-1)], axis=-1)
