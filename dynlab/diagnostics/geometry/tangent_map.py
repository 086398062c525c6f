"""How far the linear map holds around a state: the step on a plane through it, beside its linearisation."""

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike

from dynlab import schema
from dynlab.diagnostics.fixed_points.verdict import under_input
from dynlab.diagnostics.fixed_points.verification import UNDECIDED_AT_KINK
from dynlab.errors import UserError
from dynlab.numerics.arrays import Real
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.eigenvectors import eigenmodes, real_axes
from dynlab.numerics.kinds import kind_of_map
from dynlab.program.differentiation import jacobian_and_error
from dynlab.systems import Map, System, frozen
from dynlab.systems.checked import checked
from dynlab.systems.held import Held, held_input
from dynlab.wording import number, of_map, place, share

GRID = 21
REACH = 0.5
HOLDS = 0.1  # times the distance: the linear map's error up to there is called small
RAYS, RADII, NEAREST = 180, 120, 1e-4  # along which that distance is looked for, from NEAREST of the reach outward
SAME = 1e-6  # a step that moves less than this times the distance between neighbours of the grid moves not at all
AT_ONE_SIDE = "inf: at a kink of the activation, where the Jacobian is that of one side alone"
NO_DIRECTION = "NaN for eigenvectors that do not span the plane, or are not told from another"
METHOD = (
    "The plane is that of the two leading eigenvectors of ∂F/∂h, of a complex pair that of its real and imaginary "
    "part. F(h) is evaluated on a grid of it, and F(p) + J (h − p) beside; both are projected on the plane. The error "
    "is ‖F(h) − F(p) − J (h − p)‖₂/‖h − p‖₂, with what leaves the plane. The distance up to which it stays small is "
    f"the least at which it crosses {HOLDS:g} on {RAYS} rays in the plane, each sampled at {RADII} distances"
)


