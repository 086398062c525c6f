"""The eigenvalues of a cell's flow at the states that it reaches, and what an integrator's step makes of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.ernn.spectrum import ernn_spectrum
from dynlab.diagnostics.spectrum import spectrum
from dynlab.diagnostics.stability.methods import Method
from dynlab.systems import Euler
from dynlab.systems.ernn import ERNN

ROUNDING = 1e-12  # a modulus this near to 1 may be 1
# Of an eigenvalue on the circle with a larger condition, rounding makes a step grow as a Jordan block's does.
INDEPENDENT = ROUNDING / float(np.finfo(float).eps)
NO_FLOW = "NaN where the trajectory has diverged or the QR iteration did not converge"


@dataclass(frozen=True)
class Rates:
    """Eigenvalues λ of the flow's Jacobian at states (sample, time), in 1/s.

    Attributes
    ----------
    value, error, condition : ndarray, shape (sample, time, mode)
        The condition is ‖l‖‖r‖ of left and right eigenvectors, inf where it is not known.
    step : ndarray, shape (choice, time)
        The steps ε that are taken there: one, or ERNN's K learned ones.
    """

    value: NDArray[np.complex128]
    error: NDArray[np.float64]
    condition: NDArray[np.float64]
    step: NDArray[np.float64]


def rates_of(system: Euler | ERNN, inputs: Any, step_size: float | None, **settings: Any) -> Rates:
    """The eigenvalues of the flow that the system is a step of; of an ERNN, of its inner flow."""
    if isinstance(system, ERNN):
        ds, name = ernn_spectrum(system, inputs, **settings), "inner_eigenvalue"
        own = system.eta.detach().double().cpu().numpy()[:, ds[schema.TIME].values - 1]
    else:
        ds, name = spectrum(system, inputs, **settings), "flow_eigenvalue"
        own = np.full((1, ds.sizes[schema.TIME]), system.step_size)
    values, errors = ds[name].values, ds[f"{name}_error"].values
    condition = ds["condition"].values if "condition" in ds else np.full(values.shape, np.inf)
    return Rates(values, errors, condition, own if step_size is None else np.full((1, own.shape[1]), step_size))


@dataclass(frozen=True)
class Steps:
    """The multipliers of an integrator's step at each state, and its stability.

    Attributes
    ----------
    used : ndarray, shape (sample, time)
        ε; of several choices the least stable one.
    modulus, error : ndarray, shape (sample, time, mode)
        |R(ελ)| and a bound on its error.
    stable : ndarray of int8, shape (sample, time)
        1: no modulus exceeds 1; 0: one does, by more than its error; −1: undecided.
    dependent : ndarray of bool, shape (sample, time)
        Whether an eigenvalue of modulus 1 has an eigenvector that is not known to be independent of the others'.
    critical : ndarray, shape (sample, time)
        The largest step for which none does.
    reasons : set of str
        Why some of these are not known or set eigenvalues aside.
    """

    used: NDArray[np.float64]
    modulus: NDArray[np.float64]
    error: NDArray[np.float64]
    stable: NDArray[np.int8]
    dependent: NDArray[np.bool_]
    critical: NDArray[np.float64]
    reasons: set[str]


def judged(rates: Rates, method: Method) -> Steps:
    """Judge every state by the integrator's stability function."""
    choices = [method.modulus(step[:, None] * rates.value, step[:, None] * rates.error) for step in rates.step]
    modulus, error = (np.array(part) for part in zip(*choices, strict=True))
    worst = np.argmax(np.where(np.isnan(modulus), -np.inf, modulus).max(axis=-1), axis=0)  # of the choices
    sample, time = np.indices(worst.shape)
    modulus, error, used = modulus[worst, sample, time], error[worst, sample, time], rates.step[worst, time]
    outside, inside = (modulus - 1 > error).any(axis=-1), (modulus - 1 <= -error).all(axis=-1)
    on_circle = np.abs(modulus - 1) <= np.maximum(error, ROUNDING)
    dependent = (on_circle & ~(rates.condition <= INDEPENDENT)).any(axis=-1)
    critical, reasons = np.full(worst.shape, np.nan), set()
    for index in np.ndindex(*worst.shape):
        reason = NO_FLOW
        if np.isfinite(rates.value[index]).all():
            critical[index], reason = method.largest_step(rates.value[index], rates.error[index])
        reasons.add(reason)
    stable = np.where(outside, 0, np.where(inside, 1, -1)).astype(np.int8)
    return Steps(used, modulus, error, stable, dependent, critical, reasons - {""})


def of_steps(rates: Rates, steps: Steps) -> dict[str, xr.Variable]:
    """Return the variables of the flow's eigenvalues and of one integrator's step."""
    each, mode = (schema.SAMPLE, schema.TIME), (schema.SAMPLE, schema.TIME, schema.MODE)
    dependent = steps.dependent.astype(np.int8)
    table: dict[str, tuple[Any, ...]] = {
        "eigenvalue": (mode, rates.value, "eigenvalue λ of the flow's Jacobian", schema.PER_SECOND),
        "eigenvalue_error": (mode, rates.error, "bound on the error of λ", schema.PER_SECOND),
        "step_modulus": (mode, steps.modulus, "modulus |R(ελ)| of the step"),
        "step_modulus_error": (mode, steps.error, "bound on the error of |R(ελ)|"),
        "used_step": (each, steps.used, "step size ε that is used", schema.SECOND),
        "stable": (each, steps.stable, "1: the step is stable, 0: it is not, −1: undecided"),
        "dependent": (each, dependent, "1: eigenvectors at modulus 1 may be dependent, and powers grow"),
        "critical_step": (each, steps.critical, "critical step size", schema.SECOND),
    }
    return {name: schema.variable(*one) for name, one in table.items()}


def of_integrators(steps: dict[str, Steps]) -> dict[str, xr.Variable]:
    """Return the variables over ``integrator``: each integrator's step over all states."""
    found = list(steps.values())
    smallest = [np.fmin.reduce(one.critical, axis=None) for one in found]
    moduli = [np.fmax.reduce(one.modulus, axis=None) for one in found]
    unstable, undecided = ([np.mean(one.stable == kind) for one in found] for kind in (0, -1))
    dependent = [one.dependent.mean() for one in found]
    table: dict[str, tuple[Any, ...]] = {
        "integrator_step": (smallest, "smallest critical step over all states", schema.SECOND),
        "integrator_modulus": (moduli, "largest modulus |R(ελ)| over all states"),
        "integrator_unstable": (unstable, "share of the states at which the step is unstable"),
        "integrator_undecided": (undecided, "share of the states at which that is undecided"),
        "integrator_dependent": (dependent, "share of the states with dependent eigenvectors at modulus 1"),
    }
    return {name: schema.variable((schema.INTEGRATOR,), *one) for name, one in table.items()}
