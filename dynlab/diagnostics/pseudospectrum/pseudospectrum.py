"""Pseudospectra of a Jacobian: how far its eigenvalues may be trusted, and what grows before it decays."""

from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike

from dynlab import schema
from dynlab.arguments import check_at_least, check_positive
from dynlab.diagnostics.pseudospectrum.plane import (
    close_up,
    instability,
    kreiss_constant,
    numerical_range,
    on_grid,
    window,
)
from dynlab.diagnostics.pseudospectrum.powers import norms_of_flow, norms_of_map
from dynlab.diagnostics.pseudospectrum.verdict import verdict
from dynlab.errors import UserError
from dynlab.numerics.arrays import Real, frobenius
from dynlab.numerics.eigenvalues import ARRAYS, Eigenvalues, eigenvalues
from dynlab.numerics.eigenvalues import METHOD as EIGENVALUES
from dynlab.numerics.grids import MEBIBYTE, check_grid
from dynlab.numerics.resolvent import Resolvent
from dynlab.numerics.singular_values import ALL_UP_TO
from dynlab.program.differentiation import jacobian_and_error
from dynlab.systems import Flow, Map, System, frozen
from dynlab.systems.autonomous import held_input, number_type
from dynlab.systems.checked import checked
from dynlab.trajectories.driven import drive

GRID, COARSE_GRID = 101, 51  # points of the window in each direction, of a large state the second
MAX_MEMORY, OF_LARGE = 256 * 2**20, 2**31  # bytes; up to the second where the Jacobian of a large state needs them
LARGEST_GRID = 4096  # points in each direction
OF_POINT = 8 * 3  # bytes that the Dataset holds of each
METHOD = (
    f"{EIGENVALUES}. Resolvent: a Schur form, then inverse Lanczos with triangular solves for all points of the grid, "
    "until 1/σ_min² has a relative residual of 1e-10. Besides, σ_min has an absolute error of about n ε ‖A‖_F. The "
    "numerical range comes from its supporting lines. The Kreiss constant is the largest value over samples outside "
    "the stable region, refined by windows that shrink and less what rounding can add: a lower bound. Norms of powers "
    "come from repeated multiplication in log scale. The largest norm of a flow is looked for between the powers too"
)
NOT_STABLE = "NaN: A is not stable, or not known to be"
DROWNED = "NaN where rounding drowns the power, or the two sides of a kink differ; −inf: the power is exactly zero"
REASONS = {
    "kreiss_constant": "inf: an eigenvalue lies outside the stable region beyond its error",
    "kreiss_point": "inf: no finite z gives more than the limit 1",
    **dict.fromkeys(("log_power_norm", "log_power_norm_error"), DROWNED),
    "log_power_norm_bound": "inf: no bound is known; −inf: the power is exactly zero",
    "transient_growth": "inf: beyond the largest number; log_power_norm has its logarithm",
    **dict.fromkeys(("instability_distance", "instability_point"), NOT_STABLE),
    **dict.fromkeys(("close_up_half_width", "close_smallest_singular_value"), f"{NOT_STABLE}, or the window shows it"),
    **dict.fromkeys(("condition", "eigenvalue_error"), "inf: a defective eigenvalue"),
}


