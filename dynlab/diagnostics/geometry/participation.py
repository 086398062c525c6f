"""The participation ratio of a covariance, and what its samples leave uncertain.

References
----------
Gao and Ganguli, Current Opinion in Neurobiology 32 (2015), on the participation ratio; Efron and Stein, Annals of
Statistics 9 (1981), on the jackknife.
"""

import numpy as np

from dynlab.numerics.arrays import Real

GROUPS = 64  # of sequences, of which the jackknife leaves out one at a time: an eigendecomposition each


@np.errstate(invalid="ignore", divide="ignore")
def participation_ratio(variances: Real) -> Real:
    """Return (Σv)²/Σv² of a covariance's eigenvalues v (..., component): how many share the variance; NaN without."""
    shares = variances / variances.sum(axis=-1, keepdims=True)
    return np.asarray(1 / (shares**2).sum(axis=-1))


@np.errstate(invalid="ignore", divide="ignore")
def jackknife(states: Real) -> tuple[Real, Real]:
    """Return the standard errors of the participation ratio and of the components' shares of the variance (component,).

    They are √((G − 1)/G Σ_g (θ_g − θ̄)²), where θ_g is computed without the g-th of G groups of sequences. Sequences of
    `states` (sample, time, state) are independent of each other; the states of one are not. NaN for a single sequence.
    """
    samples, _, n = states.shape
    if samples < 2:
        return np.array(np.nan), np.full(n, np.nan)
    centred = states - states.mean(axis=(0, 1))
    parts = [group.reshape(-1, n) for group in np.array_split(centred, min(samples, GROUPS))]
    sums, products, variances = [part.sum(axis=0) for part in parts], [part.T @ part for part in parts], []
    total, whole = np.sum(sums, axis=0), np.sum(products, axis=0)
    for part, one, product in zip(parts, sums, products, strict=True):
        left = centred[..., 0].size - len(part)
        mean = (total - one) / left
        covariance = (whole - product) / left - np.outer(mean, mean)
        variances.append(np.linalg.eigvalsh(covariance)[::-1].clip(min=0.0))
    found = np.array(variances)
    each = participation_ratio(found), found / found.sum(axis=1, keepdims=True)
    ratio, shares = (np.sqrt((len(parts) - 1) * np.var(values, axis=0)) for values in each)
    return ratio, shares
