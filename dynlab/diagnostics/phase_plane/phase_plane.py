"""The phase portrait of a planar system: velocity, orbits, and its equilibria with their kinds."""

from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike

from dynlab import schema
from dynlab.arguments import check_at_least, check_positive
from dynlab.diagnostics.fixed_points.distinct_roots import is_affine
from dynlab.diagnostics.fixed_points.fixed_points import given_starts
from dynlab.diagnostics.fixed_points.verdict import map_of_flow
from dynlab.diagnostics.phase_plane.equilibria import (
    Equilibrium,
    Origin,
    conserved,
    equilibria,
    equilibrium_variables,
    field_variables,
    matrices,
    without_input,
)
from dynlab.diagnostics.phase_plane.orbits import KEPT, REASONS, come_from, orbit_ends
from dynlab.diagnostics.phase_plane.orbits import STEPS as LONGEST
from dynlab.diagnostics.phase_plane.verdict import verdict
from dynlab.diagnostics.phase_plane.window import (
    LARGEST,
    MARGIN,
    NARROWEST,
    Window,
    box_of,
    square,
    starts_in,
    window_about,
    window_of,
)
from dynlab.errors import UserError
from dynlab.numerics.arrays import Real
from dynlab.numerics.exact_kinds import Matrix, exact_kind
from dynlab.program.compiled import rational_matrix
from dynlab.systems import Euler, Flow, System, frozen
from dynlab.systems.autonomous import Held, number_type
from dynlab.systems.autonomous_jacobians import check_seconds
from dynlab.systems.checked import checked
from dynlab.systems.planar import STARTS, STEP_SIZE, STEPS, equation
from dynlab.systems.textbook import ByMatrix
from dynlab.trajectories import simulation

SMALL_UNITS = 10.0  # half the width of the smallest window in parts of the largest start, where that is below 1
FARTHEST = 20.0  # times the larger of 1 and the largest start: the window cuts off an orbit that goes beyond
SEARCHED = 10.0, 100.0, 1000.0  # half windows about the origin: equilibria are looked for in the next if one is empty
TURNS, DRAWN = 4.0, 500  # of an eigenvalue of an equilibrium: how long orbits are by default, in so many steps
NOWHERE = np.empty((0, 2))
MOST_STEPS = 1_000_000  # half a minute; more is no picture
SAME_MATRIX = 1e-6  # relative: the Jacobian at the origin is the matrix entered by hand, float32 weights included
METHOD = (
    "Equilibria are found by Newton's method from a grid of starts, and verified by scipy.optimize.fsolve. Kinds come "
    "from eigenvalues where their error bounds separate them"
)
METHOD_BY_HAND = METHOD + ", and of a known matrix from trace, determinant and discriminant in rational arithmetic"


