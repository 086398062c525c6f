"""The plane of two parameters: where a fixed point is stable, and the periods that orbits of a map settle to."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from dynlab import schema
from dynlab.diagnostics.bifurcation import plane_of_points
from dynlab.diagnostics.bifurcation.parameters import check_range, described, varied_system
from dynlab.diagnostics.fixed_points.verdict import under_input
from dynlab.errors import UserError
from dynlab.numerics.grids import blocks
from dynlab.numerics.threads import one_torch_thread
from dynlab.systems import Map, System
from dynlab.systems.autonomous import held_settings
from dynlab.systems.checked import checked
from dynlab.words import joined, number, place, share

GRID, SMALLEST_GRID = 101, 2
MAX_PERIOD = 16
OFF = 1e-2  # times ‖h‖: so far from the fixed point an orbit starts
MAX_MEMORY = 2.0**30
MOST_WORK = 2e11  # points times n³, as of the default grid and 256 states, which takes three quarters of an hour
METHOD = (
    "The fixed point to which Newton's method leads from one state, the nearest to it, is followed over the grid, from "
    "each point to its neighbours and back. All eigenvalues have the error of rounding. Of a map an "
    f"orbit is followed too, which starts {OFF:g} ‖h‖ off the fixed point, for {plane_of_points.TRANSIENT} steps. One "
    f"that then comes back within {plane_of_points.RETURNS:g} ‖h‖ after m steps, and stays "
    f"{plane_of_points.STAYS_AWAY:g} ‖h‖ away before, has the period m. One that stays away has none; all else is "
    "undecided."
)
LOST = "NaN where no fixed point was followed to"
FLAGS = {"fixed_point_state": LOST, "residual": LOST}
FLAGS["leading"] = f"{LOST}, or it lies at a kink, where no one Jacobian says"


@checked
def parameter_plane(
    system: System,
    inputs: Any = None,
    *,
    parameters: Sequence[str],
    lowest: Sequence[float],
    highest: Sequence[float],
    at: str | ArrayLike = "zero",
    at_step: int = -1,
    state: ArrayLike | None = None,
    grid: int = GRID,
    max_period: int = MAX_PERIOD,
    largest_state: float = 1e8,
    max_memory: float = MAX_MEMORY,
    seed: int = 0,
) -> xr.Dataset:
    """Return the stability of one fixed point over two parameters, and the period of what orbits near it settle to.

    Parameters
    ----------
    system : System
        It is analysed in float64 on cpu.
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        Inputs whose mean ``at="mean"`` holds.
    parameters : two str
        As in `dynlab.bifurcation`: the first along x, the second along y.
    lowest, highest : two floats each
        Their ranges.
    at, at_step
        As in `dynlab.bifurcation`.
    state : array_like, shape (state,), optional
        State at which Newton's method starts; zero by default. The fixed point that is nearest to it is followed.
    grid : int
        Points in each direction.
    max_period : int
        The longest period that is looked for.
    largest_state : float
        An orbit is cut where some abs(h_i) exceeds it.
    max_memory : float
        In bytes; the grid is computed in blocks that stay below.
    seed : int
        Seed of the direction in which orbits start beside the fixed point.

    Returns
    -------
    xarray.Dataset
        ``fixed_point_state(y, x, state)``. ``leading(y, x)`` is the largest modulus of a map's multipliers, of a flow
        the largest real part. ``stable(y, x)`` is 1, 0, or −1 undecided, beside ``unstable_directions``, ``residual``
        and ``converged``. Of a map ``period(y, x)`` is 0 where there is none, −1 where the orbit left
        the bound or was no number, and −2 undecided.

    Raises
    ------
    UserError
        As `dynlab.bifurcation`; for a grid too large for `max_memory`, and one that takes hours.

    Examples
    --------
    >>> from dynlab.systems import create
    >>> ds = parameter_plane(create("henon"), parameters=("a", "b"), lowest=(0, 0.1), highest=(1, 0.3), grid=5)
    >>> ds["period"].values[-1].tolist()
    [1, 1, 2, 2, 4]
    """
    _check(parameters, lowest, highest, grid, max_period, largest_state, max_memory, system.state_size)
    varied = varied_system(system, inputs, tuple(parameters), at, at_step, lowest, highest)
    start = _start(state, system.state_size)
    x, y = (np.linspace(low, high, grid) for low, high in zip(lowest, highest, strict=True))
    is_map = isinstance(system, Map)
    with one_torch_thread():
        plane = plane_of_points.Plane(varied, grid, max_memory)
        fixed, first = plane.fixed_point(start)
        period = plane.periods(_beside(fixed, start, seed), max_period, largest_state) if is_map else None
    settings = {"parameters": list(parameters), "lowest": [*map(float, lowest)], "highest": [*map(float, highest)]}
    settings |= held_settings(system, at, varied.original) | {"state": start.tolist(), "grid": grid, "seed": seed}
    settings |= {"max_period": max_period, "largest_state": largest_state, "max_memory": max_memory}
    found = _variables(fixed, period, grid, is_map)
    said = _verdict(fixed, (x[first % grid], y[first // grid]), first, period, parameters, is_map, largest_state)
    is_held = system.network_input_size and not any(name.startswith("input") for name in parameters)
    return schema.dataset(
        found,
        system=system.name,
        source=system.source,
        settings=settings | {"dtype": "float64", "device": "cpu"},
        verdict=under_input(said, at) if is_held else said,
        method=METHOD,
        coords={
            schema.X: schema.variable((schema.X,), x, described(parameters[0])),
            schema.Y: schema.variable((schema.Y,), y, described(parameters[1])),
        },
        flags=schema.not_finite(found, FLAGS),
    )


def _start(state: ArrayLike | None, size: int) -> NDArray[np.float64]:
    start = np.zeros(size) if state is None else np.asarray(state, dtype=float)
    if start.shape != (size,) or not np.isfinite(start).all():
        raise UserError(f"state= must be {size} finite numbers, got shape {start.shape}.")
    return start


def _check(
    parameters: Sequence[str],
    lowest: Sequence[float],
    highest: Sequence[float],
    grid: int,
    max_period: int,
    largest_state: float,
    max_memory: float,
    n: int,
) -> None:
    if len(parameters) != 2 or len(set(parameters)) != 2 or len(lowest) != 2 or len(highest) != 2:
        raise UserError(f"A plane is spanned by two different parameters with a range each, got {list(parameters)}.")
    for name, low, high in zip(parameters, lowest, highest, strict=True):
        check_range(name, low, high)
    if grid < SMALLEST_GRID or max_period < 1 or not largest_state > 0:
        raise UserError(
            f"The grid needs at least 2 points, max_period 1, and largest_state must be positive; got {grid}, "
            f"{max_period} and {largest_state}."
        )
    blocks(grid * grid, 8.0 * n * n, max_memory, 8.0 * grid * grid * (n + 8))  # refused before anything is made
    if grid**2 * n**3 > MOST_WORK:
        raise UserError(
            f"A grid of {grid} x {grid} fixed points of {n:,} states takes hours: --grid (grid=) may be at most "
            f"{int((MOST_WORK / n**3) ** 0.5)} here, and at least {SMALLEST_GRID}."
        )


def _beside(fixed: plane_of_points.Fixed, start: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Return where orbits start: beside the fixed point, or where there is none beside `start`."""
    states = np.where(fixed.converged[:, None], fixed.states, start)
    direction = np.random.default_rng(seed).standard_normal(len(start))
    size = np.linalg.norm(states, axis=1, keepdims=True)
    size = np.where(size > 0, size, size.max() or 1.0)
    begin: NDArray[np.float64] = states + OFF * size * direction / np.linalg.norm(direction)
    return begin


