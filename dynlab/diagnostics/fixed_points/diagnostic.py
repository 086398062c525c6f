"""Where the network would stay: fixed points of its step with the input held, verified and classified."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike
from torch import Tensor

from dynlab import schema
from dynlab.diagnostics.fixed_points.at_points import INCOMPLETE
from dynlab.diagnostics.fixed_points.by_layers import search
from dynlab.diagnostics.fixed_points.found import Search
from dynlab.diagnostics.fixed_points.once import made_once
from dynlab.diagnostics.fixed_points.places import FIXED, SLOW
from dynlab.diagnostics.fixed_points.proved import check_place, proved, with_proofs
from dynlab.diagnostics.fixed_points.records import Record, in_unit, order, records
from dynlab.diagnostics.fixed_points.starts import USUAL, driven_states, unit_of, usual_starts
from dynlab.diagnostics.fixed_points.verdict import incomplete, under_input, verdict
from dynlab.errors import UserError
from dynlab.numerics.threads import one_thread_each
from dynlab.simulation import prepare
from dynlab.systems import Map, System
from dynlab.systems.checked import checked
from dynlab.systems.held import Held, held_input, held_settings, step_number

LARGEST_START = 1e100  # whose squares are still numbers
METHOD = (
    "A map is taken as affine where its Jacobian is the same to the last bit at states up to 1e6 away. Its fixed "
    "points come from linear algebra, with the rounding of its entries. Of any other map Newton's method on exact "
    "Jacobians begins at every start. Where it fails, Levenberg–Marquardt and then pseudo-transient continuation "
    "follow, on a residual that no closed gate makes small. Starts come in rounds until a whole round finds nothing "
    "new. Some of each round are random; from the second on, others lie halfway between every two points, beside "
    "saddles, and away from what is known by deflation. A root is one where Newton's map contracts a ball about it "
    "into itself, with rounding, as sampled. Where the Jacobian is nearly singular, one equation is left: its sign "
    "says how many roots there are, or that they form a continuum, which is walked along. A stack is searched layer "
    "by layer, each under the output of every point of those below. An LSTM is searched without its memory, which is "
    "a function of the rest at a fixed point. Where no start of a bounded map ends at a root, a homotopy is followed: "
    "its path begins at a known state and surely leads to a root. Of a large map such paths replace the methods after "
    "Newton's: they are followed from the state 0, and backwards from every root to another one of the other index. "
    "Each root is verified by scipy.optimize.fsolve, started beside it with the exact Jacobian and xtol 1e-13. "
    "Eigenvalues have a true bound on the error that rounding and the root's position leave. They are believed "
    "nowhere that the Jacobian jumps next to the root. Other fixed points may exist that no start reached."
)

KINK_FLAGS = {
    "eigenvalue_error": "inf: at a kink of the activation, where the Jacobian is that of one side alone or no number",
    "eigenvalue": "NaN: the map has no derivative there",
}
SLOW_FLAGS = dict.fromkeys(("fsolve_residual", "fsolve_distance"), "a slow point is no root")


@checked
@one_thread_each()
def fixed_points(
    system: System,
    inputs: Any = None,
    *,
    at: str | ArrayLike = "zero",
    at_step: int = -1,
    starts: int | ArrayLike | None = None,
    slow_points: float | None = None,
    certify: bool = False,
    certificates: str | Path | None = None,
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """Fixed points h = step(h, x) under a constant input x, each verified with fsolve and classified.

    Parameters
    ----------
    system : Map
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        What drives the network: half of the starts are states along its trajectories, the others random. Without it the
        trajectories are orbits from random states under the held input.
    at : "zero", "mean" or array_like, shape (input,)
        The input x that is held: zero, the mean of `inputs` over samples and time, or these values.
    at_step : int
        The step t whose parameters are held where parameters change with time; −1 is the last.
    starts : int or array_like, shape (sample, state), optional
        How many starts a round of a search has, or the starts themselves. Where it is not given 256, and fewer where a
        layer of a stack, or another map, has more than 128 dimensions: the verdict says how many.
    slow_points : float, optional
        Also keep slow points: local minima of q = ½ ‖step(h, x) − h‖₂² with q up to this. A start near one that is led
        on to a fixed point is counted there.
    certify : bool
        Also prove, in ball arithmetic, that each exists and where its eigenvalues lie (extra ``certify``).
    certificates : str or Path, optional
        A folder for the proofs as files, which `dynlab.certificate_check` checks on its own; implies `certify`.
    dtype, device : str
        Of the search; the roots are always finished, verified and classified in float64.
    seed : int
        Of the random starts and of the direction in which fsolve starts off the root.

    Returns
    -------
    xarray.Dataset
        ``fixed_point_state(fixed_point, state)``. Of each also ``residual``, ``fsolve_residual``, ``fsolve_distance``,
        ``kind``, ``starts`` and ``status``. ``stable`` is 1 stable, 0 unstable or −1 undecided, beside
        ``unstable_directions`` and ``undecided_directions``. ``eigenvalue(fixed_point, mode)`` of the step's Jacobian
        with ``eigenvalue_error``. Of each start ``converged(sample)``, ``assignment(sample)``, ``outcome(sample)``,
        ``iterations(sample)`` and ``end_residual(sample)``. ``index_sum`` is Σ sign det(I − J) over the points. It is
        there where the map leads a bounded convex set into itself and every point found is simple. It is then 1 if none
        is missing, and any other number proves that points are missing.

        With `certify` each has more. ``certified`` is 1 where exactly one fixed point is proved to lie within
        ``certificate_radius`` of ``fixed_point_state`` in the maximum norm, else 0.
        ``eigenvalue_radius(fixed_point, mode)`` is that of a disc about ``eigenvalue`` that surely holds it.
        ``proved_stable`` is 1, 0, or −1 undecided, beside ``proved_unstable_directions`` and
        ``proved_stable_directions``. ``certificate_precision`` is in bits, and ``certificate_reason`` is "proved", or
        why not. They are about the step in real numbers with the weights as stored.

        `status` is "fixed point", or one of six others, which are not counted as fixed points. It is "continuum" where
        J − I is singular and there are others at any distance; of an affine map the one nearest to the origin is
        listed. It is "undecided" where rounding does not tell whether there is a root, or how many. It is "neighbouring
        root" where fsolve ended at another root, and "unverified" where it ended at none. It is "at a jump" of the map,
        which may jump over the state, or "slow point".

    Raises
    ------
    UserError
        For a system that is no map, an input or starts of the wrong width, a step that has no parameters.

    Notes
    -----
    Curves of fixed points that cross are one continuum where a search ends at the crossing; one that starts at 0 always
    does there. Curves that only touch or come close are joined by a walk from one to the other, and by nothing else.

    An eigenvalue's error is its condition number times what J is wrong by, and what is of second order
    (`dynlab.numerics.eigenvalues`). J is wrong by the rounding of its entries, and by its change over the uncertainty
    of the root's position. At a kink of the activation, as where the argument of a ReLU is 0, the Jacobian is that of
    one side, and nothing is decided by it.

    References
    ----------
    Sussillo and Barak, Neural Computation 25 (2013); Katz and Reggia, IEEE Transactions on Neural Networks and Learning
    Systems 29 (2018), on how optimisers of q mistake slow points for fixed ones.

    Examples
    --------
    >>> from dynlab.systems import from_function
    >>> ds = fixed_points(from_function(lambda h, x: torch.tanh(2 * h), state_size=1), starts=32)
    >>> ds["fixed_point_state"].values[:, 0].round(4).tolist(), ds["stable"].values.tolist()
    ([-0.9575, 0.9575, 0.0], [1, 1, 0])
    """
    system = _map(system, slow_points, starts)
    certify = certify or certificates is not None
    if certificates is not None:
        check_place(certificates)  # before the search, which takes longer
    asked: dict[str, Any] = {"inputs": inputs if system.network_input_size else None, "starts": starts}
    asked |= {"at": at, "at_step": at_step, "slow_points": slow_points}
    asked |= {"dtype": dtype, "device": device, "seed": seed}
    made = made_once(_searched, system, **asked)
    found, exact = made.found, made.exact
    rows = proved(exact, made.rows) if certify else made.rows
    settings = held_settings(system, at, made.frozen) | {"starts": made.starts, "given_starts": made.given}
    settings |= {"inputs": made.shape}
    settings |= {"slow_points": slow_points, "certify": certify, "seed": seed, "dtype": dtype, "device": device}
    variables = _of_points(rows, found) | _of_starts(found)
    fewer = _fewer(made.starts) if starts is None else ""
    said = under_input(verdict(rows, found), at) if system.network_input_size else verdict(rows, found)
    ds = schema.dataset(
        variables,
        system=system.name,
        source=system.source,
        settings=settings,
        verdict=" ".join(filter(None, [said, fewer])),
        method=METHOD,
        flags=_flags(rows, variables),
    )
    ds.attrs |= {INCOMPLETE: said} if (said := " ".join(filter(None, [incomplete(found), fewer]))) else {}
    return with_proofs(ds, exact, [rows[index] for index in order(rows)], certificates) if certify else ds


@dataclass(frozen=True)
class _Searched:
    """What a search found, before anything is proved."""

    frozen: Held
    exact: Held
    found: Search
    rows: list[Record]
    starts: int  # random ones of a round, or those that are given
    given: bool
    shape: list[int] | None  # of the inputs


def _searched(
    system: Map,
    inputs: Any,
    starts: int | ArrayLike | None,
    at: str | ArrayLike,
    at_step: int,
    slow_points: float | None,
    dtype: str,
    device: str,
    seed: int,
) -> _Searched:
    analysed, driving, _ = prepare(system, _some_input(system, inputs), None, dtype, device)
    driven = analysed.drive(driving)
    frozen = Held(analysed, held_input(analysed, at, driven, inputs is not None), step_number(system, at_step))
    scaled, exact = _in_unit(frozen, None if (dtype, device) == ("float64", "cpu") else _exact(system, driving, frozen))
    unit = exact.unit
    count = usual_starts(system) if starts is None else starts if isinstance(starts, int) else 0
    given = None if count or starts is None else given_starts(frozen, starts)
    direction = np.random.default_rng(seed).standard_normal(system.state_size)
    found = search(
        scaled,
        exact,
        count=count,
        given=None if given is None else given / unit,
        visited=None if inputs is None else driven_states(analysed, driven) / unit,
        largest_speed=slow_points,
        seed=seed,
    )
    rows = in_unit(records(exact, found.places, direction / np.linalg.norm(direction)), np.asarray(unit))
    shape = None if inputs is None else list(driving.shape)
    number = count if given is None else len(given)
    return _Searched(frozen, replace(exact, unit=1.0), found, rows, number, given is not None, shape)


def _fewer(count: int) -> str:
    """What a verdict says where nobody asked for so few starts."""
    if count == USUAL:
        return ""
    return (
        f"At this size a round of a search has at most {count} random starts; of a small network it has {USUAL}. "
        f"--starts {USUAL} (starts={USUAL}) takes as many, and {round(USUAL / count)} times as long."
    )


def _map(system: System, slow_points: float | None, starts: int | ArrayLike | None) -> Map:
    """The system, which must be a map, once the other arguments are checked too."""
    if not isinstance(system, Map):
        raise UserError(
            f"Fixed points are those of a map, got the flow {system.name!r}; Euler(flow, step_size) has its equilibria."
        )
    if slow_points is not None and not slow_points > 0:
        raise UserError(f"The largest speed q of a slow point must be positive, got {slow_points}.")
    if isinstance(starts, int) and starts < 1:
        raise UserError(f"The search needs at least one start, got {starts}.")
    return system


def _of_points(rows: list[Record], found: Search) -> dict[str, xr.Variable]:
    arranged = order(rows)
    new_number = np.full(len(rows) + 1, -1)
    new_number[arranged] = np.arange(len(rows))
    assignment = new_number[found.assignment]
    listed = [rows[index] for index in arranged]
    size = found.ends.shape[1]
    point, mode = (schema.FIXED_POINT,), (schema.FIXED_POINT, schema.MODE)

    def each(name: str, dtype: Any, shape: tuple[int, ...] = ()) -> np.ndarray:
        return np.array([getattr(row, name) for row in listed], dtype=dtype).reshape(len(rows), *shape)

    kinds = [row.kind for row in listed]

    def counted(values: list[int], long_name: str, dtype: Any = np.int64) -> xr.Variable:
        return schema.variable(point, np.array(values, dtype=dtype), long_name)

    of = schema.variable
    return {
        "fixed_point_state": of((schema.FIXED_POINT, schema.STATE), each("state", float, (size,)), "fixed point h*"),
        "residual": of(point, each("residual", float), "residual ‖F(h*) − h*‖₂"),
        "fsolve_residual": of(point, each("fsolve_residual", float), "residual where fsolve ended"),
        "fsolve_distance": of(point, each("fsolve_distance", float), "distance to where fsolve ended"),
        "eigenvalue": of(mode, each("eigenvalues", complex, (size,)), "eigenvalue μ of ∂h_t/∂h_{t−1} at h*"),
        "eigenvalue_error": of(mode, each("errors", float, (size,)), "bound on the error of μ"),
        "kind": of(point, np.array([kind.name for kind in kinds], dtype=str), "kind"),
        "stable": counted([kind.stable for kind in kinds], "1 stable, 0 unstable, −1 undecided", np.int8),
        "unstable_directions": counted([kind.unstable for kind in kinds], "directions that grow"),
        "undecided_directions": counted([kind.undecided for kind in kinds], "directions undecided"),
        "starts": of(point, np.bincount(assignment[assignment >= 0], minlength=len(rows)), "starts that ended there"),
        "status": of(point, np.array([row.status for row in listed], dtype=str), "status"),
        "assignment": of((schema.SAMPLE,), assignment, "number of the fixed point, −1 none"),
    } | _of_continua(listed)


def _of_continua(listed: list[Record]) -> dict[str, xr.Variable]:
    """The dimension of each continuum, 0 of a point, and orthonormal vectors along it at the state that is listed."""
    dimensions = np.array([len(row.directions) for row in listed], dtype=np.int64)
    of, point = schema.variable, (schema.FIXED_POINT,)
    variables = {"continuum_dimension": of(point, dimensions, "dimension of the continuum, 0 of a single point")}
    if dimensions.any():
        along = np.full((len(listed), dimensions.max(), len(listed[0].state)), np.nan)
        for number, row in enumerate(listed):
            along[number, : len(row.directions)] = row.directions
        long_name = "direction along the continuum"
        variables["continuum_direction"] = of((*point, schema.AXIS, schema.STATE), along, long_name)
    return variables


def _of_starts(found: Search) -> dict[str, xr.Variable]:
    start, of = (schema.SAMPLE,), schema.variable
    variables = {
        "converged": of(start, found.outcome == FIXED, "the start ended at a root"),
        "outcome": of(start, found.outcome, "what became of the start"),
        "origin": of(start, found.origin, "where the start is from"),
        "iterations": of(start, found.iterations, "iterations of the search from the start"),
        "end_residual": of(start, found.residuals, "residual ‖F(h) − h‖₂ where the start ended"),
    }
    if len(found.layers):
        variables["layer"] = of(start, found.layers, "layer whose search had the start, from 1")
    if found.confidence is not None:
        share, bound = found.confidence.share, found.confidence.bound
        variables["unseen_share"] = of((), share, "estimated share of random starts that would end at an unseen point")
        if found.confidence.index_sum is not None:
            indices = "sum of the points' indices sign det(1 − J); of a bounded map 1 where none is missing"
            variables["index_sum"] = of((), found.confidence.index_sum, indices)
        variables["unseen_share_bound"] = of((), bound, "bound on that share for points not listed, 95 % confidence")
    return variables


def _flags(rows: list[Record], variables: dict[str, xr.Variable]) -> dict[str, str]:
    flags = SLOW_FLAGS if any(row.status == SLOW for row in rows) else {}
    flags = flags | (KINK_FLAGS if any(np.isinf(row.errors).any() for row in rows) else {})
    lost = not np.isfinite(variables["end_residual"].values).all()
    if "continuum_direction" in variables and np.isnan(variables["continuum_direction"].values).any():
        flags = flags | {"continuum_direction": "NaN beyond the dimension of the continuum"}
    return flags | ({"end_residual": "not finite where the search left every bound"} if lost else {})


def _in_unit(frozen: Held, exact: Held | None) -> tuple[Held, Held]:
    """The map as the caller chose dtype and device, and in float64 on the CPU, in the unit that its states have."""
    unit = unit_of(frozen if exact is None else exact)
    if exact is None:
        frozen = replace(frozen, unit=unit)
        return frozen, frozen
    return replace(frozen, unit=unit if isinstance(unit, float) else unit.to(frozen.input)), replace(exact, unit=unit)


def _exact(system: Map, driving: Tensor, frozen: Held) -> Held:
    """The same map in float64 on the CPU."""
    return Held(prepare(system, driving.cpu())[0], frozen.input.double().cpu(), frozen.t)


def _some_input(system: Map, inputs: Any) -> Any:
    """The inputs, or one step of nothing where there are none: the search needs a frozen copy all the same."""
    return np.zeros((1, system.network_input_size)) if inputs is None else inputs


def given_starts(held: Held, starts: ArrayLike) -> Tensor:
    """The starts that a user gives, shape (start, n), or the error for what is no such array."""
    given = torch.as_tensor(np.asarray(starts, dtype=float)).to(held.input)
    size = held.system.state_size
    if given.ndim != 2 or given.shape[1] != size or len(given) == 0 or not torch.isfinite(given).all():
        raise UserError(f"The starts must be finite numbers of shape (sample, {size}), got {tuple(given.shape)}.")
    if float(given.abs().max()) > LARGEST_START:
        raise UserError(f"The starts must be at most {LARGEST_START:g}, got {float(given.abs().max()):g}.")
    return given
