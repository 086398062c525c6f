"""The attractors that a plane of starts leads to, and their basins."""

from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike

from dynlab import schema
from dynlab.arguments import check_at_least, check_positive
from dynlab.diagnostics.basins import variables
from dynlab.diagnostics.basins.plane import plane_of_starts
from dynlab.errors import UserError
from dynlab.numerics.arrays import Real
from dynlab.numerics.grids import check_grid
from dynlab.numerics.merging import merged
from dynlab.numerics.roots import solve
from dynlab.systems import Euler, System, frozen
from dynlab.systems.autonomous import Held, held_settings
from dynlab.systems.autonomous_jacobians import displacement_matrices
from dynlab.systems.checked import checked
from dynlab.trajectories.attractors import classify
from dynlab.trajectories.constant_input import under_constant_input
from dynlab.trajectories.cycles import Attractor, cycles
from dynlab.trajectories.simulation import simulate

GRID, SMALLEST_GRID, LARGEST_GRID = 151, 4, 4096  # starts in each direction
WORK = 2.0**37  # multiplications of all starts' steps where no grid is asked for: some ten seconds of two cores
FOLLOWED_WORK = 2.0**19  # multiplications of a step of a network whose orbits that do not repeat are followed further
HELD = 6  # numbers of each start beside the states where it starts and ends
LARGEST_STATE, BEYOND_WINDOW = 1e10, 1e3  # an orbit has left beyond that, and beyond so many times the window's reach
IN_BOX = 1024  # starts in the box of a system of more than two states, and a tenth of the grid's at most
SEARCHED, SEARCH_WORK = 256, 2.0**33  # starts of the search for fixed points, fewer of large networks: n³ each
UNREACHED = "0: attractors that no start on the plane reaches"
METHOD = (
    "Every start is followed for the steps that the settings name, and longer while it comes nearer to an attractor. "
    "Fixed points and cycles are those to which Newton's method leads from ends that repeat within 1e-9, and stable "
    "fixed points that it finds from starts in the box. A start belongs to one within 1e-6 of its scale, or within "
    "1e-3 where it comes nearer. One of the orbits that do not repeat is followed for 4,096 steps. A positive exponent "
    "is chaos, a zero and negative ones are a closed curve where the states lie on one, two zeros are a torus. Chaos "
    "from which orbits reach another attractor is none. An orbit drifts where h + s (F(h) − h) "
    "moves by the same step up to s = 1e6 (1 + ‖h‖)/‖F(h) − h‖. Where the orbits of a planar flow that are refined are "
    "closed and not isolated, so are those that return within 1 %. All else is undecided"
)