def _variables(
    fixed: plane_of_points.Fixed, period: NDArray[np.int64] | None, grid: int, is_map: bool
) -> dict[str, xr.Variable]:
    def over(values: NDArray[Any], long_name: str, units: str = schema.ONE) -> xr.Variable:
        return schema.variable((schema.Y, schema.X), values.reshape(grid, grid), long_name, units)

    leading = "largest |μ| of the fixed point" if is_map else "largest Re λ of the equilibrium"
    variables = {
        "fixed_point_state": schema.variable(
            (schema.Y, schema.X, schema.STATE), fixed.states.reshape(grid, grid, -1), "state h*"
        ),
        "leading": over(fixed.leading, leading, schema.ONE if is_map else schema.PER_SECOND),
        "stable": over(fixed.stable, "1 stable, 0 unstable, −1 undecided"),
        "unstable_directions": over(fixed.unstable, "directions that grow"),
        "residual": over(fixed.residual, "residual ‖G‖₂"),
        "converged": over(fixed.converged, "converged"),
    }
    if period is not None:
        variables["period"] = over(period, "period of what the orbit settles to", schema.STEP)
    return variables


def _verdict(
    fixed: plane_of_points.Fixed,
    there: tuple[float, float],
    first: int,
    period: NDArray[np.int64] | None,
    parameters: Sequence[str],
    is_map: bool,
    largest: float,
) -> str:
    noun = "fixed point" if is_map else "equilibrium"
    plane = f"the plane of {joined(parameters)}"
    if not fixed.converged.any():
        text = f"Newton's method reached no {noun} on {plane}"
    else:
        where = joined([f"{name} = {number(value)}" for name, value in zip(parameters, there, strict=True)])
        text = f"The {noun} followed from {place(fixed.states[first])} at {where} is stable on "
        text += f"{share((fixed.stable == 1).mean())} of {plane}"
        rest = {"undecided": fixed.converged & (fixed.stable < 0), "not followed to": ~fixed.converged}
        said = [f"{what} on {share(some.mean())}" for what, some in rest.items() if some.any()]
        text += f" ({joined(said)})" if said else ""
    if period is None:
        return text + "."
    longer = [str(one) for one in sorted(set(period[period > 1].tolist()))]
    parts = [f"at rest on {share((period == 1).mean())}"]
    parts += [f"on orbits of the periods {joined(longer)} on {share((period > 1).mean())}"] if longer else []
    words = {plane_of_points.APERIODIC: "without a period", plane_of_points.UNDECIDED: "undecided"}
    words |= {plane_of_points.CUT: f"outside |h_i| ≤ {number(largest)}, or at no number,"}
    parts += [f"{what} on {share((period == code).mean())}" for code, what in words.items() if (period == code).any()]
    return f"{text}. Orbits beside it end {joined(parts)}."