@checked
def phase_plane(
    system: System,
    *,
    starts: ArrayLike | None = None,
    steps: int | None = None,
    step_size: float | None = None,
    window: ArrayLike | None = None,
    grid: int = 41,
    matrix: Matrix | None = None,
    dtype: str = "float64",
    device: str = "cpu",
) -> xr.Dataset:
    """Draw up the phase portrait of a planar system without input: its field, orbits, equilibria and their kinds.

    Parameters
    ----------
    system : System
        System with two states: an `Euler` step (which is seen as a flow and as a map), another `Map`, or a `Flow`.
    starts : array_like, shape (sample, 2), optional
        Initial states. By default the paper's three for systems of a 2×2 matrix (times half the `window`'s width where
        that is below 1), for any other four among its equilibria, or in the `window` that is given.
    steps : int, optional
        Number of steps of the orbits: by default 50, of other flows 500.
    step_size : float, optional
        Seconds between the ``steps + 1`` times of the solution of a `Flow`. By default 0.1, of other flows such that
        orbits last for four turns of the middle eigenvalue at its equilibria.
    window : float or array_like, shape (2, 2), optional
        Half the width of a square about the origin, or ((low, high), (low, high)) of both states. By default it holds
        the equilibria and the orbits near them; of a 2×2 matrix the orbits and the origin.
    grid : int
        Points of the window in each direction.
    matrix : sequence of two rows of two Fractions, optional
        The Jacobian at the origin (of the flow where there is one, else of the map) as entered by hand: the origin is
        then classified exactly. A linear system's program has exact entries without it.
    dtype, device : str
        Number type and device of the computation.

    Returns
    -------
    xarray.Dataset
        ``trajectory(sample, time, state)``. ``velocity(y, x, state)`` with its ``divergence(y, x)``; for a map that is
        no Euler step it is the displacement in one step, and ``area_factor(y, x)`` = |det J| is by what a step
        multiplies a small area. ``equilibrium(fixed_point, state)`` with its ``residual``.
        A flow has ``flow_eigenvalue(fixed_point, mode)``, ``flow_kind`` and ``critical_step``. Where there
        is a map, ``map_eigenvalue`` and ``map_kind``. ``flow_stable`` and ``map_stable`` are 1, 0, or −1 undecided.
        ``outcome(sample)`` is where the orbits end, with ``orbit_period(sample)``. Of a map ``long_orbit(sample,
        iteration, state)`` are the last of 4,800 steps. Of a flow that is not linear ``limit_cycle(sample, point,
        state)``, with its ``floquet_multiplier(sample)`` and ``floquet_error``. ``eigenvector(fixed_point, mode,
        state)``, ``separatrix(fixed_point, side, point, state)`` of saddles, and ``backward_orbit(sample, time,
        state)``. ``line_direction(fixed_point, state)`` points along a line of equilibria; ``conserved(y, x)`` is H
        where it is conserved.

    Raises
    ------
    UserError
        For a system that is not planar, a matrix that is not its Jacobian, and starts, steps or a window that are none.
        For a flow that is too fast at the starts to be solved for so long.

    Notes
    -----
    The critical step is min_i −2 Re λ_i/|λ_i|²: up to it no |1 + ε λ_i| exceeds 1.

    References
    ----------
    Chang, Chen, Haber and Chi, "AntisymmetricRNN", ICLR 2019, Figure 1; Strogatz, Nonlinear Dynamics and Chaos,
    chapters 5 and 6.

    Examples
    --------
    >>> from dynlab.systems import create
    >>> ds = phase_plane(create("henon"), starts=[[0.1, 0.1]], window=1.5)
    >>> sorted(ds["map_kind"].values.tolist())
    ['flip saddle', 'saddle']
    """
    if system.state_size != 2:
        raise UserError(f"A phase plane needs a system with two states, {system.name!r} has {system.state_size}.")
    flow = system.flow if isinstance(system, Euler) else system
    euler_step, exact = (system.step_size if isinstance(system, Euler) else None), without_input(frozen(flow))
    asked = None if window is None else window_of(window)
    usual_starts, usual_steps, usual_size, box = _usual(system, exact, asked)
    initial = usual_starts if starts is None else given_starts(exact, np.atleast_2d(starts)).numpy()
    steps = usual_steps if steps is None else steps
    check_at_least(2, grid=grid)
    step_size = euler_step or (usual_size if step_size is None else step_size)
    orbits = _orbits(system, exact, initial, steps, step_size, dtype, device)
    analysed = without_input(frozen(system, number_type(dtype), device))
    # a linear flow has no limit cycle; a map's ends are told from the equilibria in the window
    ends = orbit_ends(analysed, initial, NOWHERE) if analysed.is_flow and not is_affine(exact) else {}
    drawn = asked or _window(box, initial, orbits["trajectory"].values, ends)
    by_hand = matrix is not None or isinstance(flow, ByMatrix)
    origin = _origin(system, exact, matrix, by_hand)
    held = without_input(analysed.system.flow) if isinstance(analysed.system, Euler) else analysed
    found = equilibria(exact, drawn, euler_step, origin)
    rows = field_variables(held, drawn.grid(grid)) | conserved(origin, drawn.grid(grid))
    rows |= equilibrium_variables(found, exact.is_flow, not analysed.is_flow)
    states = np.array([one.state for one in found]).reshape(-1, 2)
    ends = ends if analysed.is_flow else orbit_ends(analysed, initial, states)
    rows |= ends | come_from(analysed, found, orbits, drawn)
    why = "; ".join(sorted({point.flag for point in found if point.flag}))
    return schema.result(
        system,
        {"trajectory": orbits["trajectory"].variable} | rows,
        settings={"starts": initial.tolist(), "steps": steps, "step_size": step_size, "grid": grid}
        | {"window": np.stack(drawn, axis=1).tolist(), "longest_orbit": LONGEST, "kept": KEPT}
        | {"matrix": [[str(entry) for entry in row] for row in origin.matrix] if origin and by_hand else None}
        | {"dtype": dtype, "device": device},
        verdict=lambda ds: verdict(ds, equation(system), "" if exact.is_flow else map_of_flow(system)),
        method=METHOD if origin is None else METHOD_BY_HAND,
        coords=schema.plane_axes(drawn.axes(grid), (f"state {name}" for name in flow.state_names))
        | {schema.TIME: orbits[schema.TIME].variable},
        reasons=REASONS | {"critical_step": why or "larger than any floating-point number"},
        flags=schema.flags(orbits),
    )


