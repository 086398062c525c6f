"""The reach of a linearisation around a state: the step or velocity on a plane through it, beside the linear one."""

from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike

from dynlab import schema
from dynlab.arguments import check_at_least, check_positive
from dynlab.diagnostics.fixed_points.verdict import under_input
from dynlab.errors import UserError
from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.eigenvectors import eigenmodes, real_axes
from dynlab.numerics.kinds import kind_of
from dynlab.program.differentiation import jacobian_and_error
from dynlab.systems import System
from dynlab.systems.autonomous import Held
from dynlab.systems.checked import checked
from dynlab.trajectories.constant_input import under_constant_input
from dynlab.words import number, of_map, place, share

REACH = 0.5
HOLDS = 0.1  # times the distance: the linear map's error up to there is called small
RAYS, RADII, NEAREST = 180, 120, 1e-4  # along which that distance is looked for, from NEAREST of the reach outward
SAME = 1e-6  # a step that moves less than this times the distance between neighbours of the grid moves not at all
AT_ONE_SIDE = "inf: at a kink of the activation, where the Jacobian is that of one side alone"
NO_DIRECTION = "NaN for eigenvectors that do not span the plane, or are not told from another"
METHOD = (
    "The plane is that of the two leading eigenvectors of J, ∂F/∂h of a step and ∂f/∂h of a flow, of a complex pair "
    "that of its real and imaginary part. The displacement is evaluated on a grid of it, beside its linearisation at "
    "p; both are projected on the plane. The error is the size of their difference over ‖h − p‖₂, with what leaves "
    "the plane. The distance up to which it stays small is "
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
    grid: int = 21,
) -> xr.Dataset:
    """Return one step, or a flow's velocity, on a plane of states around `point` beside its linearisation, in float64.

    Parameters
    ----------
    system : Map or Flow
    point : array_like, shape (state,)
        State p, such as a fixed point; two dimensions at least.
    at : "zero", "rest", "mean" or array_like, shape (input,)
        Input that is held; the mean is that of the inputs recorded with the system.
    at_step : int
        Number of the step, where parameters change with time.
    reach : float
        Half the width of the window.
    grid : int
        Number of states in each direction.

    Returns
    -------
    xarray.Dataset
        ``displacement(y, x, axis)`` = F(h) − h of a map, f(h) of a flow (1/s), and ``linear_displacement``, both in the
        plane's coordinates. ``linear_error(y, x)`` is their difference over the distance from the state.
        ``valid_radius`` is the distance up to which that stays below 0.1 on the plane (`reach` where it does so
        farther), of a flow below 0.1 per second. ``eigenvalue(mode)`` with ``eigenvalue_error``.
        ``mode_direction(mode, axis)`` are the eigenvectors that span the plane, as they lie in it. ``origin(state)``
        and ``direction(axis, state)`` are the plane's.

    Raises
    ------
    UserError
        For a system of one dimension, a point or input of the wrong size, sizes below what they must be.

    Notes
    -----
    The error grows linearly with the distance where the step has second derivatives.
    """
    check_at_least(2, grid=grid)
    check_positive(reach=reach)
    p, n = np.asarray(point, dtype=float), system.state_size
    if n < 2 or p.shape != (n,) or not np.isfinite(p).all():
        raise UserError(f"A plane of {system.name} needs a point of {n} finite numbers, 2 at least; got {p.tolist()}.")
    held, _ = under_constant_input(system, None, at, at_step)
    J, values, errors = _linearised(held, p)
    kink = bool(np.isinf(errors).all())
    axes, modes = _plane(held, J, errors)
    line, slope = np.linspace(-reach, reach, grid), J if held.is_flow else J - np.eye(n)
    moved, linear, error = _compared(held, p, slope, line[None, :, None] * axes[0] + line[:, None, None] * axes[1])
    valid = _valid_radius(held, p, slope, axes, reach)
    kind = "undecided, at a kink" if kink else kind_of(values, errors, held.is_flow).name
    rate, window = schema.PER_SECOND if held.is_flow else schema.ONE, (schema.Y, schema.X)
    what = "velocity f(h)" if held.is_flow else "displacement F(h) − h in one step"
    rows: dict[str, tuple[Any, ...]] = {
        "displacement": ((*window, schema.AXIS), moved @ axes.T, what, rate),
        "linear_displacement": ((*window, schema.AXIS), linear @ axes.T, "displacement by the linear map", rate),
        "linear_error": (window, error, "error of the linear map over the distance", rate),
        "valid_radius": ((), valid, "distance up to which that error is below 0.1"),
        "direction": ((schema.AXIS, schema.STATE), axes, "directions of the plane"),
        "mode_direction": ((schema.MODE, schema.AXIS), modes, "eigenvector in the plane"),
        "eigenvalue": ((schema.MODE,), values, "eigenvalue of the Jacobian", rate),
        "eigenvalue_error": ((schema.MODE,), errors, "bound on the error of the eigenvalue", rate),
        "origin": ((schema.STATE,), p, "the state p"),
    }
    moves, largest = float(held.displacement(torch.as_tensor(p)[None]).norm()), float(error.max())
    said = _verdict(moves, kind if held.is_flow else of_map(kind), valid, reach, largest, held.is_flow)
    return schema.result(
        system,
        rows,
        settings={"input": held.input.tolist(), "at_step": held.t, "reach": reach, "grid": grid, "point": p.tolist()}
        | {"dtype": "float64", "device": "cpu"},
        verdict=under_input(said, at, system.input_size),
        method=METHOD,
        coords=schema.plane_axes(
            (line, line), (f"distance along the {which} direction" for which in ("first", "second"))
        ),
        reasons={"mode_direction": NO_DIRECTION, "eigenvalue_error": AT_ONE_SIDE},
    )


