"""How far a Jacobian's eigenvalues may be trusted: pseudospectra, and what grows before it decays."""

from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from dynlab import schema
from dynlab.arguments import check_at_least, check_positive
from dynlab.diagnostics.pseudospectrum import result
from dynlab.diagnostics.pseudospectrum.followed import flow_followed, map_followed
from dynlab.diagnostics.pseudospectrum.kreiss import kreiss_constant
from dynlab.diagnostics.pseudospectrum.nearest import first_touched
from dynlab.diagnostics.pseudospectrum.numerical_range import numerical_range
from dynlab.diagnostics.pseudospectrum.plane import close_up, on_grid, window
from dynlab.diagnostics.pseudospectrum.verdict import verdict
from dynlab.errors import UserError
from dynlab.jacobians import jacobian_and_error
from dynlab.numerics.arrays import frobenius
from dynlab.numerics.eigenvalues import ARRAYS, eigenvalues
from dynlab.numerics.eigenvalues import METHOD as EIGENVALUES
from dynlab.numerics.grids import MEBIBYTE, check_grid
from dynlab.numerics.resolvent import Resolvent
from dynlab.numerics.singular_values import ALL_UP_TO
from dynlab.systems import Flow, System, frozen
from dynlab.systems.checked import checked
from dynlab.systems.held import held_input, number_type

GRID, COARSE_GRID = 101, 51  # points of the window in each direction, of a large state the second
MAX_MEMORY, OF_LARGE = 256 * 2**20, 2**31  # bytes; up to the second where the Jacobian of a large state needs them
LARGEST_GRID = 4096  # points in each direction
COPIES = 8  # arrays of the size of the whole matrix, beside those of its largest block's discs
LARGEST_ENTRY = 1e150  # of the matrix: squares of larger ones overflow
METHOD = (
    f"{EIGENVALUES}. Resolvent: a real Schur form, then inverse Lanczos with triangular solves for all points of the "
    "grid. They go on until 1/σ_min² has a relative residual of 1e-10. "
    "σ_min has an absolute error of about n ε ‖A‖_F besides. The numerical range is found by its "
    "supporting lines at 180 angles. The Kreiss constant is the largest value over samples "
    "outside the stable region. The best of them are climbed by windows that shrink, and each has what rounding can "
    "add taken off, so that it is a lower bound. It is infinite where an eigenvalue is unstable beyond its error. "
    "Norms of powers come from repeated multiplication in log scale. Of a flow the largest one is looked for between "
    f"the powers too, at times that resolve every mode that is still there, and refined. Of more than {ALL_UP_TO} "
    "states norms and supporting lines come from Lanczos's iteration, to residuals of 1e-10 and 1e-8"
)
KINKED = 1e-3  # of the largest entry: an entry whose error is larger is that of another side of a kink


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
    max_memory : float, optional
        Bytes: the grid is computed in blocks that stay below. What cannot is refused before anything is allocated. 256
        MiB where it is not given, and what the Jacobian of a large state needs, up to 2 GiB.
    state_description : str
        Of which step of a trajectory these are, for the verdict: "step 128 of sequence 0".
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
    usual = GRID if system.state_size <= ALL_UP_TO else COARSE_GRID
    coarser, grid = grid is None and usual < GRID, usual if grid is None else grid
    max_memory = _allowed(system, grid, max_memory)
    _check(system, extent, steps, seconds)
    flow = isinstance(system, Flow)
    matrix, wrong, where = _matrix(system, state, at, at_step, dtype, device)
    spectrum = eigenvalues(matrix, wrong, system.blocks)
    if not np.isfinite(spectrum.values).all():
        raise UserError("The eigenvalues of that Jacobian did not converge: its entries differ too much in size.")
    shape = numerical_range(matrix)
    x, y = window(spectrum.values, shape, grid, extent, flow)
    resolvent = Resolvent(matrix, system.blocks, max_memory=max_memory, seed=seed)
    touched = first_touched(resolvent, spectrum, flow=flow)
    followed = (
        flow_followed(matrix, wrong, spectrum, seconds, steps)
        if flow
        else map_followed(matrix, wrong, steps, system.blocks)
    )
    variables = (
        result.of_grid(on_grid(resolvent, x, y))
        | result.of_spectrum(spectrum, shape, flow)
        | result.of_border(touched, *close_up(resolvent, spectrum.values, touched, float(y[-1]), grid), flow)
        | result.of_powers(followed, flow)
        | result.of_kreiss(kreiss_constant(matrix, spectrum, resolvent, flow=flow, rounding=frobenius(wrong)))
    )
    lasts = float(followed.times[-1]) if flow else None
    ds = schema.dataset(
        variables,
        system=system.name,
        source=system.source,
        settings=where
        | {"grid": grid, "extent": extent, "steps": steps, "seconds": lasts, "flow": flow}
        | {"max_memory": max_memory, "dtype": dtype, "device": device, "seed": seed, "config": system.json_config},
        verdict=lambda ds: verdict(ds, at, state_description),
        method=METHOD,
        coords=result.coordinates(x, y, followed.times, flow),
        flags=result.flags(variables),
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


def _allowed(system: System, grid: int, max_memory: float | None) -> float:
    """How many bytes may be taken; raises for a grid and a matrix that do not fit."""
    needed = 8 * (ARRAYS * max(system.blocks) ** 2 + COPIES * system.state_size**2 + 3 * grid**2)
    allowed = max(MAX_MEMORY, min(needed, OF_LARGE)) if max_memory is None else max_memory
    check_grid(grid, LARGEST_GRID, 8 * 3, allowed, "points")
    if needed > allowed:
        raise UserError(
            f"The Jacobian of {system.state_size:,} units needs about {needed / MEBIBYTE:,.0f} MiB, more than the "
            f"{allowed / MEBIBYTE:,.0f} MiB allowed: take a larger --max-memory."
        )
    return allowed


def _check(system: System, extent: float | None, steps: int, seconds: float | None) -> None:
    """Raise for sizes below what they must be, and for the seconds of a map."""
    check_at_least(1, steps=steps)
    check_positive(extent=extent, seconds=seconds)
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
