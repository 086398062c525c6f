"""How fixed points, periodic orbits and equilibria change with one parameter: branches and their bifurcations."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from dynlab import schema
from dynlab.arguments import check_at_least
from dynlab.diagnostics.bifurcation import orbits, result, switching, together
from dynlab.diagnostics.bifurcation.curve import SolutionCurve
from dynlab.diagnostics.bifurcation.equation import Equation
from dynlab.diagnostics.bifurcation.exploring import Diagram
from dynlab.diagnostics.bifurcation.held_system import check_range, varied_system
from dynlab.diagnostics.bifurcation.orbits import SMALL, Visited
from dynlab.diagnostics.bifurcation.parameter import Varied, described
from dynlab.diagnostics.bifurcation.result import Row
from dynlab.diagnostics.bifurcation.starts import (
    Begun,
    beside_branches,
    common_unit,
    fixed_points_at,
    typical_size,
    usual_largest_state,
)
from dynlab.diagnostics.bifurcation.tracing import TracingLimits
from dynlab.diagnostics.bifurcation.verdict import verdict
from dynlab.diagnostics.fixed_points.verdict import under_input
from dynlab.errors import UserError
from dynlab.numerics.threads import one_torch_thread
from dynlab.progress import through
from dynlab.systems import Map, System
from dynlab.systems.checked import checked
from dynlab.systems.held import held_settings
from dynlab.wording import number

Real = NDArray[np.float64]

SEARCHES = 3  # for fixed points, each at one value of the parameter
MAX_PERIOD = 8
MOST_POINTS = 2000  # of one branch and direction
LONGEST_STEP, LONGER_STEP = 0.01, 0.02  # of arclength, the second for networks
VALUES, FEWER_VALUES, ORBITS = 400, 100, 4  # of the brute-force diagram; fewer for networks
MORE = 2.0  # times: a coordinate in which orbits move more by less is not preferred
PILOT = 16  # values at which orbits show which coordinate varies, where branches do not
MAX_MEMORY = 2.0**30
MOST_STATES = 512  # one branch without a bifurcation takes a quarter of an hour, and the time grows as n³
METHOD = (
    "Branches are followed by pseudo-arclength continuation. Its corrector is Newton's method on closed-form "
    "Jacobians (∂/∂p by forward differentiation) until ‖G‖ is rounding. Steps are at most 0.01 in arclength (0.02 "
    "beyond 8 dimensions) and turn by at most acos 0.97. Every eigenvalue is followed with its error, and a crossing "
    "is looked for where its sign has certainly changed. Folds, flips, Neimark–Sacker, Hopf and branch points are "
    "regular roots of minimally extended systems. Newton's method finds them, and has converged where the first-order "
    "bound on the parameter's error is below 1e-8. At branch points the other branch follows from the algebraic "
    "branching equation, on both sides; at flips the doubled orbit is followed. Where det [∂G/∂z; tangent] changes "
    "its sign in a step there is a branch point, if the unfolding parameter of its system vanishes within its error. "
    "If not, the step has strayed to a branch that passes, and is shortened until it does not. Two cases make it "
    "certain that branches meet. One is a change of signs that the system commutes with to the last bit at 16 random "
    "states, and that keeps the state and turns the null vector around: a pitchfork. The other is a state that is a "
    "fixed point to the last bit at 16 parameters. All other cases are undecided. Supercritical and subcritical "
    "follow from the cubic normal form. Kinks are passed, and a change there, a border collision, is bracketed. "
    "Behind the branches lie orbits that are followed until what they reach settles. That may change by at most 0.2 %, "
    "or 1e-5, in the latter half of their life. Of chaos it may go to and fro. "
    "Branches that no search reached and that nothing connects may exist."
)


class Asked(NamedTuple):
    """The range of the parameter and how orbits are followed, as the caller said."""

    parameter: str
    lowest: float
    highest: float
    largest_state: float
    max_memory: float
    seed: int


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
    """Branches of fixed points of a map, or equilibria of a flow, in one parameter, and where they change.

    Parameters
    ----------
    system : System
        It is analysed in float64 on cpu.
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        What drives the network, for starts of the searches and ``at="mean"``, as in `dynlab.fixed_points`.
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
        Of each search for fixed points, as in `dynlab.fixed_points`.
    searches : int
        At how many values of the parameter there is one: branches begin at what these find.
    max_period : int
        Orbits are doubled at flips up to this period.
    observed : int, optional
        The coordinate that the orbits' variables hold, from 0. Where it is not given that which varies most along the
        branches, or another in which a map's orbits move more than twice as much.
    values : int
        How many values of the parameter the brute-force diagram has, 0 leaves it out; 400, beyond 8 dimensions 100,
        where it is not given.
    largest_state : float, optional
        A branch, and an orbit, is cut where some abs(h_i) exceeds it. Where it is not given it is 100, of systems whose
        fixed points are larger ten times their typical size.
    max_memory : float
        In bytes, of the brute-force diagram.
    seed : int
        Of the starts.

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
        brute-force diagram is ``visited(parameter, sample, iteration)``: points of orbits that have settled, of a flow
        local extrema. ``settled(parameter, sample)`` is 1 where the orbit has, 0 where its reach still changed at the
        end, and −1 where it left the bound or became no number.

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
    if values is None:
        values = VALUES if system.state_size <= SMALL else FEWER_VALUES
    lowest, highest = float(lowest), float(highest)
    check_range(parameter, lowest, highest)
    _check(largest_state, starts, searches, max_period, values, observed, system.state_size)
    if values:
        orbits.check_memory(values, ORBITS, system.state_size, isinstance(system, Map), max_memory)
    varied = varied_system(system, inputs, (parameter,), at, at_step, (lowest,), (highest,), seed)
    generator = np.random.default_rng(seed)
    with one_torch_thread():
        at_values = np.linspace(lowest, highest, searches).tolist()
        begun = [fixed_points_at(varied, p, inputs, starts, seed) for p in at_values]
        largest_state = usual_largest_state(begun) if largest_state is None else largest_state
        asked = Asked(parameter, lowest, highest, largest_state, max_memory, seed)
        diagram, beyond = _diagram(varied, asked, begun, max_period)
        places = together.gathered(diagram)
        points = result.rows(diagram)
        visited, coordinate = _orbits(diagram, points, asked, values, observed, generator)
        variables = result.of_branches(diagram, points, parameter, coordinate)
    coords = {}
    if visited is not None:
        variables |= _visited(visited[1], coordinate, isinstance(system, Map))
        coords[schema.PARAMETER] = schema.variable((schema.PARAMETER,), visited[0], described(parameter))
    settings = asked._asdict() | held_settings(system, at, varied.held)
    settings |= {"starts": starts, "searches": searches, "max_period": max_period, "observed": coordinate}
    settings |= {"values": values, "dtype": "float64", "device": "cpu"}
    said = verdict(diagram, points, places, parameter, beyond, None if visited is None else visited[1].settled)
    is_held = system.network_input_size and not parameter.startswith("input")
    return schema.dataset(
        variables,
        system=system.name,
        source=system.source,
        settings=settings,
        verdict=(under_input(said, at) if is_held else said)
        + "".join(f" At {parameter} = {number(one.value)}: {one.incomplete}" for one in begun if one.incomplete),
        method=METHOD,
        coords=coords,
        flags=_flags(diagram, variables, largest_state),
    )


