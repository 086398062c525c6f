"""Which start ends where: the attractors that a plane of starts leads to, and their basins."""

from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from dynlab import schema
from dynlab.arguments import check_at_least, check_positive
from dynlab.diagnostics.basins import result
from dynlab.diagnostics.basins.bound import FARTHEST, LARGEST_STATE, ends_within
from dynlab.diagnostics.basins.moving import FOLLOWED
from dynlab.diagnostics.basins.outcome import outcome
from dynlab.diagnostics.basins.recognition import recognised
from dynlab.diagnostics.basins.starts import starts_on_plane
from dynlab.diagnostics.basins.verdict import verdict
from dynlab.diagnostics.fixed_points.verdict import under_input
from dynlab.driven import Driven, drive
from dynlab.errors import UserError
from dynlab.numerics.grids import check_grid
from dynlab.systems import Euler, Map, frozen
from dynlab.systems.checked import checked
from dynlab.systems.held import Held, held_input, held_settings, number_type, step_number

STEPS = 2000
GRID, SMALLEST_GRID = 151, 4  # starts in each direction where none is asked for
WORK = 2.0**37  # multiplications of all starts' steps where no grid is asked for: some ten seconds of two cores
FOLLOWED_WORK = 2.0**31  # of so many steps as one orbit is followed for where nobody says whether to
MAX_MEMORY = 256 * 2**20  # bytes
LARGEST_GRID = 4096  # starts in each direction
HELD = 6  # numbers of each start beside the states where it starts and ends
METHOD = (
    "Every start is followed for the steps that the settings name, and up to ten times as many while what it moves by "
    "still halves in half of them. It ends earlier where it moves by at most 1e-9 (1 + ‖h‖) in a step, or leaves the "
    "bound. The unit of each coordinate of h is a power of 2: the size that orbits lead it to, where that is above "
    "1000, or that of a window below 1/1000. Ends at rest are refined and verified as fixed points are. Cycles of up "
    "to 1,024 steps are found by Newton's method on F^p(h) − h, and the error of their multipliers is the rounding of "
    "the product of their Jacobians. A start belongs to one within 1e-3 (1 + ‖h‖). For what does not repeat one orbit "
    "is followed for 4,096 steps, or 16,384 where these do not decide. Four things make an invariant closed curve. "
    "The shortest tree that joins its states is a path, and the map keeps their cyclic order on it. Its length does "
    "not grow by 1 % as the number of states doubles. And every exponent but that along the curve is negative beyond "
    "its error. On a torus two exponents are zero within their errors, the others are negative, and the correlation "
    "dimension is 2. Chaos has an exponent that is positive beyond its error. Each is held against an orbit that "
    "starts 1e-8 of the states' size beside it. The set may lie in a space of fewer dimensions, or in up to eight in "
    "turn. Where that orbit gets 1e-3 away from these, the set is unstable, and the exponents within the space say "
    "what it is. Where the map preserves volume at the ends and beside them, or is affine and turns, no orbit "
    "attracts another: all of them are one family. Left out are those in a space that neighbours leave and in which "
    "volume is not preserved. An orbit runs away where F moves what lies ahead of it, h + s (F(h) − h), by the same "
    "F(h) − h within 1e-3 of its length. That is asked at s = 1 and 64, and at distances that double up to "
    "1e6 (1 + ‖h‖). All else is undecided, with the reason. An end is on a closed curve within the widest "
    "hole that these steps leave in it, on others within twice the largest distance between neighbours"
)


