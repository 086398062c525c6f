"""The variables of a result of `dynlab.stability`, and why some of their values are not finite."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.stability.diffusion_plane import DiffusionPlane
from dynlab.diagnostics.stability.methods import METHODS, Method
from dynlab.diagnostics.stability.rates import Rates, Steps, steps_of

NO_FLOW = "NaN where the trajectory has diverged or the QR iteration did not converge"
UNLIMITED = "inf: no step is too large"
OPEN = "not finite where theory sets no bound"
REASONS = {
    "integrator_step": f"{UNLIMITED}; NaN where none is known",
    "integrator_modulus": NO_FLOW,
    "region": "inf at a pole of R",
    "mean_slope_step": "NaN where the mean slope or γ is not positive",
    "formula_step_low": "NaN where no mean slope is positive",
    "formula_step_high": "NaN where no mean slope is positive",
    "plane_modulus": "inf beyond the largest number",
    "plane_critical_step": f"{UNLIMITED}; NaN where an error does not separate a real part from 0",
    "needed_diffusion": "NaN: no γ of the plane is the least that makes this ε stable",
} | dict.fromkeys(("theory_low", "theory_high", "margin", "measured_low", "measured_high"), OPEN)


def of_steps(rates: Rates, steps: Steps) -> dict[str, xr.Variable]:
    """The flow's eigenvalues, and what the integrator's step makes of them."""
    each, mode = (schema.SAMPLE, schema.TIME), (schema.SAMPLE, schema.TIME, schema.MODE)
    return {
        "eigenvalue": schema.variable(mode, rates.value, "eigenvalue λ of the flow's Jacobian", schema.PER_SECOND),
        "eigenvalue_error": schema.variable(mode, rates.error, "bound on the error of λ", schema.PER_SECOND),
        "step_modulus": schema.variable(mode, steps.modulus, "modulus |R(ελ)| of the step"),
        "step_modulus_error": schema.variable(mode, steps.error, "bound on the error of |R(ελ)|"),
        "used_step": schema.variable(each, steps.used, "step size ε that is used", schema.SECOND),
        "stable": schema.variable(each, steps.stable, "1: the step is stable, 0: it is not, −1: undecided"),
        "dependent": schema.variable(
            each, steps.dependent.astype(np.int8), "1: eigenvectors at modulus 1 may be dependent, and powers grow"
        ),
        "critical_step": schema.variable(each, steps.critical, "critical step size", schema.SECOND),
    }


def of_integrators(rates: Rates) -> dict[str, xr.Variable]:
    """What every integrator's step makes of the same states."""
    along = (schema.INTEGRATOR,)
    found = [steps_of(rates, method) for method in METHODS.values()]
    smallest = [np.fmin.reduce(one.critical, axis=None) for one in found]
    moduli = [np.fmax.reduce(one.modulus, axis=None) for one in found]
    shares = [[np.mean(one.stable == kind) for one in found] for kind in (0, -1)]
    return {
        "integrator_step": schema.variable(along, smallest, "smallest critical step over all states", schema.SECOND),
        "integrator_modulus": schema.variable(along, moduli, "largest modulus |R(ελ)| over all states"),
        "integrator_unstable": schema.variable(along, shares[0], "share of the states at which the step is unstable"),
        "integrator_undecided": schema.variable(along, shares[1], "share of the states at which that is undecided"),
        "integrator_dependent": schema.variable(
            along,
            [one.dependent.mean() for one in found],
            "share of the states with dependent eigenvectors at modulus 1",
        ),
    }


def of_plane(plane: DiffusionPlane, gamma: float) -> dict[str, xr.Variable]:
    """Over step size and diffusion, and the numbers of the network itself."""
    along = (schema.DIFFUSION,)
    words = "2γ/(γ² + ω²) over the mean slope of the state where it is"
    low, high = np.fmin.reduce(plane.formula, axis=0), np.fmax.reduce(plane.formula, axis=0)  # NaN where it is nowhere
    return {
        "plane_diffusion": schema.variable(along, plane.diffusion, "diffusion γ", schema.PER_SECOND),
        "plane_step_size": schema.variable((schema.STEP_SIZE,), plane.step_size, "step size ε", schema.SECOND),
        "plane_modulus": schema.variable(
            (schema.DIFFUSION, schema.STEP_SIZE), plane.modulus, "largest modulus |R(ελ)| over the states"
        ),
        "plane_critical_step": schema.variable(along, plane.critical, "smallest critical step", schema.SECOND),
        "formula_step_low": schema.variable(along, low, f"{words} least", schema.SECOND),
        "formula_step_high": schema.variable(along, high, f"{words} largest", schema.SECOND),
        "own_diffusion": schema.variable((), gamma, "the network's own diffusion γ", schema.PER_SECOND),
        "fastest_rotation": schema.variable((), plane.omega, "fastest rotation ω of M", schema.PER_SECOND),
        "needed_diffusion": schema.variable((), plane.needed, "diffusion γ that ε needs", schema.PER_SECOND),
    }