def _visited(found: Visited, coordinate: int, is_map: bool) -> dict[str, xr.Variable]:
    what = f"state h_{coordinate + 1}" if is_map else f"extremum of h_{coordinate + 1}"
    each = (schema.PARAMETER, schema.SAMPLE)
    return {
        "visited": schema.variable((*each, schema.ITERATION), found.states, what),
        "settled": schema.variable(each, found.settled, "1 settled, 0 still changing, −1 left the bound, or no number"),
    }


def _flags(diagram: Diagram, variables: dict[str, xr.Variable], largest_state: float) -> dict[str, str]:
    flags = {"branch_orbit": "NaN beyond the orbit's period"}
    if not all(one.coefficient for one in diagram.bifurcations):
        flags["bifurcation_coefficient"] = flags["bifurcation_coefficient_error"] = (
            "NaN where no cubic term decides what is born: of folds, transcritical and bracketed points"
        )
    if not all(one.refined for one in diagram.bifurcations):
        flags["bifurcation_residual"] = flags["bifurcation_eigenvalue"] = "bracketed where no smooth system has a root"
    if np.isinf(variables["eigenvalue_error"].values).any():
        flags["eigenvalue_error"] = "inf: at a kink, where the Jacobian is that of one side"
    if "visited" in variables and np.isnan(variables["visited"].values).any():
        flags["visited"] = (
            f"NaN where an orbit left abs(h_i) ≤ {largest_state:g} or was no number, or a solution has no more extrema"
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
) -> None:
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


