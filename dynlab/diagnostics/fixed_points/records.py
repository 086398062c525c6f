"""What is known of one fixed point: its residual, fsolve's second opinion, its eigenvalues and kind."""

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.diagnostics.fixed_points.places import AT_JUMP, CONTINUUM, FIXED, SLOW, UNDECIDED, Place, equations
from dynlab.jacobians import held_blocks, jacobian_and_error
from dynlab.kinks import AT_KINK, at_kink, jumps, probes_of
from dynlab.numerics import eigenvalue_sets, fsolve_check, merging
from dynlab.numerics.block_triangular import parts_of
from dynlab.numerics.eigenvalues import eigenvalues_along_diagonal
from dynlab.numerics.isolation import Equations, rounding
from dynlab.numerics.kinds import Kind, kind_of_map
from dynlab.numerics.roots import ROUNDINGS, tolerance
from dynlab.numerics.threads import in_threads
from dynlab.systems.function import has_users_code
from dynlab.systems.held import Held
from dynlab.systems.torch_stacks import Stack

if TYPE_CHECKING:
    from dynlab.proofs.certify import Certificate

DOUBTFUL = Kind("undecided, perhaps no fixed point", -1, 0, 0)
NO_DERIVATIVE = Kind("undecided, without a derivative", -1, 0, 0)
NEIGHBOURING, UNVERIFIED = "neighbouring root", "unverified"
STATUSES = (FIXED, CONTINUUM, UNDECIDED, NEIGHBOURING, UNVERIFIED, AT_JUMP, SLOW)
# Times max(1, ‖h‖): no uncertainty of a position is taken to be larger, and no end of fsolve farther away is the same
# root where f' is singular.
FARTHEST = 1e-3
ACROSS = (1.0, 4.0)  # times the error of a root: where f is looked at for a jump
LEAP = 0.5  # of what is left of f: so much of it a jump explains
NEARER = (1.0, 1e-3, 1e-6)  # parts of its first distance at which fsolve starts, until it comes back to the root

Vector = NDArray[np.float64]


class _Part(NamedTuple):
    """Of one layer: its eigenvalues and their errors, whether these are told, and where fsolve ended."""

    eigenvalues: NDArray[np.complex128]
    errors: Vector
    told: bool
    kinked: bool
    end: fsolve_check.Check
    status: str


class Record(NamedTuple):
    """One row of the Dataset; its fields are the Dataset's variables, the certificate's where there is one.

    Residuals and distances are in the system's own unit, the state and the directions in that of the search.
    """

    state: Vector
    residual: float
    fsolve_residual: float
    fsolve_distance: float
    eigenvalues: NDArray[np.complex128]
    errors: Vector
    kind: Kind
    status: str
    directions: Vector
    certificate: "Certificate | None" = None


def records(exact: Held, places: list[Place], direction: Vector) -> list[Record]:
    """Verify and classify each place; of a stack each layer on its own, under the output of those below, and once.

    Parameters
    ----------
    exact : Held
        In float64 on the CPU.
    places : list of Place
    direction : ndarray, shape (n,)
        The unit vector along which fsolve starts off the root.
    """
    # points of a stack share what they have in common in the layers below
    levels = {id(own): (place, level) for place in places for level, (_, own) in enumerate(_levels(exact, place))}
    listed = list(levels.values())

    def work(some: slice) -> tuple[list[_Part]]:
        return ([_part(exact, *each, direction) for each in listed[some]],)

    each = in_threads(work, len(listed))[0] if len(exact.system.blocks) > 1 else work(slice(None))[0]
    known = dict(zip(levels, each, strict=True))
    return [_record(exact, place, [known[id(own)] for _, own in _levels(exact, place)]) for place in places]


def in_unit(rows: list[Record], unit: Vector) -> list[Record]:
    """The same rows with states and directions in the system's own unit, where they are in another."""
    return [
        row._replace(state=unit * row.state, directions=np.linalg.qr((unit * row.directions).T)[0].T) for row in rows
    ]


def order(rows: list[Record]) -> NDArray[np.int64]:
    """By status, then by the number of growing directions, then by coordinates."""
    if not rows:
        return np.zeros(0, dtype=np.int64)
    place = np.empty(len(rows), dtype=np.int64)
    place[merging.ordered(np.array([row.state for row in rows]))] = np.arange(len(rows))
    keys = [(STATUSES.index(row.status), row.kind.unstable, place[i]) for i, row in enumerate(rows)]
    return np.array(sorted(range(len(rows)), key=keys.__getitem__))


