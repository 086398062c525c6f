"""The verification of fixed points, by residual, fsolve, eigenvalues and kind, and the variables of the Dataset.

At the end stands what other diagnostics take of such a Dataset: the points that are verified, and their modes.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.fixed_points.distinct_roots import (
    AT_KINK,
    DEGENERATE,
    FIXED,
    SLOW,
    STATUSES,
    UNVERIFIED,
    equations,
)
from dynlab.diagnostics.fixed_points.layers import Layer, Point
from dynlab.diagnostics.fixed_points.rounds import Search
from dynlab.numerics import eigenvalue_sets, fsolve_check, merging
from dynlab.numerics.arrays import Complex, Index, Real
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.eigenvectors import Eigenmodes, eigenmodes
from dynlab.numerics.kinds import Kind, kind_of
from dynlab.numerics.roots import ROUNDINGS, rounding, tolerance
from dynlab.numerics.threads import in_threads
from dynlab.program.differentiation import jacobian_and_error
from dynlab.systems import System, frozen
from dynlab.systems.autonomous import Held
from dynlab.systems.autonomous_jacobians import held_matrices

UNDECIDED_AT_KINK = Kind("undecided, at a kink", -1, 0, 0)  # the Jacobian is that of one side alone
TWICE = 2.0  # times Newton's error: a bound on the distance to the root, where Newton's map contracts by a half
SIDES = torch.tensor([[1.0], [-1.0], [-1.0], [1.0], [0.0]], dtype=torch.float64)  # of the inputs beside a root
MATRICES = 8  # of a layer, held at once
NO_ROOT, NOT_PROVED = "a slow point is no root", "not proved: certificate_reason says why"
REASONS = {
    "eigenvalue_error": "inf: at a kink of the activation, where the Jacobian is that of one side alone",
    "fsolve_residual": NO_ROOT,
    "fsolve_distance": NO_ROOT,
    "end_residual": "not finite where the search left every bound",
    "certificate_radius": NOT_PROVED,
    "eigenvalue_radius": NOT_PROVED,
}
INCOMPLETE = "incomplete"  # the attribute that says so of a search that missed points, or may have
VERIFIED = (FIXED, DEGENERATE)  # what is no root, or not the one fsolve found, is not interpreted
POINT, MODES = (schema.FIXED_POINT,), (schema.FIXED_POINT, schema.MODE)


class Record(NamedTuple):
    """One row of the Dataset; its fields are the Dataset's variables, the certificate's where there is one."""

    state: Real
    residual: float
    fsolve_residual: float
    fsolve_distance: float
    eigenvalues: Complex
    errors: Real
    kind: Kind
    status: str
    dimension: int
    certificate: Any = None  # of `dynlab.proofs`, where it was asked for


def records(held: Held, points: list[Point], direction: Real) -> list[Record]:
    """Verify and classify each point; of a stack each layer on its own, and once for all points that share it.

    Parameters
    ----------
    held : Held
        System in float64 on the CPU.
    points : list of Point
    direction : ndarray, shape (n,)
        The unit vector along which fsolve starts off the root.
    """
    layers = list({id(layer): layer for point in points for layer in point.layers}.values())
    each = 8 * MATRICES * held.system.state_size**2
    found = in_threads(lambda rows: ([_verified(layer, direction) for layer in layers[rows]],), len(layers), each)[0]
    parts = dict(zip(map(id, layers), found, strict=True))
    return [_record(held, point, [parts[id(layer)] for layer in point.layers]) for point in points]


def order(rows: list[Record]) -> Index:
    """Return the rows' order by status, then by the number of growing directions, then by coordinates."""
    if not rows:
        return np.zeros(0, dtype=np.int64)
    states = np.argsort(merging.ordered(np.array([row.state for row in rows])))
    return np.lexsort((states, *np.array([(STATUSES.index(row.status), row.kind.unstable) for row in rows]).T[::-1]))


