"""Exponents from the growth of a frame, their errors, and the dimension and the entropy that they bound."""

import numpy as np
from numpy.typing import NDArray

BLOCKS = 16  # of a long orbit, whose means give the error of the whole
FEWEST_BLOCKS = 4
SHORTEST_BLOCK = 8  # steps
# Σ (m_b − m_{b−1})² / Σ (m_b − m)² of independent block means is 2 ± 0.5 (von Neumann): three deviations below, they
# follow a trend, as on an orbit that nears its end by a power of time. Then they do not scatter about what they near.
TREND = 0.6
BY_CHANCE = 0.002  # how often independent means lie as near a line as those said to: a chaotic transient's fall
THIRD = 3.0  # below `sure` of every count
LATE = 4  # with a trend, the last of so many parts of the blocks stands for what they near
# Where neighbours part like a power t^p of time the exponent is 0, and they grow by p ln 10 nats over the decade that a
# transient of a tenth leaves: 2.3 for p = 1 (a shear, a center), −4.6 for p = −2 (the approach to a fold). No estimate
# from one orbit tells such a growth from a small exponent, so that fewer nats than these decide nothing.
FEW_NATS = 10.0
WRONG = 0.002  # how often a stated error may be exceeded: a sign that lies beyond it is believed


def sure(count: int) -> float:
    """Return the number of standard errors, estimated from `count` independent means, exceeded in one case in 500.

    Student's t with count − 1 degrees of freedom: 3.7 for 16 means, 10 for 4; inf for fewer than two.
    """
    from scipy.special import stdtrit  # here, since it takes longer to import than most commands need

    return float(stdtrit(count - 1, 1 - WRONG / 2)) if count > 1 else np.inf


def standard_errors(log_growth: NDArray[np.float64], elapsed: NDArray[np.float64], blocks: int) -> NDArray[np.float64]:
    """Return `block_errors`, at least a third of the exponent where growth is below `FEW_NATS`: it has no sign."""
    last = np.abs(log_growth[:, -1])
    few = np.where(last < FEW_NATS, last / elapsed[-1] / THIRD, 0.0)
    return np.maximum(block_errors(log_growth, elapsed, blocks), few)