def flags_of_steps(variables: dict[str, xr.Variable], steps: Steps) -> dict[str, str]:
    """Of the states: what was not computed, and why a critical step is not a number."""
    names = ("eigenvalue", "eigenvalue_error", "step_modulus", "step_modulus_error")
    flags = {name: NO_FLOW for name in names if not np.isfinite(variables[name].values).all()}
    reasons = [*steps.reasons, *([UNLIMITED] if np.isinf(steps.critical).any() else [])]
    if (steps.dependent & (steps.stable == -1)).any():
        flags["stable"] = "−1 also where a modulus is 1 and its eigenvectors may be dependent: powers may grow"
    if reasons:
        flags["critical_step"] = "; ".join(reasons)
    return flags


GRID = 81
# Left, right and half the height that hold all of a region that is bounded, and of the others as much as of RK4's.
WHOLE = {"euler": (-2.5, 0.7, 1.6), "midpoint": (-2.5, 0.7, 2.2)}
LARGEST = (-3.4, 1.2, 3.3)
ROOM = 0.15  # of the extent of the eigenvalues beyond them
LEAST = 0.25  # of the extent in one direction that the close-up has at least in the other, where that is the wider
SMALLEST, WIDE_OPEN = 1e-9, 0.1  # extents: at least, and where all eigenvalues are 0
FARTHEST = 1e12  # what lies farther out, or is not known, is not shown
WINDOWS = ("whole", "close-up")


def region(method: Method, step: NDArray[np.float64], values: NDArray[np.complex128]) -> dict[str, xr.Variable]:
    """The modulus on two grids, for steps (sample, time) and eigenvalues (sample, time, mode).

    Returns
    -------
    dict
        ``region(window, y, x)`` with the coordinates ``region_real(window, x)`` and ``region_imaginary(window, y)``.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        z = step[..., None] * values
        z = z[np.abs(z) <= FARTHEST]
    corners = [_whole(z, method.name), _close(z)]
    real = np.array([np.linspace(left, right, GRID) for left, right, _, _ in corners])
    imaginary = np.array([np.linspace(low, high, GRID) for _, _, low, high in corners])
    moduli = np.abs(method.factor(real[:, None, :] + 1j * imaginary[:, :, None]))
    return {
        "region": schema.variable((schema.WINDOW, schema.Y, schema.X), moduli, "modulus |R(z)|"),
        "region_real": schema.variable((schema.WINDOW, schema.X), real, "Re z"),
        "region_imaginary": schema.variable((schema.WINDOW, schema.Y), imaginary, "Im z"),
    }


def _whole(z: NDArray[np.complex128], name: str) -> tuple[float, float, float, float]:
    left, right, tall = WHOLE.get(name, LARGEST)
    reach = 1 + ROOM
    left = min(left, reach * float(z.real.min(initial=0)))
    right = max(right, reach * float(z.real.max(initial=0)))
    tall = max(tall, reach * float(np.abs(z.imag).max(initial=0)))
    return left, right, -tall, tall


def _close(z: NDArray[np.complex128]) -> tuple[float, float, float, float]:
    """Around 0 and the eigenvalues; each axis has its own scale: real parts are often thousands of times smaller."""
    left, right = min(0.0, float(z.real.min(initial=0))), max(0.0, float(z.real.max(initial=0)))
    tall = max(float(np.abs(z.imag).max(initial=0)), SMALLEST)
    if max(tall, right - left) <= SMALLEST:  # all at 0
        tall = WIDE_OPEN
    # Euler's circle leaves the axis by Im²/2: the window shows on which side of it what is
    width = max(right - left, tall**2 / 2, SMALLEST)
    tall = max(tall, LEAST * width)
    return left - ROOM * width - tall**2 / 2, right + 2 * ROOM * width, -(1 + ROOM) * tall, (1 + ROOM) * tall
