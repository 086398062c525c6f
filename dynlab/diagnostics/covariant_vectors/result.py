"""The Dataset of covariant Lyapunov vectors, and what it says in a few sentences."""

from typing import Any

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.covariant_vectors.measured import AGREE, CovariantVectors
from dynlab.numerics.statistics import FEW_NATS
from dynlab.systems import Flow, System
from dynlab.wording import NO_INPUT, agree, at_most, none_inside, number, ranged, subscript, why_cut

METHOD = (
    "Ginelli's method: the Jacobians carry a random frame forward, which QR makes orthonormal after every {step}, and "
    "the R are kept. Random upper triangular coefficients are carried back through R⁻¹. Both passes run twice from "
    "other random starts. A vector is determined where two things hold. The two runs agree within {agree:g} rad at "
    "every step between the transients. The gaps of its exponent to its neighbours, times the shorter transient, "
    "exceed {separated:.3g}. {again}A mode is lost where its R_ii drowns in rounding. Signs of exponents are believed "
    "as those of `lyapunov` are: beyond an error that two in a thousand exceed, and where all the growth is above "
    "{nats:g} nats"
)
LONGER = 10  # times as long is the run that is proposed where no vector is determined
LOST = "NaN where the orbit was cut, or rounding drowns the mode"
UNDETERMINED = f"NaN where the vector is not determined: its exponent is not told from another's, or {LOST[4:]}"
NO_ANGLE = "NaN where no exponent is certainly positive, or none certainly negative, or the orbit was cut"
REASONS = {
    "trajectory": "NaN where the orbit was cut",
    "vector": UNDETERMINED,
    "local_rate": UNDETERMINED,
    "mean_local_rate": UNDETERMINED,
    "exponent": LOST,
    "standard_error": f"{LOST}, or there are too few blocks",
    "start_difference": LOST,
    "covariance_residual": LOST,
    **dict.fromkeys(
        ("angle", "angle_error", "smallest_angle", "smallest_angle_time", "median_angle", "angle_difference"), NO_ANGLE
    ),
}


def result(found: CovariantVectors, system: System, settings: dict[str, Any], averaged: str) -> xr.Dataset:
    """The Dataset that `dynlab.covariant_vectors` returns."""
    flow = isinstance(system, Flow)
    variables = _variables(found, flow)
    again = f"{found.stretches} stretches were carried forward once more. " if found.stretches else ""
    length = found.steps.length
    seconds = found.times * length if flow else found.times
    return schema.dataset(
        variables,
        system=system.name,
        source=system.source,
        settings=settings,
        verdict=lambda ds: _verdict(ds, found, averaged, settings),
        method=METHOD.format(
            step=f"{length:.3g} s" if flow else "step",
            agree=AGREE,
            separated=settings["separated"],
            again=again,
            nats=FEW_NATS,
        ),
        coords={schema.TIME: schema.time_coordinate(seconds, schema.SECOND if flow else schema.STEP)},
        flags=schema.not_finite(variables, REASONS),
    )


def _variables(found: CovariantVectors, flow: bool) -> dict[str, xr.Variable]:
    each, mode, time = (schema.SAMPLE,), (schema.SAMPLE, schema.MODE), (schema.SAMPLE, schema.TIME)
    rate = schema.NAT_PER_SECOND if flow else schema.NAT_PER_STEP
    clock, length = (schema.SECOND if flow else schema.STEP), found.steps.length
    of = schema.variable
    left = found.times >= found.steps.cut[:, None]
    states = np.where(left[..., None], np.nan, found.steps.states[:, found.times])
    return {
        "trajectory": of((*time, schema.STATE), states, "state h"),
        "vector": of((*time, schema.MODE, schema.STATE), found.vectors, "covariant Lyapunov vector v_i"),
        "local_rate": of((*time, schema.MODE), found.rates / length, "local growth rate along v_i", rate),
        "exponent": of(mode, found.exponents / length, "Lyapunov exponent Λ_i", rate),
        "standard_error": of(mode, found.errors / length, "standard error of Λ_i", rate),
        "mean_local_rate": of(mode, found.mean_rates / length, "mean local growth rate along v_i", rate),
        "determined": of(mode, found.determined.astype(np.int8), "1: the vector is determined"),
        "start_difference": of(mode, found.differences, "largest angle between runs from other starts (rad)"),
        "covariance_residual": of(mode, found.residuals, "largest ‖J v_i(t − 1)/‖·‖ − v_i(t)‖"),
        "angle": of(time, found.angles.at_times, "smallest angle between unstable and stable subspace (rad)"),
        "angle_error": of(time, found.angles.errors, "difference of this angle between runs from other starts (rad)"),
        "smallest_angle": of(each, found.angles.smallest, "smallest of these angles at any step (rad)"),
        "smallest_angle_time": of(each, found.angles.smallest_at * length, "when it is smallest", clock),
        "median_angle": of(each, found.angles.median, "median of these angles (rad)"),
        "angle_difference": of(
            each, found.angles.largest_difference, "largest difference of these angles between runs (rad)"
        ),
        "unstable_dimension": of(each, found.unstable, "dimension of the unstable subspace"),
        "stable_dimension": of(each, found.stable, "dimension of the stable subspace that was followed"),
    }


