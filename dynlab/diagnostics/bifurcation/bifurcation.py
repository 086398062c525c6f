"""How fixed points, periodic orbits and equilibria change with one parameter: branches and their bifurcations."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike

from dynlab import schema
from dynlab.arguments import check_at_least
from dynlab.diagnostics.bifurcation.branches import Diagram
from dynlab.diagnostics.bifurcation.equation import SolutionCurve, Vector, scale_of
from dynlab.diagnostics.bifurcation.orbit_diagram import SMALL, Visited, check_memory, visited
from dynlab.diagnostics.bifurcation.parameters import Varied, check_range, described, varied_system
from dynlab.diagnostics.bifurcation.variables import orbits_of, variables
from dynlab.diagnostics.bifurcation.verdict import verdict
from dynlab.diagnostics.fixed_points.distinct_roots import FIXED
from dynlab.diagnostics.fixed_points.layers import search
from dynlab.diagnostics.fixed_points.starting_states import driven_states, usual_starts
from dynlab.diagnostics.fixed_points.verdict import incomplete, under_input
from dynlab.errors import UserError
from dynlab.numerics.threads import one_torch_thread
from dynlab.progress import through
from dynlab.systems import Euler, Flow, Map, System
from dynlab.systems.autonomous import held_settings
from dynlab.systems.autonomous_jacobians import held_matrices
from dynlab.systems.checked import checked
from dynlab.trajectories.simulation import prepare
from dynlab.wording import number

SEARCHES = 3  # for fixed points, each at one value of the parameter
MAX_PERIOD = 8
LONGEST_STEP, LONGER_STEP = 0.01, 0.02  # of arclength, the second for networks
VALUES, FEWER_VALUES = 400, 100  # of the orbit diagram; fewer for networks
LARGEST, BEYOND_TYPICAL = (
    100.0,
    10.0,
)  # where branches are cut: or that many times the largest fixed point
MAX_MEMORY = 2.0**30
MOST_STATES = 512  # one branch without a bifurcation takes a quarter of an hour, and the time grows as n³
APART = 1e-4  # times the branches' size: orbits that end nearer end on one point
EULER_STEP = 0.1  # times a flow's own time, 1/‖∂f/∂h‖ at 0: of the map whose fixed points are its equilibria
METHOD = (
    "Branches are followed by pseudo-arclength continuation in units of the range of the parameter and of the size of "
    "the states. Steps are at most 0.01 long (0.02 beyond 8 dimensions) and turn by at most acos 0.97. A fold turns "
    "the parameter around, a branch point changes the sign of det [∂G/∂z; tangent], a flip that of det (J + 1). A "
    "pair of eigenvalues crosses the border of stability at a Neimark–Sacker or Hopf point. Each is the regular root "
    "of a minimally extended system, which Newton's method finds; its error is the first-order bound. At branch points "
    "the other branch follows from the algebraic branching equation, at flips the orbit of twice the period is "
    "followed. A branch point is a pitchfork where the quadratic coefficient of its normal form is 0, else it is "
    "transcritical; an imperfection below rounding is not seen. What happens at once, or without a regular root, is "
    "degenerate; a jump of the Jacobian, as of a ReLU, is a border collision and is bracketed. Branches that no search "
    "reached and that nothing connects may exist."
)


class Begun(NamedTuple):
    """The isolated fixed points (n,) at one value of the parameter, and a sentence where some are missing."""

    value: float
    states: list[Vector]
    incomplete: str


@checked
def bifurcation(
    system: System,
    inputs: Any = None,
    *,
    parameter: str,
    lowest: float,
    highest: float,
    at: str | ArrayLike = "zero",
    at_step: int = -1,
    starts: int | None = None,
    searches: int = SEARCHES,
    max_period: int = MAX_PERIOD,
    observed: int | None = None,
    values: int | None = None,
    largest_state: float | None = None,
    max_memory: float = MAX_MEMORY,
    seed: int = 0,
) -> xr.Dataset:
    """Return branches of fixed points of a map, or equilibria of a flow, in one parameter, and where they change.

    Parameters
    ----------
    system : System
        It is analysed in float64 on cpu.
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        The input that drives the network, for starts of the searches and ``at="mean"``, as in `dynlab.fixed_points`.
    parameter : str
        A number of the system (``"r"``, ``"step_size"``, ``"gamma"``), an entry of a weight ``"W[0,1]"``, a factor on
        one ``"W*"``, or of the held input ``"input[0]"``, ``"input*"``.
    lowest, highest : float
        Its range.
    at : "zero", "mean" or array_like, shape (input,)
        The input that is held.
    at_step : int
        The step whose parameters are held where they change with time; −1 is the last.
    starts : int, optional
        Number of starts of each search for fixed points, as in `dynlab.fixed_points`.
    searches : int
        Number of values of the parameter at which there is a search; branches begin at what these find.
    max_period : int
        The longest period up to which orbits are doubled at flips.
    observed : int, optional
        The coordinate that the orbits' variables hold, from 0; by default one that varies most along stable branches.
    values : int
        Number of values of the parameter in the orbit diagram, 0 leaves it out; by default 400, beyond 8 states 100.
    largest_state : float, optional
        A branch, and an orbit, is cut where some abs(h_i) exceeds it. By default 100, or ten times the largest fixed
        point that was found.
    max_memory : float
        In bytes, of the orbit diagram.
    seed : int
        Seed of the starts.

    Returns
    -------
    xarray.Dataset
        Along ``point``: ``branch_parameter``, ``branch_state(point, state)``, ``residual``, ``iterations``,
        ``point_branch`` and ``point_bifurcation``. ``branch_orbit(point, phase)`` is one coordinate of the orbit, NaN
        beyond its period. ``eigenvalue(point, mode)`` are the multipliers of the orbit, of a flow the eigenvalues, with
        ``eigenvalue_error``. ``stable`` is 1, 0, or −1 undecided, beside ``unstable_directions`` and
        ``undecided_directions``. Along ``branch``: ``branch_period``, ``branch_origin``, ``branch_ends``. Along
        ``bifurcation``: ``bifurcation_kind`` with ``_parameter``, ``_parameter_error``, ``_state``, ``_observed``,
        ``_eigenvalue`` (the critical one), ``_period``, ``_branch``, ``_residual``, ``_iterations``, ``_converged``,
        and ``_criticality`` with ``_coefficient`` and ``_coefficient_error``, the cubic one of the normal form. The
        orbit diagram is ``visited(parameter, sample, iteration)``: points of the attractor on which an orbit ends, of a
        flow local extrema. ``settled(parameter, sample)`` is 1 where it ends on one, 0 where it has come to none, and
        −1 where it left the bound or became no number. ``cycle_period(parameter, sample)`` and ``cycle_multiplier``,
        the largest modulus (of a flow Floquet's), are those of a cycle.

    Raises
    ------
    UserError
        For an unknown parameter, one that changes nothing, an empty or reversed range, numbers out of range, and more
        than 512 states.

    References
    ----------
    Kuznetsov, Elements of Applied Bifurcation Theory, chapters 4, 5 and 10; Govaerts, Numerical Methods for
    Bifurcations of Dynamical Equilibria (2000).

    Examples
    --------
    >>> from dynlab.systems import create
    >>> ds = bifurcation(create("logistic"), parameter="r", lowest=2.5, highest=3.5, max_period=2, values=0)
    >>> ds["bifurcation_kind"].values.tolist(), ds["bifurcation_parameter"].values.round(8).tolist()
    (['flip', 'flip'], [3.0, 3.44948974])
    """
    n, lowest, highest = system.state_size, float(lowest), float(highest)
    values = (VALUES if n <= SMALL else FEWER_VALUES) if values is None else values
    check_range(parameter, lowest, highest)
    _check(largest_state, starts, searches, max_period, values, observed, n, max_memory)
    varied = varied_system(system, inputs, (parameter,), at, at_step, ((lowest + highest) / 2,))
    with one_torch_thread():
        begun = [fixed_points_at(varied, p, inputs, starts, seed) for p in np.linspace(lowest, highest, searches)]
        largest = max([float(np.abs(state).max()) for one in begun for state in one.states], default=0.0)
        bound = max(LARGEST, BEYOND_TYPICAL * largest) if largest_state is None else largest_state
        diagram, beyond = _diagram(varied, begun, (lowest, highest), bound, max_period)
        orbits, grid = orbits_of(diagram), np.linspace(lowest, highest, values)
        seen = visited(diagram, grid, bound, seed) if values else None
    coordinate = _coordinate(diagram, orbits, seen) if observed is None else observed
    found = variables(diagram, orbits, parameter, coordinate)
    found |= {} if seen is None else _of_orbits(seen, coordinate, varied.held.is_flow)
    axis = {schema.PARAMETER: schema.variable((schema.PARAMETER,), grid, described(parameter))}
    settings = {"parameter": parameter, "lowest": lowest, "highest": highest, "largest_state": bound, "seed": seed}
    settings |= {"max_memory": max_memory, "starts": starts, "searches": searches, "max_period": max_period}
    settings |= {"observed": coordinate, "values": values} | held_settings(system, at, varied.held)
    said = verdict(diagram, parameter, (lowest, highest), bound, beyond, seen)
    said = under_input(said, at) if system.network_input_size and not parameter.startswith("input") else said
    missing = [f" At {parameter} = {number(one.value)}: {one.incomplete}" for one in begun if one.incomplete]
    return schema.dataset(
        found,
        system=system.name,
        source=system.source,
        settings=settings | {"dtype": "float64", "device": "cpu"},
        verdict="".join([said, *missing]),
        method=METHOD,
        coords=axis if values else {},
        flags=_flags(diagram, found, bound),
    )


def fixed_points_at(varied: Varied, value: float, inputs: Any, count: int | None, seed: int) -> Begun:
    """Return what the search of `dynlab.fixed_points` finds at one value of the parameter.

    Parameters
    ----------
    varied : Varied
    value : float
        Of the parameter.
    inputs : array_like or None
        The input that drives the network, for starts.
    count : int or None
        Random starts of a round; as many as usual where it is None.
    seed : int
    """
    held = varied.fixed(value)
    if isinstance(held.system, Flow):
        rest = torch.zeros(held.system.state_size, dtype=torch.float64)
        speed = float(torch.linalg.matrix_norm(held_matrices(held, rest), 2).nan_to_num(1.0))
        held = replace(held, system=Euler(held.system, EULER_STEP / (speed or 1.0)))
    system, visited = held.system, None
    if isinstance(varied.system, Map) and isinstance(system, Map) and system.network_input_size and inputs is not None:
        visited = driven_states(system, system.drive(prepare(system, inputs)[1]))
    found = search(held, count=count or usual_starts(system), visited=visited, seed=seed)
    states = [place.state for place in found.points if place.status == FIXED]
    return Begun(value, sorted(states, key=lambda state: float(np.linalg.norm(state))), incomplete(found))


def _diagram(
    varied: Varied, begun: Sequence[Begun], ends: tuple[float, float], bound: float, max_period: int
) -> tuple[Diagram, int]:
    """Return the branches, and how many fixed points beyond the bound one search found at most."""
    n, (lowest, highest) = varied.system.state_size, ends
    near = [[state for state in one.states if np.abs(state).max() <= bound] for one in begun]
    scale = scale_of([state for some in near for state in some], n)
    curve = SolutionCurve(varied, scale, lowest, highest - lowest)
    face = np.append(bound / scale, 1.0)
    longest = LONGEST_STEP if n <= SMALL else LONGER_STEP
    diagram = Diagram(curve, np.append(-face[:-1], 0.0), face, longest, max_period)
    for state, p in through([(state, one.value) for one, some in zip(begun, near, strict=True) for state in some]):
        diagram.start(state, p)
    return diagram, max(len(one.states) - len(some) for one, some in zip(begun, near, strict=True))


def _coordinate(diagram: Diagram, orbits: Sequence[Vector], seen: Visited | None) -> int:
    """Return the coordinate in which orbits end farthest apart, else that which varies most along the branches."""
    kinds = [one.kind for branch in diagram.branches for one in branch.solutions]
    stable = [orbit for orbit, kind in zip(orbits, kinds, strict=True) if kind.stable == 1]
    spread = [np.std(np.concatenate(some), axis=0) for some in (stable, orbits) if some]
    spread = [seen.moves if seen is not None and seen.moves.max() > APART * diagram.curve.scale.max() else [], *spread]
    return next((int(np.argmax(each)) for each in spread if len(each) and max(each) > 0), 0)


def _of_orbits(seen: Visited, coordinate: int, is_flow: bool) -> dict[str, xr.Variable]:
    what, each = f"h_{coordinate + 1}", (schema.PARAMETER, schema.SAMPLE)
    states, units = seen.states[..., coordinate], schema.SECOND if is_flow else schema.STEP
    words = f"extremum of {what}" if is_flow else f"state {what}"
    return {
        "visited": schema.variable((*each, schema.ITERATION), states, words),
        "settled": schema.variable(each, seen.settled, "1 on an attractor, 0 on none yet, −1 left the bound"),
        "cycle_period": schema.variable(each, seen.period, "period of the cycle that the orbit ends on", units),
        "cycle_multiplier": schema.variable(each, seen.multiplier, "largest |μ| of that cycle, but for a flow's own 1"),
    }


def _flags(diagram: Diagram, found: dict[str, xr.Variable], bound: float) -> dict[str, str]:
    flags = {"branch_orbit": "NaN beyond the orbit's period"}
    if not all(one.coefficient for one in diagram.bifurcations):
        flags["bifurcation_coefficient"] = flags["bifurcation_coefficient_error"] = (
            "NaN where no cubic term decides what is born: of folds, transcritical and bracketed points"
        )
    if not all(one.refined for one in diagram.bifurcations):
        flags["bifurcation_residual"] = flags["bifurcation_eigenvalue"] = "bracketed where no smooth system has a root"
    if np.isinf(found["eigenvalue_error"].values).any():
        flags["eigenvalue_error"] = "inf: at a kink, where the Jacobian is that of one side"
    if "visited" in found:
        flags["cycle_period"] = flags["cycle_multiplier"] = "NaN where an orbit ends on no cycle"
    if "visited" in found and np.isnan(found["visited"].values).any():
        flags["visited"] = (
            f"NaN where an orbit left abs(h_i) ≤ {bound:g} or was no number, or a solution has no more extrema"
        )
    return flags


def _check(
    largest_state: float | None,
    starts: int | None,
    searches: int,
    max_period: int,
    values: int,
    observed: int | None,
    size: int,
    max_memory: float,
) -> None:
    check_memory(values, size, max_memory)
    check_at_least(1, starts=1 if starts is None else starts, searches=searches, max_period=max_period)
    check_at_least(0, values=values)
    if size > MOST_STATES:
        raise UserError(
            f"Branches of {size:,} states take hours, and at most {MOST_STATES} are followed: `dynlab fixed-points` "
            f"finds the points at one value of a parameter."
        )
    if largest_state is not None and not largest_state > 0:
        raise UserError(f"largest_state= bounds abs(h_i) and must be positive, got {largest_state}.")
    if observed is not None and not 0 <= observed < size:
        raise UserError(f"observed= is one of the state's {size} coordinates, counted from 0, got {observed}.")
