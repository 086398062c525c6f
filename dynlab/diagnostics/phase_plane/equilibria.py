"""The equilibria of a flow, or fixed points of a map, in a window of the plane, with their kinds.

Newton's method leads to them from a grid of starts. A kind comes from the eigenvalues where their errors separate it,
and at the origin exactly where the matrix is known in rational numbers.
"""

from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
import xarray as xr
from scipy.cluster.hierarchy import fclusterdata
from torch import Tensor

from dynlab import schema
from dynlab.diagnostics.phase_plane import exact_origin
from dynlab.diagnostics.phase_plane.field import field
from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.critical_step import critical_step
from dynlab.numerics.eigenvalue_sets import order
from dynlab.numerics.exact_kinds import Matrix, euler_matrix
from dynlab.numerics.kinds import Kind, kind_of_map
from dynlab.numerics.roots import solve
from dynlab.systems.held import Held
from dynlab.systems.held_jacobians import displacement_matrices, held_matrices
from dynlab.trajectories.cycles import Attractor, cycles

STARTS = 33  # in each direction of the window; odd, so that the origin is one
SAME = 1e-7  # of the window: roots that are nearer are one
LINKED = 0.1  # likewise, more than the starts are apart: nearer roots that are not isolated are of one set
WEAK = 1e-4  # a singular value of the scaled slope below which a root may not be isolated
NOTHING = 1e-30  # of the window: a smaller coordinate is 0, which nothing but underflow tells it from
ROUNDINGS = 64  # of the state and of the terms of the slope: what such a root leaves of the field
CONTINUUM = 1e-3  # of the window: a set of such roots that is longer is a continuum, a shorter one a degenerate root
NONE = Kind("", -1, 0, 0)


class Equilibrium(NamedTuple):
    """A state at rest; eigenvalues in decreasing modulus of the map's where there is one, else of the flow's."""

    state: Real
    jacobian: Real
    residual: float
    continuum: bool
    flow: Kind
    flow_values: Complex
    map: Kind
    map_values: Complex
    critical_step: float
    flag: str


def equilibria(
    held: Held, half_width: float, step_size: float | None, matrix: Matrix | None, points: Real
) -> list[Equilibrium]:
    """Return one equilibrium of each connected set in the window, the nearest to the origin first.

    Parameters
    ----------
    held : Held
        Of the flow, or of a map that is no Euler step.
    half_width : float
        Of the window.
    step_size : float or None
        Of Euler's map, where there is one beside the flow.
    matrix : Matrix or None
        The exact Jacobian at the origin.
    points : ndarray, shape (point, 2)
        Where what is claimed of a nonlinear field is checked.
    """
    states, spreads = _roots(held, half_width)
    found = zip(cycles(held, 0.0 if held.is_flow else 1.0, states, 0.0), spreads.tolist(), strict=True)
    known = [
        _described(held, one, spread > CONTINUUM, step_size, matrix, points) for one, spread in found if one is not None
    ]
    return sorted(known, key=lambda one: (float(np.linalg.norm(one.state)), *one.state))


def _roots(held: Held, half_width: float) -> tuple[Real, Real]:
    """One state for each set of roots in the window, (root, 2), and how far each set spreads, in half widths."""
    line = torch.linspace(-1, 1, STARTS, dtype=torch.float64)
    starts = torch.cartesian_prod(line, line).to(held.input)
    rates = held.displacement(half_width * starts).abs()
    rate = float(rates[rates.isfinite()].max()) or 1.0

    def value(h: Tensor, rows: Tensor) -> Tensor:
        return held.displacement(half_width * h) / rate

    def slopes(h: Tensor, rows: Tensor) -> Tensor:
        return displacement_matrices(held, half_width * h) * (half_width / rate)

    found = solve(value, slopes, starts)
    inside = (found.converged & (found.states.abs() <= 1).all(-1)).nonzero()[:, 0]
    inside = inside[np.lexsort((found.states[inside].norm(dim=1).cpu(), found.residuals[inside].cpu()))]
    _, first = np.unique(np.round(found.states[inside].cpu().numpy() / SAME), axis=0, return_index=True)
    roots = found.states[inside][np.sort(first)]
    roots = torch.where(roots.abs() < NOTHING, 0.0, roots)
    matrices = slopes(roots, inside)
    singular = torch.linalg.svdvals(matrices)
    flat = singular[:, 1] <= WEAK * singular[:, 0].clamp_min(1)
    # along the centre manifold of a degenerate root the field is small, but larger than its rounding
    rounding = (
        ROUNDINGS * torch.finfo(roots.dtype).eps * (roots.abs() + (matrices.abs() @ roots.abs()[..., None])[..., 0])
    )
    told = ~flat | (value(roots, inside).abs() <= rounding).all(-1)
    roots, flat = roots[told], flat[told].cpu().numpy()
    states, labels = roots.double().cpu().numpy(), np.arange(len(roots))
    if flat.sum() > 1:
        labels[flat] = len(roots) + fclusterdata(states[flat], LINKED, "distance")
    sets = [states[labels == label] for label in dict.fromkeys(labels.tolist())]
    ones = np.array([one[0] for one in sets]).reshape(-1, 2)
    return half_width * ones, np.array([float(np.linalg.norm(one - one[0], axis=1).max()) for one in sets])