def _record(held: Held, point: Point, parts: list[tuple[Any, ...]]) -> Record:
    every_value, every_error, statuses, residuals, distances = zip(*parts, strict=True)
    values, errors, state = np.concatenate(every_value), np.concatenate(every_error), point.state
    sorts = eigenvalue_sets.order(values)
    values, errors, dimension = values[sorts], errors[sorts], 0
    status = max(statuses, key=STATUSES.index)
    kind = kind_of(values, errors, held.is_flow)
    if status == AT_KINK:
        kind = UNDECIDED_AT_KINK._replace(undecided=len(state))
    elif point.status == DEGENERATE:
        neutral = int((np.abs(values - (0 if held.is_flow else 1)) <= errors).sum())
        dimension = sum(layer.root.dimension for layer in point.layers) or max(1, neutral)
    residual = float(held.displacement(torch.as_tensor(state)[None]).norm())
    status = status if np.isfinite(residual) else UNVERIFIED  # a memory that overflows
    ended, distance = float(np.linalg.norm(residuals)), float(np.linalg.norm(distances))
    return Record(state, residual, ended, distance, values, errors, kind, status, dimension)


def _verified(layer: Layer, direction: Real) -> tuple[Complex, Real, str, float, float]:
    """Return a layer's eigenvalues with errors, the status, and the residual and distance where fsolve ended."""
    some = direction[: len(layer.root.state)] / np.linalg.norm(direction[: len(layer.root.state)])
    values, errors = _eigenvalues(layer, some)
    if layer.root.status == SLOW:
        return values, errors, SLOW, np.nan, np.nan
    end, status = _checked(layer, some)
    kink = np.isinf(errors).any() and status in (FIXED, DEGENERATE)
    return values, errors, AT_KINK if kink else status, end.residual, end.distance


def _eigenvalues(layer: Layer, direction: Real) -> tuple[Complex, Real]:
    """Return the eigenvalues (m,) of the layer's own block of J, and errors with what J changes by near the root."""
    root, whole = layer.root, layer.whole
    weakest, sideways = torch.as_tensor(root.weakest), torch.as_tensor(direction)
    ways = torch.stack([weakest, -weakest, sideways, -sideways, 0 * sideways])
    smallest = np.finfo(float).eps * float(np.linalg.norm(root.state))
    reach = 0.0 if root.status == SLOW else max(TWICE * layer.error, smallest)
    along = torch.as_tensor(np.random.default_rng(0).standard_normal(len(whole.input)))
    inputs = whole.input + SIDES * layer.input_error * along / along.norm().clamp_min(1e-300)
    states = layer.lifted(torch.as_tensor(root.state) + reach * ways, inputs)
    matrices = held_matrices(replace(whole, input=inputs), states).numpy()
    rounded = jacobian_and_error(whole.system, states[-1], inputs[-1], whole.t)[1].numpy()
    wrong = np.abs(matrices[:-1] - matrices[-1]).max(axis=0) + rounded
    if not np.isfinite(wrong).all():
        values = eigenvalues(np.nan_to_num(matrices[-1], posinf=0.0, neginf=0.0), conditions=False).values
        return values, np.full(len(values), np.inf)
    return eigenvalues(matrices[-1], wrong, conditions=False)[:2]


def _checked(layer: Layer, direction: Real) -> tuple[fsolve_check.Check, str]:
    """Return where fsolve ends that starts beside the root, and the status that follows."""
    sought, root = equations(layer.searched), layer.root
    larger = direction * np.maximum(1.0, np.abs(root.state))  # coordinates may differ by orders of magnitude
    end = fsolve_check.check(
        lambda h: sought.value(torch.as_tensor(h)[None])[0].numpy(),
        lambda h: sought.matrix(torch.as_tensor(h)[None])[0].numpy(),
        root.state,
        larger / np.linalg.norm(larger),
    )
    point = torch.as_tensor(end.state)[None]
    noise = rounding(point, sought.value(point), sought.matrix(point)).norm()
    at_root = end.residual <= max(float(tolerance(point)), ROUNDINGS * float(noise))
    near = max(fsolve_check.SMALLEST_DISTANCE * float(merging.scale(root.state)), fsolve_check.RESIDUALS * root.error)
    return end, root.status if at_root and (root.status != FIXED or end.distance <= near) else UNVERIFIED


