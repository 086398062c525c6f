"""A quadratic Lyapunov function at each stable fixed point, and a set around it in which it is proved to decrease."""

from typing import Any

import numpy as np
import scipy.linalg
import torch
import xarray as xr
from numpy.typing import ArrayLike

from dynlab import schema
from dynlab.diagnostics.fixed_points.at_points import also_incomplete
from dynlab.diagnostics.fixed_points.fixed_points import fixed_points
from dynlab.diagnostics.fixed_points.verdict import under_input
from dynlab.diagnostics.lyapunov_function.sampling import GRID, LEVELS, sampled
from dynlab.diagnostics.lyapunov_function.verdict import NO_SET, NOT_STABLE, PROVED, SAMPLED, UNDECIDED, verdict
from dynlab.errors import UserError, require_extra
from dynlab.numerics.arrays import Real
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.threads import one_thread_each
from dynlab.progress import through
from dynlab.systems import Euler, Flow, System, frozen
from dynlab.systems.checked import checked
from dynlab.systems.held import Held
from dynlab.systems.held_jacobians import held_matrices

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
    flow = _flow(system, kind)
    # equilibria of a flow are fixed points of an Euler step of any size, and the proof that they exist is the same
    stepped: Any = Euler(flow, 1.0) if flow is not None else system
    proving = stepped.state_size <= LARGEST_PROVED if prove is None else prove
    found = fixed_points(stepped, inputs, at=at, at_step=at_step, starts=starts, certify=proving, seed=seed)
    every_point, every = found, found["fixed_point_state"].values
    found = found.isel({schema.FIXED_POINT: (found["status"] == "fixed point").values})
    chosen = schema.settings(found)
    held = torch.tensor(chosen["input"], dtype=torch.float64)
    at_rest = Held(frozen(stepped if flow is None else flow), held, chosen["at_step"])
    points = [found.isel({schema.FIXED_POINT: i}) for i in range(found.sizes[schema.FIXED_POINT])]
    with one_thread_each():  # the matrices are small
        rows = [_row(at_rest, point, every, seed) for point in through(points)]
    variables = {"fixed_point_state": found["fixed_point_state"].variable, "eigenvalue": _eigenvalue(found, flow)}
    variables |= _variables(rows, stepped.state_size, flow is not None)
    settings = {key: chosen[key] for key in ("at", "input", "at_step", "starts", "inputs", "seed", "config")}
    settings |= {"prove": proving, "kind": "map" if flow is None else "flow", "dtype": "float64", "device": "cpu"}
    ds = schema.dataset(
        variables,
        system=system.name,
        source=system.source,
        settings=settings,
        method=METHOD + OF_PROOFS * proving,
        coords={
            name: schema.variable((name,), np.linspace(-1, 1, GRID), f"along the {which} direction, in extents")
            for name, which in ((schema.X, "slowest"), (schema.Y, "second slowest"))
        },
        flags=schema.not_finite(variables, dict.fromkeys(set(variables) - {"status"}, NOT_PROVED)) | FLAGS,
    )
    said = verdict(ds, system, found)
    said = under_input(said, at) if system.network_input_size else said
    return ds.assign_attrs(verdict=said + also_incomplete(every_point))


def _flow(system: System, kind: str | None) -> Flow | None:
    """The flow that is looked at; None for a map."""
    if kind not in (None, "map", "flow"):
        raise UserError(f"The kind is map or flow, got {kind!r}.")
    flow = system.flow if isinstance(system, Euler) else system if isinstance(system, Flow) else None
    if kind == "flow" and flow is None:
        raise UserError(f"{system.name!r} is no Euler step of a flow: leave out kind='flow' (--kind flow).")
    if kind == "map" and isinstance(system, Flow):
        raise UserError(f"{system.name!r} is a flow: for a map, take the step dynlab.Euler(flow, step_size).")
    return flow if kind == "flow" or isinstance(system, Flow) else None


def _row(at_rest: Held, point: xr.Dataset, every: Real, seed: int) -> dict[str, Any]:
    """The status of one fixed point of `every` (k, state), and T and the sets around a stable one."""
    state = point["fixed_point_state"].values
    if not point.get("certified", True):
        return {"status": f"the fixed point is not proved: {point['certificate_reason'].values}"}
    J, identity = held_matrices(at_rest, torch.from_numpy(state)).numpy(), np.eye(len(state))
    stable = int(point["stable"])
    if at_rest.is_flow:
        values, errors, _ = eigenvalues(J)
        stable = 0 if (values.real > errors).any() else 1 if (values.real < -errors).all() else -1
    if stable != 1:
        return {"status": NOT_STABLE if stable == 0 else UNDECIDED}
    if at_rest.is_flow:
        P = scipy.linalg.solve_continuous_lyapunov(J.T, -identity)
        residual = J.T @ P + P @ J + identity
    else:
        P = _sum_of_powers(J)
        residual = J.T @ P @ J - P + identity
    try:
        T = np.linalg.cholesky((P + P.T) / 2).T
    except np.linalg.LinAlgError:
        return {"status": ILL}
    row: dict[str, Any] = {
        "status": SAMPLED,
        "weights": T,
        "lyapunov_residual": np.linalg.norm(residual) / np.linalg.norm(P),
    }
    row |= _proved(at_rest, point, T) if "certified" in point else {}
    return row | sampled(at_rest, state, T, row.get("radius", 0.0), every, seed)


