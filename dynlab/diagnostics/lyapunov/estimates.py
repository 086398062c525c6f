"""Exponents with their errors, from what frames grew along orbits."""

from collections.abc import Callable

import numpy as np

from dynlab.diagnostics.lyapunov.exponents import Growth
from dynlab.diagnostics.lyapunov.orbits import Flags
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.statistics import (
    beyond_errors,
    combined_errors,
    errors_between,
    kaplan_yorke_dimension,
    kaplan_yorke_slopes,
    positive_exponent_sum,
    standard_errors,
    sure,
    with_signs,
)
from dynlab.trajectories.cycles import Attractor

DENSE, DRIFTS = 64, 3.0  # states, beyond which exponents may lie dense, and how many drifts an error is then at least


def estimates(
    growth: Growth,
    elapsed: Real,
    inside: Flags,
    *,
    k: int,
    size: int,
    blocks: int,
    ends: list[Attractor | None] | None = None,
    finite_time: bool = False,
) -> dict[str, Real]:
    """Return the variables' values by name, the first `k` modes in the order of the frame's columns.

    Of finite-time exponents those that have no error: `between_samples` adds it. The order is: finite, then unknown,
    then −inf. Where more columns were carried than are told, those behind the first are put in decreasing order, so
    that what the frame's end has not sorted yet is dropped.

    Parameters
    ----------
    growth : Growth
    elapsed : ndarray, shape (stop,)
        Time since the transient at each stop.
    inside : ndarray of bool, shape (sample, stop)
        True where the orbit was not cut before.
    k, size : int
        Numbers of exponents that are told, and of the state's dimensions.
    blocks : int
        Number of means that give an error.
    ends : list, optional
        The attractors that orbits have come to.
    finite_time : bool
        Take errors between samples.
    """
    every = np.where(inside[..., None], growth.log_growth[0], np.nan)
    order = _order(every[:, -1], k < every.shape[2])[:, :k]
    log_growth = np.take_along_axis(every, order[:, None], axis=2)
    running = log_growth / elapsed[:, None]
    exponent = running[:, -1].copy()
    rounding = np.take_along_axis(growth.bound, order, axis=1) / elapsed[-1]
    rounding = np.where(np.isnan(exponent), np.nan, rounding)
    log_det = np.where(inside[:, -1], growth.log_det / elapsed[-1], np.nan)
    values = {"exponent": exponent, "rounding_bound": rounding, "running_exponent": running, "mean_log_det": log_det}
    if finite_time:
        others = np.take_along_axis(growth.log_growth[1:, :, -1], order[None], axis=2) / elapsed[-1]
        return values | {"alignment_error": _largest_change(others, exponent)}
    known = ~np.isnan(exponent[:, 0])
    together = log_growth[known].mean(axis=0, keepdims=True) if known.any() else log_growth[:1]
    times, error = sure(blocks), standard_errors(log_growth, elapsed, blocks)
    mean, mean_error = together[0, -1] / elapsed[-1], standard_errors(together, elapsed, blocks)[0]
    unsettled = np.take_along_axis(_unordered(every[:, -1] / elapsed[-1]), order, axis=1)
    unsettled = np.maximum(unsettled, DRIFTS * _drift(log_growth, elapsed, size))
    margin = np.maximum(times * error + rounding, unsettled)
    least = np.maximum(DRIFTS * _drift(together, elapsed, size)[0], unsettled.mean(axis=0))
    mean_margin = np.maximum(times * mean_error + _mean(rounding), least)
    values |= {"standard_error": error, "exponent_error": margin}
    if known.any() and any(one is not None for one in ends or ()):
        _of_ends(ends or [], exponent, margin, error, rounding, log_det)
        mean, mean_margin = exponent[known].mean(axis=0), margin[known].mean(axis=0)
    mean_margin = np.maximum(mean_margin, beyond_errors(exponent, margin, mean))
    values |= {"mean_exponent": mean, "mean_exponent_error": mean_margin}
    return _with_dimension(
        values, size, lambda _, weights: times * combined_errors(log_growth, weights, elapsed, blocks)
    )


def between_samples(values: dict[str, Real], size: int) -> dict[str, Real]:
    """Return what `estimates` returns of finite-time exponents, with errors that are taken between samples."""
    exponent, fixed = values["exponent"], values["rounding_bound"] + values["alignment_error"]
    known = ~np.isnan(exponent[:, 0])
    times, error = sure(int(known.sum())), errors_between(exponent)
    some = known if known.any() else np.arange(len(known)) == 0
    values = values | {
        "standard_error": error,
        "exponent_error": times * error + fixed,
        "mean_exponent": exponent[some].mean(axis=0),
        "mean_exponent_error": times * (error[some].mean(axis=0) / np.sqrt(some.sum())) + _mean(fixed),
    }
    return _with_dimension(values, size, lambda each, _: times * errors_between(each[:, None])[:, 0])


