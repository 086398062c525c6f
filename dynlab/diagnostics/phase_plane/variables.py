"""The variables of a phase portrait: the field on its grid, the equilibria one by one, where the orbits end.

Each equilibrium is described as that of its flow and as the fixed point of its map, by eigenvalues and kinds.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema, simulation
from dynlab.diagnostics.phase_plane import exact_origin
from dynlab.diagnostics.phase_plane.equilibria import Equilibria, area_factor, divergence, field
from dynlab.diagnostics.phase_plane.long_orbit import MOVING, NEARING, length, outcome
from dynlab.kinks import AT_KINK, at_kink
from dynlab.numerics.critical_step import critical_step
from dynlab.numerics.eigenvalue_sets import order
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.exact_kinds import Matrix, euler_matrix
from dynlab.numerics.kinds import Kind, kind_of_flow, kind_of_map
from dynlab.systems import Map
from dynlab.systems.activations import log_cosh
from dynlab.systems.held import Held

NONE = Kind("", -1, 0, 0)


class AtRest(NamedTuple):
    """One equilibrium; eigenvalues in decreasing modulus of the map's where there is one, else of the flow's."""

    flow: Kind
    flow_values: NDArray[np.complex128]
    map: Kind
    map_values: NDArray[np.complex128]
    critical_step: float
    flag: str


def described(
    held: Held, found: Equilibria, step_size: float | None, matrix: Matrix | None, points: NDArray[np.float64]
) -> list[AtRest]:
    """Every equilibrium's kinds; the origin's exactly where the `matrix` of the field's system there is given.

    Parameters
    ----------
    held : Held
        Of the flow, or of a map that is no Euler step.
    found : Equilibria
    step_size : float or None
        Of Euler's map, where there is one beside the flow.
    matrix : Matrix or None
    points : ndarray, shape (point, 2)
        Where what is claimed of a nonlinear field is checked.
    """
    return [
        _exact(held, matrix, step_size, points)
        if matrix is not None and not state.any()
        else _at_kink(jacobian, step_size, held.is_flow)
        if at_kink(held, state)
        else _numeric(held, jacobian, error, step_size)
        for state, jacobian, error in zip(found.states, found.jacobians, found.errors, strict=True)
    ]


def _at_kink(jacobian: NDArray[np.float64], step_size: float | None, is_flow: bool) -> AtRest:
    """At a kink the Jacobian is that of one side: it decides nothing."""
    values = np.linalg.eigvals(jacobian).astype(np.complex128)
    multipliers = values if step_size is None else 1 + step_size * values
    sorts, flow = order(multipliers), AT_KINK if is_flow else NONE
    map = NONE if is_flow and step_size is None else AT_KINK
    return AtRest(flow, values[sorts], map, multipliers[sorts], np.nan, "at a kink, where no one Jacobian says")


def _numeric(held: Held, jacobian: NDArray[np.float64], error: float, step_size: float | None) -> AtRest:
    values, errors, _ = eigenvalues(jacobian, error)
    if not held.is_flow:
        return AtRest(NONE, values, kind_of_map(values, errors), values, np.nan, "")
    flow, step, flag = kind_of_flow(values, errors), *critical_step(values, errors)
    if step_size is None:
        return AtRest(flow, values, NONE, values, step, flag)
    multipliers = 1 + step_size * values
    bounds = step_size * errors + np.finfo(float).eps * np.maximum(1.0, np.abs(multipliers))
    sorts = order(multipliers)
    return AtRest(flow, values[sorts], kind_of_map(multipliers, bounds), multipliers[sorts], step, flag)


def _exact(held: Held, matrix: Matrix, step_size: float | None, points: NDArray[np.float64]) -> AtRest:
    values = np.array(exact_origin.exact_eigenvalues(matrix), dtype=np.complex128)
    values = values[order(values)]
    on_arrays = partial(field, held)
    if not held.is_flow:
        return AtRest(NONE, values, exact_origin.kind_of_map_at_origin(matrix, on_arrays, points), values, np.nan, "")
    flow, step, flag = exact_origin.kind_of_flow_at_origin(matrix, on_arrays, points), *critical_step(values)
    if step_size is None:
        return AtRest(flow, values, NONE, values, step, flag)
    # The decimal that a person writes for a step, 0.1, is what the step is meant to be.
    euler = euler_matrix(matrix, Fraction(repr(step_size)))
    multipliers = (1 + step_size * values).astype(np.complex128)
    sorts = order(multipliers)
    kind = exact_origin.kind_of_map_at_origin(euler, on_arrays, points)
    return AtRest(flow, values[sorts], kind, multipliers[sorts], step, flag)


# How many steps an orbit is followed: twice as long again and again, from the first number to the second, while it
# has neither settled nor left the window. Its last steps tell, and show, where it ends.
SHORTEST, LONGEST = 2400, 9600
KEPT = 400

Variables = dict[str, xr.Variable]


def of_field(held: Held, points: NDArray[np.float64], matrix: Matrix | None) -> Variables:
    """The field on the grid `points` (y, x, 2), what it does to areas, and H where it is conserved."""
    plane = (schema.Y, schema.X)
    units = schema.PER_SECOND if held.is_flow else schema.ONE
    name = "velocity" if held.is_flow else "displacement"
    found = {
        "velocity": schema.variable(
            (*plane, schema.STATE), field(held, points), name if held.is_flow else f"{name} in one step", units
        ),
        "divergence": schema.variable(plane, divergence(held, points), f"divergence of the {name}", units),
    }
    if not held.is_flow:
        found["area_factor"] = schema.variable(plane, area_factor(held, points), "|det J| of a step")
    weights = (
        exact_origin.conserved_weights(matrix, partial(field, held), points.reshape(-1, 2))
        if matrix and held.is_flow
        else None
    )
    if matrix and weights:
        potential = log_cosh(torch.from_numpy(points @ exact_origin.as_array(matrix).T)).numpy() @ np.array(weights)
        found["conserved"] = schema.variable(plane, potential, "conserved H = Σ c_i log cosh (W h)_i")
    return found


def of_equilibria(
    found: Equilibria, each: Sequence[AtRest], *, flow: bool, map: bool, matrix: Matrix | None
) -> Variables:
    """What is known of each equilibrium: of the flow where there is one, of the map where there is one."""
    along = (schema.FIXED_POINT,)
    point, points = ("equilibrium", "equilibria") if flow else ("fixed point", "fixed points")
    variables = {
        "equilibrium": schema.variable((schema.FIXED_POINT, schema.STATE), found.states, f"{point} h*"),
        "residual": schema.variable(
            along, found.residuals, "residual ‖f(h*)‖₂", schema.PER_SECOND if flow else schema.ONE
        ),
        "continuum": schema.variable(
            along, found.continuum.astype(np.int8), f"1: of a set of states that are {points} to rounding"
        ),
    }
    if flow:
        values = [point.flow_values for point in each]
        variables["flow_eigenvalue"] = _eigenvalues(values, "eigenvalue λ", schema.PER_SECOND)
        variables |= _kinds("flow", [point.flow for point in each])
        critical = np.array([point.critical_step for point in each])
        variables["critical_step"] = schema.variable(along, critical, "critical step of Euler's method", schema.SECOND)
    if map:
        values = [point.map_values for point in each]
        variables["map_eigenvalue"] = _eigenvalues(values, "multiplier μ", schema.ONE)
        variables |= _kinds("map", [point.map for point in each])
    if matrix is not None and any("line of equilibria" in point.flow.name + point.map.name for point in each):
        directions = np.full((len(each), 2), np.nan)
        directions[~found.states.any(axis=1)] = _null_direction(matrix, flow)
        dims = (schema.FIXED_POINT, schema.STATE)
        variables["line_direction"] = schema.variable(dims, directions, f"direction of the line of {points}")
    return variables


def of_long_orbits(system: Map, initial: NDArray[np.float64], found: Equilibria, half_width: float) -> Variables:
    """The last steps of the orbits, followed for long, and what they have come to; with the coordinate of the steps."""
    like = next(system.parameters(), torch.zeros(0, dtype=torch.float64))
    states = torch.as_tensor(initial).to(like)[:, None]
    steps = SHORTEST
    while True:
        inputs = states.new_zeros(len(states), steps - states.shape[1] + 1, system.input_size)
        states = torch.cat([states[:, :-1], simulation.orbit(system, inputs, states[:, -1])], dim=1)
        orbits = states.double().cpu().numpy()
        orbits = np.where(np.isfinite(orbits).all(axis=2, keepdims=True), orbits, np.nan)
        centres = [_nearest(found.states, orbit[-KEPT:].mean(axis=0)) for orbit in orbits]
        outcomes = [
            outcome(orbit / half_width, KEPT, None if centre is None else centre / half_width)
            for orbit, centre in zip(orbits, centres, strict=True)
        ]
        moving = [
            name in MOVING and (name == NEARING or np.abs(orbit[-1]).max() <= half_width)
            for name, orbit in zip(outcomes, orbits, strict=True)
        ]
        if not any(moving) or steps >= LONGEST:
            break
        steps *= 2
    dims = (schema.SAMPLE, schema.ITERATION, schema.STATE)
    counted = np.arange(steps - KEPT + 1, steps + 1)
    return {
        "long_orbit": schema.variable(dims, orbits[:, -KEPT:], "state h after many steps"),
        "outcome": schema.variable((schema.SAMPLE,), np.array(outcomes, dtype=object), "where the orbit ends"),
        schema.ITERATION: schema.variable((schema.ITERATION,), counted, "step t", schema.STEP),
    }


def _eigenvalues(values: Sequence[NDArray[np.complex128]], name: str, units: str) -> xr.Variable:
    array = np.array(values, dtype=complex).reshape(len(values), 2)
    return schema.variable((schema.FIXED_POINT, schema.MODE), array, name, units)


def _kinds(which: str, kinds: Sequence[Kind]) -> Variables:
    names = np.array([kind.name for kind in kinds], dtype=object)
    stable = np.array([kind.stable for kind in kinds], dtype=np.int8)
    along = (schema.FIXED_POINT,)
    return {
        f"{which}_kind": schema.variable(along, names, f"kind for the {which}"),
        f"{which}_stable": schema.variable(along, stable, f"stable for the {which}: 1, 0, −1 undecided"),
    }


def _null_direction(matrix: Matrix, flow: bool) -> tuple[float, float]:
    """Along the line through the origin that a flow's matrix maps to 0, a map's to itself."""
    (a, b), (c, d) = matrix
    return exact_origin.null_direction(matrix if flow else ((a - 1, b), (c, d - 1))) or (np.nan, np.nan)


def _nearest(states: NDArray[np.float64], centre: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The equilibrium nearest to `centre`; None where there is none."""
    if not len(states) or not np.isfinite(centre).all():
        return None
    nearest: NDArray[np.float64] = states[np.argmin(length(states - centre))]
    return nearest