def tangent_map_among(system: System, found: xr.Dataset, number: int) -> xr.Dataset:
    """Return the tangent map of one of several fixed points, in a window halfway to the nearest other one.

    Parameters
    ----------
    system : System
    found : Dataset
        The result of `dynlab.geometry` or `dynlab.fixed_points`.
    number : int
        Number of the point, from 0.
    """
    states = found["fixed_point_state"].values
    if not 0 <= number < len(states):
        raise UserError(f"--tangent counts the fixed points from 0, and {len(states)} were found; got {number}.")
    distances = np.linalg.norm(np.delete(states, number, axis=0) - states[number], axis=1)
    held = schema.settings(found)
    reach = float(distances.min() / 2) if len(distances) else REACH
    return tangent_map(system.without_encoder(), states[number], at=held["input"], at_step=held["at_step"], reach=reach)


def _linearised(held: Held, p: Real) -> tuple[Real, Complex, Real]:
    """Return the Jacobian at p, its eigenvalues and their errors, inf at a kink."""
    J, wrong = (each.numpy() for each in jacobian_and_error(held.system, *held.given(torch.as_tensor(p))))
    if not np.isfinite(J).all():
        raise UserError(f"The derivative at {place(p)} is no number: take another state.")
    values, errors, _ = eigenvalues(J, np.nan_to_num(wrong, posinf=0.0), blocks=held.system.blocks)
    return J, values, errors if np.isfinite(wrong).all() else np.full_like(errors, np.inf)


def _compared(held: Held, p: Real, slope: Real, offset: Real) -> tuple[Real, Real, Real]:
    """Return the displacement at h = p + offset, (…, n), its linearisation, and the error over the distance, (…)."""
    states = torch.as_tensor(np.concatenate([p[None], (p + offset).reshape(-1, len(p))]))
    base, *_ = moved = held.displacement(states).numpy()
    found, linear = moved[1:].reshape(offset.shape), base + offset @ slope.T
    distance = np.linalg.norm(offset, axis=-1)
    size = np.linalg.norm(found - linear, axis=-1)
    return found, linear, np.divide(size, distance, out=np.zeros_like(size), where=distance > 0)


def _valid_radius(held: Held, p: Real, slope: Real, axes: Real, reach: float) -> float:
    """Return the least distance at which the error crosses HOLDS on a ray, linear between samples; at most `reach`."""
    angle = np.linspace(0, 2 * np.pi, RAYS, endpoint=False)
    radius = reach * np.geomspace(NEAREST, 1, RADII)
    rays = np.stack([np.cos(angle), np.sin(angle)], axis=-1) @ axes
    error = _compared(held, p, slope, rays[:, None] * radius[:, None])[2]
    above = error > HOLDS
    if above[:, 0].any():
        return 0.0
    ray = np.flatnonzero(above.any(axis=1))
    after = above[ray].argmax(axis=1)
    part = (HOLDS - error[ray, after - 1]) / (error[ray, after] - error[ray, after - 1])
    return float((radius[after - 1] + part * (radius[after] - radius[after - 1])).min(initial=reach))


def _plane(held: Held, jacobian: Real, errors: Real) -> tuple[Real, Real]:
    """Return orthonormal directions (2, n), and each eigenvector's place in the plane, (n, 2), NaN for others."""
    modes = eigenmodes(jacobian, errors, held.system.blocks, 2)
    first = real_axes(modes.right[0])
    spanning = np.stack([first[0], first[1] if modes.values[0].imag else real_axes(modes.right[1])[0]])
    axes = np.eye(2)  # the plane is the whole space: its own coordinates
    if len(jacobian) > 2:
        axes = np.linalg.qr(spanning.T)[0].T
        axes *= np.sign((axes * spanning).sum(axis=1))[:, None]
    placed = np.full((len(jacobian), 2), np.nan)
    placed[:2] = np.where(modes.resolved[:2, None], spanning @ axes.T, np.nan)
    return axes, placed


def _verdict(moves: float, kind: str, valid: float, reach: float, largest: float, flow: bool) -> str:
    name, per = ("an equilibrium", " per second") if flow else ("a fixed point", "")
    state = f"{name} ({kind})" if moves < SAME else f"no {name.split(' ', 1)[1]}, it moves by {number(moves, 2)}{per}"
    within = (
        "in all of the window" if largest <= HOLDS and valid >= reach else f"up to a distance of {number(valid, 2)}"
    )
    return (
        f"The state is {state}. The linear map's error stays below {share(HOLDS)} of the distance{per} {within}; it is "
        f"at most {number(100 * largest, 2)} %{per} in the window of ±{number(reach, 2)}."
    )
