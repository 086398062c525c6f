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
    """(Σv)²/Σv² of the covariance's eigenvalues v: how many components share the variance; NaN where there is none."""
    largest = variances.max(initial=0.0)
    if not largest > 0:
        return float("nan")
    scaled = variances / largest  # whose squares neither overflow nor underflow
    return float(scaled.sum() ** 2 / (scaled**2).sum())


def jackknife(states: Real) -> Errors:
    """√((G − 1)/G Σ_g (θ_g − θ̄)²), where θ_g is computed without the g-th of G groups of sequences.

    Parameters
    ----------
    states : ndarray, shape (sample, time, state)
        Sequences are independent of each other; the states of one are not.
    """
    samples, _, n = states.shape
    if samples < 2:
        return Errors(float("nan"), np.full(n, np.nan))
    groups = np.array_split(np.arange(samples), min(samples, GROUPS))
    centred = states - states.mean(axis=(0, 1))
    parts = [centred[group].reshape(-1, n) for group in groups]
    seconds, sums, counts = (np.array(each) for each in zip(*((p.T @ p, p.sum(0), len(p)) for p in parts), strict=True))
    total, sum_, count = seconds.sum(axis=0), sums.sum(axis=0), counts.sum()
    ratios, shares = [], []
    for second, part, number in zip(seconds, sums, counts, strict=True):
        left = count - number
        mean = (sum_ - part) / left
        variances = np.linalg.eigvalsh((total - second) / left - np.outer(mean, mean))[::-1].clip(min=0.0)
        ratios.append(participation_ratio(variances))
        shares.append(variances / variances.sum() if variances.any() else np.full(n, np.nan))
    return Errors(float(_error(np.array(ratios))), _error(np.array(shares)))


def _error(without: Real) -> Real:
    groups = len(without)
    return np.asarray(np.sqrt((groups - 1) / groups * ((without - without.mean(axis=0)) ** 2).sum(axis=0)))