@checked
def tangent_map(
    system: System,
    point: ArrayLike,
    *,
    at: str | ArrayLike = "zero",
    at_step: int = 0,
    reach: float = REACH,
    grid: int = GRID,
) -> xr.Dataset:
    """Return one step on a plane of states around `point` beside its linear map, in float64 on the CPU.

    Parameters
    ----------
    system : Map
    point : array_like, shape (state,)
        Such as a fixed point; two dimensions at least.
    at : "zero" or array_like, shape (input,)
        What the step is given.
    at_step : int
        The step's number, where parameters change with time.
    reach : float
        Half the width of the window.
    grid : int
        States in each direction.

    Returns
    -------
    xarray.Dataset
        ``displacement(y, x, axis)`` = F(h) − h and ``linear_displacement``, both in the plane's coordinates.
        ``linear_error(y, x)`` is their difference over the distance from the state. ``valid_radius`` is the distance up
        to which that stays below 0.1 on the plane (`reach` where it does so farther). ``eigenvalue(mode)`` with
        ``eigenvalue_error``. ``mode_direction(mode, axis)`` are the eigenvectors that span the plane, as they lie in
        it. ``origin(state)`` and ``direction(axis, state)`` are the plane's.

    Raises
    ------
    UserError
        For a flow, a system of one dimension, a point or input of the wrong size, sizes below what they must be.

    Notes
    -----
    The error grows linearly with the distance where the step has second derivatives.

    Examples
    --------
    >>> from dynlab.systems import create
    >>> ds = tangent_map(create("linear", matrix=[[0.5, -2.0], [2.0, 0.5]]), [0.0, 0.0])
    Traceback (most recent call last):
    ...
    dynlab.errors.UserError: A tangent map is that of a step, got the flow 'linear': take dynlab.Euler(flow, step_size).
    """
    _check(system, reach, grid)
    p = _numbers("point", point, system.state_size)
    x = held_input(system, at, torch.zeros(1, 1, system.input_size, dtype=torch.float64), False).numpy()
    held = Held(frozen(system), torch.as_tensor(x), at_step)
    J, wrong = (each.numpy() for each in jacobian_and_error(held.system, *held.given(torch.as_tensor(p))))
    if not np.isfinite(J).all():
        raise UserError(
            f"The derivative at {place(p)} is no number, so that it has no tangent map: take another state."
        )
    kink = not np.isfinite(wrong).all()
    values, errors, _ = eigenvalues(J, np.where(np.isfinite(wrong), wrong, 0.0), blocks=system.blocks)
    errors = np.full_like(errors, np.inf) if kink else errors
    axes, modes = _plane(J, errors, system.blocks)
    line = np.linspace(-reach, reach, grid)
    offset = line[None, :, None] * axes[0] + line[:, None, None] * axes[1]
    moved, linear, error = _step_and_linear(held, p, J, offset)
    valid = _valid_radius(held, p, J, axes, reach)
    moves = float(np.linalg.norm(_step_and_linear(held, p, J, np.zeros_like(p))[0]))
    kind = UNDECIDED_AT_KINK if kink else kind_of_map(values, errors)
    variables = _variables(moved - offset, linear - offset, error, valid, axes)
    variables |= {
        "eigenvalue": schema.variable((schema.MODE,), values, "eigenvalue μ of ∂F/∂h"),
        "eigenvalue_error": schema.variable((schema.MODE,), errors, "bound on the error of μ"),
        "mode_direction": schema.variable((schema.MODE, schema.AXIS), modes, "eigenvector in the plane"),
        "origin": schema.variable((schema.STATE,), p, "the state p"),
    }
    said = _verdict(moves, kind.name, valid, reach, float(error.max()))
    settings = {"input": x.tolist(), "at_step": at_step, "reach": reach, "grid": grid, "point": p.tolist()}
    return schema.dataset(
        variables,
        system=system.name,
        source=system.source,
        settings=settings | {"dtype": "float64", "device": "cpu", "config": system.json_config},
        verdict=under_input(said, at) if system.input_size else said,
        method=METHOD,
        coords={
            schema.X: schema.variable((schema.X,), line, "distance along the first direction"),
            schema.Y: schema.variable((schema.Y,), line, "distance along the second direction"),
        },
        flags=({"mode_direction": NO_DIRECTION} if np.isnan(modes).any() else {})
        | ({"eigenvalue_error": AT_ONE_SIDE} if kink else {}),
    )


def tangent_map_among(system: Map, found: xr.Dataset, number: int) -> xr.Dataset:
    """Return the tangent map of one of several fixed points, in a window halfway to the nearest other one.

    Parameters
    ----------
    system : Map
    found : Dataset
        Of `dynlab.geometry` or `dynlab.fixed_points`.
    number : int
        Which, from 0.
    """
    states = found["fixed_point_state"].values
    if not 0 <= number < len(states):
        raise UserError(f"--tangent counts the fixed points from 0, and {len(states)} were found; got {number}.")
    distances = np.linalg.norm(np.delete(states, number, axis=0) - states[number], axis=1)
    held = schema.settings(found)
    reach = float(distances.min() / 2) if len(distances) else REACH
    return tangent_map(system, states[number], at=held["input"], at_step=held["at_step"], reach=reach)


