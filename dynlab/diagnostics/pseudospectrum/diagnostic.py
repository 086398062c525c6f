"""How far a Jacobian's eigenvalues may be trusted: pseudospectra, and what grows before it decays."""

from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from dynlab import schema
from dynlab.arguments import check_at_least, check_positive
from dynlab.diagnostics.pseudospectrum.kreiss import kreiss_lower_bound
from dynlab.diagnostics.pseudospectrum.nearest import first_touched
from dynlab.diagnostics.pseudospectrum.numerical_range import NumericalRange, numerical_range
from dynlab.diagnostics.pseudospectrum.powers import Powers, exponential_norms, largest_exponential, power_norms
from dynlab.diagnostics.pseudospectrum.verdict import verdict
from dynlab.errors import UserError
from dynlab.jacobians import jacobian_and_error
from dynlab.numerics.arrays import Real, frobenius
from dynlab.numerics.eigenvalues import ARRAYS, Eigenvalues, eigenvalues
from dynlab.numerics.eigenvalues import METHOD as EIGENVALUES
from dynlab.numerics.grids import MEBIBYTE, check_grid
from dynlab.numerics.resolvent import Resolvent, Smallest
from dynlab.numerics.singular_values import ALL_UP_TO, norm
from dynlab.systems import Flow, System, frozen
from dynlab.systems.checked import checked
from dynlab.systems.held import held_input, number_type