def block_errors(log_growth: NDArray[np.float64], elapsed: NDArray[np.float64], blocks: int) -> NDArray[np.float64]:
    """Return standard errors of the mean growth rates from the spread of their means over consecutive blocks.

    Parameters
    ----------
    log_growth : ndarray, shape (sample, stop, mode)
        Σ ln R_ii since the start.
    elapsed : ndarray, shape (stop,)
        Steps or seconds since the start.
    blocks : int
        Number of blocks, at most one a stop.

    Returns
    -------
    ndarray, shape (sample, mode)
        √(Σ_b w_b (m_b − m)² / (B − 1)) with the block means m_b and their shares w_b of the time; where these follow a
        trend, at least the distance from m to the mean of the last quarter. NaN where there are too few blocks, or the
        growth is not finite.
    """
    if blocks < FEWEST_BLOCKS:
        return np.full(log_growth[:, 0].shape, np.nan)
    ends = np.round(np.linspace(0, len(elapsed), blocks + 1)).astype(int)[1:] - 1
    growth = np.where(np.isfinite(log_growth[:, -1:]), log_growth[:, ends], np.nan)
    spans = np.diff(elapsed[ends], prepend=0.0)
    means = np.diff(growth, axis=1, prepend=0.0) / spans[:, None]
    shares = (spans / elapsed[-1])[:, None]
    mean = (shares * means).sum(axis=1, keepdims=True)
    error = np.sqrt((shares * (means - mean) ** 2).sum(axis=1) / (blocks - 1))
    trend = (np.diff(means, axis=1) ** 2).sum(axis=1) < TREND * ((means - mean) ** 2).sum(axis=1)
    trend |= _near_a_line(means - mean)
    late = shares[-max(1, blocks // LATE) :]
    drift = np.abs((late * means[:, -len(late) :]).sum(axis=1) / late.sum() - mean[:, 0])
    return np.where(trend, np.maximum(error, drift), error)


def _near_a_line(away: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether means (sample, block, mode), taken from their mean, grow or fall: correlation with time, by t."""
    from scipy.special import stdtrit

    free = away.shape[1] - 2
    time = np.arange(away.shape[1]) - (away.shape[1] - 1) / 2
    along = np.einsum("b,sbm->sm", time, away) ** 2 / (time**2).sum()
    least = stdtrit(free, 1 - BY_CHANCE / 2) ** 2
    with np.errstate(invalid="ignore"):
        return np.asarray(free * along > least * ((away**2).sum(axis=1) - along))


def combined_errors(
    log_growth: NDArray[np.float64], weights: NDArray[np.float64], elapsed: NDArray[np.float64], blocks: int
) -> NDArray[np.float64]:
    """Return `block_errors` (sample,) of Σ w_i λ_i with weights (sample, mode); a weight of 0 leaves a mode out."""
    counted = np.where(weights[:, None] != 0, log_growth, 0.0) * weights[:, None]
    return block_errors(counted.sum(axis=2, keepdims=True), elapsed, blocks)[:, 0]


def errors_between(exponents: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard deviation between samples, for each of them; NaN for one sample alone."""
    deviation = np.ma.masked_invalid(exponents).std(axis=0, ddof=1).filled(np.nan)
    return np.where(np.isfinite(exponents), deviation, np.nan)


def beyond_errors(
    exponents: NDArray[np.float64], errors: NDArray[np.float64], mean: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the distance from the mean (mode,) to the farthest sample that differs beyond its own error; else 0.

    Samples (sample, mode) that end on different attractors have different exponents, and their mean is neither's.
    """
    with np.errstate(invalid="ignore"):  # ∞ − ∞ of a mode that is gone
        apart = np.abs(exponents - mean)
    return np.where(np.isfinite(apart) & (apart > errors), apart, 0.0).max(axis=0)


def with_signs(exponents: NDArray[np.float64], bounds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the exponents, −inf for a negative one that is known from above only: its rounding bound is inf."""
    return np.where(np.isposinf(bounds) & (exponents < 0), -np.inf, exponents)


def signs(values: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return 1, 0 or −1 for exponents (..., mode) that are positive, undecided or negative.

    Exponents decrease: what is not decided behind a negative one is negative, as where rounding hides how far below.
    """
    with np.errstate(invalid="ignore"):
        found = np.where(values > errors, 1, np.where((values < -errors) | np.isneginf(values), -1, 0))
    return np.where((found == 0) & np.logical_or.accumulate(found < 0, axis=-1), -1, found)


def kaplan_yorke_dimension(
    exponents: NDArray[np.float64], errors: NDArray[np.float64], bounds: NDArray[np.float64], size: int
) -> float:
    """Return J + Σ_{i≤j} λ_i / abs(λ_{j+1}) with the largest j whose sum is not negative.

    Parameters
    ----------
    exponents : ndarray, shape (mode,)
        Exponents in the order of the frame; NaN for modes that are not resolved.
    errors, bounds : ndarray, shape (mode,)
        Errors beyond which an exponent has a sign, and bounds on rounding, within which a sum counts as 0.
    size : int
        The dimension of the state.

    Returns
    -------
    float
        0 where all are negative, `size` where no sum of them is; NaN where fewer than `size` are known and no sum of
        these is negative, and where the largest is zero within its error, or its error is not known: the dimension
        jumps from 0 to 1 there.
    """
    first, slack = exponents[0], np.cumsum(np.nan_to_num(bounds, posinf=0.0))
    if not _signed(first, errors[0], slack[0]):
        return float("nan")
    sums = np.cumsum(exponents)
    negative = np.flatnonzero(sums < -slack)
    if len(negative) == 0:
        return float(size) if len(exponents) == size and not np.isnan(sums[-1]) else float("nan")
    j = int(negative[0])
    return float(j + max(0.0, sums[j - 1]) / abs(exponents[j])) if j else 0.0


def kaplan_yorke_slopes(exponents: NDArray[np.float64], dimension: float) -> NDArray[np.float64]:
    """Return ∂D/∂λ_i of D = j + Σ_{i≤j} λ_i / abs(λ_{j+1}), shape (mode,); NaN where D is, 0 at 0 and n."""
    if np.isnan(dimension):
        return np.full_like(exponents, np.nan)
    slopes, j = np.zeros_like(exponents), int(dimension)
    if 0 < j < len(exponents):
        slopes[:j] = 1 / abs(exponents[j])
        slopes[j] = exponents[:j].sum() / exponents[j] ** 2
    return slopes


def positive_exponent_sum(
    exponents: NDArray[np.float64], errors: NDArray[np.float64], bounds: NDArray[np.float64], size: int
) -> float:
    """Return the sum of the exponents that are positive beyond their errors; arguments as of `kaplan_yorke_dimension`.

    NaN where the largest has no sign, and where the smallest one known is positive and there are more.
    """
    known = exponents[~np.isnan(exponents)]
    if not _signed(exponents[0], errors[0], bounds[0]) or (len(known) < size and known[-1] > 0):
        return float("nan")
    return float(exponents[exponents > errors].sum())


def _signed(exponent: float, error: float, bound: float) -> bool:
    """Return whether it is zero to rounding, or has a sign; an error that is not known leaves none."""
    return bool(abs(exponent) <= bound or np.isneginf(exponent) or abs(exponent) > error)
