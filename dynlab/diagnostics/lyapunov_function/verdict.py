"""The verdict of `dynlab.lyapunov_function`."""

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.numerics.critical_step import critical_step
from dynlab.systems import Euler, System
from dynlab.wording import at_least, at_most, interval, near_one, number

NOT_STABLE, UNDECIDED = "not stable", "its stability is undecided"  # statuses, as the next ones
PROVED, SAMPLED = "proved", "sampled, not proved"
NO_SET = "no set is proved: the Jacobian over every box that was tried may expand"
V = "V = (h − h*)ᵀ P (h − h*)"


def verdict(ds: xr.Dataset, system: System, found: xr.Dataset) -> str:
    """Say where V is proved to decrease, how fast, and how far it decreases in samples."""
    statuses = ds["status"].values
    if not statuses.size:
        return "No isolated fixed point was found, so there is no Lyapunov function."
    proved = bool((statuses == PROVED).any())
    which, several = np.flatnonzero(statuses == (PROVED if proved else SAMPLED)), len(statuses) > 1
    if not which.size:
        whose = f"None of {len(statuses)} fixed points has a" if several else "The fixed point has no"
        return f"{whose} Lyapunov function: {'; '.join(sorted(set(statuses)))}.{_of_euler(system, found)}"
    name = "radius" if proved else "sampled_radius"
    smallest = ds[name].values[which] / np.linalg.norm(ds["weights"].values[which], 2, axis=(1, 2))
    widest = ds.isel({schema.FIXED_POINT: int(which[np.argmax(smallest)])})
    axes = float(widest[name]) / np.linalg.svd(widest["weights"].values, compute_uv=False)
    where = f"around {which.size} of {len(statuses)} fixed points" if several else "around the fixed point"
    if not proved:
        reach = f"out to semi-axes of {interval(axes)}" if axes.any() else "on no level"
        return f"In samples {V} decreases {where}, {reach} at the widest. Nothing is proved."
    rate, times = float(widest["rate"]), float(widest["sampled_radius"] / widest["radius"])
    speed = f"a step multiplies √V by at most {at_most(rate, 6)}"
    if schema.settings(ds)["kind"] == "flow":
        speed = f"√V falls at a rate of {at_least(-rate, 3)} per second or faster"
    return (
        f"The function {V} is proved to decrease {where}: every start in an ellipsoid around it, "
        f"with semi-axes of {interval(axes)}, ends there, and {speed}. In samples V decreases out to "
        f"{number(times, 3)} times these semi-axes (not proved)."
    )


def _of_euler(system: System, found: xr.Dataset) -> str:
    """The step below which Euler's map is stable, where it alone makes the one fixed point unstable."""
    if not isinstance(system, Euler) or found.sizes[schema.FIXED_POINT] != 1:
        return ""
    multipliers, errors = found["eigenvalue"].values[0], found["eigenvalue_error"].values[0]
    critical, _ = critical_step((multipliers - 1) / system.step_size, errors / system.step_size)
    largest = near_one(float(np.abs(multipliers).max()), 5)
    said = (
        f" The flow is stable there, but Euler's map at ε = {number(system.step_size)} s is not (largest |μ| "
        f"{largest}); it is below the critical step {at_least(critical, 3) if critical > 0 else ''} s."
    )
    return said if 0 < critical < np.inf else ""