GRID, COARSE_GRID = 101, 51  # points of the window in each direction, of a large state the second
MAX_MEMORY = 256 * 2**20  # bytes
MARGIN = 0.15  # of the window beyond what must be in it
CLOSE = 2.5  # half the width of the close-up, in distances from where the border is first reached to an eigenvalue
CLOSER = 1 / 3  # of the window: a wider close-up would show no more
LONGER = 4  # times that one is followed longer
DECAY = 8.0  # a flow is followed for so many of its slowest time constants
# Of the fastest |λ|, or of ‖A‖ where errors hide the slowest: a slower mode does not lengthen the time.
SLOWEST = 1e-3
LARGEST_GRID = 4096  # points in each direction
COPIES = 8  # arrays of the size of the whole matrix, beside those of its largest block's discs
LARGEST_ENTRY = 1e150  # of the matrix: squares of larger ones overflow
METHOD = (
    f"{EIGENVALUES}. Resolvent: a complex Schur form, then inverse Lanczos with triangular solves for all points of "
    "the grid, to a relative residual of 1e-10. σ_min has an absolute error of about n ε ‖A‖_F besides. The numerical "
    "range is found by its supporting lines at 180 angles. The Kreiss constant is the largest value over samples "
    "outside the stable region. The best of them are climbed by windows that shrink, and each has what rounding can "
    "add taken off, so that it is a lower bound. It is infinite where an eigenvalue is unstable beyond its error. "
    "Norms of powers come from repeated multiplication in log scale. Of a flow the largest one is looked for between "
    f"the powers too, at times that resolve every mode that is still there, and refined. Of more than {ALL_UP_TO} "
    "states norms and supporting lines come from Lanczos's iteration, to residuals of 1e-10 and 1e-8"
)
KINKED = 1e-3  # of the largest entry: an entry whose error is larger is that of another side of a kink
NOT_STABLE = "NaN: A is not stable, or not known to be"
NO_CLOSE_UP = f"{NOT_STABLE}, or the window shows it"
UNSTABLE, DROWNED = (
    "inf: an eigenvalue lies outside the stable region beyond its error",
    "NaN where rounding drowns the power, or the two sides of a kink differ",
)


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
    max_memory: float = MAX_MEMORY,
    state_description: str = "",
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """The resolvent of a Jacobian over the complex plane, its numerical range, and the norms of its powers.

    Parameters
    ----------
    system : Map or Flow
        A map's Jacobian is ∂step/∂state, to be compared with the unit disc; a flow's ∂velocity/∂state, in 1/s, with
        the left half-plane. Of an `Euler` step, its ``.flow`` is the other one.
    state : array_like, shape (state,), optional
        Where the Jacobian is taken; zero where it is not given (`on_trajectory` finds one that a network visits).
    at : "zero" or array_like, shape (input,)
        What the step is given.
    at_step : int
        The step's number, where parameters change with time.
    grid : int, optional
        Points of the window in each direction; where it is not given 101, of more than 256 states 51.
    extent : float, optional
        Half the width of the window around the spectrum's centre; as wide as the numerical range where not given.
    steps : int
        Up to which power; of a flow, at how many times.
    seconds : float, optional
        How long a flow is followed, in seconds; eight of its slowest time constants 1/|Re λ| where not given. No rate
        below 0.001 of the largest |λ| is taken for that, or of ‖A‖ where an eigenvalue's error hides the rate.
    max_memory : float
        Bytes: the grid is computed in blocks that stay below. What cannot is refused before anything is allocated.
    state_description : str
        Which state it is, for the verdict: "t = 128 of sequence 0".
    dtype, device : str
        Of the Jacobian; the rest is in float64 on the CPU.
    seed : int
        Of the vector that Lanczos starts with.

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
        For a state or input of the wrong size, a Jacobian that is not finite, sizes below what they must be, and a
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
    usual = GRID if system.state_size <= ALL_UP_TO else COARSE_GRID
    coarser, grid = grid is None and usual < GRID, usual if grid is None else grid
    _check(system, grid, extent, steps, seconds, max_memory)
    flow = isinstance(system, Flow)
    matrix, wrong, where = _matrix(system, state, at, at_step, dtype, device)
    spectrum = eigenvalues(matrix, wrong, system.blocks)
    if not np.isfinite(spectrum.values).all():
        raise UserError("The eigenvalues of that Jacobian did not converge: its entries differ too much in size.")
    shape = numerical_range(matrix)
    x, y = _window(spectrum.values, shape, grid, extent, flow)
    resolvent = Resolvent(matrix, system.blocks, max_memory=max_memory, seed=seed)
    smallest = _on_grid(resolvent, x, y)
    followed, powers = (
        _followed(spectrum, matrix, wrong, seconds, steps)
        if flow
        else (float(steps), power_norms(matrix, steps, wrong, blocks=system.blocks))
    )
    told = flow and np.isfinite(powers.log_norm[1:]).any()
    between = largest_exponential(matrix, spectrum.values, followed) if told else (0.0, 0.0)
    kreiss = _kreiss(matrix, spectrum, flow, resolvent, frobenius(wrong))
    times = np.linspace(0, followed, steps + 1) if flow else np.arange(steps + 1)
    variables = _of_grid(smallest, grid) | _of_spectrum(spectrum, shape, flow)
    variables |= _of_border(resolvent, spectrum, float(y[-1]), grid, flow)
    variables |= _of_powers(powers, times, between, flow) | _of_kreiss(kreiss)
    units = schema.PER_SECOND if flow else schema.ONE
    ds = schema.dataset(
        variables,
        system=system.name,
        source=system.source,
        settings=where
        | {"grid": grid, "extent": extent, "steps": steps, "seconds": followed if flow else None, "flow": flow}
        | {"max_memory": max_memory, "dtype": dtype, "device": device, "seed": seed, "config": system.json_config},
        verdict=lambda ds: verdict(ds, at, state_description),
        method=METHOD,
        coords={
            schema.X: schema.variable((schema.X,), x, "Re z", units),
            schema.Y: schema.variable((schema.Y,), y, "Im z", units),
            schema.TIME: schema.time_coordinate(times, schema.SECOND if flow else schema.STEP),
        },
        flags=_flags(variables),
    )
    ds.attrs["verdict"] += _remarks(system, bool(np.abs(wrong).max() > KINKED * np.abs(matrix).max()), coarser, grid)
    return ds


def _remarks(system: System, kinked: bool, coarser: bool, grid: int) -> str:
    """What the verdict adds: that a kink has another side, and that the window has fewer points."""
    said = " A unit may be on its kink, as a ReLU at 0: the plane is that of one side's Jacobian." if kinked else ""
    if coarser:
        said += (
            f" The state has {system.state_size:,} dimensions, and so the window has {grid} points in each direction; "
            f"a larger --grid (in Python grid=) takes more."
        )
    return said


def _check(
    system: System, grid: int, extent: float | None, steps: int, seconds: float | None, max_memory: float
) -> None:
    """Raise for sizes below what they must be, and for what does not fit the memory."""
    check_grid(grid, LARGEST_GRID, 8 * 3, max_memory, "points")
    check_at_least(1, steps=steps)
    check_positive(extent=extent, seconds=seconds)
    needed = 8 * (ARRAYS * max(system.blocks) ** 2 + COPIES * system.state_size**2 + 3 * grid**2)
    if needed > max_memory:
        raise UserError(
            f"The Jacobian of {system.state_size:,} units needs about {needed / MEBIBYTE:,.0f} MiB, more than the "
            f"{max_memory / MEBIBYTE:,.0f} MiB allowed: take a larger --max-memory."
        )
    if seconds is not None and not isinstance(system, Flow):
        raise UserError("seconds is a flow's; how long a map is followed is said by its steps.")


def _matrix(
    system: System, state: ArrayLike | None, at: str | ArrayLike, t: int, dtype: str, device: str
) -> tuple[NDArray[np.float64], NDArray[np.float64], dict[str, Any]]:
    """The Jacobian, a bound on what rounding has left in each entry, and where it was taken, for the settings."""
    kind, size = number_type(dtype), system.state_size
    analysed = frozen(system, kind, device)
    array = np.zeros(size) if state is None else np.asarray(state, dtype=float)
    if array.shape != (size,) or not np.isfinite(array).all():
        raise UserError(f"The state must be {size} finite numbers, got shape {array.shape}.")
    h = torch.as_tensor(array).to(device=device, dtype=kind)
    x = held_input(system, at, torch.zeros(1, 1, system.input_size, device=device, dtype=kind), False)
    found = (part.detach().double().cpu() for part in jacobian_and_error(analysed, h, x, t))
    dense, wrong = (part.numpy() for part in found)
    largest = float(np.abs(dense).max())
    if not largest <= LARGEST_ENTRY:
        raise UserError(
            f"The Jacobian there has entries up to {largest:.3g}, whose norms are no numbers: up to {LARGEST_ENTRY:g} "
            f"is possible; take it at another state, or scale the matrix."
        )
    where = {"state": h.tolist(), "input": x.tolist(), "at_step": t}
    return dense, np.nan_to_num(wrong, nan=np.inf), where


def _window(
    values: NDArray[np.complex128], shape: NumericalRange, grid: int, extent: float | None, flow: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A square window, symmetric about the real axis, that holds the numerical range and the boundary of stability."""
    seen = np.concatenate([values, shape.border, [0.0] if flow else [1.0, -1.0, 1j]])
    low, high = float(seen.real.min()), float(seen.real.max())
    centre = (low + high) / 2
    half = extent or (1 + MARGIN) * max((high - low) / 2, float(np.abs(seen.imag).max()), np.finfo(float).tiny)
    line = np.linspace(-half, half, grid)
    return centre + line, line