def _levels(exact: Held, place: Place) -> tuple[tuple[Held, Place], ...]:
    """What each layer's search held, with its own place; of a map that was searched at once, that and the place."""
    return place.layers or ((exact, place),)


def _part(exact: Held, place: Place, level: int, direction: Vector) -> _Part:
    """What is known of a place in one of its layers, or in the whole of a map that was searched at once."""
    held, own = _levels(exact, place)[level]
    uncertain = min(place.error, FARTHEST * float(merging.scale(place.state))) * place.weakest
    whole, some, by_input = exact, slice(None), np.zeros(len(held.input))
    if isinstance(exact.system, Stack) and place.layers:
        cells, parts = exact.system.layers(), parts_of(exact.system.blocks)
        some = parts[level]
        whole = exact.part(cells[level], held.input, some)
        if level:  # the layer sees the output of the one below
            by_input = (np.asarray(exact.unit) * uncertain)[parts[level - 1]][: len(by_input)]
    state, uncertain, direction = place.state[some], uncertain[some], direction[some]
    point = torch.as_tensor(state)[None]
    blocks = [block[0].numpy() for block in held_blocks(whole, point)]
    moved = [np.zeros(())] * len(blocks)
    if place.status != SLOW:
        moved = _moved(whole, state, uncertain, direction, by_input)
    told = all(np.isfinite(each).all() for each in (*moved, *blocks))
    # a user's code may be in any units, which no orbit need tell
    by_entry = bool(place.layers) or isinstance(whole.unit, torch.Tensor) or has_users_code(whole.system)
    wrong = _wrong(whole, point[0], moved, by_entry) if told else [np.zeros(())] * len(blocks)
    eigenvalues, errors = eigenvalues_along_diagonal(blocks, wrong)
    end, status = fsolve_check.Check(own.state, np.nan, np.nan), SLOW
    if place.status != SLOW:
        end, status = _verified(held, own, direction[: len(own.state)])
    return _Part(eigenvalues, errors, told, at_kink(held, own.state), end, status)


def _record(exact: Held, place: Place, parts: list[_Part]) -> Record:
    state = place.state
    eigenvalues, errors = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("eigenvalues", "errors")
    )
    sorts = eigenvalue_sets.order(eigenvalues)
    eigenvalues, errors = eigenvalues[sorts], errors[sorts]
    away = np.abs(eigenvalues - 1)
    along = np.argsort(away, kind="stable")[: len(place.directions)]  # of these the multiplier is 1
    errors[along] = np.maximum(errors[along], away[along])
    kind = kind_of_map(eigenvalues, errors)
    if place.status == UNDECIDED:
        kind = DOUBTFUL._replace(undecided=len(state))
    if any(part.kinked or part.status == AT_JUMP for part in parts):
        errors, kind = np.full_like(errors, np.inf), AT_KINK._replace(undecided=len(state))
    if not all(part.told for part in parts):
        errors, kind = np.full_like(errors, np.inf), NO_DERIVATIVE._replace(undecided=len(state))
    residual = _length(exact, exact.displacement(torch.as_tensor(state)[None])[0])
    ended, distance = (
        float(np.linalg.norm([getattr(part.end, name) for part in parts])) for name in ("residual", "distance")
    )
    status = max((part.status for part in parts), key=STATUSES.index)
    return Record(state, residual, ended, distance, eigenvalues, errors, kind, status, place.directions)


def _verified(exact: Held, place: Place, direction: Vector) -> tuple[fsolve_check.Check, str]:
    """Where fsolve ends that starts beside the root, and the status that follows.

    It starts within the ball in which the root is alone, where one is known, and nearer where it does not come back.
    """
    sought, scale = equations(exact), _own_scale(exact, place.state)

    def f(h: Vector) -> Vector:
        return sought.value(torch.as_tensor(h)[None])[0].numpy()

    def jacobian(h: Vector) -> Vector:
        return sought.matrix(torch.as_tensor(h)[None])[0].numpy()

    direction = _in_proportion(exact, place.state, direction)
    offset = min(fsolve_check.OFFSET * scale, place.radius / 4) if place.radius else fsolve_check.OFFSET * scale
    for nearer in NEARER:
        end = fsolve_check.check(f, jacobian, place.state, direction, nearer * offset)
        end, status = _judged(exact, place, end)
        if status == place.status:
            break
    return end, status


