"""What a pseudospectrum says, in two sentences."""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.fixed_points.verdict import under_input
from dynlab.wording import at_least, at_most, near_one, number, place, power

NO_GROWTH = 1 + 1e-9  # a largest norm up to this is that of the start
KINKED = 1e-3  # an eigenvalue is known worse where a unit is on its kink
ROUNDING = 1e-12  # of a number that is rounded up, so much is what rounding left in it
HELD = " Its ε-pseudospectrum holds all eigenvalues that A can get by a change of norm up to ε."
READABLE = 7.0  # nats: a growth up to this is told as a number, beyond as a power of e


def verdict(ds: xr.Dataset, input_at: Any, described: str) -> str:
    """Stable or not by eigenvalues, and what the norms do in spite of that.

    `input_at` is the input that is held, "zero" or its values. `described` says of which step the Jacobian is, as
    "step 128 of sequence 0"; "" where its place is all that is known.
    """
    flow = schema.settings(ds)["flow"]
    values, errors = ds["eigenvalue"].values, ds["eigenvalue_error"].values
    beyond = values.real if flow else np.abs(values) - 1
    leading = int(np.argmax(beyond))
    side = _side(beyond, errors)
    size = f"{number(beyond[leading])} per second" if flow else _radius(np.abs(values), errors)
    at, which = place(np.array(schema.settings(ds)["state"])), "abscissa" if flow else "radius"
    takes_input = bool(schema.settings(ds)["input"])
    at = f"{described} (its input, and the state before it, {at if '=' in at else f'h = {at}'})" if described else at
    first = f"The spectral {which} of the Jacobian A at {at} is {size}"
    if side == "undecided" or errors.max() > KINKED:
        first += f", known to {at_most(errors[beyond + errors >= 0].max(initial=errors[leading]), 1)}"
    if flow:
        first += f" (the numerical abscissa {number(float(ds['numerical_abscissa']))} per second)"
    first += ": it does not decide whether A is stable" if side == "undecided" else f", so that A is {side}"
    margin = float((errors - beyond).min())
    grows = _transient(ds, flow, side)
    if described:  # on a trajectory, whose every state has its own Jacobian
        always = "at all times" if flow else "at every step"
        grows = f"The network's own Jacobian changes; with this one A {always} {grows[0].lower()}{grows[1:]}"
    said = f"{first}. {grows}{_nearest(ds, flow, margin) if side == 'stable' else HELD}"
    return under_input(said, input_at) if takes_input and not described else said


def _nearest(ds: xr.Dataset, flow: bool, margin: float) -> str:
    """How small a change makes a stable A unstable, by its pseudospectra; of a normal A its eigenvalues' margin."""
    change = float(np.nanmin([float(ds["instability_distance"]), margin]))
    size, without = at_most(change * (1 - ROUNDING), 3), at_least(margin, 3)
    unit = " per second" * flow
    said = f"There is a change E with ‖E‖₂ ≤ {size}{unit} after which A + E is not stable"
    if number(change, 2) == number(margin, 2):
        return f" {said}."
    return f" {said}, as its pseudospectra show; with orthogonal eigenvectors it would take at least {without}{unit}."


def _radius(moduli: NDArray[np.float64], errors: NDArray[np.float64]) -> str:
    """The spectral radius, or a bound on it where it is not told from 0."""
    leading = int(np.argmax(moduli))
    if errors[leading] < moduli[leading] or not (moduli + errors).any():
        return near_one(float(moduli[leading]), 5)
    return f"at most {at_most(float((moduli + errors).max()), 1)}"


def _side(beyond: NDArray[np.float64], errors: NDArray[np.float64]) -> str:
    if (beyond > errors).any():
        return "unstable"
    return "stable" if (beyond < -errors).all() else "undecided"


