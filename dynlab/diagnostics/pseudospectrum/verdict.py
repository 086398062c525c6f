"""The verdict on a pseudospectrum: whether A is stable, how far its powers grow, and how small a change undoes it."""

from typing import Any

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.fixed_points.verdict import under_input
from dynlab.wording import at_least, at_most, near_one, number, place, power

NO_GROWTH = 1 + 1e-9  # a largest norm up to this is that of the start
WIDE = 1e-3  # an error of an eigenvalue beyond this is told
ROUNDING = 1e-12  # of a number that is rounded up, so much is what rounding left in it
READABLE = 7.0  # nats: a growth up to this is told as a number, beyond as a power of e


def verdict(ds: xr.Dataset, input_at: Any, described: str) -> str:
    """Return whether A is stable by its eigenvalues, what the norms do in spite of that, and how robust that is.

    `input_at` is the input that is held, "zero" or its values. `described` says of which step the Jacobian is, as
    "step 128 of sequence 0"; "" where its place is all that is known.
    """
    flow = schema.settings(ds)["flow"]
    values, errors = ds["eigenvalue"].values, ds["eigenvalue_error"].values
    beyond = values.real if flow else np.abs(values) - 1
    side = "unstable" if (beyond > errors).any() else "stable" if (beyond < -errors).all() else "undecided"
    growth = _growth(ds, flow, side)
    if described:  # on a trajectory, whose every state has its own Jacobian
        growth = f"With A held fixed, {growth if growth[0] == '‖' else growth[0].lower() + growth[1:]}"
    text = f"{_stability(ds, flow, side, described)}. {growth}."
    if side == "stable":
        text += _robustness(ds, flow, float((errors - beyond).min()))
    return under_input(text, input_at) if schema.settings(ds)["input"] and not described else text


def _stability(ds: xr.Dataset, flow: bool, side: str, described: str) -> str:
    values, errors = ds["eigenvalue"].values, ds["eigenvalue_error"].values
    sizes = values.real if flow else np.abs(values)
    leading = int(sizes.argmax())
    if flow:
        size = f"abscissa of the Jacobian A{{}} is {number(sizes[leading])} per second"
    elif errors[leading] < sizes[leading] or not sizes.any():
        size = f"radius of the Jacobian A{{}} is {near_one(float(sizes[leading]), 5)}"
    else:
        size = f"radius of the Jacobian A{{}} is at most {at_most(float((sizes + errors).max()), 1)}"
    text = size.format(f" at {described or place(np.array(schema.settings(ds)['state']))}")
    if side == "undecided" or errors.max() > WIDE:
        text += f" (error {at_most(errors[leading], 1)})" if np.isfinite(errors[leading]) else " (error not known)"
    return f"The spectral {text}: {'whether A is stable is undecided' if side == 'undecided' else f'A is {side}'}"


def _growth(ds: xr.Dataset, flow: bool, side: str) -> str:
    """How far the norms grow, and whether they are seen to decay."""
    growth, when = float(ds["transient_growth"]), float(ds["transient_time"])
    norm, last = "‖exp(tA)‖" if flow else "‖Aᵏ‖", float(ds[schema.TIME].values[-1])
    at = f"t = {number(when, 3)} s" if flow else f"k = {number(when, 0)}"
    drowned, back = bool(np.isnan(ds["log_power_norm"].values).any()), _back_at_one(ds, when)
    if growth <= NO_GROWTH:
        if drowned and not back:
            return f"Rounding, or a kink, hides how far {norm} grows"
        return f"{norm} never exceeds 1" if side != "unstable" else f"{norm} does not exceed 1 before {at}"
    size = _size(ds, growth, least=flow)  # between the times that are looked at a flow's may be larger
    kreiss = float(ds["kreiss_constant"])
    more = f", and to at least {at_least(kreiss)} later (Kreiss constant)" if growth < kreiss < np.inf else ""
    if back:
        return f"{norm} grows to {size} at {at} before it decays"
    if drowned:
        return f"{norm} grows to {size} by {at}; rounding hides it later{more}"
    verb = f"grows to {size} by {at}, the last computed" if when == last else f"grows to {size} at {at}"
    return f"{norm} {verb}{more}" + (": follow it longer to see it decay" if side == "stable" else "")


def _robustness(ds: xr.Dataset, flow: bool, margin: float) -> str:
    """How small a change makes a stable A unstable; for a normal A it is its eigenvalues' margin."""
    change, unit = float(np.nanmin([float(ds["instability_distance"]), margin])), " per second" * flow
    text = f" A change of norm {at_most(change * (1 - ROUNDING), 3)}{unit} can make A unstable"
    if number(change, 2) == number(margin, 2):
        return f"{text}."
    return f"{text}; with orthogonal eigenvectors it would take {at_least(margin, 3)}{unit}."


def _back_at_one(ds: xr.Dataset, when: float) -> bool:
    """Whether the norm is below 1 after that time, and known until then: ‖A^(j+k)‖ ≤ ‖A^j‖ ‖A^k‖, so none is larger."""
    later = ds[schema.TIME].values > when
    below = ds["log_power_norm_bound"].values[later] < 0
    return bool(below.any() and not np.isnan(ds["log_power_norm"].values[later][: below.argmax()]).any())


def _size(ds: xr.Dataset, growth: float, *, least: bool) -> str:
    """The largest norm; with `least` rounded down, as what a larger one is not below must be."""
    log_norm = np.log(growth) if growth < np.inf else float(np.nanmax(ds["log_power_norm"].values))
    if log_norm > READABLE:
        return power(np.floor(log_norm * 10) / 10 if least else log_norm)
    return f"at least {at_least(growth)}" if least else number(growth)
