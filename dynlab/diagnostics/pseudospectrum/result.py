"""The variables of a pseudospectrum: of its grid and close-up, of the spectrum, of powers, and why some are none."""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.pseudospectrum.followed import Followed
from dynlab.diagnostics.pseudospectrum.nearest import Touched
from dynlab.diagnostics.pseudospectrum.numerical_range import NumericalRange
from dynlab.numerics.arrays import Real
from dynlab.numerics.eigenvalues import Eigenvalues
from dynlab.numerics.resolvent import Smallest

NOT_STABLE = "NaN: A is not stable, or not known to be"
NO_CLOSE_UP = f"{NOT_STABLE}, or the window shows it"
UNSTABLE, DROWNED = (
    "inf: an eigenvalue lies outside the stable region beyond its error",
    "NaN where rounding drowns the power, or the two sides of a kink differ",
)


def of_grid(smallest: Smallest) -> dict[str, xr.Variable]:
    """Those of the grid, shape (y, x)."""
    plane = (schema.Y, schema.X)
    return {
        "smallest_singular_value": schema.variable(plane, smallest.value, "σ_min(zI − A)"),
        "lanczos_residual": schema.variable(plane, smallest.residual, "relative residual of 1/σ²_min"),
        "lanczos_iterations": schema.variable(plane, smallest.iterations, "Lanczos steps", schema.STEP),
        "converged": schema.variable(plane, smallest.converged, "the Lanczos iteration converged"),
    }


def of_spectrum(spectrum: Eigenvalues, shape: NumericalRange, flow: bool) -> dict[str, xr.Variable]:
    """Eigenvalues, and the numerical range that holds them."""
    mode, units = (schema.MODE,), schema.PER_SECOND if flow else schema.ONE
    values = spectrum.values.real if flow else np.abs(spectrum.values)
    name = "abscissa" if flow else "radius"
    return {
        f"spectral_{name}": schema.variable((), values.max(), f"spectral {name}", units),
        "eigenvalue": schema.variable(mode, spectrum.values, "eigenvalue", units),
        "eigenvalue_error": schema.variable(mode, spectrum.errors, "bound on the error of the eigenvalue", units),
        "condition": schema.variable(mode, spectrum.conditions, "condition of the eigenvalue"),
        "numerical_range": schema.variable((schema.ANGLE,), shape.border, "border of the numerical range", units),
        "numerical_abscissa": schema.variable((), shape.abscissa, "numerical abscissa ω(A)", units),
        "numerical_radius": schema.variable((), shape.radius, "numerical radius", units),
        "numerical_radius_error": schema.variable((), shape.radius_error, "by how much it is short at most", units),
    }


def of_border(touched: Touched, width: float, around: Real, flow: bool) -> dict[str, xr.Variable]:
    """Where the pseudospectra first reach the border, and σ_min(zI − A) `around`, within `width` of it."""
    plane, units = (schema.CLOSE_Y, schema.CLOSE_X), schema.PER_SECOND if flow else schema.ONE
    words = "least ‖E‖₂ after which A + E is not stable"
    return {
        "instability_distance": schema.variable((), touched.distance, words, units),
        "instability_point": schema.variable((), touched.point, "where that eigenvalue of A + E lies", units),
        "close_up_half_width": schema.variable((), width, "half the width of the close-up around that", units),
        "close_smallest_singular_value": schema.variable(plane, around, "σ_min(zI − A) in the close-up"),
    }


def of_powers(followed: Followed, flow: bool) -> dict[str, xr.Variable]:
    """Norms at all times, and the largest one with when it is met, which may lie between them."""
    time, powers = (schema.TIME,), followed.powers
    known = np.where(np.isnan(powers.log_norm), -np.inf, powers.log_norm)
    top = int(np.argmax(known))
    is_between = followed.largest > known[top]
    largest, when = (followed.largest, followed.when) if is_between else (known[top], followed.times[top])
    with np.errstate(over="ignore"):  # inf, and flagged
        growth = np.exp(largest)
    name = "ln ‖e^{tA}‖₂" if flow else "ln ‖Aᵏ‖₂"
    return {
        "log_power_norm": schema.variable(time, powers.log_norm, name),
        "log_power_norm_error": schema.variable(time, powers.error, f"bound on the error of {name}"),
        "log_power_norm_bound": schema.variable(time, powers.bound, f"upper bound on {name}"),
        "transient_growth": schema.variable((), growth, f"largest {name[3:]} that was met"),
        "transient_time": schema.variable((), when, "when", schema.SECOND if flow else schema.STEP),
    }


def of_kreiss(kreiss: tuple[float, complex]) -> dict[str, xr.Variable]:
    """The Kreiss constant, and where it is attained."""
    return {
        "kreiss_constant": schema.variable((), kreiss[0], "lower bound on the Kreiss constant"),
        "kreiss_point": schema.variable((), kreiss[1], "where it is attained"),
    }


def coordinates(x: Real, y: Real, times: NDArray[Any], flow: bool) -> dict[str, xr.Variable]:
    """Those of the grid, and the times of the norms."""
    units = schema.PER_SECOND if flow else schema.ONE
    return {
        schema.X: schema.variable((schema.X,), x, "Re z", units),
        schema.Y: schema.variable((schema.Y,), y, "Im z", units),
        schema.TIME: schema.time_coordinate(times, schema.SECOND if flow else schema.STEP),
    }


def flags(variables: dict[str, xr.Variable]) -> dict[str, str]:
    """What stands in place of a number, of the variables in which something does."""
    flags = {}
    if np.isinf(variables["kreiss_constant"].values):
        flags["kreiss_constant"] = UNSTABLE
    if not np.isfinite(variables["kreiss_point"].values):
        flags["kreiss_point"] = "inf: no finite z gives more than the limit 1"
    norms = variables["log_power_norm"].values
    reasons = [DROWNED] * bool(np.isnan(norms).any()) + ["−inf: the power is exactly zero"] * bool(
        np.isneginf(norms).any()
    )
    if reasons:
        flags["log_power_norm"] = flags["log_power_norm_error"] = "; ".join(reasons)
    bounds = variables["log_power_norm_bound"].values
    if not np.isfinite(bounds).all():
        flags["log_power_norm_bound"] = "inf: no bound is known; −inf: the power is exactly zero"
    if not np.isfinite(variables["transient_growth"].values):
        flags["transient_growth"] = "inf: beyond the largest number; log_power_norm has its logarithm"
    for name in ("instability_distance", "instability_point"):
        if np.isnan(variables[name].values):
            flags[name] = NOT_STABLE
    if np.isnan(variables["close_up_half_width"].values):
        flags["close_up_half_width"] = flags["close_smallest_singular_value"] = NO_CLOSE_UP
    for name in ("condition", "eigenvalue_error"):
        if not np.isfinite(variables[name].values).all():
            flags[name] = "inf: a defective eigenvalue"
    return flags