def _transient(ds: xr.Dataset, flow: bool, side: str) -> str:
    growth, when = float(ds["transient_growth"]), float(ds["transient_time"])
    last = float(ds[schema.TIME].values[-1])
    norm = "‖exp(tA)‖" if flow else "‖Aᵏ‖"
    at = f"t = {number(when, 3)} s" if flow else f"k = {number(when, 0)}"
    kreiss = float(ds["kreiss_constant"])
    if growth <= NO_GROWTH and np.isnan(ds["log_power_norm"].values).any() and not _back_at_one(ds, when):
        said = f"How far {norm} grows is not known: rounding, or a kink, hides it"
    elif growth <= NO_GROWTH and side != "unstable":
        said = f"{norm} never exceeds 1: nothing grows first"
    elif growth <= NO_GROWTH:
        said = (
            f"{norm} grows by less than {number(NO_GROWTH - 1)} up to the last {'time' if flow else 'power'} computed"
        )
    elif np.isnan(ds["log_power_norm"].values).any():
        said = f"{norm} has grown to {_growth(ds)} by {at}, and rounding drowns it later"
    elif when == last:
        said = f"{norm} has grown to {_growth(ds)} by {at}, the last {'time' if flow else 'power'} computed"
        said += _by_eigenvalues(ds, flow, when)
    else:
        # between the times that are looked at a flow's may be larger
        said = f"{norm} grows to {f'at least {_growth(ds, least=True)}' if flow else _growth(ds)} at {at}"
        said += _by_eigenvalues(ds, flow, when)
        said += ", before it decays" if _back_at_one(ds, when) else f", and is {_size(_last(ds))} at the last"
    if side == "stable" and growth > NO_GROWTH and not _back_at_one(ds, when):
        on = f"it grows on to at least {at_least(kreiss)}, and " if growth < kreiss < np.inf else ""
        said += f": {on}{'follow it longer' if np.isfinite(_last(ds)) else 'take fewer steps'} to see it decay"
    if np.isinf(kreiss) and side != "unstable":  # of an unstable A it always is
        return f"{said}; the Kreiss constant is infinite."
    if np.isinf(kreiss) or growth <= NO_GROWTH or number(kreiss) == "1":
        return f"{said}."
    return f"{said}. The pseudospectra alone show that it reaches at least {at_least(kreiss)} (the Kreiss constant)."


def _by_eigenvalues(ds: xr.Dataset, flow: bool, when: float) -> str:
    """What the leading eigenvalue alone gives for that time; nothing where its radius is not told from 0."""
    values, errors = ds["eigenvalue"].values, ds["eigenvalue_error"].values
    if flow:
        return f", where the spectral abscissa α alone gives e^(αt) = {_size(float(values.real.max()) * when)}"
    leading = int(np.argmax(np.abs(values)))
    if not errors[leading] < np.abs(values[leading]):
        return ""
    return f", where the spectral radius ρ alone gives ρᵏ = {_size(float(np.log(np.abs(values[leading]))) * when)}"


def _back_at_one(ds: xr.Dataset, when: float) -> bool:
    """Whether the norm is below 1 after that time, and known until then: ‖A^(j+k)‖ ≤ ‖A^j‖ ‖A^k‖, so none is larger."""
    later = ds[schema.TIME].values > when
    below = ds["log_power_norm_bound"].values[later] < 0
    return bool(below.any() and not np.isnan(ds["log_power_norm"].values[later][: below.argmax()]).any())


def _last(ds: xr.Dataset) -> float:
    return float(ds["log_power_norm"].values[-1])


def _growth(ds: xr.Dataset, *, least: bool = False) -> str:
    growth = float(ds["transient_growth"])
    return _size(np.log(growth) if growth < np.inf else float(np.nanmax(ds["log_power_norm"].values)), least=least)


def _size(log_norm: float, *, least: bool = False) -> str:
    """A norm; with `least` rounded down, as what a larger one is not below must be."""
    if log_norm <= READABLE:
        return (at_least if least else number)(float(np.exp(log_norm)))
    return power(np.floor(log_norm * 10) / 10 if least else log_norm)