@checked
def basins(
    system: System,
    inputs: Any = None,
    *,
    states: ArrayLike | None = None,
    at: str | ArrayLike = "zero",
    at_step: int = -1,
    grid: int | None = None,
    extent: float | None = None,
    box: ArrayLike | None = None,
    steps: int = 2000,
    follow: bool | None = None,
    largest_state: float | None = None,
    max_memory: float = 256 * 2**20,
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """Find the attractors that starts on a plane lead to, under a constant input, and which start leads to which.

    Parameters
    ----------
    system : Map or Flow
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        Inputs that drive the network through the states that span the plane: their two leading principal components.
    states : array_like, shape (..., state), optional
        These states, in place of those that `inputs` lead to. Without either a planar system has its own plane, and a
        larger one the plane of the states on orbits from random starts.
    at, at_step : as in `dynlab.fixed_points`
        The input that is held, and the step whose parameters are.
    grid : int, optional
        Starts in each direction: 151, and fewer of a large network, whose steps would take minutes.
    extent : float, optional
        Half the width of the window; wide enough for `states` where it is not given.
    box : array_like, shape (2, state), optional
        The lowest and the highest state of the box from which further starts are drawn; of two states the window.
    steps : int
        Steps that each start is followed, of a flow in quarters of its fastest time scale; up to ten times as long
        while it comes nearer to an attractor.
    follow : bool, optional
        Follow orbits that neither rest nor repeat further, to say what they are on. By default so, unless the network
        is so large that this takes minutes.
    largest_state : float, optional
        An orbit has left where a state exceeds it, or is no number: 1e10, or a thousand times the window's reach.
    max_memory : float
        Bytes: a grid whose ends alone take more is refused.
    dtype, device : str
        Number type of the orbits, and where they are computed.
    seed : int
        Seed of the random starts.

    Returns
    -------
    xarray.Dataset
        ``basin(y, x)``, the number of the attractor, −1 where the orbit left and −2 undecided. It is −3, and −4, … of
        further directions, where the orbit drifts, with ``outward_step(axis, y, x)`` in the plane's coordinates.
        ``steps(y, x)``, how many were taken. Of each attractor ``kind(attractor)``, ``attractor_class`` ("stable fixed
        point", …), ``period``, ``stable`` (1, 0, −1 undecided), ``residual`` = ‖F^p(h) − h‖₂, ``largest_exponent`` with
        ``largest_exponent_error``, ``attractor_state(attractor, state)`` and, in the plane's coordinates,
        ``attractor_x(attractor, iteration)``, ``attractor_y``. ``share`` of the starts on the plane and ``box_share``
        of random ones in the box about it, with their binomial ``share_error`` and ``box_share_error``.
        ``leaving_share`` and ``undecided_share`` of the starts. ``missed_attractors``, how many are listed that no
        start on the plane reaches: their share is 0. ``basin_entropy``, ``boundary_basin_entropy`` with its standard
        error, and ``boundary_boxes``. The plane's ``origin(state)``, ``direction(axis, state)``.

    Raises
    ------
    UserError
        For an input or states of the wrong width, sizes below what they must be, and a grid too large for `max_memory`.

    Notes
    -----
    A start on the border of two basins may end on a saddle. Then that is listed as unstable, and belongs to no basin
    when the basin entropy is taken. Nor does what is not told to be stable, or is not isolated.

    References
    ----------
    Daza et al., "Basin entropy", Scientific Reports 6 (2016): a boundary basin entropy above ln 2 means a fractal
    border, of more than two basins.

    Examples
    --------
    >>> from dynlab.systems import from_function
    >>> ds = basins(from_function(lambda h, x: torch.tanh(2 * h), state_size=2), grid=20)
    >>> ds["stable"].values.tolist(), ds["share"].values.tolist()
    ([1, 1, 1, 1], [0.25, 0.25, 0.25, 0.25])
    """
    each = sum(one.numel() for one in system.parameters()) or system.state_size  # about the multiplications of a step
    asked, usual = grid, int(np.clip(np.sqrt(WORK / (each * max(steps, 1))), SMALLEST_GRID, GRID))
    grid = usual if grid is None else grid
    _check(system, grid, steps, extent, largest_state, max_memory)
    held, driven = under_constant_input(system, inputs, at, at_step, dtype, device)
    exact = Held(frozen(system), held.input.double().cpu(), held.t)
    states = _visited(system, inputs, dtype, device) if states is None and inputs is not None else states
    plane = plane_of_starts(exact, states, extent, box, largest_state or LARGEST_STATE, seed)
    bound = largest_state or max(LARGEST_STATE, BEYOND_WINDOW * plane.reach)
    x, y = (np.linspace(ends[0], ends[1], grid) for ends in plane.window)
    on_plane = plane.states(x, y).reshape(-1, system.state_size)
    in_box = plane.drawn(min(IN_BOX, max(SEARCHED, grid**2 // 10)), seed)
    starts = np.concatenate([on_plane, in_box])
    known = _stable_points(exact, in_box if len(in_box) else on_plane, seed)
    sets = each <= FOLLOWED_WORK if follow is None else follow
    ends = classify(exact, starts, steps=steps, known=known, bound=bound, sets=sets, seed=seed, followed_by=held)
    found = variables.variables(ends, grid, plane, exact.is_flow)
    return schema.result(
        system,
        found,
        settings=held_settings(system, at, exact)
        | {"inputs": None if inputs is None or driven is None else list(driven.shape), "plane_share": plane.share}
        | {"states": None if states is None else list(np.shape(states)), "box": plane.box.tolist(), "grid": grid}
        | {"extent": float(np.ptp(plane.window, axis=1).max()) / 2, "steps": steps, "follow": sets, "seed": seed}
        | {"largest_state": bound, "max_memory": max_memory, "dtype": dtype, "device": device}
        | ({"step_size": system.step_size} if isinstance(system, Euler) else {}),
        verdict=lambda ds: variables.verdict(ds, exact.is_flow, each if asked is None and grid < GRID else 0),
        method=METHOD,
        coords=variables.coordinates(x, y, system.state_names),
        reasons=variables.REASONS,
        flags={"share": UNREACHED} if found["missed_attractors"].values else {},
    )


def _visited(system: System, inputs: Any, dtype: str, device: str) -> Real:
    """Return the finite states (k, state) after the first along the inputs."""
    states: Real = simulate(system, inputs, dtype=dtype, device=device)["trajectory"].values[:, 1:]
    return states[np.isfinite(states).all(axis=2)]


def _check(
    system: System, grid: int, steps: int, extent: float | None, largest_state: float | None, max_memory: float
) -> None:
    """Raise for one state alone, sizes below what they must be, and a grid that does not fit."""
    if system.state_size < 2:
        raise UserError("A plane of starts needs at least two states, and the system has one: see its fixed points.")
    each = 8 * (HELD + 2 * system.state_size)
    check_grid(grid, LARGEST_GRID, each, max_memory, f"starts of {system.state_size:,} units")
    check_at_least(1, steps=steps)
    check_positive(extent=extent, largest_state=largest_state)


def _stable_points(held: Held, starts: Real, seed: int) -> list[Attractor]:
    """Return the stable fixed points (equilibria) to which Newton's method leads from some of the starts."""
    few = min(SEARCHED, len(starts), int(SEARCH_WORK / held.system.state_size**3))
    some = np.random.default_rng(seed).choice(len(starts), few, replace=False)
    found = solve(held.displacement, lambda h, rows: displacement_matrices(held, h), torch.as_tensor(starts[some]))
    roots = found.states[found.converged].numpy()
    listed = cycles(held, 0.0 if held.is_flow else 1.0, roots[np.unique(merged(roots), return_index=True)[1]])
    return [one for one in dict.fromkeys(listed) if one is not None and one.stable == 1]
