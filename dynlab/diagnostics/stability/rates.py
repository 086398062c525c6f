"""The eigenvalues of a cell's flow at the states that it reaches, and the step that is taken there."""

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


@dataclass(frozen=True)
class Rates:
    """Eigenvalues at states (sample, time).

    Attributes
    ----------
    value : ndarray of complex, shape (sample, time, mode)
        λ of the flow's Jacobian, in 1/s.
    error : ndarray, shape (sample, time, mode)
        A bound on the error of each.
    condition : ndarray, shape (sample, time, mode)
        ‖l‖‖r‖ of its left and right eigenvectors, inf where they are parallel to rounding or not known.
    step : ndarray, shape (choice, time)
        The steps ε that are taken there: one, or ERNN's K learned ones.
    times : ndarray of int, shape (time,)
        t of each.
    """

    value: NDArray[np.complex128]
    error: NDArray[np.float64]
    condition: NDArray[np.float64]
    step: NDArray[np.float64]
    times: NDArray[np.int64]


def rates_of(system: Euler | ERNN, inputs: Any, step_size: float | None, **settings: Any) -> Rates:
    """Of the flow that the system is a step of; of an ERNN, of its inner flow.

    Parameters
    ----------
    system : Euler or ERNN
    inputs : array_like
    step_size : float or None
        ε in place of the network's own.
    **settings
        ``initial_state times inputs_description dtype device seed``, as of `dynlab.spectrum`.
    """
    if isinstance(system, ERNN):
        ds, name = ernn_spectrum(system, inputs, **settings), "inner_eigenvalue"
        etas = system.eta.detach().double().cpu().numpy()
        own = etas[:, ds[schema.TIME].values - 1]
    else:
        ds, name = spectrum(system, inputs, **settings), "flow_eigenvalue"
        own = np.full((1, ds.sizes[schema.TIME]), system.step_size)
    step = own if step_size is None else np.full((1, ds.sizes[schema.TIME]), step_size)
    return _read(ds, name, step)


def _read(ds: xr.Dataset, name: str, step: NDArray[np.float64]) -> Rates:
    along = (schema.SAMPLE, schema.TIME, schema.MODE)
    values, errors = (ds[each].transpose(*along).values for each in (name, f"{name}_error"))
    condition = ds["condition"].transpose(*along).values if "condition" in ds else np.full(values.shape, np.inf)
    return Rates(values, errors, condition, step, ds[schema.TIME].values)


ROUNDING = 1e-12  # a modulus this near to 1 that is undecided is 1 but for rounding
# of an eigenvalue on the circle: rounding makes a step of a larger one grow, by this times ε, like a Jordan block's
INDEPENDENT = ROUNDING / float(np.finfo(float).eps)


@dataclass(frozen=True)
class Steps:
    """What an integrator's step makes of each state.

    Attributes
    ----------
    used : ndarray, shape (sample, time)
        ε; of several choices the least stable one.
    modulus : ndarray, shape (sample, time, mode)
        |R(ελ)|.
    error : ndarray, shape (sample, time, mode)
    stable : ndarray of int8, shape (sample, time)
        1: no modulus exceeds 1; 0: one does, by more than its error; −1: undecided.
    dependent : ndarray of bool, shape (sample, time)
        Whether an eigenvalue of modulus 1 has an eigenvector that is not known to be independent of the others'.
    critical : ndarray, shape (sample, time)
        The largest step for which none does.
    reasons : tuple of str
        Why some of these are not known or set eigenvalues aside.
    """

    used: NDArray[np.float64]
    modulus: NDArray[np.float64]
    error: NDArray[np.float64]
    stable: NDArray[np.int8]
    dependent: NDArray[np.bool_]
    critical: NDArray[np.float64]
    reasons: tuple[str, ...]


def steps_of(rates: Rates, method: Method) -> Steps:
    """Judge every state by the integrator's stability function."""
    choices = [method.modulus(step[:, None] * rates.value, np.abs(step)[:, None] * rates.error) for step in rates.step]
    largest = np.array([np.where(np.isnan(modulus), -np.inf, modulus).max(axis=-1) for modulus, _ in choices])
    worst = np.argmax(largest, axis=0)
    modulus, error = (_chosen(np.array([each[part] for each in choices]), worst) for part in (0, 1))
    used = _chosen(np.broadcast_to(rates.step[:, None], (len(rates.step), *worst.shape)), worst)
    outside, inside = (modulus - 1 > error).any(axis=-1), (modulus - 1 <= -error).all(axis=-1)
    on_circle = np.abs(modulus - 1) <= np.maximum(error, ROUNDING)
    dependent = (on_circle & ~(rates.condition <= INDEPENDENT)).any(axis=-1)
    stable = np.where(outside, 0, np.where(inside, 1, -1)).astype(np.int8)
    critical, reasons = np.full(worst.shape, np.nan), set()
    for index in np.ndindex(*worst.shape):
        if np.isfinite(rates.value[index]).all():
            critical[index], reason = method.largest_step(rates.value[index], rates.error[index])
            reasons.add(reason)
        else:
            reasons.add("NaN where the trajectory has diverged or the QR iteration did not converge")
    return Steps(used, modulus, error, stable, dependent, critical, tuple(sorted(reasons - {""})))


def _chosen(stack: NDArray[Any], index: NDArray[np.int64]) -> NDArray[Any]:
    """stack[index[s, t], s, t, …] of a stack (choice, sample, time, …)."""
    sample, time = np.indices(index.shape)
    return np.asarray(stack[index, sample, time])
