"""The participation ratio of a covariance, and what its samples leave uncertain.

References
----------
Gao and Ganguli, Current Opinion in Neurobiology 32 (2015), on the participation ratio; Efron and Stein, Annals of
Statistics 9 (1981), on the jackknife.
"""

from typing import NamedTuple

import numpy as np

from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.threads import in_threads

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
    left_out = _from_products if samples * states.shape[1] < n else _from_covariances
    variances = left_out(centred, groups)
    ratios = np.array([participation_ratio(each) for each in variances])
    shares = np.array([each / each.sum() if each.any() else np.full(n, np.nan) for each in variances])
    return Errors(float(_error(ratios)), _error(shares))


def _from_covariances(centred: Real, groups: list[Index]) -> list[Real]:
    """The covariance's eigenvalues (n,) without each of the groups, decreasing."""
    parts = [centred[group].reshape(-1, centred.shape[-1]) for group in groups]
    seconds, sums, counts = (np.array(each) for each in zip(*((p.T @ p, p.sum(0), len(p)) for p in parts), strict=True))
    total, sum_, count = seconds.sum(axis=0), sums.sum(axis=0), counts.sum()
    found = []
    for second, part, number in zip(seconds, sums, counts, strict=True):
        left = count - number
        mean = (sum_ - part) / left
        found.append(_decreasing((total - second) / left - np.outer(mean, mean)))
    return found


def _from_products(centred: Real, groups: list[Index]) -> list[Real]:
    """The same from the states' products with each other, a smaller matrix where there are fewer than dimensions."""
    samples, steps, n = centred.shape
    flat = centred.reshape(-1, n)
    products, of_sample = flat @ flat.T, np.repeat(np.arange(samples), steps)

    def without(some: slice) -> tuple[list[Real]]:
        found = []
        for group in groups[some]:
            left = np.flatnonzero(~np.isin(of_sample, group))
            part = products[np.ix_(left, left)]
            part = part - part.mean(axis=0) - part.mean(axis=1, keepdims=True) + part.mean()
            found.append(np.pad(_decreasing(part / len(left)), (0, n - len(left))))
        return (found,)

    return in_threads(without, len(groups))[0]


def _decreasing(symmetric: Real) -> Real:
    return np.asarray(np.linalg.eigvalsh(symmetric)[::-1].clip(min=0.0))


def _error(without: Real) -> Real:
    groups = len(without)
    return np.asarray(np.sqrt((groups - 1) / groups * ((without - without.mean(axis=0)) ** 2).sum(axis=0)))
