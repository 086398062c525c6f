"""The Dataset of Lyapunov exponents, from what a frame grew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.lyapunov.ends import OrbitEnds
from dynlab.diagnostics.lyapunov.verdict import verdict
from dynlab.numerics.frame import SAFETY, Growth
from dynlab.numerics.statistics import (
    BLOCKS,
    FEW_NATS,
    SHORTEST_BLOCK,
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
from dynlab.systems import System
from dynlab.wording import why_cut

DENSE, DRIFTS = 64, 3.0  # states, beyond which exponents may lie dense, and how many drifts an error is then at least
METHOD = (
    "The Jacobians carry a frame of tangent vectors forward, which is random at first. QR makes it orthonormal again "
    "before the relative error of a growth factor exceeds {tolerance:g} (or after every step). It is bounded at first "
    f"order by {SAFETY:g} ε Π‖J‖₂ ‖R⁻¹ e_i‖₂, with ε {{epsilon}}. "
    "That is every {length:.3g} {units} here, on average. {errors}"
)
OF_BLOCKS = (
    f"Standard errors come from the means over at most {BLOCKS} blocks of at least {SHORTEST_BLOCK} steps. Where these "
    "follow a trend, the error is at least the distance of the last quarter's mean from the whole's. Where the growth "
    f"over all steps is below {FEW_NATS:g} nats, it is at least a third of the exponent. It is at least what the "
    "exponents lack to their decreasing order. The largest exponent's error is at least its distance from that of the "
    f"fixed point or cycle where the orbit ends. Of more than {DENSE} states it is at least {DRIFTS:g} times a drift: "
    "how the second half's means differ from the whole's, in the root mean square over the exponents. The mean of all "
    "samples has the error of their mean growth, so that "
    "what they share does not average out. It reaches every sample whose own error does not reach the mean"
)
BETWEEN = (
    "The standard error of one sample is the standard deviation between samples. The alignment error is the largest "
    "change by other random frames"
)
CUT = "NaN where an orbit {why}, and is cut there"
SINGULAR = "-inf where a Jacobian is exactly singular: a unit's slope is 0"
FROM_ABOVE = "an upper bound where rounding_bound is inf: the Jacobian is as small as its own error, and might be 0"
UNRESOLVED = "NaN where rounding drowns the mode: it shrinks too much beside the others in a single step"
NEEDS_ALL = "NaN where some of many exponents were asked for, which need no matrix whose determinant this is"
DIMENSION = (
    "NaN where fewer exponents are known than it needs, or the largest is zero within its error, or that is not known"
)
SUM = (
    "NaN where the largest exponent is zero within its error, or not known, or the smallest known is positive and "
    "there are more"
)


@dataclass(frozen=True)
class Measured:
    """What was measured, and how.

    `stops` are the times of the running estimates, `transient` the time discarded before them. `blocks` is 0 where
    errors are taken between samples. `ends` is None of driven orbits; `units` are those of time; `epsilon` says what
    one factor's relative error is; `k` is how many exponents are told. `averaged` and `before` are of the verdict.
    """

    growth: Growth
    stops: NDArray[Any]
    transient: float
    blocks: int
    finite_time: bool
    ends: OrbitEnds | None
    units: str
    tolerance: float
    epsilon: str
    k: int
    averaged: str
    before: str

    @property
    def name(self) -> str:
        return "finite_time_exponent" if self.finite_time else "exponent"


def result(
    measured: Measured, system: System, settings: dict[str, Any], extra: Mapping[str, xr.Variable]
) -> xr.Dataset:
    """The Dataset that `dynlab.lyapunov` returns."""
    growth, size = measured.growth, system.state_size
    values = _values(measured, size)
    ds = schema.dataset(
        _variables(measured, values) | dict(extra),
        system=system.name,
        source=system.source,
        settings=settings,
        method=METHOD.format(
            tolerance=measured.tolerance,
            epsilon=measured.epsilon,
            length=growth.length,
            units="steps" if measured.units == schema.STEP else measured.units,
            errors=BETWEEN if measured.finite_time else OF_BLOCKS,
        ),
        coords={schema.TIME: schema.time_coordinate(measured.stops, measured.units)},
        flags=_flags(measured, values, extra, settings["largest_state"]),
    )
    gone = int(np.isfinite(growth.cut).sum())
    cut = _why_cut(measured, settings["largest_state"], 1 < gone < len(growth.cut))
    ds.attrs["verdict"] = measured.before + verdict(ds, measured.averaged, measured.name, cut, measured.ends, size)
    return ds


def _why_cut(measured: Measured, largest: float, several: bool = False) -> str:
    """What orbits do that are cut, "leaves |h_i| ≤ 1e+08, the first at step 14"; "" where none is."""
    cut, is_flow = measured.growth.cut, measured.units == schema.SECOND
    if np.isinf(cut).all():
        return ""
    why = why_cut(measured.growth.lost[np.isfinite(cut)], f"|h_i| ≤ {largest:g}", is_flow, several)
    first = "the first at" if len(cut) > 1 else "at"
    return f"{why}, {first} {f'{cut.min():.4g} s' if is_flow else f'step {cut.min():.0f}'}"


def _values(measured: Measured, size: int) -> dict[str, NDArray[Any]]:
    """The variables' values, the first `k` modes in the order of the frame's columns: finite, then unknown, then −inf.

    Where more columns were carried than are told, those behind the first are put in decreasing order, so that what the
    frame's end has not sorted yet is dropped. The first stays the one number that it is however many are asked for.
    """
    growth = measured.growth
    elapsed = np.asarray(measured.stops, dtype=float) - measured.transient
    last = growth.log_growth[:, -1]
    order = _order(last, measured.k < last.shape[1])[:, : measured.k]
    log_growth = np.take_along_axis(growth.log_growth, order[:, None], axis=2)
    bound = np.take_along_axis(growth.bound, order, axis=1) / elapsed[-1]
    running = log_growth / elapsed[:, None]
    exponent = running[:, -1]
    known = ~np.isnan(exponent).all(axis=1)
    together = log_growth[known].mean(axis=0, keepdims=True) if known.any() else log_growth[:1]
    if measured.finite_time:
        error, times = errors_between(exponent), sure(int(known.sum()))
        mean_error = error[known].mean(axis=0) / np.sqrt(known.sum()) if known.any() else error[0]
    else:
        error, times = standard_errors(log_growth, elapsed, measured.blocks), sure(measured.blocks)
        mean_error = standard_errors(together, elapsed, measured.blocks)[0]
    rounding, aligned = np.where(np.isnan(exponent), np.nan, bound), {}
    fixed = rounding
    if measured.finite_time:
        others = np.take_along_axis(growth.others, order[None], axis=2) / elapsed[-1]
        aligned = {"alignment_error": _largest_change(others, exponent)}
        fixed = rounding + aligned["alignment_error"]
    margin = times * error + fixed
    mean = together[0, -1] / elapsed[-1]
    mean_margin = times * mean_error + _mean(fixed)
    if not measured.finite_time:
        unsettled = np.take_along_axis(_unordered(last / elapsed[-1]), order, axis=1)
        if measured.ends is not None:
            unsettled[:, 0] = np.fmax(unsettled[:, 0], _off_end(exponent[:, 0], measured.ends))
        if size > DENSE:
            unsettled = np.maximum(unsettled, DRIFTS * _drift(log_growth, elapsed))
            mean_margin = np.maximum(mean_margin, DRIFTS * _drift(together, elapsed)[0])
        margin = np.maximum(margin, unsettled)
        mean_margin = np.maximum(mean_margin, beyond_errors(exponent, margin, mean))
        mean_margin = np.maximum(mean_margin, unsettled.mean(axis=0))
    rows = list(zip(with_signs(exponent, bound), margin, bound, strict=True))
    dimension = np.array([kaplan_yorke_dimension(*row, size) for row in rows])
    entropy = np.array([positive_exponent_sum(*row, size) for row in rows])
    if measured.finite_time:
        derived = (errors_between(each[:, None])[:, 0] for each in (dimension, entropy))
    else:
        slopes = np.array([kaplan_yorke_slopes(*row) for row in zip(exponent, dimension, strict=True)])
        positive = np.where(np.isnan(entropy)[:, None], np.nan, exponent > margin)
        derived = (combined_errors(log_growth, weights, elapsed, measured.blocks) for weights in (slopes, positive))
    dimension_error, entropy_error = (times * each for each in derived)
    return aligned | {
        "exponent": exponent,
        "exponent_error": margin,
        "standard_error": error,
        "rounding_bound": rounding,
        "mean_exponent": mean,
        "mean_exponent_error": mean_margin,
        "running_exponent": running,
        "mean_log_det": growth.log_det / elapsed[-1],
        "kaplan_yorke_dimension": dimension,
        "kaplan_yorke_dimension_error": dimension_error,
        "positive_exponent_sum": entropy,
        "positive_exponent_sum_error": entropy_error,
    }


def _order(last: NDArray[np.float64], decreasing: bool) -> NDArray[np.int64]:
    """The columns of a frame in the order of the modes, of each sample.

    What decreases is the mean over samples: an order for each of them would make the mean of the second too large.
    """
    finite, rank = np.isfinite(last), np.arange(last.shape[1])
    if decreasing:
        count = finite.sum(axis=0)
        mean = np.where(count > 0, np.where(finite, last, 0.0).sum(axis=0) / np.maximum(count, 1), -np.inf)
        mean[0] = np.inf
        rank = np.argsort(np.argsort(-mean, kind="stable"))
    group = np.isnan(last) + 2 * np.isneginf(last)
    return np.argsort(group * len(rank) + rank, axis=1, kind="stable")


def _unordered(exponent: NDArray[np.float64]) -> NDArray[np.float64]:
    """By how much the exponents (sample, column) of a frame will change at least if the orbit goes on.

    They decrease at last.
    """
    known = np.where(np.isfinite(exponent), exponent, np.nan)
    with np.errstate(invalid="ignore"):
        rises = np.fmax.accumulate(known[:, ::-1], axis=1)[:, ::-1] - known
        falls = known - np.fmin.accumulate(known, axis=1)
    return np.nan_to_num(np.fmax(rises, falls), nan=0.0, posinf=0.0)


def _drift(log_growth: NDArray[np.float64], elapsed: NDArray[np.float64]) -> NDArray[np.float64]:
    """By how much the mean growth (sample, mode) over the second half differs from that over all, of all modes.

    Where exponents lie dense a frame turns to their directions for as long as a run takes, and its blocks scatter less
    than they drift: one mode's more and another's less, by chance, so that each has the root mean square.
    """
    half = int(np.searchsorted(elapsed, elapsed[-1] / 2))
    if not 0 <= half < len(elapsed) - 1:
        return np.zeros_like(log_growth[:, -1])
    with np.errstate(invalid="ignore"):
        late = (log_growth[:, -1] - log_growth[:, half]) / (elapsed[-1] - elapsed[half])
        off = np.square(late - log_growth[:, -1] / elapsed[-1])
    off = np.where(np.isfinite(off), off, 0.0)
    return np.broadcast_to(np.sqrt(off.mean(axis=1, keepdims=True)), off.shape)


def _off_end(largest: NDArray[np.float64], ends: OrbitEnds) -> NDArray[np.float64]:
    """How far the largest exponents (sample,) are from those of the fixed points or cycles that the orbits came to."""
    with np.errstate(invalid="ignore"):
        off = np.abs(np.where(np.isfinite(largest), largest, np.nan) - ends.leading)
    return np.where(np.isfinite(off), off, 0.0)


def _largest_change(others: NDArray[np.float64], exponent: NDArray[np.float64]) -> NDArray[np.float64]:
    """By how much the exponents (sample, mode) are the first frame's: their largest distance to those of others."""
    both = np.isfinite(others) & np.isfinite(exponent)
    with np.errstate(invalid="ignore"):
        change = np.where(both, np.abs(others - exponent), 0.0).max(axis=0)
    return np.where(np.isfinite(exponent), change, np.nan)


