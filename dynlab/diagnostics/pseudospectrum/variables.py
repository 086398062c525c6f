"""The variables of a pseudospectrum, and the reasons for values that are not finite."""

from typing import Any

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.pseudospectrum.numerical_range import NumericalRange
from dynlab.diagnostics.pseudospectrum.powers import Powers
from dynlab.numerics.arrays import Real
from dynlab.numerics.eigenvalues import Eigenvalues
from dynlab.numerics.resolvent import Smallest

NOT_STABLE = "NaN: A is not stable, or not known to be"
NO_CLOSE_UP = f"{NOT_STABLE}, or the window shows it"
DEFECTIVE = "inf: a defective eigenvalue"
DROWNED = "NaN where rounding drowns the power, or the two sides of a kink differ; −inf: the power is exactly zero"
REASONS = {
    "kreiss_constant": "inf: an eigenvalue lies outside the stable region beyond its error",
    "kreiss_point": "inf: no finite z gives more than the limit 1",
    "log_power_norm": DROWNED,
    "log_power_norm_error": DROWNED,
    "log_power_norm_bound": "inf: no bound is known; −inf: the power is exactly zero",
    "transient_growth": "inf: beyond the largest number; log_power_norm has its logarithm",
    "instability_distance": NOT_STABLE,
    "instability_point": NOT_STABLE,
    "close_up_half_width": NO_CLOSE_UP,
    "close_smallest_singular_value": NO_CLOSE_UP,
    "condition": DEFECTIVE,
    "eigenvalue_error": DEFECTIVE,
}


def variables(
    smallest: Smallest,
    spectrum: Eigenvalues,
    shape: NumericalRange,
    touched: tuple[float, complex],
    close: tuple[float, Real],
    powers: Powers,
    largest: tuple[float, float],
    kreiss: tuple[float, complex],
    flow: bool,
) -> dict[str, xr.Variable]:
    """Return the variables of the Dataset; `largest` is the largest ln ‖e^{tA}‖ of a flow and its time."""
    plane, mode, time = (schema.Y, schema.X), (schema.MODE,), (schema.TIME,)
    close_plane, angle = (schema.CLOSE_Y, schema.CLOSE_X), (schema.ANGLE,)
    rate, when = (schema.PER_SECOND, schema.SECOND) if flow else (schema.ONE, schema.STEP)
    moduli, name = (spectrum.values.real, "abscissa") if flow else (np.abs(spectrum.values), "radius")
    norm = "ln ‖e^{tA}‖₂" if flow else "ln ‖Aᵏ‖₂"
    with np.errstate(over="ignore"):  # inf, and flagged
        growth = np.exp(largest[0])
    table: dict[str, tuple[Any, ...]] = {
        "smallest_singular_value": (plane, smallest.value, "σ_min(zI − A)"),
        "lanczos_residual": (plane, smallest.residual, "relative residual of 1/σ²_min"),
        "lanczos_iterations": (plane, smallest.iterations, "Lanczos steps", schema.STEP),
        "converged": (plane, smallest.converged, "the Lanczos iteration converged"),
        f"spectral_{name}": ((), moduli.max(), f"spectral {name}", rate),
        "eigenvalue": (mode, spectrum.values, "eigenvalue", rate),
        "eigenvalue_error": (mode, spectrum.errors, "bound on the error of the eigenvalue", rate),
        "condition": (mode, spectrum.conditions, "condition of the eigenvalue"),
        "numerical_range": (angle, shape.border, "border of the numerical range", rate),
        "numerical_abscissa": ((), shape.abscissa, "numerical abscissa ω(A)", rate),
        "numerical_radius": ((), shape.radius, "numerical radius", rate),
        "numerical_radius_error": ((), shape.radius_error, "by how much it is short at most", rate),
        "instability_distance": ((), touched[0], "least ‖E‖₂ after which A + E is not stable", rate),
        "instability_point": ((), touched[1], "where that eigenvalue of A + E lies", rate),
        "close_up_half_width": ((), close[0], "half the width of the close-up around that", rate),
        "close_smallest_singular_value": (close_plane, close[1], "σ_min(zI − A) in the close-up"),
        "log_power_norm": (time, powers.log_norm, norm),
        "log_power_norm_error": (time, powers.error, f"bound on the error of {norm}"),
        "log_power_norm_bound": (time, powers.bound, f"upper bound on {norm}"),
        "transient_growth": ((), growth, f"largest {norm[3:]} that was met"),
        "transient_time": ((), largest[1], "when", when),
        "kreiss_constant": ((), kreiss[0], "lower bound on the Kreiss constant"),
        "kreiss_point": ((), kreiss[1], "where it is attained"),
    }
    return {name: schema.variable(*row) for name, row in table.items()}