def over_samples(values: dict[str, Real]) -> dict[str, Real]:
    """Return the means over samples whose sequences have different lengths, of exponents with errors of their own."""
    exponent, margin = values["exponent"], values["exponent_error"]
    mean, known = _mean(exponent), ~np.isnan(exponent[:, 0])
    error = np.maximum(_mean(margin), beyond_errors(exponent[known], margin[known], mean))
    return values | {"mean_exponent": mean, "mean_exponent_error": error}


def _with_dimension(values: dict[str, Real], size: int, error_of: Callable[[Real, Real], Real]) -> dict[str, Real]:
    """Return the values with the Kaplan–Yorke dimension, the sum of the positive exponents, and the error of each.

    `error_of` is called with values (sample,) and their derivatives by the exponents (sample, mode).
    """
    exponent, margin, bound = (values[name] for name in ("exponent", "exponent_error", "rounding_bound"))
    rows = list(zip(with_signs(exponent, bound), margin, np.where(np.isnan(bound), np.inf, bound), strict=True))
    dimension = np.array([kaplan_yorke_dimension(*row, size) for row in rows])
    slopes = np.array([kaplan_yorke_slopes(*row) for row in zip(exponent, dimension, strict=True)])
    entropy = np.array([positive_exponent_sum(*row, size) for row in rows])
    positive = np.where(np.isnan(entropy)[:, None], np.nan, exponent > margin)
    return values | {
        "kaplan_yorke_dimension": dimension,
        "kaplan_yorke_dimension_error": error_of(dimension, slopes),
        "positive_exponent_sum": entropy,
        "positive_exponent_sum_error": error_of(entropy, positive),
    }


def _of_ends(
    ends: list[Attractor | None], exponent: Real, margin: Real, error: Real, rounding: Real, det: Real
) -> None:
    """Put the exponents of multipliers in place of what was measured with a larger error, (sample, mode)."""
    k = exponent.shape[1]
    for sample, one in enumerate(ends):
        if one is not None and not np.isnan(exponent[sample]).all():
            own, wrong = one.exponents[:k], one.exponent_errors[:k]
            better = np.logical_and.accumulate(~(wrong > margin[sample]) & np.isfinite(wrong))
            exponent[sample, better], error[sample, better] = own[better], 0.0
            margin[sample, better] = rounding[sample, better] = wrong[better]
            if better.all() and k == len(one.exponents):
                det[sample] = own.sum()


def _order(last: Real, decreasing: bool) -> Index:
    """Return the columns of a frame in the order of the modes, of each sample.

    What decreases is the mean over samples: an order for each of them would make the mean of the second too large.
    """
    rank = np.arange(last.shape[1])
    if decreasing:
        mean = np.ma.masked_invalid(last).mean(axis=0).filled(-np.inf)
        mean[0] = np.inf
        rank = np.argsort(np.argsort(-mean, kind="stable"))
    return np.argsort((np.isnan(last) + 2 * np.isneginf(last)) * len(rank) + rank, axis=1, kind="stable")


@np.errstate(invalid="ignore")
def _unordered(exponent: Real) -> Real:
    """Return by how much exponents (sample, column) of a frame will change at least if the orbit goes on.

    They decrease at last.
    """
    known = np.where(np.isfinite(exponent), exponent, np.nan)
    rises = np.fmax.accumulate(known[:, ::-1], axis=1)[:, ::-1] - known
    falls = known - np.fmin.accumulate(known, axis=1)
    return np.nan_to_num(np.fmax(rises, falls), nan=0.0, posinf=0.0)


@np.errstate(invalid="ignore")
def _drift(log_growth: Real, elapsed: Real, size: int) -> Real:
    """Return by how much the mean growth (sample, mode) over the second half differs from that over all.

    Where exponents lie dense a frame turns to their directions for as long as a run takes, and its blocks scatter less
    than they drift: one mode's more and another's less, by chance, so that each has the root mean square. Of fewer than
    `DENSE` states it is 0.
    """
    half = int(np.searchsorted(elapsed, elapsed[-1] / 2))
    if size <= DENSE or not 0 <= half < len(elapsed) - 1:
        return np.zeros_like(log_growth[:, -1])
    late = (log_growth[:, -1] - log_growth[:, half]) / (elapsed[-1] - elapsed[half])
    off = np.square(late - log_growth[:, -1] / elapsed[-1])
    off = np.where(np.isfinite(off), off, 0.0)
    return np.broadcast_to(np.sqrt(off.mean(axis=1, keepdims=True)), off.shape)


@np.errstate(invalid="ignore")
def _largest_change(others: Real, exponent: Real) -> Real:
    """Return how far the exponents (sample, mode) are from those of other first frames, at most over samples."""
    change = np.nan_to_num(np.abs(others - exponent), posinf=0.0).max(axis=0)
    return np.where(np.isfinite(exponent), change, np.nan)


def _mean(values: Real) -> Real:
    """Return the mean over the samples where a value is known; NaN where it is in none."""
    return np.asarray(np.ma.array(values, mask=np.isnan(values)).mean(axis=0).filled(np.nan))