def _on_grid(resolvent: Resolvent, x: NDArray[np.float64], y: NDArray[np.float64]) -> Smallest:
    """On the upper half of the grid, and mirrored: the matrix is real."""
    upper = y[: (len(y) + 1) // 2]
    found = resolvent.smallest((x[None, :] + 1j * upper[:, None]).ravel())

    def mirrored(values: NDArray[Any]) -> NDArray[Any]:
        half = values.reshape(len(upper), len(x))
        return np.concatenate([half, half[: len(y) // 2][::-1]])

    return Smallest(*(mirrored(part) for part in (found.value, found.iterations, found.residual, found.converged)))


def _of_border(
    resolvent: Resolvent, spectrum: Eigenvalues, half: float, grid: int, flow: bool
) -> dict[str, xr.Variable]:
    """Of a stable A where its pseudospectra first reach the border, and what is around; NaN of another."""
    values, units = spectrum.values, schema.PER_SECOND if flow else schema.ONE
    line = np.linspace(-1, 1, grid // 2 + 1)
    around: Real = np.full((len(line), len(line)), np.nan)
    distance, point, width = np.nan, complex(np.nan, np.nan), np.nan
    if ((values.real if flow else np.abs(values) - 1) < -spectrum.errors).all():
        distance, point = first_touched(resolvent, values, flow=flow)
        wanted = CLOSE * float(np.abs(values - point).min())
        if wanted <= CLOSER * half:
            width = wanted
            z = np.asarray(point + width * (line + 1j * line[:, None]), dtype=np.complex128)
            around = resolvent.smallest(z.ravel()).value.reshape(z.shape)
    plane = (schema.CLOSE_Y, schema.CLOSE_X)
    return {
        "instability_distance": schema.variable((), distance, "least ‖E‖₂ after which A + E is not stable", units),
        "instability_point": schema.variable((), point, "where that eigenvalue of A + E lies", units),
        "close_up_half_width": schema.variable((), width, "half the width of the close-up around that", units),
        "close_smallest_singular_value": schema.variable(plane, around, "σ_min(zI − A) in the close-up"),
    }


def _followed(
    spectrum: Eigenvalues, matrix: NDArray[np.float64], wrong: NDArray[np.float64], given: float | None, steps: int
) -> tuple[float, Powers]:
    """How long a flow is followed, and its norms: unless it is `given`, until what decays is below 1."""
    followed = _seconds(spectrum, matrix) if given is None else given
    powers = exponential_norms(matrix, followed, steps, wrong)
    for _ in range(LONGER if given is None and (spectrum.values.real < -spectrum.errors).all() else 0):
        if not powers.log_norm[-1] > 0:
            break
        followed *= 1 + (powers.log_norm[-1] + 1) / DECAY
        powers = exponential_norms(matrix, followed, steps, wrong)
    return followed, powers


def _seconds(spectrum: Eigenvalues, matrix: NDArray[np.float64]) -> float:
    """Long enough for the slowest mode; where errors hide its rate, for what is not far slower than the matrix."""
    slowest = float(np.abs(spectrum.values.real).min())
    known = slowest > spectrum.errors.max()
    fastest = float(np.abs(spectrum.values).max()) if known else norm(matrix)
    return DECAY / (max(slowest, SLOWEST * fastest) or 1.0)


def _kreiss(
    matrix: NDArray[np.float64], spectrum: Eigenvalues, flow: bool, resolvent: Resolvent, rounding: float
) -> tuple[float, complex]:
    beyond = spectrum.values.real if flow else np.abs(spectrum.values) - 1
    if (beyond > spectrum.errors).any():
        return np.inf, complex(spectrum.values[np.argmax(beyond)])
    return kreiss_lower_bound(matrix, spectrum.values, resolvent, flow=flow, rounding=rounding)


def _of_grid(smallest: Smallest, grid: int) -> dict[str, xr.Variable]:
    plane = (schema.Y, schema.X)
    return {
        "smallest_singular_value": schema.variable(plane, smallest.value, "σ_min(zI − A)"),
        "lanczos_residual": schema.variable(plane, smallest.residual, "relative residual of 1/σ²_min"),
        "lanczos_iterations": schema.variable(plane, smallest.iterations, "Lanczos steps", schema.STEP),
        "converged": schema.variable(plane, smallest.converged, "the Lanczos iteration converged"),
    }


def _of_spectrum(spectrum: Eigenvalues, shape: NumericalRange, flow: bool) -> dict[str, xr.Variable]:
    mode, units = (schema.MODE,), schema.PER_SECOND if flow else schema.ONE
    values = spectrum.values.real if flow else np.abs(spectrum.values)
    name = "abscissa" if flow else "radius"
    return {
        f"spectral_{name}": schema.variable((), values.max(), f"spectral {name}", units),
        "eigenvalue": schema.variable(mode, spectrum.values, "eigenvalue", units),
        "eigenvalue_error": schema.variable(mode, spectrum.errors, "bound on the error of the eigenvalue", units),
        "condition": schema.variable(mode, spectrum.conditions, "condition of the eigenvalue"),
        "numerical_range": schema.variable((schema.ANGLE,), shape.border, "border of the numerical range", units),
        "numerical_abscissa": schema.variable((), shape.abscissa, "numerical abscissa ω(A)", units),
        "numerical_radius": schema.variable((), shape.radius, "numerical radius", units),
        "numerical_radius_error": schema.variable((), shape.radius_error, "by how much it is short at most", units),
    }


def _of_powers(powers: Powers, times: NDArray[Any], between: tuple[float, float], flow: bool) -> dict[str, xr.Variable]:
    time = (schema.TIME,)
    known = np.where(np.isnan(powers.log_norm), -np.inf, powers.log_norm)
    top = int(np.argmax(known))
    largest, when = between if between[0] > known[top] else (known[top], times[top])
    with np.errstate(over="ignore"):  # inf, and flagged
        growth = np.exp(largest)
    name = "ln ‖e^{tA}‖₂" if flow else "ln ‖Aᵏ‖₂"
    return {
        "log_power_norm": schema.variable(time, powers.log_norm, name),
        "log_power_norm_error": schema.variable(time, powers.error, f"bound on the error of {name}"),
        "log_power_norm_bound": schema.variable(time, powers.bound, f"upper bound on {name}"),
        "transient_growth": schema.variable((), growth, f"largest {name[3:]} that was met"),
        "transient_time": schema.variable((), when, "when", schema.SECOND if flow else schema.STEP),
    }


def _of_kreiss(kreiss: tuple[float, complex]) -> dict[str, xr.Variable]:
    return {
        "kreiss_constant": schema.variable((), kreiss[0], "lower bound on the Kreiss constant"),
        "kreiss_point": schema.variable((), kreiss[1], "where it is attained"),
    }


def _flags(variables: dict[str, xr.Variable]) -> dict[str, str]:
    flags = {}
    if np.isinf(variables["kreiss_constant"].values):
        flags["kreiss_constant"] = UNSTABLE
    if not np.isfinite(variables["kreiss_point"].values):
        flags["kreiss_point"] = "inf: no finite z gives more than the limit 1"
    norms = variables["log_power_norm"].values
    reasons = [DROWNED] * bool(np.isnan(norms).any()) + ["−inf: the power is exactly zero"] * bool(
        np.isneginf(norms).any()
    )
    if reasons:
        flags["log_power_norm"] = flags["log_power_norm_error"] = "; ".join(reasons)
    bounds = variables["log_power_norm_bound"].values
    if not np.isfinite(bounds).all():
        flags["log_power_norm_bound"] = "inf: no bound is known; −inf: the power is exactly zero"
    if not np.isfinite(variables["transient_growth"].values):
        flags["transient_growth"] = "inf: beyond the largest number; log_power_norm has its logarithm"
    for name in ("instability_distance", "instability_point"):
        if np.isnan(variables[name].values):
            flags[name] = NOT_STABLE
    if np.isnan(variables["close_up_half_width"].values):
        flags["close_up_half_width"] = flags["close_smallest_singular_value"] = NO_CLOSE_UP
    for name in ("condition", "eigenvalue_error"):
        if not np.isfinite(variables[name].values).all():
            flags[name] = "inf: a defective eigenvalue"
    return flags
