"""What is measured for each bound, with the error of every number."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.eigenvalue_bounds.radii import by_powers, spectral_radius
from dynlab.diagnostics.gradient import gradient
from dynlab.diagnostics.lyapunov import lyapunov
from dynlab.diagnostics.lyapunov.verdict import differ
from dynlab.diagnostics.spectrum import spectrum, usual_times
from dynlab.driven import Driven
from dynlab.errors import UserError
from dynlab.numerics.statistics import with_signs
from dynlab.systems import Euler, Map


@dataclass(frozen=True)
class Bound:
    """A bound that can be set.

    Attributes
    ----------
    quantity : str
        What each number is, in words.
    extreme : str
        What is bounded of all of them, in words.
    units : str
    is_upper : bool
        Whether it bounds from above.
    diagnostic : str
        Which diagnostic measures it.
    """

    quantity: str
    extreme: str
    units: str
    is_upper: bool
    diagnostic: str


# By the name of the argument; `dynlab check` writes them with hyphens.
BOUNDS: dict[str, Bound] = {
    "max_modulus": Bound(
        "modulus of the eigenvalues of ∂h_t/∂h_{t−1}",
        "largest eigenvalue modulus of the one-step Jacobians",
        schema.ONE,
        True,
        "spectrum",
    ),
    "max_real": Bound(
        "real part of the eigenvalues of the flow's Jacobian",
        "largest real part of the eigenvalues of the flow's Jacobian",
        schema.PER_SECOND,
        True,
        "spectrum",
    ),
    "min_log_gradient": Bound("ln ‖∂h_T/∂h_1‖₂", "least ln ‖∂h_T/∂h_1‖₂", schema.ONE, False, "gradient"),
    "max_log_gradient": Bound("ln ‖∂h_T/∂h_1‖₂", "largest ln ‖∂h_T/∂h_1‖₂", schema.ONE, True, "gradient"),
    "max_exponent": Bound(
        "largest Lyapunov exponent", "largest Lyapunov exponent", schema.NAT_PER_STEP, True, "lyapunov"
    ),
}
EIGENVALUES = "a true bound: the eigenvalue's condition times the rounding of J's entries, and what is of second order"
ON_A_KINK = 1e-3  # times max(1, the bound): an eigenvalue is known worse where a unit is on its kink
WIDE = "the error reaches over the bound, as where a unit is on its kink"
LINEARISED = ("spectrum", "radii")  # the results that know how many steps were linearised
ERRORS = {
    "max_modulus": f"{EIGENVALUES}. Of large Jacobians it is half the distance between bounds from their powers, "
    "and where the bound lies between these, eigenvalues decide",
    "max_real": EIGENVALUES,
    "min_log_gradient": "the bound of the logarithm's error that its product of Jacobians carries",
    "max_log_gradient": "the bound of the logarithm's error that its product of Jacobians carries",
    "max_exponent": "of the mean over samples, or of each where they differ, as `lyapunov` states it. It is Student's "
    "t times its standard error and the bound of what rounding adds. Of short sequences it is also what other first "
    "frames change",
}


@dataclass(frozen=True)
class Measurement:
    """Numbers to be judged, each with its error; `reason` says why some are not known.

    `where` gives for the index of a number its sample, step and mode, −1 where it belongs to none. `only_above` says
    that the values are bounds from above, and nothing is known from below; `widest` is that of `judged`. `told` are
    the numbers and errors that are told in place of those that were refined to be judged, which go with the bound.
    """

    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    where: Callable[[tuple[int, ...]], tuple[int, int, int]]
    reason: str
    only_above: bool = False
    widest: float = np.inf
    told: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    @property
    def largest(self) -> tuple[float, float] | None:
        """The largest of the numbers that are told, with its error; None where none are, or one is not known."""
        if self.told is None or not all(np.isfinite(each).all() for each in self.told):
            return None
        values, errors = self.told
        low, high = float((values - errors).max()), float((values + errors).max())
        return (low + high) / 2, (high - low) / 2


def option(name: str) -> str:
    """A bound's name as an option of `dynlab check`, and as an argument."""
    return f"--{name.replace('_', '-')} ({name}=)"


