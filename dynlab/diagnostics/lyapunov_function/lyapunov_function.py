"""A quadratic Lyapunov function at each stable fixed point, and a set around it in which it is proved to decrease."""

from typing import Any

import numpy as np
import scipy.linalg
import torch
import xarray as xr
from numpy.typing import ArrayLike

from dynlab import schema
from dynlab.diagnostics.fixed_points.fixed_points import fixed_points
from dynlab.diagnostics.fixed_points.verdict import under_input
from dynlab.diagnostics.fixed_points.verification import also_incomplete, held_map
from dynlab.diagnostics.lyapunov_function.sampling import GRID, LEVELS, sampled
from dynlab.errors import UserError, require_extra
from dynlab.numerics.arrays import Real
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.kinds import kind_of
from dynlab.numerics.threads import one_thread_each
from dynlab.progress import through
from dynlab.systems import Euler, Flow, System
from dynlab.systems.autonomous import Held
from dynlab.systems.autonomous_jacobians import held_matrices
from dynlab.systems.checked import checked
from dynlab.words import at_least, at_most, counted, interval, number

# States of a system beyond which nothing is proved unless asked for: 128 take a minute, and the time grows as n^2.6.
LARGEST_PROVED = 256
METHOD = (
    "P solves Lyapunov's equation with the identity, and T is its Cholesky factor. States are sampled on 81 levels, "
    "and on the plane of the two slowest directions."
)
OF_PROOFS = (
    " The set |T (h − h*)| ≤ r is sought in floating point, r to 3 %, and proved in ball arithmetic (Arb, 64 bits) "
    "over the box that holds it. The proof is about the step in real numbers with the weights as stored."
)
FLAGS = {"ratio": "at h* itself there is none; −inf where one step ends at it"}
NOT_PROVED = "not proved: status says why"
ILL = "Lyapunov's equation is too ill-conditioned for double precision"
NOT_STABLE, UNDECIDED = "not stable", "its stability is undecided"  # statuses, as the next ones
PROVED, SAMPLED = "proved", "sampled, not proved"
NO_SET = "no set is proved: the Jacobian over every box that was tried may expand"
V = "V = (h − h*)ᵀ P (h − h*)"


