"""Multipliers of an integrator's step: at the states that a cell reaches, and on the plane of step size and diffusion.

Of a flow with Jacobian diag(c) (M₀ − γ I) that plane of ε and γ says where its steps stay stable.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from dynlab import schema
from dynlab.diagnostics.ernn.spectrum import ernn_spectrum
from dynlab.diagnostics.spectrum import spectrum
from dynlab.diagnostics.stability.methods import METHODS, Method
from dynlab.numerics.eigenvalues import approximate_eigenvalues
from dynlab.systems import Euler
from dynlab.systems.ernn import ERNN

DIFFUSIONS, STEP_SIZES = 25, 41  # of the grid, both logarithmic
STATES = 24  # at most, that the plane is computed over
LEAST, MOST = 1 / 300, 12.0  # the range of γ in parts of ω, the fastest rotation
SHORTEST, LONGEST = 1 / 400, 3.0  # that of ε in parts of 1/ω
ROOM = 3.0  # and beyond the network's own γ and ε by this factor
FARTHEST = 1e4  # an own γ or ε that is outside by more does not widen the plane
PRECISION = 1e-13  # of the γ that is needed, relative
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


def diffusion_plane(
    diagonals: NDArray[np.float64], matrix: NDArray[np.float64], gamma: float, step: float, method: Method
) -> dict[str, tuple[Any, ...]]:
    """Vary γ and ε around the network's own, at fixed states.

    Parameters
    ----------
    diagonals : ndarray, shape (state, n)
        c of each state.
    matrix : ndarray, shape (n, n)
        M, which is M₀ − γ I.
    gamma, step : float
        The network's own.
    method : Method

    Returns
    -------
    dict
        The variables over ``diffusion`` and ``step_size`` that `dynlab.stability` documents.
    """
    M0 = matrix + gamma * np.eye(len(matrix))
    omega = fastest_rotation(matrix, gamma)
    scale = omega or float(np.linalg.norm(matrix, 2)) or 1.0
    diffusion = _range(LEAST * scale, MOST * scale, gamma, DIFFUSIONS)
    step_size = _range(SHORTEST / scale, LONGEST / scale, step, STEP_SIZES)

    def eigenvalues(of_gamma: float) -> NDArray[np.complex128]:
        return approximate_eigenvalues(diagonals[:, :, None] * (M0 - of_gamma * np.eye(len(M0))))

    def excess(log_gamma: float) -> float:
        return float(np.abs(method.factor(step * eigenvalues(float(np.exp(log_gamma))))).max()) - 1

    values = np.array([eigenvalues(each) for each in diffusion])
    modulus = np.stack([np.abs(method.factor(each * values)).max(axis=(1, 2)) for each in step_size], axis=1)
    critical = np.array([_least_step(at_gamma, method) for at_gamma in values])
    formula = mean_slope_step(diagonals[:, None], omega, diffusion)
    heights, needed = np.abs(method.factor(step * values)).max(axis=(1, 2)) - 1, np.nan
    (falls,) = np.nonzero((heights[:-1] > 0) & (heights[1:] <= 0))
    if len(falls):  # the least γ at which the step becomes stable
        left, right = np.log(diffusion[falls[0] : falls[0] + 2])
        needed = float(np.exp(brentq(excess, left, right, xtol=PRECISION, rtol=4 * np.finfo(float).eps)))
    along, words = (schema.DIFFUSION,), "2γ/(γ² + ω²) over the mean slope of the state where it is"
    low, high = np.fmin.reduce(formula, axis=0), np.fmax.reduce(formula, axis=0)
    return {
        "plane_diffusion": (along, diffusion, "diffusion γ", schema.PER_SECOND),
        "plane_step_size": ((schema.STEP_SIZE,), step_size, "step size ε", schema.SECOND),
        "plane_modulus": ((*along, schema.STEP_SIZE), modulus, "largest modulus |R(ελ)| over the states"),
        "plane_critical_step": (along, critical, "smallest critical step", schema.SECOND),
        "formula_step_low": (along, low, f"{words} least", schema.SECOND),
        "formula_step_high": (along, high, f"{words} largest", schema.SECOND),
        "own_diffusion": ((), gamma, "the network's own diffusion γ", schema.PER_SECOND),
        "fastest_rotation": ((), omega, "fastest rotation ω of M", schema.PER_SECOND),
        "needed_diffusion": ((), needed, "diffusion γ that ε needs", schema.PER_SECOND),
    }


def fastest_rotation(matrix: NDArray[np.float64], gamma: float) -> float:
    """Return ω: the largest imaginary part of an eigenvalue of M + γI."""
    return float(np.abs(approximate_eigenvalues(matrix + gamma * np.eye(len(matrix))).imag).max())


@np.errstate(all="ignore")
def mean_slope_step(diagonals: NDArray[np.float64], omega: float, gamma: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Euler's critical step 2γ/(γ² + ω²) divided by the mean of c; exact where all entries of c are equal."""
    means = diagonals.mean(axis=-1)
    step = 2 / (gamma + omega * (omega / gamma))  # the squares may overflow
    return np.asarray(np.where((means > 0) & (gamma > 0), step / means, np.nan))


def plane_states(critical: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return indices of at most `STATES` states: half those of the smallest critical steps, the rest evenly spaced."""
    if len(critical) <= STATES:
        return np.arange(len(critical))
    first = np.argsort(np.nan_to_num(critical, nan=np.inf), kind="stable")[: STATES // 2]
    even = np.linspace(0, len(critical) - 1, STATES - len(first)).round().astype(np.int64)
    return np.unique(np.concatenate([first, even]))


def _least_step(values: NDArray[np.complex128], method: Method) -> float:
    """Return the smallest critical step of states whose eigenvalues are known to rounding; NaN where none is known."""
    rounding = values.shape[-1] * np.finfo(float).eps * np.abs(values).max(axis=-1)
    steps = [method.largest_step(one, np.full(len(one), error))[0] for one, error in zip(values, rounding, strict=True)]
    return float(np.fmin.reduce(steps))


def _range(low: float, high: float, own: float, count: int) -> NDArray[np.float64]:
    """Return a logarithmic range that is wide enough for the network's own value."""
    near = low / FARTHEST < own < high * FARTHEST
    return np.geomspace(min(low, own / ROOM) if near else low, max(high, own * ROOM) if near else high, count)