def _mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Over the samples where it is known; NaN where it is in none."""
    known = ~np.isnan(values)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.where(known.any(axis=0), total / np.maximum(known.sum(axis=0), 1), np.nan)


def _variables(measured: Measured, values: dict[str, NDArray[Any]]) -> dict[str, xr.Variable]:
    flow = measured.units == schema.SECOND
    rate = schema.NAT_PER_SECOND if flow else schema.NAT_PER_STEP
    error = "standard deviation of Λ_i between samples" if measured.finite_time else "standard error of Λ_i"
    word = "finite-time exponent" if measured.finite_time else "Lyapunov exponent"
    described = {
        "exponent": (f"{word} Λ_i", rate),
        "standard_error": (error, rate),
        "exponent_error": ("error of Λ_i", rate),
        "mean_exponent": (f"mean of the {word} Λ_i", rate),
        "mean_exponent_error": ("error of the mean of Λ_i", rate),
        "rounding_bound": ("bound of what rounding adds to Λ_i", rate),
        "alignment_error": ("what other first frames change Λ_i by", rate),
        "running_exponent": ("running estimate of Λ_i", rate),
        "mean_log_det": ("mean divergence" if flow else "mean of ln |det J|", rate),
        "kaplan_yorke_dimension": ("Kaplan–Yorke dimension", schema.ONE),
        "kaplan_yorke_dimension_error": ("error of the Kaplan–Yorke dimension", schema.ONE),
        "positive_exponent_sum": ("sum of the positive Λ_i, upper bound of the entropy rate", rate),
        "positive_exponent_sum_error": ("error of that sum", rate),
    }
    each, mode = (schema.SAMPLE,), (schema.SAMPLE, schema.MODE)
    mean = (schema.MODE,)
    dims = {
        "running_exponent": (schema.SAMPLE, schema.TIME, schema.MODE),
        "mean_exponent": mean,
        "mean_exponent_error": mean,
    }
    return {
        (measured.name if name == "exponent" else name): schema.variable(
            dims.get(name, mode if array.ndim == 2 else each), array, *described[name]
        )
        for name, array in values.items()
    }


def _flags(
    measured: Measured, values: dict[str, NDArray[Any]], extra: Mapping[str, xr.Variable], largest: float
) -> dict[str, str]:
    """For each variable that is not finite throughout, why."""
    cut, last = measured.growth.cut, measured.growth.log_growth[:, -1]
    reasons = []
    if np.isfinite(cut).any():
        reasons.append(CUT.format(why=_why_cut(measured, largest)))
    if np.isneginf(values["running_exponent"]).any():
        reasons.append(SINGULAR)
    if np.isposinf(values["rounding_bound"]).any():
        reasons.append(FROM_ABOVE)
    if np.isnan(last[np.isinf(cut)]).any():
        reasons.append(UNRESOLVED)
    one = "there is no spread between samples, since there is one" if measured.finite_time else "too few blocks"
    shared = "; ".join(reasons)
    specific = {
        "standard_error": f"NaN where the exponent is not finite, or {one}",
        "exponent_error": f"NaN or inf where the exponent is not finite, or {one}",
        "mean_exponent_error": f"NaN or inf where the mean is not finite, or {one}",
        "alignment_error": "NaN where the exponent is not finite",
        "mean_log_det": "; ".join(
            [
                *([SINGULAR] if np.isneginf(values["mean_log_det"]).any() else []),
                *([NEEDS_ALL] if np.isnan(values["mean_log_det"][np.isinf(cut)]).any() else []),
                *(each for each in reasons if each != SINGULAR),
            ]
        ),
        "kaplan_yorke_dimension": DIMENSION,
        "kaplan_yorke_dimension_error": f"NaN where the dimension is, or {one}",
        "positive_exponent_sum_error": f"NaN where the sum is, or {one}",
        "positive_exponent_sum": SUM,
        "separation_rate": "-inf where two orbits under the same input became one; NaN where the orbit was cut",
        "shrinkage": "-inf where two starts became one; NaN where the orbit was cut",
        "neighbour_rate": "-inf where two orbits under the same input became one; NaN where the orbit was cut",
    }
    arrays = values | {name: variable.values for name, variable in extra.items() if name in specific}
    return {
        (measured.name if name == "exponent" else name): specific.get(name, shared)
        for name, array in arrays.items()
        if not np.isfinite(array).all()
    }
