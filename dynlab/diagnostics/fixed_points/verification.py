"""What is known of one fixed point: its residual, fsolve's second opinion, its eigenvalues and kind."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.diagnostics.fixed_points.distinct_roots import (
    AT_KINK,
    FIXED,
    NOT_ISOLATED,
    SLOW,
    STATUSES,
    UNVERIFIED,
    equations,
)
from dynlab.diagnostics.fixed_points.layers import Layer, Point
from dynlab.numerics import eigenvalue_sets, fsolve_check, merging
from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.kinds import Kind, kind_of_flow, kind_of_map
from dynlab.numerics.roots import ROUNDINGS, rounding, tolerance
from dynlab.numerics.threads import in_threads
from dynlab.program.differentiation import jacobian_and_error
from dynlab.systems.autonomous import Held
from dynlab.systems.autonomous_jacobians import held_matrices

if TYPE_CHECKING:
    from dynlab.proofs.certify import Certificate

UNDECIDED_AT_KINK = Kind("undecided, at a kink", -1, 0, 0)  # the Jacobian is that of one side alone
TWICE = 2.0  # times Newton's error: a bound on the distance to the root, where Newton's map contracts by a half
SIDES = torch.tensor([1.0, -1.0, -1.0, 1.0, 0.0], dtype=torch.float64)  # to which inputs are off beside a root
MATRICES = 8  # of a layer, held at once


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
    certificate: "Certificate | None" = None


class _Part(NamedTuple):
    """Eigenvalues of one layer with their errors, where fsolve ended, and the status."""

    eigenvalues: Complex
    errors: Real
    end: fsolve_check.Check
    status: str


def records(held: Held, points: list[Point], direction: Real) -> list[Record]:
    """Verify and classify each point; of a stack each layer on its own, and once for all points that share it.

    Parameters
    ----------
    held : Held
        In float64 on the CPU.
    points : list of Point
    direction : ndarray, shape (n,)
        The unit vector along which fsolve starts off the root.
    """
    alike: dict[int, list[Layer]] = {}
    for layer in {id(layer): layer for point in points for layer in point.layers}.values():
        alike.setdefault(id(layer.whole.system), []).append(layer)
    parts: dict[int, _Part] = {}
    for some in alike.values():
        each = 8 * MATRICES * some[0].whole.system.state_size ** 2
        found = in_threads(partial(_parts, some, direction), len(some), each)[0]
        parts |= zip(map(id, some), found, strict=True)
    return [_record(held, point, [parts[id(layer)] for layer in point.layers]) for point in points]


def order(rows: list[Record]) -> NDArray[np.int64]:
    """Return the rows' order by status, then by the number of growing directions, then by coordinates."""
    if not rows:
        return np.zeros(0, dtype=np.int64)
    states = np.argsort(merging.ordered(np.array([row.state for row in rows])))
    keys = [(STATUSES.index(row.status), row.kind.unstable) for row in rows]
    return np.lexsort((states, *np.array(keys).T[::-1]))


def _parts(every: list[Layer], direction: Real, rows: slice) -> tuple[list[_Part]]:
    """Verify and classify some roots of one layer, under inputs of their own."""
    layers = every[rows]
    some = direction[: len(layers[0].root.state)]
    some = some / np.linalg.norm(some)
    found = []
    for layer, values, errors in zip(layers, *_eigenvalues(layers, some), strict=True):
        end, status = fsolve_check.Check(layer.root.state, np.nan, np.nan), SLOW
        if layer.root.status != SLOW:
            end, status = _checked(layer, some)
        kink = np.isinf(errors).any() and status in (FIXED, NOT_ISOLATED)
        found.append(_Part(values, errors, end, AT_KINK if kink else status))
    return (found,)


def _record(held: Held, point: Point, parts: list[_Part]) -> Record:
    state, is_flow = point.state, held.is_flow
    values, errors = (np.concatenate([getattr(part, name) for part in parts]) for name in ("eigenvalues", "errors"))
    sorts = eigenvalue_sets.order(values)
    values, errors = values[sorts], errors[sorts]
    status = max((part.status for part in parts), key=STATUSES.index)
    kind = kind_of_flow(values, errors) if is_flow else kind_of_map(values, errors)
    dimension = 0
    if status == AT_KINK:
        kind = UNDECIDED_AT_KINK._replace(undecided=len(state))
    elif point.status == NOT_ISOLATED:
        own = sum(layer.root.dimension for layer in point.layers)
        dimension = own or max(1, int((np.abs(values - (0 if is_flow else 1)) <= errors).sum()))
    residual = float(held.displacement(torch.as_tensor(state)[None]).norm())
    status = status if np.isfinite(residual) else UNVERIFIED  # a memory that overflows
    ended, distance = (
        float(np.linalg.norm([getattr(part.end, name) for part in parts])) for name in ("residual", "distance")
    )
    return Record(state, residual, ended, distance, values, errors, kind, status, dimension)


def _eigenvalues(layers: list[Layer], direction: Real) -> tuple[Complex, Real]:
    """Return the eigenvalues (k, m) of the layers' own blocks of J, and errors with what J changes by near the root."""
    roots, whole = [layer.root for layer in layers], layers[0].whole
    states, weakest = (
        torch.as_tensor(np.array([getattr(root, name) for root in roots])) for name in ("state", "weakest")
    )
    reach = [0.0 if root.status == SLOW else TWICE * layer.error for layer, root in zip(layers, roots, strict=True)]
    smallest = (
        torch.finfo(states.dtype).eps * states.norm(dim=1) * torch.tensor([root.status != SLOW for root in roots])
    )
    sideways = torch.as_tensor(direction).expand_as(weakest)
    ways = torch.stack([weakest, -weakest, sideways, -sideways, 0 * sideways])
    along = torch.as_tensor(np.random.default_rng(0).standard_normal(len(whole.input)))
    off = torch.outer(
        torch.tensor([layer.input_error for layer in layers]).to(along), along / along.norm().clamp_min(1e-300)
    )
    inputs = torch.stack([layer.whole.input for layer in layers]) + SIDES[:, None, None] * off
    lifted = layers[0].lifted(states + torch.maximum(torch.tensor(reach).to(states), smallest)[:, None] * ways, inputs)
    matrices = held_matrices(replace(whole, input=inputs), lifted).numpy()
    rounded = jacobian_and_error(whole.system, lifted[-1], inputs[-1], whole.t)[1].numpy()
    wrong = np.abs(matrices[:-1] - matrices[-1]).max(axis=0) + rounded
    known = np.isfinite(wrong).all(axis=(1, 2))
    exact = np.where(known[:, None, None], matrices[-1], np.nan_to_num(matrices[-1], posinf=0.0, neginf=0.0))
    found = eigenvalues(exact, np.where(known[:, None, None], wrong, 0.0))
    return found.values, np.where(known[:, None], found.errors, np.inf)


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
    scale = float(merging.scale(root.state))
    near = max(fsolve_check.SMALLEST_DISTANCE * scale, fsolve_check.RESIDUALS * root.error)
    return end, root.status if at_root and (root.status != FIXED or end.distance <= near) else UNVERIFIED