def _step_and_linear(held: Held, p: Real, jacobian: Real, offset: Real) -> tuple[Real, Real, Real]:
    """Return F(h) − p and F(p) + J (h − p) − p at h = p + offset, (…, n), and the error over the distance, (…)."""
    base = held.moved(torch.as_tensor(p)[None])[0].numpy()
    moved = held.moved(torch.as_tensor(p + offset).reshape(-1, len(p))).numpy().reshape(offset.shape)
    linear = base + offset @ jacobian.T
    distance = np.linalg.norm(offset, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.where(distance > 0, np.linalg.norm(moved - linear, axis=-1) / distance, 0.0)
    return moved - p, linear - p, error


def _valid_radius(held: Held, p: Real, jacobian: Real, axes: Real, reach: float) -> float:
    """Return the least distance at which the error crosses HOLDS on a ray, linear between samples; at most `reach`."""
    angle = np.linspace(0, 2 * np.pi, RAYS, endpoint=False)
    radius = reach * np.geomspace(NEAREST, 1, RADII)
    rays = np.stack([np.cos(angle), np.sin(angle)], axis=-1) @ axes
    error = _step_and_linear(held, p, jacobian, rays[:, None] * radius[:, None])[2]
    above = error > HOLDS
    if above[:, 0].any():
        return 0.0
    ray = np.flatnonzero(above.any(axis=1))
    after = above[ray].argmax(axis=1)
    before = after - 1
    part = (HOLDS - error[ray, before]) / (error[ray, after] - error[ray, before])
    crossing = radius[before] + part * (radius[after] - radius[before])
    return float(crossing.min(initial=reach))


def _check(system: System, reach: float, grid: int) -> None:
    if not isinstance(system, Map):
        raise UserError(
            f"A tangent map is that of a step, got the flow {system.name!r}: take dynlab.Euler(flow, step_size)."
        )
    if system.state_size < 2:
        raise UserError(f"A plane of states needs two dimensions, and {system.name} has one: see its fixed points.")
    if grid < 2 or not 0 < reach < np.inf:
        raise UserError(f"The grid needs at least 2 states and a positive reach, got grid={grid} and reach={reach}.")


def _numbers(what: str, given: ArrayLike, size: int) -> Real:
    values = np.asarray(given, dtype=float)
    if values.shape != (size,) or not np.isfinite(values).all():
        raise UserError(f"The {what} must be {size} finite numbers, got shape {values.shape}.")
    return values


def _plane(jacobian: Real, errors: Real, blocks: Sequence[int]) -> tuple[Real, Real]:
    """Return orthonormal directions (2, n), and each eigenvector's place in the plane, (n, 2), NaN for others."""
    modes = eigenmodes(jacobian, errors, blocks, 2)
    turning = modes.values.imag != 0
    first = real_axes(modes.right[0])
    second = first[1] if turning[0] else real_axes(modes.right[1])[0]
    spanning = np.stack([first[0], second])
    if len(jacobian) == 2:
        axes = np.eye(2)  # the plane is the whole space: its own coordinates
    else:
        axes = np.linalg.qr(spanning.T)[0].T
        axes *= np.sign((axes * spanning).sum(axis=1))[:, None]
    placed = np.full((len(jacobian), 2), np.nan)
    placed[:2] = np.where(modes.resolved[:2, None], spanning @ axes.T, np.nan)
    return axes, placed


def _variables(moved: Real, linear: Real, error: Real, valid: float, axes: Real) -> dict[str, xr.Variable]:
    grid, of = (schema.Y, schema.X), schema.variable
    return {
        "displacement": of((*grid, schema.AXIS), moved @ axes.T, "displacement F(h) − h in one step"),
        "linear_displacement": of((*grid, schema.AXIS), linear @ axes.T, "displacement by the linear map"),
        "linear_error": of(grid, error, "error of the linear map over the distance"),
        "valid_radius": of((), valid, "distance up to which that error is below 0.1"),
        "direction": of((schema.AXIS, schema.STATE), axes, "directions of the plane"),
    }


def _verdict(moves: float, kind: str, valid: float, reach: float, largest: float) -> str:
    still = f"a fixed point ({of_map(kind)})" if moves < SAME else f"no fixed point, it moves by {number(moves, 2)}"
    within = f"up to a distance of {number(valid, 2)}"
    if largest <= HOLDS and valid >= reach:
        within = "in all of the window"
    return (
        f"The state is {still}. The linear map's error stays below {share(HOLDS)} of the distance {within}; it is at "
        f"most {number(100 * largest, 2)} % in the window of ±{number(reach, 2)}."
    )