def _sum_of_powers(J: Real) -> Real:
    """Σ_k (J^k)ᵀ J^k, which solves a map's equation: twice as many terms in each step (Smith's squared method)."""
    P, power, last = np.eye(len(J)), J, np.inf
    with np.errstate(all="ignore"):  # powers may underflow
        while last > np.finfo(float).eps * np.abs(P).max():
            more = power.T @ P @ power
            P, power, last = P + more, power @ power, float(np.abs(more).max())
    return P


def _proved(at_rest: Held, point: xr.Dataset, T: Real) -> dict[str, Any]:
    """The largest proved set |T (h − h*)| ≤ r."""
    from dynlab.proofs.level_set import proved_level_set

    sizes = np.linalg.svd(T, compute_uv=False)
    program, uncertainty = at_rest.system.program(at_rest.input, at_rest.t), float(point["certificate_radius"])
    center = point["fixed_point_state"].values
    # the level sizes[0] lies within the unit ball of states
    found = proved_level_set(program, center, uncertainty, T, float(sizes[0]), logarithmic=at_rest.is_flow)
    if not found.radius:
        return {"status": NO_SET, "tried": found.tried}
    return {
        "status": PROVED,
        "radius": found.radius,
        "rate": found.rate,
        "tried": found.tried,
        "semi_axis": found.radius / sizes[::-1],
    }


def _eigenvalue(found: xr.Dataset, flow: Flow | None) -> xr.Variable:
    """μ of the step, or λ = (μ − 1)/ε of the flow, whose Euler step of ε = 1 was searched."""
    values, mode = found["eigenvalue"].values, (schema.FIXED_POINT, schema.MODE)
    if flow is not None:
        return schema.variable(mode, values - 1, "eigenvalue λ of the flow's Jacobian at h*", schema.PER_SECOND)
    return schema.variable(mode, values, "eigenvalue μ of the step's Jacobian at h*")


def _variables(rows: list[dict[str, Any]], size: int, of_flow: bool) -> dict[str, xr.Variable]:
    point, per = (schema.FIXED_POINT,), schema.PER_SECOND if of_flow else schema.ONE
    what = "rate of ln √V" if of_flow else "ln √(V(F(h))/V(h))"
    rate = "proved rate of |T (h − h*)|" if of_flow else "proved factor of |T (h − h*)|"
    table: dict[str, tuple[Any, ...]] = {
        "status": (point, "status", schema.ONE),
        "weights": ((*point, schema.MODE, schema.STATE), "T, V = |T (h − h*)|²", schema.ONE),
        "lyapunov_residual": (point, "relative residual of Lyapunov's equation", schema.ONE),
        "radius": (point, "proved radius |T (h − h*)|", schema.ONE),
        "rate": (point, rate, per),
        "tried": (point, "radii that were tried", schema.ONE),
        "semi_axis": ((*point, schema.MODE), "semi-axis of the proved set", schema.ONE),
        "sampled_radius": (point, "sampled radius |T (h − h*)|", schema.ONE),
        "sampled_rate": (point, "largest sampled rate in the proved set", per),
        "level": ((*point, schema.LEVEL), "level |T (h − h*)|", schema.ONE),
        "largest_rate": ((*point, schema.LEVEL), f"largest sampled {what}", per),
        "extent": (point, "half the width of the plane", schema.ONE),
        "ratio": ((*point, schema.Y, schema.X), what, per),
    }
    sizes = {schema.MODE: size, schema.STATE: size, schema.LEVEL: LEVELS, schema.Y: GRID, schema.X: GRID}
    found = {}
    for name, (dims, words, units) in table.items():
        shape = tuple(sizes[each] for each in dims[1:])
        nothing = 0 if name == "tried" else np.full(shape, np.nan)
        values = np.array([row.get(name, nothing) for row in rows], dtype=str if name == "status" else None)
        found[name] = schema.variable(dims, values.reshape(len(rows), *shape), words, units)
    return found
