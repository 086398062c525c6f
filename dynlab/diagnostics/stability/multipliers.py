"""The eigenvalues of a cell's flow at the states that it reaches, and their multipliers under an integrator's step."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.ernn.spectrum import ernn_spectrum
from dynlab.diagnostics.spectrum import spectrum
from dynlab.diagnostics.stability.methods import METHODS, Method
from dynlab.systems import Euler
from dynlab.systems.ernn import ERNN

NO_FLOW = "NaN where the trajectory has diverged or the QR iteration did not converge"


class Rates(NamedTuple):
    """Eigenvalues λ of the flow's Jacobian at states (sample, time, mode), in 1/s, and their errors.

    `step` (choice, time) are the steps ε that are taken there: one, or ERNN's K learned ones.
    """

    value: NDArray[np.complex128]
    error: NDArray[np.float64]
    step: NDArray[np.float64]


def rates_of(system: Euler | ERNN, inputs: Any, step_size: float | None, **settings: Any) -> Rates:
    """Return the eigenvalues of the flow that the system is a step of; of an ERNN, of its inner flow."""
    if isinstance(system, ERNN):
        ds, name = ernn_spectrum(system, inputs, **settings), "inner_eigenvalue"
        own = system.eta.detach().double().cpu().numpy()[:, ds[schema.TIME].values - 1]
    else:
        ds, name = spectrum(system, inputs, **settings, conditions=False), "flow_eigenvalue"
        own = np.full((1, ds.sizes[schema.TIME]), system.step_size)
    step = own if step_size is None else np.full((1, own.shape[1]), step_size)
    return Rates(ds[name].values, ds[f"{name}_error"].values, step)


def judged(rates: Rates, method: Method) -> tuple[dict[str, NDArray[Any]], set[str]]:
    """Judge every state by the integrator's stability function.

    Returns
    -------
    dict of ndarray
        ``step_modulus(sample, time, mode)`` = |R(ελ)| with ``step_modulus_error``; ``used_step(sample, time)``, of
        several choices the least stable one; ``stable(sample, time)``, 1 where no modulus exceeds 1, 0 where one does
        by more than its error, else −1; ``critical_step(sample, time)``, the largest step for which none does.
    set of str
        Reasons why some of these are not known, or set eigenvalues aside.
    """
    choices = [method.modulus(step[:, None] * rates.value, step[:, None] * rates.error) for step in rates.step]
    modulus, error = (np.array(part) for part in zip(*choices, strict=True))
    worst = np.argmax(np.where(np.isnan(modulus), -np.inf, modulus).max(axis=-1), axis=0)  # of the choices
    sample, time = np.indices(worst.shape)
    modulus, error = modulus[worst, sample, time], error[worst, sample, time]
    outside, inside = (modulus - 1 > error).any(axis=-1), (modulus - 1 <= -error).all(axis=-1)
    flat = zip(*(each.reshape(-1, each.shape[-1]) for each in rates[:2]), strict=True)
    found = [method.largest_step(*one) if np.isfinite(one[0]).all() else (np.nan, NO_FLOW) for one in flat]
    return {
        "step_modulus": modulus,
        "step_modulus_error": error,
        "used_step": rates.step[worst, time],
        "stable": np.where(outside, 0, np.where(inside, 1, -1)).astype(np.int8),
        "critical_step": np.reshape([step for step, _ in found], worst.shape),
    }, {reason for _, reason in found} - {""}


def table(rates: Rates, every: dict[str, dict[str, NDArray[Any]]], integrator: str) -> dict[str, tuple[Any, ...]]:
    """Return the variables of the flow's eigenvalues, of one integrator's step, and of all over ``integrator``."""
    each, mode, names = (schema.SAMPLE, schema.TIME), (schema.SAMPLE, schema.TIME, schema.MODE), (schema.INTEGRATOR,)
    own, found = every[integrator], [every[name] for name in METHODS]
    unstable, undecided = ([np.mean(one["stable"] == kind) for one in found] for kind in (0, -1))
    smallest = [np.fmin.reduce(one["critical_step"], axis=None) for one in found]
    largest = [np.fmax.reduce(one["step_modulus"], axis=None) for one in found]
    return {
        "eigenvalue": (mode, rates.value, "eigenvalue λ of the flow's Jacobian", schema.PER_SECOND),
        "eigenvalue_error": (mode, rates.error, "bound on the error of λ", schema.PER_SECOND),
        "step_modulus": (mode, own["step_modulus"], "modulus |R(ελ)| of the step"),
        "step_modulus_error": (mode, own["step_modulus_error"], "bound on the error of |R(ελ)|"),
        "used_step": (each, own["used_step"], "step size ε that is used", schema.SECOND),
        "stable": (each, own["stable"], "1: the step is stable, 0: it is not, −1: undecided"),
        "critical_step": (each, own["critical_step"], "critical step size", schema.SECOND),
        "integrator_step": (names, smallest, "smallest critical step over all states", schema.SECOND),
        "integrator_modulus": (names, largest, "largest modulus |R(ελ)| over all states"),
        "integrator_unstable": (names, unstable, "share of the states at which the step is unstable"),
        "integrator_undecided": (names, undecided, "share of the states at which that is undecided"),
    }
