"""The numbers that each bound is about, with the error of every number."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.gradient import gradient
from dynlab.diagnostics.lyapunov import lyapunov
from dynlab.diagnostics.spectrum import spectrum, usual_times
from dynlab.errors import UserError
from dynlab.systems import Euler, Map
from dynlab.trajectories.driven import Driven


class Bound(NamedTuple):
    """A bound that can be set: on which numbers, on what of them all, in which units, from above, measured by what."""

    quantity: str
    extreme: str
    units: str
    is_upper: bool
    diagnostic: str


MODULUS, REAL = "modulus of the eigenvalues of ∂h_t/∂h_{t−1}", "real part of the eigenvalues of the flow's Jacobian"
GRADIENT, EXPONENT = "ln ‖∂h_T/∂h_1‖₂", "largest Lyapunov exponent"
# By the name of the argument; `dynlab check` writes them with hyphens.
BOUNDS: dict[str, Bound] = {
    "max_modulus": Bound(MODULUS, "largest eigenvalue modulus of the one-step Jacobians", schema.ONE, True, "spectrum"),
    "max_real": Bound(REAL, f"largest {REAL}", schema.PER_SECOND, True, "spectrum"),
    "min_log_gradient": Bound(GRADIENT, f"least {GRADIENT}", schema.ONE, False, "gradient"),
    "max_log_gradient": Bound(GRADIENT, f"largest {GRADIENT}", schema.ONE, True, "gradient"),
    "max_exponent": Bound(EXPONENT, EXPONENT, schema.NAT_PER_STEP, True, "lyapunov"),
}
ERRORS = {
    "spectrum": "a true bound: an isolated eigenvalue's condition times the rounding of J's entries, and terms of "
    "second order",
    "gradient": "the bound of the logarithm's error that its product of Jacobians carries",
    "lyapunov": "as `lyapunov` states it, for the mean over samples, or for each sample where they differ",
}
ON_A_KINK = 1e-3  # times max(1, the bound): an eigenvalue's error is larger where a unit is on its kink
WIDE = "the error reaches over the bound, as where a unit is on its kink"


class Measurement(NamedTuple):
    """Numbers to be judged over (sample, time, mode) or some of these, with their errors.

    `reason` says why some are not known. With `only_above` the values are bounds from above, and nothing is known from
    below; a value near the bound is undecided if its error exceeds `widest` times max(1, the bound).
    """

    values: xr.DataArray
    errors: xr.DataArray
    reason: str
    only_above: bool = False
    widest: float = np.inf


def option(name: str) -> str:
    """Return a bound's name as an option of `dynlab check`, and as an argument."""
    return f"--{name.replace('_', '-')} ({name}=)"


def measured(
    system: Map, driven: Driven, inputs: Any, asked: Mapping[str, float], times: int | None, **settings: Any
) -> dict[str, xr.Dataset]:
    """Return the Datasets of the diagnostics that the bounds asked for need, by the diagnostics' names."""
    if "max_real" in asked and not isinstance(system, Euler):
        raise UserError(
            f"{option('max_real')} bounds the eigenvalues of a flow, and {system.name!r} is no Euler step of one: set "
            f"{option('max_modulus')}."
        )
    if times is None:  # all while that is soon done, as any may violate a bound
        times = usual_times(driven.system, len(driven.states), driven.steps)
    measures: dict[str, Callable[[], xr.Dataset]] = {
        "spectrum": lambda: spectrum(system, inputs, times=times, conditions=False, **settings),
        "gradient": lambda: gradient(system, inputs, times=[1], **settings),
        "lyapunov": lambda: lyapunov(system, inputs, k=1, **settings),
    }
    needed = {BOUNDS[name].diagnostic for name in asked}
    return {name: measure() for name, measure in measures.items() if name in needed}


def measurement(name: str, results: Mapping[str, xr.Dataset]) -> Measurement:
    """Return the numbers that the bound `name` judges."""
    ds = results[BOUNDS[name].diagnostic]
    reasons = schema.flags(ds)
    if BOUNDS[name].diagnostic == "lyapunov":
        return _of_exponents(ds)
    if BOUNDS[name].diagnostic == "gradient":  # from h_1: what h_0 does is the start's, not the network's
        first = ds.sel({schema.TIME: [1]})
        reason = reasons.get("log_norm", reasons.get("log_norm_error", ""))
        return Measurement(first["log_norm"], first["log_norm_error"], reason)
    values = ds["flow_eigenvalue"].real if name == "max_real" else abs(ds["eigenvalue"])
    errors = ds["flow_eigenvalue_error" if name == "max_real" else "eigenvalue_error"]
    reason = reasons.get(str(errors.name).removesuffix("_error"), WIDE if (errors > ON_A_KINK).any() else "")
    return Measurement(values, errors, reason, widest=ON_A_KINK)


def _of_exponents(ds: xr.Dataset) -> Measurement:
    """Return the mean over samples with its error, as the diagnostic states them: an exponent is an average itself.

    Samples that differ beyond their errors have none in common, and are judged one by one.
    """
    name = "finite_time_exponent" if "finite_time_exponent" in ds else "exponent"
    each, errors, bounds = (ds[part].isel({schema.MODE: [0]}) for part in (name, "exponent_error", "rounding_bound"))
    value, error = (float(ds[part][0]) for part in ("mean_exponent", "mean_exponent_error"))
    known = xr.where(np.isposinf(bounds) & (each < 0), -np.inf, each)  # known from above only
    vanish = np.isneginf(known)
    differ = np.isfinite(value + error) and (known - errors).max() > (known + errors).min()
    if (vanish.any() and not vanish.all()) or (name == "exponent" and differ):
        return Measurement(known, errors, "")
    only_above = bool(np.isposinf(bounds).any())
    if np.isneginf(value) and np.isfinite(each).any():  # of some samples: the mean says nothing of the others
        value, only_above = float((each + errors).max()), True
    reasons = schema.flags(ds)
    reason = reasons.get("rounding_bound" if only_above else name, reasons.get("standard_error", ""))
    mean, wrong = (xr.DataArray([one], dims=schema.MODE) for one in (np.nan if each.isnull().any() else value, error))
    return Measurement(mean, wrong, reason, only_above)
