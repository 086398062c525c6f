"""The plane of two parameters: where a fixed point is stable, and the periods that orbits of a map settle to."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from dynlab import schema
from dynlab.arguments import check_at_least, check_positive
from dynlab.diagnostics.bifurcation import plane_of_points
from dynlab.diagnostics.bifurcation.parameters import check_range, described, varied_system
from dynlab.diagnostics.fixed_points.verdict import under_input
from dynlab.errors import refuse
from dynlab.numerics.arrays import Real
from dynlab.numerics.grids import check_memory
from dynlab.numerics.threads import one_torch_thread
from dynlab.systems import Map, System
from dynlab.systems.autonomous import held_settings
from dynlab.systems.checked import checked
from dynlab.words import first_that_holds, joined, number, place, share

OFF = 1e-2  # times ‖h‖: so far from the fixed point an orbit starts
MOST_WORK = 2e11  # points times n³, as of the default grid and 256 states, which takes three quarters of an hour
METHOD = (
    "The fixed point to which Newton's method leads from one state, the nearest to it, is followed over the grid, from "
    "each point to its neighbours and back. All eigenvalues have the error of rounding. Of a map an "
    f"orbit is followed too, which starts {OFF:g} ‖h‖ off the fixed point, for {plane_of_points.TRANSIENT} steps. One "
    f"that then comes back within {plane_of_points.RETURNS:g} ‖h‖ after m steps, and stays "
    f"{plane_of_points.STAYS_AWAY:g} ‖h‖ away before, has the period m. One that stays away has none; all else is "
    "undecided."
)
REAL_PART = "largest Re λ of the equilibrium"
LOST = "NaN where no fixed point was followed to"
REASONS = {
    "fixed_point_state": LOST,
    "residual": LOST,
    "leading": f"{LOST}, or it lies at a kink, where no one Jacobian says",
}


@checked
@one_torch_thread()
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
    grid: int = 101,
    max_period: int = 16,
    largest_state: float = 1e8,
    max_memory: float = 2.0**30,
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
        Names as in `dynlab.bifurcation`, the first along x, the second along y.
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
        Bytes: a grid whose result takes more is refused.
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
    start = np.zeros(system.state_size) if state is None else np.asarray(state, dtype=float)
    _check(parameters, lowest, highest, grid, max_period, largest_state, max_memory, start, system.state_size)
    varied = varied_system(system, inputs, tuple(parameters), at, at_step, lowest, highest)
    x, y = (np.linspace(low, high, grid) for low, high in zip(lowest, highest, strict=True))
    is_map, over = isinstance(system, Map), (schema.Y, schema.X)
    plane = plane_of_points.Plane(varied, grid)
    states, reached, first = plane.fixed_point(start)
    residual, leading, stable, unstable = plane.judged(states)
    begin = _beside(np.where(reached[:, None], states, start), seed)
    period = plane.periods(begin, max_period, largest_state) if is_map else None
    words, unit = ("largest |μ| of the fixed point", schema.ONE) if is_map else (REAL_PART, schema.PER_SECOND)
    table: dict[str, tuple[Any, ...]] = {
        "leading": (leading, words, unit),
        "stable": (stable, "1 stable, 0 unstable, −1 undecided"),
        "unstable_directions": (unstable, "directions that grow"),
        "residual": (residual, "residual ‖G‖₂"),
        "converged": (reached, "converged"),
        "period": (period, "period of what the orbit settles to", schema.STEP),
    }
    rows = {name: (over, part.reshape(grid, grid), *told) for name, (part, *told) in table.items() if part is not None}
    return schema.result(
        system,
        rows | {"fixed_point_state": ((*over, schema.STATE), states.reshape(grid, grid, -1), "state h*")},
        settings=held_settings(system, at, varied.original)
        | {"parameters": list(parameters), "lowest": [*map(float, lowest)], "highest": [*map(float, highest)]}
        | {"state": start.tolist(), "grid": grid, "max_period": max_period, "largest_state": largest_state}
        | {"max_memory": max_memory, "seed": seed, "dtype": "float64", "device": "cpu"},
        verdict=lambda ds: _verdict(ds, first, at if system.network_input_size else None),
        method=METHOD,
        coords=schema.plane_axes((x, y), map(described, parameters)),
        reasons=REASONS,
    )


def _check(
    parameters: Sequence[str],
    lowest: Sequence[float],
    highest: Sequence[float],
    grid: int,
    max_period: int,
    largest_state: float,
    max_memory: float,
    start: Real,
    n: int,
) -> None:
    check_memory(8.0 * n * n, max_memory, 8.0 * grid * grid * (n + 8))  # refused before anything is made
    spanned = len(parameters) == len(set(parameters)) == len(lowest) == len(highest) == 2
    refuse(
        {
            f"state= must be {n} finite numbers, got shape {start.shape}.": (
                start.shape != (n,) or not np.isfinite(start).all()
            ),
            f"A plane is spanned by two different parameters with a range each, got {list(parameters)}.": not spanned,
            f"A grid of {grid} x {grid} fixed points of {n:,} states takes hours: --grid (grid=) may be at most "
            f"{int((MOST_WORK / n**3) ** 0.5)} here, and at least 2.": grid**2 * n**3 > MOST_WORK,
        }
    )
    check_positive(largest_state=largest_state)
    check_at_least(2, grid=grid)
    check_at_least(1, max_period=max_period)
    for name, low, high in zip(parameters, lowest, highest, strict=True):
        check_range(name, low, high)


def _beside(states: Real, seed: int) -> Real:
    """Return where orbits start beside states (place, n)."""
    direction = np.random.default_rng(seed).standard_normal(states.shape[1])
    size = np.linalg.norm(states, axis=1, keepdims=True)
    size = np.where(size > 0, size, size.max() or 1.0)
    return np.asarray(states + OFF * size * direction / np.linalg.norm(direction))


def _verdict(ds: xr.Dataset, first: int, at: Any) -> str:
    """Return the sentences on a fixed point that is followed from the place `first`; the input is held `at`, if any."""
    noun, names = "fixed point" if "period" in ds else "equilibrium", schema.settings(ds)["parameters"]
    y, x = np.unravel_index(first, ds["leading"].shape)
    where = joined([f"{names[0]} = {number(float(ds[schema.X][x]))}", f"{names[1]} = {number(float(ds[schema.Y][y]))}"])
    state = place(ds["fixed_point_state"].values[y, x])
    stable, converged, plane = ds["stable"].values, ds["converged"].values, f"the plane of {joined(names)}"
    rest = {"undecided": converged & (stable < 0), "not followed to": ~converged}
    told = joined([f"{what} on {share(some.mean())}" for what, some in rest.items() if some.any()])
    followed = f"The {noun} followed from {state} at {where} is stable on {share((stable == 1).mean())} of {plane}"
    cases = {
        f"Newton's method reached no {noun} on {plane}.": not converged.any(),
        f"{followed}{f' ({told})' * bool(told)}.": True,
    }
    has_input = at is not None and not any(name.startswith("input") for name in names)
    return under_input(first_that_holds(cases) + (_periods(ds) if "period" in ds else ""), at, has_input)


def _periods(ds: xr.Dataset) -> str:
    period = ds["period"].values
    longer = joined([str(one) for one in np.unique(period[period > 1])])
    bound = number(schema.settings(ds)["largest_state"])
    ends = {
        "at rest": period == 1,
        f"on orbits of the periods {longer}": period > 1,
        "without a period": period == plane_of_points.APERIODIC,
        "undecided": period == plane_of_points.UNDECIDED,
        f"outside |h_i| ≤ {bound}, or at no number,": period == plane_of_points.CUT,
    }
    parts = [f"{what} on {share(some.mean())}" for what, some in ends.items() if some.any()]
    return f" Orbits beside it end {joined(parts)}."
