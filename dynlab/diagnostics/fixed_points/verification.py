"""What is known of one fixed point: its residual, fsolve's second opinion, its eigenvalues and kind."""

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.diagnostics.fixed_points.by_layers import Layer, Point
from dynlab.diagnostics.fixed_points.places import AT_KINK, FIXED, NOT_ISOLATED, SLOW, STATUSES, UNVERIFIED, equations
from dynlab.numerics import eigenvalue_sets, fsolve_check, merging
from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.kinds import Kind, kind_of_flow, kind_of_map
from dynlab.numerics.roots import ROUNDINGS, rounding, tolerance
from dynlab.numerics.threads import in_threads
from dynlab.program.differentiation import jacobian_and_error
from dynlab.systems.held import Held
from dynlab.systems.held_jacobians import held_matrices

if TYPE_CHECKING:
    from dynlab.proofs.certify import Certificate

UNDECIDED_AT_KINK = Kind("undecided, at a kink", -1, 0, 0)  # the Jacobian is that of one side alone
TWICE = 2.0  # times Newton's error: a bound on the distance to the root, where Newton's map contracts by a half
NEARER = (1.0, 1e-3, 1e-6)  # parts of its first distance at which fsolve starts, until it comes back to the root


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


def records(exact: Held, points: list[Point], direction: Real) -> list[Record]:
    """Verify and classify each point; of a stack each layer on its own, and once for all points that share it.

    Parameters
    ----------
    exact : Held
        In float64 on the CPU.
    points : list of Point
    direction : ndarray, shape (n,)
        The unit vector along which fsolve starts off the root.
    """
    layers = list({id(layer): layer for point in points for layer in point.layers}.values())

    def work(some: slice) -> tuple[list[_Part]]:
        return ([_part(layer, direction) for layer in layers[some]],)

    parts = dict(zip(map(id, layers), in_threads(work, len(layers))[0], strict=True)) if layers else {}
    return [_record(exact, point, [parts[id(layer)] for layer in point.layers]) for point in points]


def order(rows: list[Record]) -> NDArray[np.int64]:
    """Return the rows' order by status, then by the number of growing directions, then by coordinates."""
    if not rows:
        return np.zeros(0, dtype=np.int64)
    states = np.argsort(merging.ordered(np.array([row.state for row in rows])))
    keys = [(STATUSES.index(row.status), row.kind.unstable) for row in rows]
    return np.lexsort((states, *np.array(keys).T[::-1]))


def _part(layer: Layer, direction: Real) -> _Part:
    values, errors = _eigenvalues(layer, direction)
    size = len(layer.place.state)
    if layer.place.status == SLOW:
        end, status = fsolve_check.Check(layer.place.state, np.nan, np.nan), SLOW
    else:
        end, status = _checked(layer, direction[:size] / np.linalg.norm(direction[:size]))
    if np.isinf(errors).any() and status in (FIXED, NOT_ISOLATED):
        status = AT_KINK
    return _Part(values, errors, end, status)


def _record(exact: Held, point: Point, parts: list[_Part]) -> Record:
    state, is_flow = point.state, exact.is_flow
    values, errors = (np.concatenate([getattr(part, name) for part in parts]) for name in ("eigenvalues", "errors"))
    sorts = eigenvalue_sets.order(values)
    values, errors = values[sorts], errors[sorts]
    status = max((part.status for part in parts), key=STATUSES.index)
    kind = kind_of_flow(values, errors) if is_flow else kind_of_map(values, errors)
    dimension = 0
    if status == AT_KINK:
        kind = UNDECIDED_AT_KINK._replace(undecided=len(state))
    elif point.status == NOT_ISOLATED:
        own = sum(layer.place.dimension for layer in point.layers)
        dimension = own or max(1, int((np.abs(values - (0 if is_flow else 1)) <= errors).sum()))
    residual = float(exact.displacement(torch.as_tensor(state)[None]).norm())
    status = status if np.isfinite(residual) else UNVERIFIED  # a memory that overflows
    ended, distance = (
        float(np.linalg.norm([getattr(part.end, name) for part in parts])) for name in ("residual", "distance")
    )
    return Record(state, residual, ended, distance, values, errors, kind, status, dimension)


def _eigenvalues(layer: Layer, direction: Real) -> tuple[Complex, Real]:
    """Return the eigenvalues of the layer's own block of J, and errors with what J changes by where the root may be."""
    place, whole = layer.place, layer.whole
    size = len(place.state)
    arbitrary = direction[:size] / np.linalg.norm(direction[:size])
    reach = 0.0 if place.status == SLOW else max(TWICE * layer.error, np.finfo(float).eps * np.linalg.norm(place.state))
    shifts = reach * np.stack([place.weakest, -place.weakest, arbitrary, -arbitrary, 0 * arbitrary])
    along = np.random.default_rng(0).standard_normal(len(whole.input))
    along *= layer.input_error / max(1e-300, float(np.linalg.norm(along)))
    inputs = whole.input + torch.as_tensor(np.multiply.outer([1, -1, -1, 1, 0], along))
    states = layer.lifted(torch.as_tensor(place.state + shifts), inputs)
    matrices = held_matrices(replace(whole, input=inputs), states).numpy()
    rounding = jacobian_and_error(whole.system, *whole.given(states[-1]))[1].numpy()
    wrong = np.abs(matrices[:-1] - matrices[-1]).max(axis=0) + rounding
    if not np.isfinite(wrong).all():
        values = eigenvalues(np.nan_to_num(matrices[-1], posinf=0.0, neginf=0.0)).values
        return values, np.full(len(values), np.inf)
    found = eigenvalues(matrices[-1], wrong)
    return found.values, found.errors


def _checked(layer: Layer, direction: Real) -> tuple[fsolve_check.Check, str]:
    """Return where fsolve ends that starts beside the root, and the status that follows."""
    sought, place = equations(layer.searched), layer.place

    def f(h: Real) -> Real:
        return np.asarray(sought.value(torch.as_tensor(h)[None])[0].numpy())

    def jacobian(h: Real) -> Real:
        return np.asarray(sought.matrix(torch.as_tensor(h)[None])[0].numpy())

    scale = float(merging.scale(place.state))
    larger = direction * np.maximum(1.0, np.abs(place.state))  # coordinates may differ by orders of magnitude
    larger /= np.linalg.norm(larger)
    for nearer in NEARER:
        end = fsolve_check.check(f, jacobian, place.state, larger, nearer * fsolve_check.OFFSET * scale)
        point = torch.as_tensor(end.state)[None]
        noise = rounding(point, sought.value(point), sought.matrix(point)).norm()
        at_root = end.residual <= max(float(tolerance(point)), ROUNDINGS * float(noise))
        if place.status != FIXED:
            return end, place.status if at_root else UNVERIFIED
        allowed = max(fsolve_check.SMALLEST_DISTANCE * scale, fsolve_check.RESIDUALS * place.error)
        if at_root and end.distance <= allowed:
            return end, FIXED
    return end, UNVERIFIED