def _verdict(ds: xr.Dataset, found: CovariantVectors, averaged: str, settings: dict[str, Any]) -> str:
    inside = np.isinf(found.steps.cut)
    if not inside.any():
        why = none_inside(len(inside), _why_cut(found, settings, False))
        return f"No vector is known over {averaged.rstrip(',')}: {why}"
    counts = found.determined[inside].sum(axis=1)
    total = ds.sizes[schema.MODE]
    some = f"{ranged(counts, 0)} of {total} covariant vectors are"
    text = f"Over {averaged} {some if counts.any() else f'none of {total} covariant vectors is'} determined. "
    text += (
        "A vector is determined where runs from two starts agree on it, and its exponent lies apart from the others."
    )
    text += _exponents(ds)
    if not counts.any():
        text += f" {_longer(settings)} may determine some."
    angles = found.angles.smallest[inside]
    if np.isfinite(angles).any():
        dims = [ranged(ds[name].values[inside], 0) for name in ("unstable_dimension", "stable_dimension")]
        text += (
            f" The angle between the unstable subspace (dimension {dims[0]}) and the stable one (dimension {dims[1]}) "
            f"is {_degrees(float(np.nanmedian(found.angles.median)))} in the median and at least "
            f"{_degrees(float(np.nanmin(found.angles.surely[inside])))}{_known_to(found, 'seconds' in settings)}."
        )
    else:
        missing = "positive" if not found.unstable[inside].any() else "negative"
        text += (
            f" No exponent is {missing} beyond its error, and so there is no pair of a growing and a decaying "
            "direction whose angle could be told."
        )
    if counts.any():
        residual = float(np.nanmax(np.where(found.determined, found.residuals, np.nan)))
        off = float(np.nanmax(np.abs(ds["mean_local_rate"] - ds["exponent"])))
        text += f" Check: J v(t − 1) is along v(t) to {at_most(residual, 1)}, and local rates average to the exponents "
        text += f"within {at_most(off, 1)}."
    if not inside.all():
        gone = int((~inside).sum())
        text += f" {gone} of {len(inside)} orbits {_why_cut(found, settings, gone > 1)}, and "
        text += f"{agree(gone)} left out."
    return text


def _exponents(ds: xr.Dataset) -> str:
    """The first and the last exponent that are known, means of the samples."""
    values, units = ds["exponent"].values, ds["exponent"].attrs["units"]
    known = np.flatnonzero(np.isfinite(values).any(axis=0))
    if not len(known):
        return ""
    means = [float(np.mean(values[np.isfinite(values[:, mode]), mode])) for mode in known[[0, -1]]]
    first, last = (
        f"Λ{subscript(int(mode) + 1)} is {number(mean, 2)}" for mode, mean in zip(known[[0, -1]], means, strict=True)
    )
    unknown = values.shape[1] - len(known)
    left = f"; {unknown} of {values.shape[1]} exponents are −∞, or not known" if unknown else ""
    return f" {f'{first} and {last}' if len(known) > 1 else first} {units}{' in the mean' * (len(values) > 1)}{left}."


def _longer(settings: dict[str, Any]) -> str:
    """What to ask for in place of so few steps."""
    if settings.get("inputs_shape", [0])[-1] and settings["inputs"] != NO_INPUT:
        return "Longer sequences (--inputs noise:1.0 --steps 2000)"
    length = "seconds" if "seconds" in settings else "steps"
    longer = f"{LONGER * settings[length]:.12g}"
    return f"A longer run (--{length} {longer}, in Python {length}={longer})"


def _known_to(found: CovariantVectors, is_flow: bool) -> str:
    """By how much and when the two starts differ most in an angle; nothing where they agree."""
    worst = int(np.nanargmax(found.angles.largest_difference))
    unsure, step = float(found.angles.largest_difference[worst]), float(found.angles.differ_at[worst])
    if unsure <= AGREE:
        return ""
    at = f"{number(step * found.steps.length, 3)} s" if is_flow else f"step {number(step, 0)}"
    of = "with the difference between the two starts taken off. That difference"
    return f", {of} is {_degrees(unsure)} at most, at {at}"


def _why_cut(found: CovariantVectors, settings: dict[str, Any], several: bool) -> str:
    """What orbits do that are cut, and when the first did: "leaves |h_i| ≤ 1e+08, the first at step 14"."""
    lost, is_flow = ~found.steps.left[np.isfinite(found.steps.cut)], "seconds" in settings
    why = why_cut(lost, f"|h_i| ≤ {number(settings['largest_state'])}", is_flow, several)
    when = found.steps.cut.min() * found.steps.length
    first = "the first at" if len(found.steps.cut) > 1 else "at"
    return f"{why}, {first} {f'{number(when)} s' if is_flow else f'step {number(when, 0)}'}"


def _degrees(angle: float) -> str:
    return f"{number(np.degrees(angle), 3)}°"