@checked
def basins(
    system: Map,
    inputs: Any = None,
    *,
    states: ArrayLike | None = None,
    at: str | ArrayLike = "zero",
    at_step: int = -1,
    grid: int | None = None,
    extent: float | None = None,
    steps: int = STEPS,
    follow: bool | None = None,
    largest_state: float | None = None,
    max_memory: float = MAX_MEMORY,
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """The attractors that starts on a plane lead to, under a constant input, and which start leads to which.

    Parameters
    ----------
    system : Map
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        What drives the network through the states that span the plane: their two leading principal components.
    states : array_like, shape (..., state), optional
        Those states themselves, in place of what `inputs` leads to. Without either a planar system has its own plane,
        and a larger one the plane of the states on orbits from random starts.
    at, at_step : as in `dynlab.fixed_points`
        The input that is held, and the step whose parameters are.
    grid : int, optional
        Starts in each direction: 151, and fewer of a large network, whose steps would take minutes.
    extent : float, optional
        Half the width of the window; wide enough for `states` where it is not given.
    steps : int
        How long each start is followed; one that is still coming to rest then, up to ten times as long.
    follow : bool, optional
        Whether orbits that neither rest nor repeat are followed for thousands of steps, to say what they are on. Where
        it is not given they are, unless the network is so large that this takes minutes.
    largest_state : float, optional
        An orbit is cut where its norm exceeds it, or is no number, and counted as one that leaves. Where it is not
        given it is 1e6, and beyond a window of more than 1e3 a thousand times as far as that reaches.
    max_memory : float
        Bytes: starts are followed in blocks that stay below, and refused where their ends alone do not.
    dtype, device : str
        Of the orbits; roots are refined in float64.
    seed : int
        Of random starts, and of the refinement.

    Returns
    -------
    xarray.Dataset
        ``basin(y, x)``, the number of the attractor, −1 where the orbit was cut and −2 undecided. It is −3, and −4, …
        of further directions, where the orbit runs away. ``outward_step(axis, y, x)`` is what it moves by in a step
        then, in the plane's coordinates. ``steps(y, x)``, after how many an orbit was at rest or gone. Of each
        attractor ``kind(attractor)``, ``attractor_class`` ("stable fixed point", …), ``period``, ``stable`` (1, 0, −1
        undecided), ``share`` of the starts and
        ``residual`` = ‖F^p(h) − h‖₂. Of each also ``largest_exponent`` with ``largest_exponent_error``,
        ``attractor_state(attractor, state)`` and, in the plane's coordinates, ``attractor_x(attractor, iteration)``,
        ``attractor_y``. ``leaving_share`` and ``undecided_share`` of the starts. ``missed_attractors``, how many are
        reached from some of the states that span the plane, and from no start on it. ``basin_entropy``,
        ``boundary_basin_entropy`` with its standard error, and ``boundary_boxes``. The plane's ``origin(state)``,
        ``direction(axis, state)``.

    Raises
    ------
    UserError
        For a flow, an input or states of the wrong width, sizes below what they must be, and a grid too large for
        `max_memory`.

    Notes
    -----
    A start on the border of two basins may end on a saddle, or on a cycle, a curve or chaos that repels. Then that is
    listed as unstable, and belongs to no basin when the basin entropy is taken. Nor does what is not told to be stable,
    a continuum of fixed points or cycles, or a family of orbits of which each start has its own.

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
    asked, grid = grid, usual_grid(each * max(steps, 1)) if grid is None else grid
    is_followed = each * FOLLOWED <= FOLLOWED_WORK if follow is None else follow
    _check(system, grid, steps, extent, largest_state, max_memory)
    driven = _driven(system, inputs, dtype, device)
    x, t = held_input(system, at, driven.inputs, inputs is not None), step_number(system, at_step)
    held, exact = (_held(system, x, t, *where) for where in ((dtype, device), ("float64", "cpu")))
    usual = largest_state or LARGEST_STATE
    spanning = _visited(driven, usual) if inputs is not None and states is None else states
    begin = starts_on_plane(exact, spanning, grid, extent, usual, seed)
    held, exact = begin.in_unit(held), begin.in_unit(exact)
    found, bound = ends_within(held, begin, steps, largest_state, max_memory)
    reached = outcome(begin, found, recognised(exact, found, bound, max_memory, seed, is_followed))
    variables = result.variables(reached, begin.plane)
    ds = schema.dataset(
        variables,
        system=system.name,
        source=system.source,
        settings=held_settings(system, at, exact)
        | ({"step_size": system.step_size} if isinstance(system, Euler) else {})
        | {"inputs": None if inputs is None else list(driven.inputs.shape)}
        | {"states": None if spanning is None else list(np.shape(spanning)), "plane_share": begin.plane.share}
        | {"grid": grid, "extent": begin.half, "steps": steps, "follow": is_followed, "largest_state": bound}
        | {"max_memory": max_memory, "dtype": dtype, "device": device, "seed": seed},
        method=METHOD,
        coords=result.coordinates(begin.line, begin.plane),
        flags=result.flags(variables),
    )
    told = reached.reasons, reached.basins, reached.lost(held), reached.distances(begin.unit)
    said = verdict(ds, *told, _spanned_by(system, spanning, states is not None), begin.others)
    said = under_input(said, at) if system.network_input_size else said
    return ds.assign_attrs(verdict=said + (_fewer(each, grid) if asked is None else ""))


def _spanned_by(system: Map, states: ArrayLike | None, is_given: bool) -> str:
    """What the principal components are of that span the plane of the starts; "" where it is all states."""
    if system.state_size == 2:
        return ""
    if states is None:
        return "states on orbits from random starts"
    return "the states given" if is_given else "the states that the inputs drive the network through"


def _visited(driven: Driven, largest_state: float) -> NDArray[np.float64] | None:
    """The states h_1 … h_T of driven orbits, shape (k, state), but for those beyond the bound; None where all are."""
    states = driven.states[:, 1:].double().cpu().numpy().reshape(-1, driven.system.state_size)
    within = states[(np.abs(states) <= largest_state).all(axis=1)]
    return within if len(within) else None


def _fewer(each: int, grid: int) -> str:
    """What the verdict adds where nobody asked for so few starts."""
    if grid == GRID:
        return ""
    return (
        f" To save time {grid} × {grid} starts are followed, as this network has {each:,} parameters. A larger --grid "
        f"(in Python grid=) takes more."
    )


def usual_grid(each: float) -> int:
    """Starts in each direction of a network that takes so many multiplications for one start."""
    return int(np.clip(np.sqrt(WORK / each), SMALLEST_GRID, GRID))


def _check(
    system: Map, grid: int, steps: int, extent: float | None, largest_state: float | None, max_memory: float
) -> None:
    """Raise for a flow, one state alone, sizes below what they must be, and a grid that does not fit."""
    if not isinstance(system, Map):
        raise UserError(
            f"Basins are those of a map, got the flow {system.name!r}: take the step dynlab.Euler(flow, step_size)."
        )
    if system.state_size < 2:
        raise UserError("A plane of starts needs at least two states, and the system has one: see its fixed points.")
    each = 8 * (HELD + 2 * system.state_size)
    check_grid(grid, LARGEST_GRID, each, max_memory, f"starts of {system.state_size:,} units")
    check_at_least(1, steps=steps)
    check_positive(extent=extent, largest_state=largest_state)
    if extent is not None and not 1 / FARTHEST <= extent <= FARTHEST:
        raise UserError(f"The extent must lie between {1 / FARTHEST:g} and {FARTHEST:g}, got {extent:g}.")


def _driven(system: Map, inputs: Any, dtype: str, device: str) -> Driven:
    """What drives it, or one step of nothing."""
    given = np.zeros((1, system.network_input_size)) if inputs is None else inputs
    return drive(system, given, None, dtype=dtype, device=device, seed=0, inputs_description="")


def _held(system: Map, input: torch.Tensor, t: int, dtype: str, device: str) -> Held:
    kind = number_type(dtype)
    return Held(frozen(system, kind, device), input.to(dtype=kind, device=device), t)
