"""The phase portrait of a planar system: velocity, orbits, and its equilibria with their kinds."""

from fractions import Fraction
from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from dynlab import schema
from dynlab.diagnostics.fixed_points.affine import is_affine
from dynlab.diagnostics.fixed_points.verdict import map_of_flow
from dynlab.diagnostics.phase_plane.equilibria import Equilibrium, equilibria, equilibrium_variables
from dynlab.diagnostics.phase_plane.field import field, field_variables, matrices, without_input
from dynlab.diagnostics.phase_plane.orbit_ends import KEPT, orbit_ends
from dynlab.diagnostics.phase_plane.orbit_ends import STEPS as LONGEST
from dynlab.diagnostics.phase_plane.origin import Origin
from dynlab.diagnostics.phase_plane.separatrices import REASONS, come_from
from dynlab.diagnostics.phase_plane.verdict import verdict
from dynlab.errors import UserError
from dynlab.numerics.exact_kinds import Matrix
from dynlab.systems import Euler, Flow, System, frozen
from dynlab.systems.autonomous import Held, number_type
from dynlab.systems.autonomous_jacobians import check_seconds
from dynlab.systems.base import positive_step
from dynlab.systems.checked import checked
from dynlab.systems.planar import STARTS, STEP_SIZE, STEPS, equation
from dynlab.systems.textbook import Linear, LinearMap
from dynlab.trajectories import simulation

MARGIN = 1.12  # the window is this much wider than what is drawn in it
NARROWEST, SMALL_UNITS = 1.0, 10.0  # half the width of the smallest window, and that in parts of the largest start
FARTHEST = 20.0  # times the larger of 1 and the largest start: the window cuts off an orbit that goes beyond
MOST_STEPS = 1_000_000  # half a minute; more is no picture
LARGEST = 1e100  # of a start's coordinates, a window and a matrix's entries: their squares and sums are still numbers
SAME_MATRIX = 1e-6  # relative: the Jacobian at the origin is the matrix entered by hand, float32 weights included
METHOD = (
    "Equilibria are found by Newton's method from a grid of starts, and verified by scipy.optimize.fsolve. Kinds come "
    "from eigenvalues where their error bounds separate them"
)
METHOD_BY_HAND = METHOD + ", and at the origin from trace, determinant and discriminant in rational arithmetic"


@checked
def phase_plane(
    system: System,
    *,
    starts: ArrayLike = STARTS,
    steps: int = STEPS,
    step_size: float = STEP_SIZE,
    extent: float | None = None,
    grid: int = 41,
    matrix: Matrix | None = None,
    dtype: str = "float64",
    device: str = "cpu",
) -> xr.Dataset:
    """Draw up the phase portrait of a planar system without input: its field, orbits, equilibria and their kinds.

    Parameters
    ----------
    system : System
        With two states: an `Euler` step (which is seen as a flow and as a map), another `Map`, or a `Flow`.
    starts : array_like, shape (sample, 2)
        Initial states. Those by default are times the `extent` where that is given below 1.
    steps : int
        Of the orbits.
    step_size : float
        In seconds; of a `Flow` alone, whose solution is given at ``steps + 1`` times so far apart.
    extent : float, optional
        Half the width of the window around the origin. Where it is not given the window holds the orbits, and reaches
        to at least 1, or ten times as far as the starts where these are smaller than 0.1.
    grid : int
        Points of the window in each direction.
    matrix : sequence of two rows of two Fractions, optional
        The Jacobian at the origin (of the flow where there is one, else of the map) as entered by hand: the origin is
        then classified exactly. The entries of a linear system are exact without it.
    dtype, device : str
        Of the computation.

    Returns
    -------
    xarray.Dataset
        ``trajectory(sample, time, state)``. ``velocity(y, x, state)`` with its ``divergence(y, x)``; for a map that is
        no Euler step it is the displacement in one step, and ``area_factor(y, x)`` = |det J| is by what a step
        multiplies a small area. ``equilibrium(fixed_point, state)`` with its ``residual``.
        Where there is a flow, ``flow_eigenvalue(fixed_point, mode)``, ``flow_kind`` and ``critical_step``. Where there
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
    >>> ds = phase_plane(create("henon"), starts=[[0.1, 0.1]], extent=1.5)
    >>> sorted(ds["map_kind"].values.tolist())
    ['flip saddle', 'saddle']
    """
    initial = _check(system, starts, steps, grid, extent)
    flow = system.flow if isinstance(system, Euler) else system
    euler_step = system.step_size if isinstance(system, Euler) else None
    exact = without_input(frozen(flow))
    if isinstance(system, Flow):
        check_seconds(exact, torch.from_numpy(initial), steps * positive_step(step_size))
    orbits = _orbits(system, initial, steps, step_size, dtype, device)
    half_width = float(extent) if extent is not None else _half_width(orbits["trajectory"].values)
    origin = _origin(system, exact, matrix)
    analysed = without_input(frozen(system, number_type(dtype), device))
    held = without_input(analysed.system.flow) if isinstance(analysed.system, Euler) else analysed
    line = np.linspace(-half_width, half_width, grid)
    window = {axis: schema.variable((axis,), line, f"state {h}") for axis, h in ((schema.X, "h₁"), (schema.Y, "h₂"))}
    found = equilibria(exact, half_width, euler_step, origin)
    variables = {"trajectory": orbits["trajectory"].variable}
    variables |= field_variables(held, np.stack(np.meshgrid(line, line), axis=-1), origin)
    variables |= equilibrium_variables(found, exact.is_flow, not analysed.is_flow)
    if not (analysed.is_flow and is_affine(exact)):  # a linear flow has no limit cycle
        variables |= orbit_ends(analysed, initial, variables["equilibrium"].values)
    variables |= come_from(analysed, found, orbits, half_width)
    settings: dict[str, Any] = {
        "starts": initial.tolist(),
        "steps": steps,
        "step_size": step_size if euler_step is None else euler_step,
    }
    settings |= {"extent": half_width, "grid": grid, "longest_orbit": LONGEST, "kept": KEPT}
    settings |= {"matrix": None if origin is None else [[str(entry) for entry in row] for row in origin.matrix]}
    settings |= {"dtype": dtype, "device": device, "config": system.json_config}
    return schema.dataset(
        variables,
        system=system.name,
        source=system.source,
        settings=settings,
        verdict=lambda ds: verdict(ds, equation(system), "" if exact.is_flow else map_of_flow(system)),
        method=METHOD if origin is None else METHOD_BY_HAND,
        coords=window | {schema.TIME: orbits[schema.TIME].variable},
        flags=schema.flags(orbits) | _not_finite(variables, found),
    )


