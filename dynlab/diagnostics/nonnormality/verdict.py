"""What a pseudospectrum says, in two sentences."""

import numpy as np
import xarray as xr

from dynlab import schema

NO_GROWTH = 1 + 1e-9  # a largest norm up to this is that of the start


def verdict(ds: xr.Dataset) -> str:
    """Stable or not by eigenvalues, and what the norms do in spite of that."""
    flow = schema.settings(ds)["flow"]
    values, errors = ds["eigenvalue"].values, ds["eigenvalue_error"].values
    size = values.real if flow else np.abs(values)
    leading = int(np.argmax(size))
    name, boundary = ("spectral abscissa", 0.0) if flow else ("spectral radius", 1.0)
    unit = " per second" if flow else ""
    gap = float(size[leading]) - boundary
    side = "undecided" if abs(gap) <= errors[leading] else "unstable" if gap > 0 else "stable"
    first = f"By its eigenvalues the Jacobian is {side}: the {name} is {float(size[leading]):.6g}{unit}"
    if flow:
        first += f" (the numerical abscissa {float(ds['numerical_abscissa']):.4g}{unit})"
    return f"{first.replace('-', '−')}. {_transient(ds, flow, side)}"


def _transient(ds: xr.Dataset, flow: bool, side: str) -> str:
    growth, when = float(ds["transient_growth"]), float(ds["transient_time"])
    last = float(ds[schema.TIME].values[-1])
    power = "‖e^{tA}‖" if flow else "‖Aᵏ‖"
    at = f"t = {when:.3g} s" if flow else f"k = {when:.0f}"
    if growth <= NO_GROWTH:
        said = f"{power} never exceeds 1: nothing grows first"
    elif when == last:
        log_growth = float(np.nanmax(ds["log_power_norm"].values))
        said = f"{power} has grown to e^{log_growth:.1f} by {at}, and is still growing"
    else:
        said = f"{power} grows to {growth:.4g} at {at} before it decays"
    kreiss = float(ds["kreiss_constant"])
    if np.isinf(kreiss):
        return f"{said}; the Kreiss constant is infinite."
    return f"{said}; the Kreiss constant, a lower bound of that growth, is at least {kreiss:.4g}."