@checked
@one_thread_each()  # the matrices are small
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
    """Compute V(h) = (h − h*)ᵀ P (h − h*) at each fixed point h*, and prove how far around it V decreases.

    P solves Jᵀ P J − P = −I of a map, and Jᵀ P + P J = −I of a flow, with J at h*. V decreases near a stable one. Every
    start in a set V ≤ r² in which it does ends at h*.

    Parameters
    ----------
    system : Map or Flow
    inputs : array_like, shape (time, input) or (sample, time, input), optional
    at, at_step, starts, seed : as in `dynlab.fixed_points`
        The input and the step that are held, and where fixed points are sought.
    kind : {"map", "flow"}, optional
        The step itself, or the flow of an `Euler` step; by default what the system is.
    prove : bool, optional
        Prove sets, or only sample; by default sets of systems with up to 256 states are proved.

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
    flow = _flow(system, kind)
    # equilibria of a flow are fixed points of an Euler step of any size, and the proof that they exist is the same
    stepped: Any = Euler(flow, 1.0) if flow is not None else system
    for name in ("recorded_inputs", "rest_input", "embedding", "network_input_size"):
        setattr(stepped, name, getattr(system, name))
    proving = stepped.state_size <= LARGEST_PROVED if prove is None else prove
    searched = fixed_points(stepped, inputs, at=at, at_step=at_step, starts=starts, certify=proving, seed=seed)
    found = searched.isel({schema.FIXED_POINT: (searched["status"] == "fixed point").values})
    chosen, every = schema.settings(found), searched["fixed_point_state"].values
    at_rest = held_map(stepped if flow is None else flow, found)
    points = [found.isel({schema.FIXED_POINT: i}) for i in range(found.sizes[schema.FIXED_POINT])]
    rows = [_row(at_rest, point, every, seed) for point in through(points)]
    values = found["eigenvalue"].values - (flow is not None)  # λ = (μ − 1)/ε of the Euler step of ε = 1
    table = _table(rows, values, flow is not None)
    return schema.result(
        system,
        {"fixed_point_state": found["fixed_point_state"].variable} | table,
        settings={key: chosen[key] for key in ("at", "input", "at_step", "starts", "inputs", "seed")}
        | {"prove": proving, "kind": "map" if flow is None else "flow", "dtype": "float64", "device": "cpu"},
        method=METHOD + OF_PROOFS * proving,
        coords=schema.plane_axes(
            [np.linspace(-1, 1, GRID)] * 2,
            (f"along the {which} direction, in extents" for which in ("slowest", "second slowest")),
        ),
        reasons=dict.fromkeys(table.keys() - {"status"}, NOT_PROVED),
        flags=FLAGS,
        verdict=lambda ds: under_input(_verdict(ds), at, system.network_input_size) + also_incomplete(searched),
    )


def _flow(system: System, kind: str | None) -> Flow | None:
    """Return the flow that is looked at; None for a map."""
    flow = system.flow if isinstance(system, Euler) else system if isinstance(system, Flow) else None
    is_flow = isinstance(system, Flow)
    if kind not in (None, "map", "flow") or (kind == "flow" and flow is None) or (kind == "map" and is_flow):
        raise UserError(
            f"The kind (--kind) is map or flow, got {kind!r}: a flow is that of an Euler step, and a map the step "
            f"dynlab.Euler(flow, step_size) of a flow."
        )
    return flow if kind == "flow" or is_flow else None


def _row(at_rest: Held, point: xr.Dataset, every: Real, seed: int) -> dict[str, Any]:
    """Return the status of one fixed point of `every` (k, state), and T and the sets around a stable one."""
    state = point["fixed_point_state"].values
    if not point.get("certified", True):
        return {"status": f"the fixed point is not proved: {point['certificate_reason'].values}"}
    J, identity = held_matrices(at_rest, torch.from_numpy(state)).numpy(), np.eye(len(state))
    stable = kind_of(*eigenvalues(J)[:2], is_flow=True).stable if at_rest.is_flow else int(point["stable"])
    if stable != 1:
        return {"status": NOT_STABLE if stable == 0 else UNDECIDED}
    if at_rest.is_flow:
        P = scipy.linalg.solve_continuous_lyapunov(J.T, -identity)
        residual = J.T @ P + P @ J + identity
    else:
        P = scipy.linalg.solve_discrete_lyapunov(J.T, identity)
        residual = J.T @ P @ J - P + identity
    try:
        T = np.linalg.cholesky((P + P.T) / 2).T
    except np.linalg.LinAlgError:
        return {"status": ILL}
    size = np.linalg.norm(residual) / np.linalg.norm(P)
    row: dict[str, Any] = {"status": SAMPLED, "weights": T, "lyapunov_residual": size}
    row |= _proved(at_rest, point, T) if "certified" in point else {}
    return row | sampled(at_rest, state, T, row.get("radius", 0.0), every, seed)


def _proved(at_rest: Held, point: xr.Dataset, T: Real) -> dict[str, Any]:
    """Return the largest proved set |T (h − h*)| ≤ r."""
    from dynlab.proofs.level_set import proved_level_set

    sizes = np.linalg.svd(T, compute_uv=False)
    program, uncertainty = at_rest.system.program(at_rest.input, at_rest.t), float(point["certificate_radius"])
    center = point["fixed_point_state"].values
    # the level sizes[0] lies within the unit ball of states
    found = proved_level_set(program, center, uncertainty, T, float(sizes[0]), logarithmic=at_rest.is_flow)
    if not found.radius:
        return {"status": NO_SET, "tried": found.tried}
    row = {"status": PROVED, "radius": found.radius, "rate": found.rate, "tried": found.tried}
    return row | {"semi_axis": found.radius / sizes[::-1]}


def _table(rows: list[dict[str, Any]], values: Any, of_flow: bool) -> dict[str, tuple[Any, ...]]:
    point, per = (schema.FIXED_POINT,), schema.PER_SECOND if of_flow else schema.ONE
    what = "rate of ln √V" if of_flow else "ln √(V(F(h))/V(h))"
    table: dict[str, tuple[Any, ...]] = {
        "weights": ((schema.MODE, schema.STATE), "T, V = |T (h − h*)|²", schema.ONE),
        "lyapunov_residual": ((), "relative residual of Lyapunov's equation", schema.ONE),
        "radius": ((), "proved radius |T (h − h*)|", schema.ONE),
        "rate": ((), f"proved {'rate' if of_flow else 'factor'} of |T (h − h*)|", per),
        "semi_axis": ((schema.MODE,), "semi-axis of the proved set", schema.ONE),
        "sampled_radius": ((), "sampled radius |T (h − h*)|", schema.ONE),
        "sampled_rate": ((), "largest sampled rate in the proved set", per),
        "level": ((schema.LEVEL,), "level |T (h − h*)|", schema.ONE),
        "largest_rate": ((schema.LEVEL,), f"largest sampled {what}", per),
        "extent": ((), "half the width of the plane", schema.ONE),
        "ratio": ((schema.Y, schema.X), what, per),
    }
    n = values.shape[1]
    sizes = {schema.MODE: n, schema.STATE: n, schema.LEVEL: LEVELS, schema.Y: GRID, schema.X: GRID}
    sign = "λ of the flow" if of_flow else "μ of the step"
    found: dict[str, tuple[Any, ...]] = {
        "eigenvalue": ((*point, schema.MODE), values, f"eigenvalue {sign}'s Jacobian at h*", per),
        "status": (point, np.array([row["status"] for row in rows], dtype=str), "status"),
        "tried": (point, np.array([row.get("tried", 0) for row in rows], dtype=int), "radii that were tried"),
    }
    for name, (dims, *words) in table.items():
        shape = [sizes[each] for each in dims]
        each = np.array([row.get(name, np.full(shape, np.nan)) for row in rows])
        found[name] = ((*point, *dims), each.reshape(len(rows), *shape), *words)
    return found


def _verdict(ds: xr.Dataset) -> str:
    """Say where V is proved to decrease, how fast, and how far it decreases in samples."""
    statuses = ds["status"].values
    if not statuses.size:
        return "No nondegenerate fixed point was found, so there is no Lyapunov function."
    proved = bool((statuses == PROVED).any())
    which, points = np.flatnonzero(statuses == (PROVED if proved else SAMPLED)), counted(len(statuses), "fixed point")
    if not which.size:
        return f"There is no Lyapunov function around {points} ({'; '.join(sorted(set(statuses)))})."
    name = "radius" if proved else "sampled_radius"
    smallest = ds[name].values[which] / np.linalg.norm(ds["weights"].values[which], 2, axis=(1, 2))
    widest = ds.isel({schema.FIXED_POINT: int(which[np.argmax(smallest)])})
    axes = float(widest[name]) / np.linalg.svd(widest["weights"].values, compute_uv=False)
    where = f"around {which.size} of {points}"
    if not proved:
        reach = f"out to semi-axes of {interval(axes)}" if axes.any() else "on no level"
        return f"In samples {V} decreases {where}, {reach} at the widest. Nothing is proved."
    rate, times = float(widest["rate"]), float(widest["sampled_radius"] / widest["radius"])
    speed = (
        f"√V falls at a rate of {at_least(-rate, 3)} per second or faster"
        if schema.settings(ds)["kind"] == "flow"
        else f"a step multiplies √V by at most {at_most(rate, 6)}"
    )
    return (
        f"The function {V} is proved to decrease {where}: every start in an ellipsoid around it, "
        f"with semi-axes of {interval(axes)}, ends there, and {speed}. In samples V decreases out to "
        f"{number(times, 3)} times these semi-axes (not proved)."
    )