def _diagram(varied: Varied, asked: Asked, begun: list[Begun], max_period: int) -> tuple[Diagram, int]:
    """The branches, and how many points beyond the largest state, at most, one search found."""
    # what lies beyond is not followed, and says nothing of what is
    near = [
        one._replace(states=[state for state in one.states if np.abs(state).max() <= asked.largest_state])
        for one in begun
    ]
    unit = common_unit(near)
    varied.held = replace(varied.held, unit=torch.as_tensor(unit) if (unit != 1).any() else 1.0)
    equation = Equation(varied, isinstance(varied.system, Map))
    size = typical_size([state / unit for one in near for state in one.states])
    longest = LONGEST_STEP if varied.system.state_size <= SMALL else LONGER_STEP
    diagram = Diagram(
        SolutionCurve(equation, size, asked.highest - asked.lowest),
        TracingLimits(asked.lowest, asked.highest, asked.largest_state, MOST_POINTS, longest),
        max_period,
        switching.sign_symmetries(equation, asked.lowest, asked.highest, asked.seed),
    )
    for state, p in through([(state, one.value) for one in near for state in one.states]):
        diagram.start(state / unit, p)
    beyond = [len(one.states) - len(within.states) for one, within in zip(begun, near, strict=True)]
    return diagram, max(beyond)


def _more_moving(states: Real, coordinate: int) -> int:
    """The coordinate, or the one in which orbits move most where that is much more than in the one that is given.

    Of states (value, start, time, state). Beside a saturated unit, which hardly moves, others turn.
    """
    moves = np.nan_to_num(states.std(axis=2)).mean(axis=(0, 1))
    return int(moves.argmax()) if moves.max() > MORE * moves[coordinate] + result.FLAT else coordinate


def _orbits(
    diagram: Diagram,
    points: list[Row],
    asked: Asked,
    values: int,
    observed: int | None,
    generator: np.random.Generator,
) -> tuple[tuple[Real, Visited] | None, int]:
    """The values and where orbits are there, or None; and the observed coordinate."""
    varied = diagram.curve.equation.varied
    unit = diagram.curve.unit
    bounds = (torch.as_tensor(asked.largest_state / unit), asked.max_memory)
    coordinate = observed if observed is not None else result.coordinate(points, diagram.symmetries)
    if coordinate is None:
        coordinate = 0
        if isinstance(varied.system, Map):
            pilot = np.linspace(asked.lowest, asked.highest, PILOT)[:, None]
            begin = beside_branches(diagram, points, pilot[:, 0], ORBITS, generator)
            seen = orbits.visited_by_map(varied, pilot, begin, *bounds).states
            coordinate = int(np.nan_to_num(seen).std(axis=(0, 1, 2)).argmax())
    if values == 0:
        return None, coordinate
    grid = np.linspace(asked.lowest, asked.highest, values)
    begin = beside_branches(diagram, points, grid, ORBITS, generator)
    if isinstance(varied.system, Map):
        found = orbits.visited_by_map(varied, grid[:, None], begin, *bounds)
        if observed is None:
            coordinate = _more_moving(found.states, coordinate)
        found = found._replace(states=found.states[..., coordinate])
    else:
        found = orbits.visited_by_flow(varied, grid[:, None], begin, *bounds, coordinate)
    return (grid, found._replace(states=unit[coordinate] * found.states)), coordinate
