"""How far a Jacobian's eigenvalues may be trusted: pseudospectra, and what grows before it decays."""

from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike

from dynlab import schema
from dynlab.arguments import check_at_least, check_positive
from dynlab.diagnostics.pseudospectrum.border import instability, kreiss_constant
from dynlab.diagnostics.pseudospectrum.numerical_range import numerical_range
from dynlab.diagnostics.pseudospectrum.plane import close_up, on_grid, window
from dynlab.diagnostics.pseudospectrum.powers import flow_norms, largest_exponential, power_norms
from dynlab.diagnostics.pseudospectrum.variables import REASONS, variables
from dynlab.diagnostics.pseudospectrum.verdict import verdict
from dynlab.errors import UserError
from dynlab.numerics.arrays import Real, frobenius
from dynlab.numerics.eigenvalues import ARRAYS, eigenvalues
from dynlab.numerics.eigenvalues import METHOD as EIGENVALUES
from dynlab.numerics.grids import MEBIBYTE, check_grid
from dynlab.numerics.resolvent import Resolvent
from dynlab.numerics.singular_values import ALL_UP_TO
from dynlab.program.differentiation import jacobian_and_error
from dynlab.systems import Flow, System, frozen
from dynlab.systems.checked import checked
from dynlab.systems.held import held_input, number_type

GRID, COARSE_GRID = 101, 51  # points of the window in each direction, of a large state the second
MAX_MEMORY, OF_LARGE = 256 * 2**20, 2**31  # bytes; up to the second where the Jacobian of a large state needs them
LARGEST_GRID = 4096  # points in each direction
OF_POINT = 8 * 3  # bytes that the Dataset holds of each
LARGEST_ENTRY = 1e150  # of the matrix: squares of larger ones overflow
METHOD = (
    f"{EIGENVALUES}. Resolvent: a Schur form, then inverse Lanczos with triangular solves for all points of the grid, "
    "until 1/σ_min² has a relative residual of 1e-10. Besides, σ_min has an absolute error of about n ε ‖A‖_F. The "
    "numerical range comes from its supporting lines. The Kreiss constant is the largest value over samples outside "
    "the stable region, refined by windows that shrink and less what rounding can add: a lower bound. Norms of powers "
    "come from repeated multiplication in log scale. The largest norm of a flow is looked for between the powers too"
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
        Bytes for the points of the grid that are worked on at once, and for the matrix. 256 MiB where it is not given,
        and what the Jacobian of a large state needs, up to 2 GiB.
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
    points = grid or usual
    max_memory = _allowed(system, points, max_memory)
    check_at_least(1, steps=steps)
    check_positive(extent=extent, seconds=seconds)
    flow = isinstance(system, Flow)
    if seconds is not None and not flow:
        raise UserError("seconds is a flow's; how long a map is followed is said by its steps.")
    matrix, wrong, where = _matrix(system, state, at, at_step, dtype, device)
    spectrum = eigenvalues(matrix, wrong, system.blocks)
    if not np.isfinite(spectrum.values).all():
        raise UserError("The eigenvalues of that Jacobian did not converge: its entries differ too much in size.")
    shape = numerical_range(matrix)
    x, y = window(spectrum.values, shape.border, points, extent, flow)
    resolvent = Resolvent(matrix, system.blocks, max_memory=max_memory, seed=seed)
    touched = instability(resolvent, spectrum, flow=flow)
    if flow:
        powers = flow_norms(matrix, wrong, spectrum, seconds, steps)
        largest = largest_exponential(matrix, powers)
    else:
        powers = power_norms(matrix, steps, wrong)
        top = int(np.nan_to_num(powers.log_norm, nan=-np.inf).argmax())
        largest = float(powers.log_norm[top]), float(top)
    found = variables(
        on_grid(resolvent, x, y),
        spectrum,
        shape,
        touched,
        close_up(resolvent, spectrum.values, touched[1], float(y[-1]), points),
        powers,
        largest,
        kreiss_constant(matrix, spectrum, resolvent, flow=flow, rounding=frobenius(wrong)),
        flow,
    )
    lasts, units = float(powers.times[-1]) if flow else None, schema.PER_SECOND if flow else schema.ONE
    ds = schema.dataset(
        found,
        system=system.name,
        source=system.source,
        settings=where
        | {"grid": points, "extent": extent, "steps": steps, "seconds": lasts, "flow": flow}
        | {"max_memory": max_memory, "dtype": dtype, "device": device, "seed": seed, "config": system.json_config},
        verdict=lambda ds: verdict(ds, at, state_description),
        method=METHOD,
        coords={
            schema.X: schema.variable((schema.X,), x, "Re z", units),
            schema.Y: schema.variable((schema.Y,), y, "Im z", units),
            schema.TIME: schema.time_coordinate(powers.times, schema.SECOND if flow else schema.STEP),
        },
        flags=schema.not_finite(found, REASONS),
    )
    if grid is None and usual < GRID:
        ds.attrs["verdict"] += (
            f" The window has {usual} points in each direction, as the state has {system.state_size:,} dimensions; "
            f"a larger --grid (in Python grid=) takes more."
        )
    return ds


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