def of_points(rows: list[Record], found: Search, size: int, is_flow: bool) -> dict[str, xr.Variable]:
    """Return the variables of the fixed points, in the order of the rows, and the starts' assignment to these."""
    value, sign, rate = ("λ of ∂f/∂h", "λ", schema.PER_SECOND) if is_flow else ("μ of ∂h_t/∂h_{t−1}", "μ", schema.ONE)
    displacement, neutral = ("f(h*)", 0) if is_flow else ("F(h*) − h*", 1)
    kinds, assignment = [row.kind for row in rows], found.starts["assignment"]
    many = f"eigenvalues {neutral} within their error at a degenerate point"
    table: dict[str, tuple[Any, ...]] = {
        "fixed_point_state": ((*POINT, schema.STATE), float, [row.state for row in rows], "fixed point h*"),
        "eigenvalue": (MODES, complex, [row.eigenvalues for row in rows], f"eigenvalue {value} at h*", rate),
        "eigenvalue_error": (MODES, float, [row.errors for row in rows], f"bound on the error of {sign}", rate),
        "residual": (POINT, float, [row.residual for row in rows], f"residual ‖{displacement}‖₂", rate),
        "fsolve_residual": (POINT, float, [row.fsolve_residual for row in rows], "residual where fsolve ended", rate),
        "fsolve_distance": (POINT, float, [row.fsolve_distance for row in rows], "distance to where fsolve ended"),
        "status": (POINT, str, [row.status for row in rows], "status"),
        "dimension": (POINT, np.int64, [row.dimension for row in rows], many),
        "kind": (POINT, str, [kind.name for kind in kinds], "kind"),
        "stable": (POINT, np.int8, [kind.stable for kind in kinds], "1 stable, 0 unstable, −1 undecided"),
        "unstable_directions": (POINT, np.int64, [kind.unstable for kind in kinds], "directions that grow"),
        "undecided_directions": (POINT, np.int64, [kind.undecided for kind in kinds], "directions undecided"),
    }
    starts = np.bincount(assignment[assignment >= 0], minlength=len(rows))
    return schema.columns(table, size) | {
        "starts": schema.variable(POINT, starts, "starts that ended there"),
        "assignment": schema.variable((schema.SAMPLE,), assignment, "number of the fixed point, −1 none"),
    }


def of_starts(found: Search, is_flow: bool) -> dict[str, xr.Variable]:
    """Return the variables of the starts, and how sure the search is."""
    starts, sure, rate = found.starts, found.confidence, schema.PER_SECOND if is_flow else schema.ONE
    each, layers = (schema.SAMPLE,), starts["layer"] if starts["layer"].max() > 1 else None
    share = "estimated share of random starts that end at unseen points"
    bound = "bound on the share of random starts that end at points not listed, 95 % confidence"
    indices = "sum of the points' indices sign det(I − J); of a bounded map 1 where none is missing"
    table: dict[str, tuple[Any, ...]] = {
        "outcome": (each, starts["outcome"], "what became of the start"),
        "origin": (each, starts["origin"], "where the start is from"),
        "iterations": (each, starts["iterations"], "iterations of the search from the start"),
        "converged": (each, np.isin(starts["outcome"], (FIXED, DEGENERATE)), "the start ended at a root"),
        "end_residual": (each, starts["residual"], "residual where the start ended", rate),
        "layer": (each, layers, "layer whose search had the start, from 1"),
        "unseen_share": ((), sure and sure.share, share),
        "unseen_share_bound": ((), sure and sure.bound, bound),
        "index_sum": ((), sure and sure.index_sum, indices),
    }
    return {name: schema.variable(*row) for name, row in table.items() if row[1] is not None}


def held_map(system: System, found: xr.Dataset) -> Held:
    """Return the held system of a Dataset of `dynlab.fixed_points`, in float64 on the CPU."""
    settings = schema.settings(found)
    return Held(frozen(system), torch.tensor(settings["input"], dtype=torch.float64), settings["at_step"])


def verified(found: xr.Dataset) -> xr.Dataset:
    """Return those of the fixed points that are roots, verified, and have a derivative, in the same order."""
    known = np.isfinite(found["eigenvalue"].values).all(axis=1)
    return found.isel({schema.FIXED_POINT: np.isin(found["status"].values, VERIFIED) & known})


def also_incomplete(found: xr.Dataset) -> str:
    """Return the last sentence of a verdict on the points, where their search is incomplete."""
    return f" {found.attrs[INCOMPLETE]}" if INCOMPLETE in found.attrs else ""


def leading_modes(held: Held, found: xr.Dataset, counts: Sequence[int]) -> list[Eigenmodes]:
    """Return the first so many modes at each: of a large network all of them are more than the memory should hold."""
    states, errors = torch.as_tensor(found["fixed_point_state"].values), found["eigenvalue_error"].values

    def work(rows: slice) -> tuple[list[Eigenmodes]]:
        each, blocks = zip(states[rows], errors[rows], counts[rows], strict=True), held.system.blocks
        return ([eigenmodes(held_matrices(held, h).numpy(), error, blocks, count) for h, error, count in each],)

    return in_threads(work, len(states))[0]
