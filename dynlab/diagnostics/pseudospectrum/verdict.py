"""What a pseudospectrum says, in two sentences."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.wording import near_one, number, power

NO_GROWTH = 1 + 1e-9  # a largest norm up to this is that of the start
READABLE = 7.0  # nats: a growth up to this is told as a number, beyond as a power of e


def verdict(ds: xr.Dataset) -> str:
    """Stable or not by eigenvalues, and what the norms do in spite of that."""
    flow = schema.settings(ds)["flow"]
    values, errors = ds["eigenvalue"].values, ds["eigenvalue_error"].values
    beyond = values.real if flow else np.abs(values) - 1
    leading = int(np.argmax(beyond))
    side = _side(beyond, errors)
    size = f"{number(beyond[leading], 6)} per second" if flow else near_one(1 + float(beyond[leading]), 6)
    first = f"By its eigenvalues the Jacobian is {side}: the spectral {'abscissa' if flow else 'radius'} is {size}"
    if side == "undecided":
        first += f", known to {number(errors[beyond + errors >= 0].max(), 1)}"
    if flow:
        first += f" (the numerical abscissa {number(float(ds['numerical_abscissa']))} per second)"
    return f"{first}. {_transient(ds, flow, side)}"


def _side(beyond: NDArray[np.float64], errors: NDArray[np.float64]) -> str:
    if (beyond > errors).any():
        return "unstable"
    return "stable" if (beyond < -errors).all() else "undecided"


def _transient(ds: xr.Dataset, flow: bool, side: str) -> str:
    growth, when = float(ds["transient_growth"]), float(ds["transient_time"])
    last = float(ds[schema.TIME].values[-1])
    norm = "‖exp(tA)‖" if flow else "‖Aᵏ‖"
    at = f"t = {number(when, 3)} s" if flow else f"k = {number(when, 0)}"
    if growth <= NO_GROWTH:
        said = f"{norm} never exceeds 1: nothing grows first"
    elif when == last and side != "stable":
        said = f"{norm} has grown to {_growth(ds)} by {at}, the last one"
    elif when == last:
        said = f"{norm} has grown to {_growth(ds)} by {at}, the last one: follow it longer to see it decay"
    else:
        # between the times that are looked at a flow's may be larger
        least = "at least " if flow else ""
        said = f"{norm} grows to {least}{_growth(ds)} at {at}" + (" before it decays" if side == "stable" else "")
    kreiss = float(ds["kreiss_constant"])
    if np.isinf(kreiss):
        return f"{said}; the Kreiss constant is infinite."
    if growth <= NO_GROWTH:
        return f"{said}."
    return f"{said}; the Kreiss constant is at least {number(kreiss)}, and the largest norm no smaller."


def _growth(ds: xr.Dataset) -> str:
    growth = float(ds["transient_growth"])
    log_growth = np.log(growth) if growth < np.inf else float(np.nanmax(ds["log_power_norm"].values))
    return number(growth) if log_growth <= READABLE else power(log_growth)