def _described(
    held: Held, one: Attractor, continuum: bool, step_size: float | None, matrix: Matrix | None, points: Real
) -> Equilibrium:
    """The kinds by the eigenvalues and their errors; at the origin by the exact matrix where there is one."""
    state, values, errors, kind = (
        one.states[0],
        one.multipliers,
        one.multiplier_errors,
        Kind(one.kind, one.stable, 0, 0),
    )
    jacobian = held_matrices(held, torch.as_tensor(state).to(held.input)[None])[0].double().cpu().numpy()
    exact = matrix is not None and not state.any()
    on_arrays = partial(field, held)
    if matrix is not None and exact:
        values, errors = np.array(exact_origin.exact_eigenvalues(matrix), dtype=np.complex128), np.zeros(2)
        values = values[order(values)]
        of = exact_origin.kind_of_flow_at_origin if held.is_flow else exact_origin.kind_of_map_at_origin
        kind = of(matrix, on_arrays, points)
    fixed = (state, jacobian, one.residual, continuum and not exact)
    if not held.is_flow:
        return Equilibrium(*fixed, NONE, values, kind, values, np.nan, "")
    step, flag = critical_step(values, errors)
    if step_size is None:
        return Equilibrium(*fixed, kind, values, NONE, values, step, flag)
    multipliers = (1 + step_size * values).astype(np.complex128)
    if matrix is not None and exact:  # the decimal 0.1 is what a person means by it
        of_euler = exact_origin.kind_of_map_at_origin(
            euler_matrix(matrix, Fraction(repr(step_size))), on_arrays, points
        )
    else:
        rounding = np.finfo(float).eps * np.maximum(1.0, np.abs(multipliers))
        of_euler = kind_of_map(multipliers, step_size * errors + rounding)
    sorts = order(multipliers)
    return Equilibrium(*fixed, kind, values[sorts], of_euler, multipliers[sorts], step, flag)


def equilibrium_variables(
    found: list[Equilibrium], *, flow: bool, map: bool, matrix: Matrix | None
) -> dict[str, xr.Variable]:
    """Return the variables of each equilibrium: of the flow where there is one, of the map where there is one."""
    along, state = (schema.FIXED_POINT,), (schema.FIXED_POINT, schema.STATE)
    point, points, unit = ("equilibrium", "equilibria", schema.PER_SECOND)
    point, points, unit = (point, points, unit) if flow else ("fixed point", "fixed points", schema.ONE)
    states = np.array([one.state for one in found]).reshape(-1, 2)
    many = np.array([one.continuum for one in found], dtype=np.int8)
    variables = {
        "equilibrium": schema.variable(state, states, f"{point} h*"),
        "residual": schema.variable(along, np.array([one.residual for one in found]), "residual ‖f(h*)‖₂", unit),
        "continuum": schema.variable(along, many, f"1: of a set of states that are {points} to rounding"),
    }
    if flow:
        variables |= _kinds("flow", [(one.flow, one.flow_values) for one in found], "eigenvalue λ", unit)
        critical = np.array([one.critical_step for one in found])
        variables["critical_step"] = schema.variable(along, critical, "critical step of Euler's method", schema.SECOND)
    if map:
        variables |= _kinds("map", [(one.map, one.map_values) for one in found], "multiplier μ", schema.ONE)
    if matrix is not None and any("line of equilibria" in one.flow.name + one.map.name for one in found):
        (a, b), (c, d) = matrix
        direction = exact_origin.null_direction(matrix if flow else ((a - 1, b), (c, d - 1))) or (np.nan, np.nan)
        directions = np.where(states.any(axis=1, keepdims=True), np.nan, direction)
        variables["line_direction"] = schema.variable(state, directions, f"direction of the line of {points}")
    return variables


def _kinds(which: str, known: list[tuple[Kind, Complex]], name: str, unit: str) -> dict[str, xr.Variable]:
    along = (schema.FIXED_POINT,)
    values = np.array([each for _, each in known], dtype=complex).reshape(-1, 2)
    names, stable = np.array([kind.name for kind, _ in known], dtype=object), [kind.stable for kind, _ in known]
    return {
        f"{which}_eigenvalue": schema.variable((*along, schema.MODE), values, name, unit),
        f"{which}_kind": schema.variable(along, names, f"kind for the {which}"),
        f"{which}_stable": schema.variable(
            along, np.array(stable, dtype=np.int8), f"stable for the {which}: 1, 0, −1 undecided"
        ),
    }
