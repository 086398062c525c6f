"""A quadratic Lyapunov function at each stable fixed point, and a set around it in which it is proved to decrease."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import torch
import xarray as xr
from numpy.typing import ArrayLike

from dynlab import schema
from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.diagnostics.fixed_points.at_points import also_incomplete
from dynlab.diagnostics.fixed_points.verdict import under_input
from dynlab.diagnostics.lyapunov_function.verdict import (
    NO_SET,
    NOT_STABLE,
    PROVED,
    SAMPLED,
    AtPoint,
    left_out,
    verdict,
)
from dynlab.errors import UserError, require_extra
from dynlab.jacobians import held_matrices
from dynlab.numerics.arrays import Real
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.threads import one_thread_each
from dynlab.progress import through
from dynlab.systems import Euler, Flow, System, frozen
from dynlab.systems.checked import checked
from dynlab.systems.held import Held
from dynlab.wording import at_least, near_one, number, place

DIRECTIONS = 512  # drawn on each level, beside the axes of the set
LEVELS = 40  # sampled radii
LARGEST_LEVEL = 1e3  # the largest, in radii that are proved
SMALLEST = 2.0**-30  # times the unit ball's level: below nothing is looked for
# States of a system beyond which nothing is proved unless asked for: 128 take a minute, and the time grows as n^2.6.
LARGEST_PROVED = 256
AROUND = 128  # directions in the plane of the two slowest
MOST_AXES = 256  # of a set, the slowest, along which states are sampled
BELOW = 0.9  # of the critical step: a step that is safely stable
ROUNDED = 1e-6  # of the plane's width: nearer to h* rounding may be what grows
GRID = 81  # points of the plane in each direction
METHOD = (
    "P solves Lyapunov's equation with the identity, and T is its Cholesky factor. States are sampled on 81 levels, "
    "and on the plane of the two slowest directions."
)
OF_PROOFS = (
    " The set |T (h − h*)| ≤ r is sought in floating point, r to 3 %, and proved in ball arithmetic (Arb, 64 bits) "
    "over the box that holds it. The proof is about the step in real numbers with the weights as stored."
)
FLAGS = {"ratio": "at h* itself there is none; −inf where one step ends at it"}
OF_A_SET = (  # variables, known where a set is proved
    *("weights", "lyapunov_residual", "radius", "rate", "semi_axis", "extent"),
    *("sampled_radius", "sampled_rate", "largest_rate"),
)


@checked
def lyapunov_function(
    system: System,
    inputs: Any = None,
    *,
    at: str | ArrayLike = "zero",
    at_step: int = -1,
    kind: str | None = None,
    starts: int | ArrayLike | None = None,
    prove: bool | None = None,
    seed: int = 0,
) -> xr.Dataset:
    """V(h) = (h − h*)ᵀ P (h − h*) at each fixed point h*, and how far around it V is proved to decrease.

    P solves Jᵀ P J − P = −I of a map, and Jᵀ P + P J = −I of a flow, with J at h*. V decreases near a stable one. Every
    start in a set V ≤ r² in which it does ends at h*.

    Parameters
    ----------
    system : Map or Flow
    inputs : array_like, shape (time, input) or (sample, time, input), optional
    at, at_step, starts, seed : as in `dynlab.fixed_points`
        What is held, and where fixed points are sought.
    kind : {"map", "flow"}, optional
        Of an `Euler` step, whether the step or its flow; otherwise what the system is.
    prove : bool, optional
        Whether anything is proved, or only sampled. Where it is not given, up to 256 states: the verdict says so.

    Returns
    -------
    xarray.Dataset
        ``fixed_point_state(fixed_point, state)``; ``eigenvalue(fixed_point, mode)``, μ of the step or λ of the flow
        there; ``status(fixed_point)``: "proved", or why not. ``weights(fixed_point, mode, state)``: T, with P = Tᵀ T
        and V = |T (h − h*)|²; ``lyapunov_residual``, relative, of the equation. ``radius(fixed_point)`` is proved: V
        decreases where |T (h − h*)| is at most this. ``rate`` is proved too: there |T (h − h*)| changes by at most this
        factor a step, of a flow at most at this rate in 1/s. ``semi_axis(fixed_point, mode)`` is of that set.
        ``sampled_radius``: the largest sampled r without a state at which V grows, and without another fixed point;
        ``sampled_rate``: the largest seen within the proved set; ``tried``: how many radii.
        ``ratio(fixed_point, y, x)`` is ln √(V(F(h))/V(h)), or the rate of ln √V. It is on the plane of the two slowest
        directions, the leading singular vectors of T. The plane's coordinates are parts of ``extent(fixed_point)`` in
        the norm |T (h − h*)|. ``largest_rate(fixed_point, level)``: the largest of these on each sampled ``level``.

    Raises
    ------
    UserError
        For a kind that the system is not, and without python-flint.

    References
    ----------
    Khalil, "Nonlinear Systems", 3rd edition, 2002, sections 4.3 and 8.2; Söderlind, BIT 46 (2006).

    Examples
    --------
    >>> from dynlab.matrices import planar_matrix
    >>> from dynlab.systems.planar import planar_system
    >>> ds = lyapunov_function(planar_system(planar_matrix("diff"), "flow"))
    >>> str(ds.status.values[0]), bool(ds.sampled_radius[0] >= ds.radius[0] > 0.1)
    ('proved', True)
    """
    require_extra("flint", "certify")
    of_flow, flow = _kind(system, kind)
    # equilibria of a flow are fixed points of an Euler step of any size, and the proof that they exist is the same
    stepped: Any = Euler(flow, 1.0) if flow is not None else system
    proving = stepped.state_size <= LARGEST_PROVED if prove is None else prove
    found = fixed_points(stepped, inputs, at=at, at_step=at_step, starts=starts, certify=proving, seed=seed)
    said = left_out(proving, prove, stepped.state_size) + also_incomplete(found)
    continua = int((found["status"] == "not isolated").sum())
    at_rest_too = found["fixed_point_state"].values
    found = found.isel({schema.FIXED_POINT: (found["status"] == "fixed point").values})
    chosen = schema.settings(found)
    held = torch.tensor(chosen["input"], dtype=torch.float64)
    at_rest = Held(frozen(stepped if flow is None else flow), held, chosen["at_step"])
    with one_thread_each():  # the matrices are small
        rows = [
            _row(at_rest, flow, found.isel({schema.FIXED_POINT: i}), at_rest_too, seed)
            for i in through(range(found.sizes["fixed_point"]))
        ]
    settings = {key: chosen[key] for key in ("at", "input", "at_step", "starts", "inputs", "seed", "config")}
    variables = {"fixed_point_state": found["fixed_point_state"].variable, "eigenvalue": _eigenvalue(found, of_flow)}
    variables |= _variables(rows, stepped.state_size, of_flow)
    told = verdict(rows, continua, of_flow, _of_euler(system, found))
    return schema.dataset(
        variables,
        system=system.name,
        source=system.source,
        settings=settings
        | {"prove": proving, "kind": "flow" if of_flow else "map", "dtype": "float64", "device": "cpu"},
        verdict=(under_input(told, at) if system.network_input_size else told) + said,
        method=METHOD + OF_PROOFS * proving,
        coords={
            name: schema.variable((name,), np.linspace(-1, 1, GRID), f"along the {which} direction, in extents")
            for name, which in ((schema.X, "slowest"), (schema.Y, "second slowest"))
        },
        flags=FLAGS | schema.not_finite(variables, dict.fromkeys(OF_A_SET, "not proved: status says why")),
    )


def _of_euler(system: System, found: xr.Dataset) -> str:
    """Of an Euler step with one fixed point, which the step alone makes unstable: below which step it is stable."""
    if not isinstance(system, Euler) or found.sizes[schema.FIXED_POINT] != 1 or int(found["stable"][0]) != 0:
        return ""
    errors = found["eigenvalue_error"].values[0] / system.step_size
    rates = (found["eigenvalue"].values[0] - 1) / system.step_size
    if not (rates.real < -errors).all():
        return ""
    critical = float(np.min(-2 * rates.real / np.abs(rates) ** 2))
    where = place(found["fixed_point_state"].values[0])
    where = f"({where})" if "=" in where else f"h = {where}"
    largest = near_one(float(np.abs(found["eigenvalue"].values[0]).max()), 5)
    smaller = "" if system.source else f" (try --step {at_least(BELOW * critical, 1)})"  # a network has its own
    return (
        f"At the fixed point {where} the flow is stable, but Euler's map at ε = {number(system.step_size)} is not "
        f"(largest |μ| {largest}), so the map has no Lyapunov function there. Below the critical step "
        f"{at_least(critical, 3)} it has one{smaller}, and so has the flow (--kind flow)."
    )


def _kind(system: System, kind: str | None) -> tuple[bool, Flow | None]:
    """Whether a flow is looked at, and which."""
    if kind not in (None, "map", "flow"):
        raise UserError(f"The kind is map or flow, got {kind!r}.")
    flow = system.flow if isinstance(system, Euler) else system if isinstance(system, Flow) else None
    if kind == "flow" and flow is None:
        raise UserError(f"{system.name!r} is no Euler step of a flow: leave out kind='flow' (--kind flow).")
    if kind == "map" and isinstance(system, Flow):
        raise UserError(f"{system.name!r} is a flow: for a map, take the step dynlab.Euler(flow, step_size).")
    of_flow = kind == "flow" or (kind is None and isinstance(system, Flow))
    return of_flow, flow if of_flow else None


def _row(at_rest: Held, flow: Flow | None, point: xr.Dataset, known: Real, seed: int) -> AtPoint:
    """What is known of a fixed point; V falls at none of those that are `known`, shape (k, state)."""
    state = point["fixed_point_state"].values
    if not point.get("certified", True):
        return _nothing(len(state), "the fixed point is not proved: " + str(point["certificate_reason"].values))
    if flow is None and point["stable"] != 1:
        return _nothing(len(state), NOT_STABLE if point["stable"] == 0 else "its stability is undecided")
    J, identity = held_matrices(at_rest, torch.from_numpy(state)).numpy(), np.eye(len(state))
    if flow is not None:
        rates_there = eigenvalues(J)
        if (rates_there.values.real >= -rates_there.errors).any():
            grows = (rates_there.values.real > rates_there.errors).any()
            return _nothing(len(state), NOT_STABLE if grows else "its stability is undecided")
        P = scipy.linalg.solve_continuous_lyapunov(J.T, -identity)
        residual = J.T @ P + P @ J + identity
    else:
        P = _of_powers(J)
        residual = J.T @ P @ J - P + identity
    try:
        T = np.linalg.cholesky((P + P.T) / 2).T
    except np.linalg.LinAlgError:
        return _nothing(len(state), "Lyapunov's equation is too ill-conditioned for double precision")
    return _around(at_rest, flow, point, T, float(np.linalg.norm(residual) / np.linalg.norm(P)), known, seed)


def _of_powers(J: Real) -> Real:
    """Σ_k (J^k)ᵀ J^k, which solves a map's equation: twice as many terms in each step (Smith's squared method)."""
    P, power, last = np.eye(len(J)), J, np.inf
    with np.errstate(all="ignore"):  # of a J that is not stable
        while last > np.finfo(float).eps * np.abs(P).max():  # nor NaN
            more = power.T @ P @ power
            P, power, last = P + more, power @ power, float(np.abs(more).max())
    return P


def _around(
    at_rest: Held, flow: Flow | None, point: xr.Dataset, T: Real, residual: float, known: Real, seed: int
) -> AtPoint:
    from dynlab.proofs.level_set import LevelSet, proved_level_set

    state = point["fixed_point_state"].values
    axes, sizes, _ = np.linalg.svd(T)
    first, proved = float(sizes[0]), LevelSet(0.0, np.nan, 0)  # the unit ball is not larger
    status = SAMPLED
    if "certified" in point:
        program, radius = at_rest.system.program(at_rest.input, at_rest.t), float(point["certificate_radius"])
        proved = proved_level_set(program, state, radius, T, first, logarithmic=flow is not None)
        status = PROVED if proved.radius else NO_SET
    offsets = (known - state) @ T.T
    others, away = offsets[offsets.any(axis=1)], np.linalg.norm(offsets[offsets.any(axis=1)], axis=1)
    towards = others / away[:, None]
    along = np.concatenate([_directions(axes, np.random.default_rng(seed)), towards])
    base = proved.radius or _falling(lambda level: _rates(at_rest, state, T, level * along), first)
    levels = base * np.geomspace(1 / LARGEST_LEVEL, LARGEST_LEVEL, 2 * LEVELS + 1)
    fall = np.stack([_rates(at_rest, state, T, level * along) for level in levels])
    grows = ~(fall < 0).all(axis=1) | (levels >= away.min(initial=np.inf))  # nor does V fall where F(h) = h
    falls = int(np.append(grows, True).argmax())  # so many levels, from the innermost
    inside = levels <= proved.radius
    seen = float(fall[inside].max()) if inside.any() else np.nan
    plane = np.stack(np.meshgrid(np.linspace(-1, 1, GRID), np.linspace(-1, 1, GRID)), axis=-1)
    leading = along[:2] if len(state) > 1 else np.concatenate([along[:1], np.zeros((1, 1))])
    while True:  # until no state of the plane, which has many more of its two directions, grows within the level
        sampled = float(levels[falls - 1]) if falls else 0.0
        extent = 1.3 * max(proved.radius, sampled)
        u = (extent * plane @ leading).reshape(-1, len(state))
        rates, distance = _rates(at_rest, state, T, u), np.linalg.norm(u, axis=1)
        growing = distance[(rates >= 0) & (distance > max(proved.radius, ROUNDED * extent))].min(initial=np.inf)
        if growing > sampled or sampled <= proved.radius:
            break
        falls = int((levels < growing).sum())
    ratio = rates.reshape(GRID, GRID)
    return AtPoint(
        status,
        T,
        residual,
        proved.radius or np.nan,
        proved.rate,
        proved.tried,
        sampled,
        seen if flow is not None else float(np.exp(seen)),
        ratio,
        extent,
        levels,
        fall.max(axis=1),
    )


def _falling(rates: Callable[[float], Real], first: float) -> float:
    """`first`, or as much less as puts a level at which V falls among those that are sampled about it."""
    base = first
    while base > SMALLEST * first and not (rates(base / LARGEST_LEVEL) < 0).all():
        base /= LARGEST_LEVEL
    return base


def _nothing(size: int, reason: str) -> AtPoint:
    """Of a fixed point without a Lyapunov function."""
    nan = np.nan
    plane, levels = np.full((GRID, GRID), nan), np.full(2 * LEVELS + 1, nan)
    return AtPoint(reason, np.full((size, size), nan), nan, nan, nan, 0, nan, nan, plane, nan, levels, levels)


def _directions(axes: Real, generator: np.random.Generator) -> Real:
    """Unit vectors u = T x, shape (direction, state): both ways along the set's axes, in the plane of two, at random.

    Along T's leading singular vectors, the columns of `axes`, the slowest first, V is largest for its distance: most is
    left to fall. In many dimensions none drawn at random comes near to them.
    """
    drawn = generator.standard_normal((DIRECTIONS, len(axes)))
    slowest = axes.T[:MOST_AXES]
    around = np.exp(2j * np.pi * np.arange(AROUND) / AROUND)
    plane = np.outer(around.real, slowest[0]) + np.outer(around.imag, slowest[min(1, len(slowest) - 1)])
    parts = [
        slowest,
        -slowest,
        plane[: AROUND * (len(slowest) > 1)],
        drawn / np.linalg.norm(drawn, axis=1, keepdims=True),
    ]
    return np.concatenate(parts)


def _rates(at_rest: Held, state: Real, T: Real, u: Real) -> Real:
    """Of h = h* + T⁻¹ u, ln |T (F(h) − h*)|/|u|, or of a flow the rate of ln |T (h − h*)|; NaN at u = 0."""
    h = torch.from_numpy(state + scipy.linalg.solve_triangular(T, u.T).T)
    size = np.linalg.norm(u, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        if at_rest.is_flow:
            velocity = at_rest.moved(h).numpy() @ T.T
            return np.asarray((u * velocity).sum(axis=1) / size**2)
        after = np.linalg.norm((at_rest.moved(h).numpy() - state) @ T.T, axis=1)
        return np.asarray(np.log(after / size))


def _eigenvalue(found: xr.Dataset, of_flow: bool) -> xr.Variable:
    """μ of the step, or λ = (μ − 1)/ε of the flow, whose Euler step of ε = 1 was searched."""
    values, mode = found["eigenvalue"].values, (schema.FIXED_POINT, schema.MODE)
    if of_flow:
        return schema.variable(mode, values - 1, "eigenvalue λ of the flow's Jacobian at h*", schema.PER_SECOND)
    return schema.variable(mode, values, "eigenvalue μ of the step's Jacobian at h*")


def _variables(rows: list[AtPoint], size: int, of_flow: bool) -> dict[str, xr.Variable]:
    point = (schema.FIXED_POINT,)
    per = schema.PER_SECOND if of_flow else schema.ONE
    what = "rate of ln √V" if of_flow else "ln √(V(F(h))/V(h))"

    def each(name: str, shape: tuple[int, ...] = ()) -> Any:
        return np.array([getattr(row, name) for row in rows]).reshape(len(rows), *shape)

    axes = [
        row.radius / np.linalg.svd(row.weights, compute_uv=False)[::-1] if row.radius > 0 else np.full(size, np.nan)
        for row in rows
    ]
    of, mode, levels = schema.variable, (*point, schema.MODE), (*point, schema.LEVEL)
    return {
        "status": of(point, np.array([row.status for row in rows], dtype=str), "status"),
        "weights": of((*mode, schema.STATE), each("weights", (size, size)), "T, V = |T (h − h*)|²"),
        "lyapunov_residual": of(point, each("residual"), "relative residual of Lyapunov's equation"),
        "radius": of(point, each("radius"), "proved radius |T (h − h*)|"),
        "rate": of(
            point, each("rate"), "proved rate of |T (h − h*)|" if of_flow else "proved factor of |T (h − h*)|", per
        ),
        "tried": of(point, each("tried").astype(np.int64), "radii that were tried"),
        "semi_axis": of(mode, np.array(axes).reshape(len(rows), size), "semi-axis of the proved set"),
        "sampled_radius": of(point, each("sampled_radius"), "sampled radius |T (h − h*)|"),
        "sampled_rate": of(point, each("sampled_rate"), "largest sampled rate in the proved set", per),
        "level": of(levels, each("levels", (2 * LEVELS + 1,)), "level |T (h − h*)|"),
        "largest_rate": of(levels, each("largest", (2 * LEVELS + 1,)), f"largest sampled {what}", per),
        "extent": of(point, each("extent"), "half the width of the plane"),
        "ratio": of((*point, schema.Y, schema.X), each("ratio", (GRID, GRID)), what, per),
    }
