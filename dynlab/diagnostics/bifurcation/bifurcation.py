"""Branches of fixed points, periodic orbits and equilibria in one parameter, and their bifurcations."""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from dynlab import schema
from dynlab.arguments import check_at_least, check_positive
from dynlab.diagnostics.bifurcation.branches import Diagram
from dynlab.diagnostics.bifurcation.equation import SolutionCurve, Vector, scale_of
from dynlab.diagnostics.bifurcation.orbit_diagram import KEPT, ORBITS, SMALL, visited
from dynlab.diagnostics.bifurcation.parameters import Varied, check_range, described, varied_system
from dynlab.diagnostics.bifurcation.variables import REASONS, variables, verdict
from dynlab.diagnostics.fixed_points.distinct_roots import FIXED
from dynlab.diagnostics.fixed_points.layers import search
from dynlab.diagnostics.fixed_points.starting_states import driven_states, usual_starts
from dynlab.diagnostics.fixed_points.verdict import incomplete, under_input
from dynlab.errors import refuse
from dynlab.numerics.grids import check_memory
from dynlab.numerics.threads import one_torch_thread
from dynlab.progress import through
from dynlab.systems import Map, System
from dynlab.systems.autonomous import held_settings
from dynlab.systems.checked import checked
from dynlab.trajectories.simulation import prepare
from dynlab.words import number

LONGEST_STEP, LONGER_STEP = 0.01, 0.02  # of arclength, the second for networks
VALUES, FEWER_VALUES = 400, 100  # of the orbit diagram; fewer for networks
LARGEST, BEYOND_TYPICAL = 100.0, 10.0  # where branches are cut: or that many times the largest fixed point
MOST_STATES = 512  # one branch without a bifurcation takes a quarter of an hour, and the time grows as n³
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


@checked
@one_torch_thread()
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
    searches: int = 3,
    max_period: int = 8,
    observed: int | None = None,
    values: int | None = None,
    largest_state: float | None = None,
    max_memory: float = 2.0**30,
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
        Ends of the parameter's range.
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
        Bytes that the orbit diagram may take.
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
    _check(parameter, (lowest, highest), n, largest_state, observed)
    check_memory(1.0, max_memory, 8.0 * values * ORBITS * KEPT * n)  # refused before anything is made
    check_at_least(0, values=values)
    check_at_least(1, starts=starts, searches=searches, max_period=max_period)
    varied = varied_system(system, inputs, (parameter,), at, at_step, (lowest,), (highest,))
    places = np.linspace(lowest, highest, searches).tolist()
    begun = {p: fixed_points_at(varied, p, inputs, starts, seed) for p in places}
    sizes = [float(np.abs(state).max()) for states, _ in begun.values() for state in states]
    bound = largest_state or max(LARGEST, BEYOND_TYPICAL * max(sizes, default=0.0))
    diagram, outside = _diagram(varied, {p: states for p, (states, _) in begun.items()}, bound, max_period)
    grid = np.linspace(lowest, highest, values)
    seen = visited(diagram, grid, bound, seed) if values else None
    coordinate = _coordinate(diagram) if observed is None else observed
    has_input = system.network_input_size and not parameter.startswith("input")
    said = under_input(verdict(diagram, parameter, (lowest, highest), bound, outside, seen), at, has_input)
    said += "".join(f" At {parameter} = {number(p)}: {missing}" for p, (_, missing) in begun.items() if missing)
    return schema.result(
        system,
        variables(diagram, seen, parameter, coordinate),
        settings=held_settings(system, at, varied.original)
        | {"parameter": parameter, "lowest": lowest, "highest": highest, "starts": starts, "searches": searches}
        | {"max_period": max_period, "observed": coordinate, "values": values, "largest_state": bound, "seed": seed}
        | {"max_memory": max_memory, "dtype": "float64", "device": "cpu"},
        verdict=said,
        method=METHOD,
        coords={schema.PARAMETER: schema.variable((schema.PARAMETER,), grid, described(parameter))} if values else {},
        reasons=REASONS,
    )


def fixed_points_at(
    varied: Varied, value: float, inputs: Any, count: int | None, seed: int
) -> tuple[list[Vector], str]:
    """Return the isolated fixed points (n,) at one value of the parameter, and a sentence where some are missing.

    Parameters
    ----------
    varied : Varied
    value : float
        Value of the parameter.
    inputs : array_like or None
        The input that drives the network, for starts.
    count : int or None
        Random starts of a round; as many as usual where it is None.
    seed : int
    """
    held = varied.fixed(value)
    system, visited = held.system, None
    if isinstance(system, Map) and system.network_input_size and inputs is not None:
        visited = driven_states(system, system.drive(prepare(system, inputs)[1]))
    found = search(held, count=count or usual_starts(system), visited=visited, seed=seed)
    states = [place.state for place in found.points if place.status == FIXED]
    return sorted(states, key=lambda state: float(np.linalg.norm(state))), incomplete(found)


def _diagram(varied: Varied, begun: dict[float, list[Vector]], bound: float, max_period: int) -> tuple[Diagram, int]:
    """Return the branches, and how many fixed points beyond the bound one search found at most."""
    n = varied.system.state_size
    near = [(state, p) for p, states in begun.items() for state in states if np.abs(state).max() <= bound]
    scale = scale_of([state for state, _ in near], n)
    face = np.append(bound / scale, 1.0)
    longest = LONGEST_STEP if n <= SMALL else LONGER_STEP
    diagram = Diagram(SolutionCurve(varied, scale), np.append(-face[:-1], 0.0), face, longest, max_period)
    for state, p in through(near):
        diagram.start(state, p)
    return diagram, max(sum(np.abs(state).max() > bound for state in states) for states in begun.values())


def _coordinate(diagram: Diagram) -> int:
    """Return the coordinate that varies most along the stable branches, where there are any."""
    solutions = [one for branch in diagram.branches for one in branch.solutions]
    stable = [one for one in solutions if one.kind.stable == 1] or solutions
    return int(np.argmax(np.std([diagram.curve.state(one.z) for one in stable], axis=0) if stable else np.zeros(1)))


def _check(
    parameter: str, ends: tuple[float, float], size: int, largest_state: float | None, observed: int | None
) -> None:
    check_range(parameter, *ends)
    check_positive(largest_state=largest_state)
    refuse(
        {
            f"Branches of {size:,} states take hours, and at most {MOST_STATES} are followed: `dynlab fixed-points` "
            f"finds the points at one value of a parameter.": size > MOST_STATES,
            f"observed= is one of the state's {size} coordinates, counted from 0, got {observed}.": (
                observed is not None and not 0 <= observed < size
            ),
        }
    )
