"""The verdict on a pseudospectrum: whether A is stable, how far its powers grow, and how small a change undoes it."""

from typing import Any

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.fixed_points.verdict import under_input
from dynlab.words import READABLE, at_least, at_most, near_one, number, place, power, with_error

NO_GROWTH = 1 + 1e-9  # a largest norm up to this is that of the start
WIDE = 1e-3  # an error of an eigenvalue beyond this is told
ROUNDING = 1e-12  # of a number that is rounded up, so much is what rounding left in it
STABLE, UNSTABLE, UNDECIDED = "A is stable", "A is unstable", "whether A is stable is undecided"


def verdict(ds: xr.Dataset, at: Any, described: str) -> str:
    """Say whether A is stable, how far its powers grow, and how small a change makes it unstable.

    `at` is the input that is held. `described` is the step whose Jacobian it is, "step 128 of sequence 0", or "".
    """
    settings = schema.settings(ds)
    flow, values, errors = settings["flow"], ds["eigenvalue"].values, ds["eigenvalue_error"].values
    sizes = values.real if flow else np.abs(values)
    beyond, leading = sizes - (not flow), int(sizes.argmax())
    side = UNSTABLE if (beyond > errors).any() else STABLE if (beyond < -errors).all() else UNDECIDED
    size = number(sizes[leading]) if flow else near_one(float(sizes[leading]), 5)
    if side == UNDECIDED or errors.max() > WIDE:
        size = with_error(float(sizes[leading]), float(errors[leading]))
    name, per = ("abscissa", " per second") if flow else ("radius", "")
    where = described or place(np.array(settings["state"]))
    text = (
        f"The spectral {name} of the Jacobian A at {where} is {size}{per}: {side}. "
        f"{'With A held fixed, ' * bool(described)}{_growth(ds, side)}."
    )
    if side == STABLE:
        margin = float((errors - beyond).min())
        change = float(np.nanmin([float(ds["instability_distance"]), margin]))
        normal = f"; with orthogonal eigenvectors it would take {at_least(margin, 3)}{per}"
        text += f" A change of norm {at_most(change * (1 - ROUNDING), 3)}{per} can make A unstable"
        text += f"{normal * (number(change, 2) != number(margin, 2))}."
    return under_input(text, at, settings["input"] and not described)


def _growth(ds: xr.Dataset, side: str) -> str:
    """Say how far the norms grow, and whether they are seen to decay."""
    flow, when = schema.settings(ds)["flow"], float(ds["transient_time"])
    growth, kreiss = float(ds["transient_growth"]), float(ds["kreiss_constant"])
    norm, at = ("‖exp(tA)‖", f"t = {number(when, 3)} s") if flow else ("‖Aᵏ‖", f"k = {number(when, 0)}")
    drowned, back = bool(np.isnan(ds["log_power_norm"].values).any()), _back_at_one(ds, when)
    if growth > NO_GROWTH:
        end = " before it decays" if back else "; rounding hides it later" * drowned
        even_more = growth < kreiss < np.inf and not back
        end += f", and to at least {at_least(kreiss)} later (Kreiss constant)" if even_more else ""
        log_norm = np.log(growth) if growth < np.inf else float(ds["log_power_norm"].max())
        size = at_least(growth) if log_norm <= READABLE else power(np.floor(10 * log_norm) / 10)
        return f"{norm} grows to {'at least ' * flow}{size} at {at}{end}"
    if drowned and not back:
        return f"{norm} may grow: rounding or a kink hides how far"
    return f"{norm} never exceeds 1" if side != UNSTABLE else f"{norm} does not exceed 1 before {at}"


def _back_at_one(ds: xr.Dataset, when: float) -> bool:
    """Tell whether the norm is known until it falls below 1: by ‖A^(j+k)‖ ≤ ‖A^j‖ ‖A^k‖ none is larger later."""
    later = ds[schema.TIME].values > when
    below = ds["log_power_norm_bound"].values[later] < 0
    return bool(below.any() and not np.isnan(ds["log_power_norm"].values[later][: below.argmax()]).any())