def _judged(exact: Held, place: Place, end: fsolve_check.Check) -> tuple[fsolve_check.Check, str]:
    """What an end of fsolve says of a place."""
    scale = _own_scale(exact, place.state)
    at_root = end.residual <= float(tolerance(torch.as_tensor(end.state)))
    across = end.state - place.state
    across = across - place.directions.T @ (place.directions @ across)
    end = end._replace(
        residual=_length(exact, exact.displacement(torch.as_tensor(end.state)[None])[0]),
        distance=_length(exact, torch.as_tensor(across)),
    )
    distance = float(np.linalg.norm(across))
    if place.status != FIXED:
        return end, place.status
    allowed = max(fsolve_check.SMALLEST_DISTANCE * scale, fsolve_check.RESIDUALS * min(place.error, FARTHEST * scale))
    if at_root and distance <= max(allowed, min(place.radius, FARTHEST * scale)):
        return end, AT_JUMP if _leaps(equations(exact), place) else FIXED
    if jumps(exact, place.state):  # an end may lie as near as one likes, and be no root
        return end, AT_JUMP
    if distance <= allowed:
        return end, FIXED
    return end, NEIGHBOURING if at_root else UNVERIFIED


def _leaps(sought: Equations, place: Place) -> bool:
    """Whether more than rounding is left of f at a root, and f jumps beside it by as much: it may jump over 0."""
    points = torch.as_tensor(place.state)[None]
    values, matrices = sought.value(points), sought.matrix(points)
    noise = ROUNDINGS * len(place.state) * rounding(sought, points, values, matrices)
    if not np.isfinite(place.error) or float(values.norm()) <= float(noise.norm()):
        return False
    probes = probes_of(place.state)
    probes *= place.error / np.linalg.norm(probes, axis=1, keepdims=True)
    ways = torch.as_tensor(np.multiply.outer(ACROSS, probes).reshape(-1, len(place.state)))
    beyond = (sought.value(points + ways) - values - ways @ matrices[0].mT).norm(dim=1)
    return bool(beyond.max() > LEAP * values.norm())


def _moved(exact: Held, state: Vector, uncertain: Vector, direction: Vector, by_input: Vector) -> list[Vector]:
    """By how much each block of J changes where the root and its input may really be, as differences (4, m, m).

    That is ± that far, in the least certain way and in an arbitrary one; the input in the former with either.
    """
    reach = max(float(np.linalg.norm(uncertain)), np.finfo(np.float64).eps * float(merging.scale(state)))
    arbitrary = reach * _in_proportion(exact, state, direction)
    shifts = np.stack([np.zeros_like(state), uncertain, -uncertain, arbitrary, -arbitrary])
    of_input = torch.as_tensor(np.multiply.outer([0, 1, -1, 1, -1], by_input))
    blocks = held_blocks(replace(exact, input=exact.input + of_input), torch.as_tensor(state + shifts))
    return [(block[1:] - block[0]).numpy() for block in blocks]


def _length(exact: Held, vector: torch.Tensor) -> float:
    """‖v‖₂ in the system's own unit."""
    return float((exact.unit * vector).norm())


def _own_scale(exact: Held, state: Vector) -> float:
    """What distances from a state are relative to: max(1, ‖h‖) in its unit, in a large one as in the system's own."""
    return max(min(1.0, 1 / float(np.min(np.asarray(exact.unit)))), float(np.linalg.norm(state)))


def _in_proportion(exact: Held, state: Vector, direction: Vector) -> Vector:
    """The unit vector with coordinates in proportion to max(1, |h_i|), h in the system's own unit.

    An LSTM's memory may be 1e8 times the rest, or at a saddle 1e-17 times what it is at stable points.
    """
    larger = direction * np.maximum(np.minimum(1.0, 1 / np.asarray(exact.unit)), np.abs(state))
    return larger / float(np.linalg.norm(larger))


def _wrong(exact: Held, state: torch.Tensor, moved: list[Vector], entries: bool) -> list[Vector]:
    """What each block of J is wrong by, with what rounding has left in it: in the 2-norm, or entry by entry.

    Rows of large layers, and of coordinates in units of their own, differ by tens of orders of magnitude, which a norm
    would not keep.
    """
    error = jacobian_and_error(exact.system, *exact.given(state), diagonal=True, unit=exact.unit)[1]
    rounding = exact.in_unit(error).numpy()
    found = []
    for change, part in zip(moved, parts_of(exact.system.blocks), strict=True):
        left = rounding[part, part]
        if entries:
            found.append(np.abs(change).max(axis=0) + left if change.ndim else left)
        else:
            largest = np.linalg.norm(change, 2, axis=(1, 2)).max() if change.ndim else 0.0
            size = max(float(left.max(initial=0.0)), np.finfo(np.float64).tiny)  # squares of entries may overflow
            within = size * np.linalg.norm(left / size) if np.isfinite(size) else np.inf
            found.append(np.asarray(largest + within))
    return found