def _not_finite(variables: dict[str, xr.Variable], found: list[Equilibrium]) -> dict[str, str]:
    """Why some values are not numbers."""
    reasons = "; ".join(sorted({point.flag for point in found if point.flag}))
    of_steps = {"critical_step": reasons or "larger than any floating-point number"}
    return schema.not_finite(variables, REASONS) | schema.not_finite(variables, of_steps)


def _check(system: System, starts: ArrayLike, steps: int, grid: int, extent: float | None) -> NDArray[np.float64]:
    """The starts as an array, or the error that says what is wrong."""
    if system.state_size != 2:
        raise UserError(f"A phase plane needs a system with two states, {system.name!r} has {system.state_size}.")
    initial = np.atleast_2d(np.asarray(starts, dtype=float))
    if initial.ndim != 2 or initial.shape[1] != 2 or not len(initial):
        raise UserError(f"The starts must be pairs of numbers, shape (sample, 2), got shape {initial.shape}.")
    if not (np.abs(initial) <= LARGEST).all():
        raise UserError(f"The starts must be finite numbers of at most {LARGEST:g}, got {initial.tolist()}.")
    if not 1 <= steps <= MOST_STEPS:
        raise UserError(f"An orbit that is drawn has 1 to {MOST_STEPS:,} steps, got steps={steps}.")
    if grid < 2:
        raise UserError(f"The grid needs at least two points in each direction, got grid={grid}.")
    if extent is not None and not 0 < extent <= LARGEST:
        raise UserError(
            f"The extent is half the width of the window, a positive number of at most {LARGEST:g}, got {extent}."
        )
    in_small_units = starts is STARTS and extent is not None
    return min(1.0, float(extent or 1)) * initial if in_small_units else initial


def _origin(system: System, exact: Held, matrix: Matrix | None) -> Origin | None:
    """What is known of the origin exactly: by the matrix entered by hand, or the entries of a linear system."""
    is_linear = is_affine(exact) and not field(exact, np.zeros(2)).any()
    if matrix is None and is_linear and isinstance(exact.system, Linear | LinearMap):
        matrix = [[Fraction(entry) for entry in row] for row in exact.system.A.tolist()]
    if matrix is None:
        return None
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
    system: System, initial: NDArray[np.float64], steps: int, step_size: float, dtype: str, device: str
) -> xr.Dataset:
    if isinstance(system, Flow):
        return simulation.simulate(system, initial_state=initial, times=step_size * np.arange(steps + 1))
    return simulation.simulate(system, initial_state=initial, steps=steps, dtype=dtype, device=device)


def _half_width(states: NDArray[np.float64]) -> float:
    """A window that holds the orbits, as far as they stay within reach of their starts."""
    started = float(np.abs(states[:, 0]).max())
    reach = FARTHEST * max(1.0, started)
    narrowest = min(NARROWEST, SMALL_UNITS * started) or NARROWEST  # starts of 1e-4 are of a system in such units
    return MARGIN * max(narrowest, float(np.nanmax(np.where(np.abs(states) <= reach, np.abs(states), 0.0))))