def measured(
    system: Map, driven: Driven, inputs: Any, asked: Mapping[str, float], times: int | None, **settings: Any
) -> dict[str, xr.Dataset]:
    """The Datasets of the diagnostics that the bounds asked for need, by the diagnostics' names.

    The spectral radii of a large system's Jacobians are "radii" in place of all eigenvalues, "spectrum".
    """
    if "max_real" in asked and not isinstance(system, Euler):
        raise UserError(
            f"{option('max_real')} bounds the eigenvalues of a flow, and {system.name!r} is no Euler step of one: set "
            f"{option('max_modulus')}."
        )
    if times is None:  # all while that is soon done, as any may violate a bound
        times = usual_times(driven.system, len(driven.states), driven.steps)
    needed = {BOUNDS[name].diagnostic for name in asked}
    results = {}
    if "spectrum" in needed and "max_real" not in asked and by_powers(driven.system):
        results["radii"] = spectral_radius(driven, times, asked["max_modulus"])
    elif "spectrum" in needed:
        results["spectrum"] = spectrum(system, inputs, times=times, conditions=False, **settings)
    if "gradient" in needed:
        results["gradient"] = gradient(system, inputs, times=[1], **settings)
    if "lyapunov" in needed:
        results["lyapunov"] = lyapunov(system, inputs, k=1, **settings)
    return results


def measurement(name: str, results: Mapping[str, xr.Dataset]) -> Measurement:
    """The numbers that the bound `name` judges."""
    if name == "max_modulus" and "radii" in results:
        return _of_radii(results["radii"])
    ds = results[BOUNDS[name].diagnostic]
    if BOUNDS[name].diagnostic == "gradient":
        return _of_gradient(ds)
    if BOUNDS[name].diagnostic == "lyapunov":
        return _of_exponents(ds)
    variable = "flow_eigenvalue" if name == "max_real" else "eigenvalue"
    steps = ds[schema.TIME].values

    def where(index: tuple[int, ...]) -> tuple[int, int, int]:
        sample, time, mode = index
        return sample, int(steps[time]), mode

    values, errors = ds[variable].values, ds[f"{variable}_error"].values
    reason = schema.flags(ds).get(variable, WIDE if (errors > ON_A_KINK).any() else "")
    values = values.real if name == "max_real" else np.abs(values)
    return Measurement(values, errors, where, reason, widest=ON_A_KINK)


def _of_radii(ds: xr.Dataset) -> Measurement:
    steps = ds[schema.TIME].values
    return Measurement(
        ds["spectral_radius"].values,
        ds["spectral_radius_error"].values,
        lambda index: (index[0], int(steps[index[1]]), 0),
        schema.flags(ds).get("spectral_radius", WIDE),
        widest=ON_A_KINK,
        told=(ds["power_radius"].values, ds["power_radius_error"].values),
    )


def _of_gradient(ds: xr.Dataset) -> Measurement:
    """From h_1 to h_T: what h_0 does is the start's, not the network's."""
    first = ds.sel({schema.TIME: 1})
    reasons = schema.flags(ds)
    reason = reasons.get("log_norm", reasons.get("log_norm_error", ""))
    return Measurement(
        first["log_norm"].values, first["log_norm_error"].values, lambda index: (index[0], 1, -1), reason
    )


def _of_exponents(ds: xr.Dataset) -> Measurement:
    """The mean over samples with its error, as the diagnostic states them: an exponent is an average itself.

    Samples that differ beyond their errors have none in common, and are judged one by one.
    """
    name = "finite_time_exponent" if "finite_time_exponent" in ds else "exponent"
    if differ(ds, name):
        values = with_signs(ds[name].values[:, 0], ds["rounding_bound"].values[:, 0])
        return Measurement(values, ds["exponent_error"].values[:, 0], lambda index: (index[0], -1, 0), "")
    each, bound = (ds[variable].values[:, 0] for variable in (name, "rounding_bound"))
    value, error = (float(ds[variable][0]) for variable in ("mean_exponent", "mean_exponent_error"))
    reasons = schema.flags(ds)
    only_above = bool(np.isposinf(bound).any())
    if np.isneginf(value) and np.isfinite(each).any():  # of some samples: the mean says nothing of the others
        value, only_above = float(np.nanmax(each + ds["exponent_error"].values[:, 0])), True
    reason = reasons.get("rounding_bound" if only_above else name, reasons.get("standard_error", ""))
    values = np.array([np.nan if np.isnan(each).any() else value])
    return Measurement(values, np.array([error]), lambda index: (-1, -1, 0), reason, only_above)
