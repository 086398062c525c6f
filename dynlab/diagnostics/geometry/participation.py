"""The participation ratio of a covariance, and what its samples leave uncertain.

References
----------
Gao and Ganguli, Current Opinion in Neurobiology 32 (2015), on the participation ratio; Efron and Stein, Annals of
Statistics 9 (1981), on the jackknife.
"""

from typing import NamedTuple

import numpy as np

from dynlab.numerics.arrays import Real

GROUPS = 64  # of sequences, of which the jackknife leaves out one at a time: an eigendecomposition each


class Errors(NamedTuple):
    """Standard errors; NaN for a single sequence.

    `ratio` of the participation ratio, `shares` (component,) of the components' shares of the variance.
    """

    ratio: float
    shares: Real


def participation_ratio(variances: Real) -> float:
    """Return (Σv)²/Σv² of the covariance's eigenvalues v: how many components share the variance; NaN without any."""
    largest = variances.max(initial=0.0)
    if not largest > 0:
        return float("nan")
    scaled = variances / largest  # whose squares neither overflow nor underflow
    return float(scaled.sum() ** 2 / (scaled**2).sum())


def jackknife(states: Real) -> Errors:
    """Return √((G − 1)/G Σ_g (θ_g − θ̄)²), where θ_g is computed without the g-th of G groups of sequences.

    Parameters
    ----------
    states : ndarray, shape (sample, time, state)
        Sequences are independent of each other; the states of one are not.
    """
    samples, _, n = states.shape
    if samples < 2:
        return Errors(float("nan"), np.full(n, np.nan))
    # in the coordinates of a basis of all states, of which there may be fewer than dimensions
    flat = (states - states.mean(axis=(0, 1))).reshape(-1, n)
    if len(flat) < n:
        flat = flat @ np.linalg.qr(flat.T)[0]
    rank = flat.shape[1]
    groups = np.array_split(flat.reshape(*states.shape[:2], rank), min(samples, GROUPS))
    parts = [group.reshape(-1, rank) for group in groups]
    products, sums = np.array([part.T @ part for part in parts]), np.array([part.sum(axis=0) for part in parts])
    variances = np.zeros((len(parts), n))
    for number, part in enumerate(parts):
        left = len(flat) - len(part)
        mean = (sums.sum(axis=0) - sums[number]) / left
        covariance = (products.sum(axis=0) - products[number]) / left - np.outer(mean, mean)
        variances[number, :rank] = np.linalg.eigvalsh(covariance)[::-1].clip(min=0.0)
    ratios = np.array([participation_ratio(each) for each in variances])
    total = variances.sum(axis=1, keepdims=True)
    shares = np.divide(variances, total, out=np.full_like(variances, np.nan), where=total > 0)
    return Errors(float(_error(ratios)), _error(shares))


def _error(without: Real) -> Real:
    groups = len(without)
    return np.asarray(np.sqrt((groups - 1) / groups * ((without - without.mean(axis=0)) ** 2).sum(axis=0)))