@checked
def pseudospectrum(
    system: System,
    state: ArrayLike | None = None,
    *,
    at: str | ArrayLike = "zero",
    at_step: int = 0,
    grid: int | None = None,
    extent: float | None = None,
    steps: int = 100,
    seconds: float | None = None,
    max_memory: float | None = None,
    state_description: str = "",
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """Compute the resolvent of a Jacobian over the complex plane, its numerical range, and the norms of its powers.

    Parameters
    ----------
    system : Map or Flow
        A map's Jacobian is ∂step/∂state, to be compared with the unit disc; a flow's ∂velocity/∂state, in 1/s, with
        the left half-plane. Of an `Euler` step, its ``.flow`` is the other one.
    state : array_like, shape (state,), optional
        State of the Jacobian; zero by default (`on_trajectory` finds one that a network visits).
    at : "zero" or array_like, shape (input,)
        Input of the step.
    at_step : int
        Number of the step, where parameters change with time.
    grid : int, optional
        Points of the window in each direction; by default 101, of more than 256 states 51.
    extent : float, optional
        Half the width of the window; by default as wide as the numerical range.
    steps : int
        Largest power; of a flow, number of times.
    seconds : float, optional
        Seconds that a flow is followed; by default eight of its slowest time constants 1/|Re λ|. No rate below 0.001
        of the largest |λ| is taken for that, or of ‖A‖ where an eigenvalue's error hides the rate.
    max_memory : float, optional
        Bytes for the points of the grid that are worked on at once, and for the matrix; by default 256 MiB, and what
        the Jacobian of a large state needs, up to 2 GiB.
    state_description : str
        Step of a trajectory for the verdict: "step 128 of sequence 0".
    dtype, device : str
        Type and device of the Jacobian; the rest is in float64 on the CPU.
    seed : int
        Seed of the vector that Lanczos starts with.

    Returns
    -------
    xarray.Dataset
        ``smallest_singular_value(y, x)`` = σ_min(zI − A) = 1/‖(zI − A)⁻¹‖₂ at z = x + iy, with ``lanczos_residual``,
        ``lanczos_iterations`` and ``converged``. ``eigenvalue(mode)`` with ``eigenvalue_error`` and ``condition``.
        ``spectral_radius``, of a flow ``spectral_abscissa``. ``numerical_range(angle)``, its ``numerical_abscissa``,
        and ``numerical_radius`` with ``numerical_radius_error``. Of a stable A ``instability_distance``, the least ε
        whose ε-pseudospectrum reaches the border of stability, and ``instability_point``, where. Where that is too
        small for the window, ``close_smallest_singular_value(close_y, close_x)`` within ``close_up_half_width`` of it,
        NaN elsewhere. ``log_power_norm(time)`` = ln ‖A^k‖₂, of a flow ln ‖e^{tA}‖₂, with ``log_power_norm_error``, and
        ``log_power_norm_bound``, what it is at most, also where rounding drowns it. ``transient_growth``, the largest
        of these norms, and ``transient_time``; ``kreiss_constant``, a lower bound, and ``kreiss_point``.

    Raises
    ------
    UserError
        For a state or input of the wrong size, a Jacobian that is not finite, and sizes below what they must be. For a
        grid or a matrix too large for `max_memory`.

    Notes
    -----
    The ε-pseudospectrum is where σ_min(zI − A) < ε: the eigenvalues of all A + E with ‖E‖₂ < ε.

    References
    ----------
    Trefethen and Embree, "Spectra and Pseudospectra", Princeton 2005, sections 2 and 14 to 18.

    Examples
    --------
    >>> from dynlab.systems import create
    >>> ds = pseudospectrum(create("linear", matrix=[[-1.0, 10.0], [0.0, -2.0]]), grid=21)
    >>> round(float(ds["numerical_abscissa"]), 4), round(float(ds["transient_growth"]), 2)
    (3.5249, 2.56)
    """
    check_at_least(1, steps=steps)
    check_positive(extent=extent, seconds=seconds)
    flow, usual = isinstance(system, Flow), GRID if system.state_size <= ALL_UP_TO else COARSE_GRID
    points = grid or usual
    max_memory = _allowed(system, points, max_memory)
    if seconds is not None and not flow:
        raise UserError("seconds is a flow's; how long a map is followed is said by its steps.")
    matrix, wrong, where = _matrix(system, state, at, at_step, dtype, device)
    spectrum = eigenvalues(matrix, wrong, system.blocks)
    if not np.isfinite(spectrum.values).all():
        raise UserError("The Jacobian there has no finite eigenvalues: take it at another state, or scale the matrix.")
    resolvent = Resolvent(matrix, system.blocks, max_memory=max_memory, seed=seed)
    norms = norms_of_flow(matrix, wrong, spectrum, seconds, steps) if flow else norms_of_map(matrix, wrong, steps)
    times, rate = norms[0].times, schema.PER_SECOND if flow else schema.ONE
    rows, lines = _of_plane(matrix, wrong, spectrum, resolvent, points, extent, flow)
    fewer = f" The window has {usual} points in each direction; a larger --grid (grid=) takes more."
    return schema.result(
        system,
        rows | _of_norms(*norms, flow),
        settings=where
        | {"grid": points, "extent": extent, "steps": steps, "seconds": float(times[-1]) if flow else None}
        | {"flow": flow, "max_memory": max_memory, "dtype": dtype, "device": device, "seed": seed},
        verdict=lambda ds: verdict(ds, at, state_description) + fewer * (grid is None and usual < GRID),
        method=METHOD,
        coords=schema.plane_axes(lines, ("Re z", "Im z"), rate)
        | {schema.TIME: schema.time_coordinate(times, schema.SECOND if flow else schema.STEP)},
        reasons=REASONS,
    )


def _allowed(system: System, grid: int, max_memory: float | None) -> float:
    """Return how many bytes may be taken; raise for a grid and a matrix that do not fit."""
    needed = 8 * ARRAYS * system.state_size**2 + OF_POINT * grid**2
    allowed = max(MAX_MEMORY, min(needed, OF_LARGE)) if max_memory is None else max_memory
    check_grid(grid, LARGEST_GRID, OF_POINT, allowed, "points")
    if needed > allowed:
        raise UserError(
            f"The Jacobian of {system.state_size:,} units needs about {needed / MEBIBYTE:,.0f} MiB, more than the "
            f"{allowed / MEBIBYTE:,.0f} MiB allowed: take a larger --max-memory."
        )
    return allowed


def _matrix(
    system: System, state: ArrayLike | None, at: str | ArrayLike, t: int, dtype: str, device: str
) -> tuple[Real, Real, dict[str, Any]]:
    """Return the Jacobian, a bound on the error of each entry, and where it was taken, for the settings."""
    kind, size = number_type(dtype), system.state_size
    array = np.zeros(size) if state is None else np.asarray(state, dtype=float)
    if array.shape != (size,) or not np.isfinite(array).all():
        raise UserError(f"The state must be {size} finite numbers, got shape {array.shape}.")
    h = torch.as_tensor(array).to(device=device, dtype=kind)
    x = held_input(system, at, torch.zeros(1, 1, system.input_size, device=device, dtype=kind), False)
    found = jacobian_and_error(frozen(system, kind, device), h, x, t)
    dense, wrong = (part.detach().double().cpu().numpy() for part in found)
    return dense, np.nan_to_num(wrong, nan=np.inf), {"state": h.tolist(), "input": x.tolist(), "at_step": t}


def _of_plane(
    matrix: Real,
    wrong: Real,
    spectrum: Eigenvalues,
    resolvent: Resolvent,
    grid: int,
    extent: float | None,
    flow: bool,
) -> tuple[dict[str, Any], tuple[Real, Real]]:
    """Return the table of what is seen in the complex plane, and the window's x and y."""
    border, abscissa, radius, short = numerical_range(matrix)
    x, y = window(spectrum.values, border, grid, extent, flow)
    smallest = on_grid(resolvent, x, y)
    distance, touched = instability(resolvent, spectrum, flow)
    half, close = close_up(resolvent, spectrum.values, touched, float(y[-1]), grid)
    kreiss, attained = kreiss_constant(matrix, spectrum, resolvent, flow, frobenius(wrong))
    plane, mode, close_plane = (schema.Y, schema.X), (schema.MODE,), (schema.CLOSE_Y, schema.CLOSE_X)
    rate, name = (schema.PER_SECOND, "abscissa") if flow else (schema.ONE, "radius")
    moduli = spectrum.values.real if flow else np.abs(spectrum.values)
    return {
        "smallest_singular_value": (plane, smallest.value, "σ_min(zI − A)"),
        "lanczos_residual": (plane, smallest.residual, "relative residual of 1/σ²_min"),
        "lanczos_iterations": (plane, smallest.iterations, "Lanczos steps", schema.STEP),
        "converged": (plane, smallest.converged, "the Lanczos iteration converged"),
        f"spectral_{name}": ((), moduli.max(), f"spectral {name}", rate),
        "eigenvalue": (mode, spectrum.values, "eigenvalue", rate),
        "eigenvalue_error": (mode, spectrum.errors, "bound on the error of the eigenvalue", rate),
        "condition": (mode, spectrum.conditions, "condition of the eigenvalue"),
        "numerical_range": (("angle",), border, "border of the numerical range", rate),
        "numerical_abscissa": ((), abscissa, "numerical abscissa ω(A)", rate),
        "numerical_radius": ((), radius, "numerical radius", rate),
        "numerical_radius_error": ((), short, "by how much it is short at most", rate),
        "instability_distance": ((), distance, "least ‖E‖₂ after which A + E is not stable", rate),
        "instability_point": ((), touched, "where that eigenvalue of A + E lies", rate),
        "close_up_half_width": ((), half, "half the width of the close-up around that", rate),
        "close_smallest_singular_value": (close_plane, close, "σ_min(zI − A) in the close-up"),
        "kreiss_constant": ((), kreiss, "lower bound on the Kreiss constant"),
        "kreiss_point": ((), attained, "where it is attained"),
    }, (x, y)


@np.errstate(over="ignore")  # inf, and flagged
def _of_norms(powers: Any, largest: float, when: float, flow: bool) -> dict[str, Any]:
    norm, time = "ln ‖e^{tA}‖₂" if flow else "ln ‖Aᵏ‖₂", (schema.TIME,)
    return {
        "log_power_norm": (time, powers.log_norm, norm),
        "log_power_norm_error": (time, powers.error, f"bound on the error of {norm}"),
        "log_power_norm_bound": (time, powers.bound, f"upper bound on {norm}"),
        "transient_growth": ((), np.exp(largest), f"largest {norm[3:]} that was met"),
        "transient_time": ((), when, "when", schema.SECOND if flow else schema.STEP),
    }


def on_trajectory(
    system: Map,
    inputs: Any,
    *,
    step: int | None = None,
    sample: int = 0,
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> dict[str, Any]:
    """Return the state, the input and the step's number at which ∂h_t/∂h_{t−1} of a driven trajectory is taken.

    Parameters
    ----------
    system : Map
    inputs : array_like, shape (sample, time, input)
    step : int, optional
        Step t, from 1; the last by default.
    sample : int
        Number of the sequence, from 0.
    dtype, device, seed : as in `dynlab.spectrum`

    Returns
    -------
    dict
        The arguments ``state``, ``at``, ``at_step`` and ``state_description`` of `dynlab.pseudospectrum`.

    Raises
    ------
    UserError
        For a sample or a step that is not there.
    """
    if not 0 <= sample < len(inputs):
        raise UserError(f"Sequences are counted from 0 (--sample), and there are {len(inputs)}; got {sample}.")
    driven = drive(system, inputs[sample], None, dtype=dtype, device=device, seed=seed, inputs_description="")
    t = driven.steps if step is None else step
    if not 1 <= t <= driven.steps:
        raise UserError(f"The step (--at-step) must be from 1 to the sequence's {driven.steps:,} steps, got {t}.")
    state, shown = driven.states[0, t - 1], driven.inputs[0, t - 1]
    words = f"step {t:,} of sequence {sample}"
    return {"state": state.cpu().numpy(), "at": shown.cpu().numpy(), "at_step": t - 1, "state_description": words}