def _usual(system: System, exact: Held, asked: Window | None) -> tuple[Real, int, float, Window | None]:
    """Return the usual starts, steps and their size, and a box that the window holds.

    They are the paper's for a system of a matrix, for another what its equilibria tell.
    """
    if equation(system):
        small = 1.0 if asked is None else min(1.0, float(asked.half.max()))
        usual = small * np.array(STARTS)
        return usual if asked is None or asked.holds(usual).all() else starts_in(asked), STEPS, STEP_SIZE, None
    found: list[Equilibrium] = []
    for searched in [square(half) for half in SEARCHED] if asked is None else [asked]:
        found = found or equilibria(exact, searched, None, None)
    box = asked or box_of(np.array([one.state for one in found]))
    rates = np.abs([one.flow_values for one in found])
    rates = rates[rates > 0]
    if not (isinstance(system, Flow) and rates.size):
        return starts_in(box), STEPS, STEP_SIZE, box
    return starts_in(box), DRAWN, TURNS * 2 * np.pi / float(np.median(rates)) / DRAWN, box


def _window(box: Window | None, initial: Real, orbits: Real, ends: dict[str, Any]) -> Window:
    """Return the window of a system of a matrix, a square about the origin, or of another, with its limit cycles."""
    if box is None:
        return square(_half_width(orbits))
    return window_about(box.with_states(initial), orbits, ends["limit_cycle"][1] if ends else NOWHERE)


def _origin(system: System, exact: Held, matrix: Matrix | None, by_hand: bool) -> Origin | None:
    """Return the exact Jacobian at the origin: the matrix entered by hand, or that of a linear system's program."""
    is_linear = is_affine(exact)
    if matrix is None and is_linear:
        matrix = rational_matrix(exact.system.program(exact.input, exact.t))
    if matrix is None or not (by_hand or "equilibria" not in exact_kind(matrix, not exact.is_flow).name):
        return None  # a line of equilibria is a continuum
    origin = Origin(matrix, is_linear, equation(system) == "h′ = tanh(W h)")
    expected, actual = origin.array, matrices(exact, np.zeros(2))
    if not (np.abs(expected) <= LARGEST).all():
        raise UserError(f"The matrix must have entries of at most {LARGEST:g}, got {expected.tolist()}.")
    if np.abs(actual - expected).max() > SAME_MATRIX * max(1.0, np.abs(expected).max()):
        raise UserError(
            f"The matrix {expected.tolist()} is not the system's Jacobian at the origin, {actual.tolist()}; leave "
            f"matrix= out to classify by the numbers."
        )
    return origin


def _orbits(
    system: System, exact: Held, initial: Real, steps: int, step_size: float, dtype: str, device: str
) -> xr.Dataset:
    if not 1 <= steps <= MOST_STEPS:
        raise UserError(f"An orbit that is drawn has 1 to {MOST_STEPS:,} steps, got steps={steps}.")
    if isinstance(system, Flow):
        check_positive(step_size=step_size)
        check_seconds(exact, torch.from_numpy(initial), steps * step_size)
        return simulation.simulate(system, initial_state=initial, times=step_size * np.arange(steps + 1))
    return simulation.simulate(system, initial_state=initial, steps=steps, dtype=dtype, device=device)


def _half_width(states: Real) -> float:
    """Return a window that holds the orbits, as far as they stay within reach of their starts."""
    started = float(np.abs(states[:, 0]).max())
    reach = FARTHEST * max(1.0, started)
    narrowest = min(NARROWEST, SMALL_UNITS * started) or NARROWEST  # starts of 1e-4 are of a system in such units
    return MARGIN * max(narrowest, float(np.nanmax(np.where(np.abs(states) <= reach, np.abs(states), 0.0))))
