"""The one search for fixed points: rounds of starts until a whole round finds nothing new, and how sure that is."""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.fixed_points import starts as where
from dynlab.diagnostics.fixed_points.affine import affine_answer
from dynlab.diagnostics.fixed_points.found import (
    CLOSED_GATE,
    DRAWN_FROM,
    GIVEN,
    LOST,
    NOT_LOOKED_AT,
    OUTSIDE,
    RANDOM,
    VISITED,
    Confidence,
    Search,
    Words,
)
from dynlab.diagnostics.fixed_points.places import (
    CONTINUUM,
    FIXED,
    NOWHERE,
    SLOW,
    UNDECIDED,
    UNSEEN,
    Place,
    Places,
    equations,
)
from dynlab.diagnostics.fixed_points.slow_points import slow_points_from
from dynlab.diagnostics.fixed_points.suggested import is_bounded, is_large, path_ends, suggested
from dynlab.jacobians import displacement_matrices
from dynlab.numerics import merging
from dynlab.numerics.affine_roots import AffineRoots
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.isolation import to_the_last_digit
from dynlab.numerics.roots import solve, tolerance
from dynlab.numerics.unseen import share_bound, unseen_share
from dynlab.progress import through
from dynlab.systems.function import has_users_code
from dynlab.systems.held import Held

MOST_ROUNDS = 8
# Of large maps. Random starts are led by Newton's method alone there, and so many of the others that it leaves by what
# goes on where it stops; of bounded maps only of states visited, as paths surely lead to roots from those found.
MOST_OF_LARGE, PURSUED = 3, 2
MOST_PLACES = 1024  # points beyond which no round follows
ROUNDS_FOR_INDEX = 4  # as many at most where nothing new is found and the index sum says that points are missing
BOUND_SLACK = 1e-9  # a coordinate that rounding puts on its bound is within it
OPEN = 1e-8  # times max(1, ‖h‖): an ungated residual above that means that a closed gate made the residual small


class _Batch(NamedTuple):
    ends: Real
    assignment: NDArray[np.int64]
    outcome: Words
    origin: Words
    iterations: NDArray[np.int64]


def search_at_once(
    frozen: Held,
    exact: Held,
    *,
    count: int = 0,
    given: Tensor | None = None,
    visited: Tensor | None = None,
    largest_speed: float | None = None,
    seed: int | np.random.Generator = 0,
) -> Search:
    """Fixed points from the starts `given`, or in rounds of `count` random starts and of what the points found suggest.

    Parameters
    ----------
    frozen, exact : Held
        As the caller chose dtype and device, and in float64 on the CPU, where every search ends.
    count : int
        Random starts of each round, half of them states visited in the first.
    given : Tensor, shape (start, n), optional
        The only starts.
    visited : Tensor, shape (state number, n), optional
        States along driven trajectories; without them along orbits of the map from random states.
    largest_speed : float, optional
        Also keep slow points with ½ ‖F(h) − h‖², in the system's own unit, up to this.
    seed : int or numpy.random.Generator
    """
    generator = np.random.default_rng(seed)
    states = where.bounded(where.orbits(frozen, generator) if visited is None else visited) if given is None else given
    answer = affine_answer(exact)
    if given is None:
        reach = where.reach_of(frozen, states, generator)
        seen = where.visited_starts(frozen, count // 2, states, generator)
        if is_large(frozen):
            seen = torch.cat([path_ends(exact, torch.zeros_like(seen[:1], dtype=torch.float64)).to(seen), seen])
        random = where.random_starts(frozen, max(count - count // 2, count - len(seen)), reach, generator)
        first, origin = torch.cat([seen, random]), [VISITED] * len(seen) + [RANDOM] * len(random)
    else:
        first, origin = given, [GIVEN] * len(given)
    if answer is not None:
        return _of_affine(exact, answer, first, np.array(origin))
    places = Places(exact)
    batches = [_batch(frozen, places, first, origin)]
    confidence = None
    if given is None:
        confidence = _rounds(frozen, places, batches, count, reach, generator)
    places.found, renumbered = places.united()
    batches = [batch._replace(assignment=_renumbered(batch.assignment, renumbered)) for batch in batches]
    if largest_speed is not None:
        _add_slow_points(exact, places, batches, first, largest_speed)
    ends, assignment, outcome, origins, iterations = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    found = (places.found, ends, assignment, outcome, origins, iterations, confidence)
    return Search(*found, "", _residuals(exact, ends), places.indices())


def _rounds(
    frozen: Held, places: Places, batches: list[_Batch], count: int, reach: Tensor, generator: np.random.Generator
) -> Confidence:
    """Round after round until one finds nothing new."""
    rounds, tried, new, before = 1, 0, 0, -1
    most = MOST_OF_LARGE if is_large(frozen) else MOST_ROUNDS
    for further in through(range(2, most + 1)):
        if len(places.found) == before and not (rounds < ROUNDS_FOR_INDEX and _lacking(places)):
            break
        if len(places.found) > MOST_PLACES:  # perhaps without end, as of an angle that is counted on
            break
        rounds = further
        before, points = len(places.found), _isolated(places)
        drawn = suggested(frozen, places, points, tried, _lacking(places), reach, generator)
        batches.append(_batch(frozen, places, drawn, [DRAWN_FROM] * len(drawn)))
        tried, known = len(points), len(places.found)
        random = where.random_starts(frozen, count, reach, generator)
        batches.append(_batch(frozen, places, random, [RANDOM] * count))
        new = int((batches[-1].assignment >= known).sum())
    assigned = np.concatenate([b.assignment[b.origin == RANDOM] for b in batches])
    share = unseen_share(np.bincount(assigned[assigned >= 0]), len(assigned))
    bound = share_bound(new, count, rounds - 1)
    total = _index_sum(places)
    widest = float((reach[-1] * frozen.unit).max())
    return Confidence(rounds, len(places.found) == before, count, new, share, bound, total, _missing(total), widest)


def _renumbered(assignment: Index, numbers: Index) -> Index:
    """`NOWHERE` stays."""
    return np.append(numbers, NOWHERE)[assignment]


def _index_sum(places: Places) -> int | None:
    indices = places.indices()
    return None if indices is None else int(indices.sum())


def _missing(index_sum: int | None) -> int:
    return 0 if index_sum is None else abs(1 - index_sum)


def _lacking(places: Places) -> bool:
    """Whether points are missing for sure."""
    return _missing(_index_sum(places)) > 0


def _residuals(exact: Held, ends: Real) -> Real:
    return np.asarray((exact.unit * exact.displacement(torch.as_tensor(ends))).norm(dim=-1).numpy())


def _isolated(places: Places) -> Real:
    states = [place.state for place in places.found if place.status == FIXED]
    return np.array(states).reshape(-1, places.held.system.state_size)


def _batch(frozen: Held, places: Places, starts: Tensor, origin: list[str]) -> _Batch:
    """Where each start ends, and the number of the place that is."""
    exact = places.held
    sought = equations(frozen)
    again, most = None, None
    if is_large(frozen) and GIVEN not in origin:
        further = [each == VISITED or (each != RANDOM and not is_bounded(exact)) for each in origin]
        again, most = torch.tensor(further, device=starts.device), PURSUED
    ended = solve(sought.value, sought.matrix, starts, again, most)
    iterations = ended.iterations.cpu()
    if frozen is not exact:
        sought = equations(exact)
        ended = solve(sought.value, sought.matrix, ended.states.to(exact.input))
        iterations = iterations + ended.iterations
    states, settled = to_the_last_digit(sought, ended)
    gone = (~torch.isfinite(ended.residuals)).nonzero()[:, 0]  # the ungated residual overflows behind a shut gate
    if len(gone):
        states[gone] = solve(exact.displacement, partial(displacement_matrices, exact), states[gone]).states
    still = (exact.displacement(states).norm(dim=-1) <= tolerance(states)).numpy()
    scale = torch.as_tensor(merging.scale(states.numpy()))
    open_ = (exact.ungated(states).norm(dim=-1) <= OPEN * scale).numpy()
    outcome = np.where(settled.numpy(), FIXED, np.where(still & ~open_, CLOSED_GATE, LOST)).astype(object)
    outcome[outside(exact, states) & (outcome != LOST)] = OUTSIDE
    assignment = np.full(len(states), NOWHERE)
    roots = np.flatnonzero(outcome == FIXED)
    assignment[roots] = places.numbers(states.numpy()[roots])
    outcome[roots] = [_said(places, number) for number in assignment[roots]]
    assignment[assignment == UNSEEN] = NOWHERE
    return _Batch(states.numpy(), assignment, outcome.astype(str), np.array(origin, dtype=str), iterations.numpy())


def _said(places: Places, number: int) -> str:
    if number < 0:
        return NOT_LOOKED_AT if number == UNSEEN else LOST
    status = places.found[number].status
    return FIXED if status == CONTINUUM else status


def outside(exact: Held, states: Tensor) -> NDArray[np.bool_]:
    """Whether each state (k, n) is outside the bounds that the system states."""
    bound = exact.system.state_bound()
    if bound is None:
        return np.zeros(len(states), dtype=bool)
    beyond: NDArray[np.bool_] = ((exact.unit * states).abs() > bound * (1 + BOUND_SLACK)).any(-1).numpy()
    return beyond


def _of_affine(exact: Held, answer: AffineRoots, starts: Tensor, origin: Words) -> Search:
    """What an affine map's starts come to: the nearest point of its one affine set of fixed points, in one step."""
    states = starts.to(exact.input)
    ends = states.numpy().copy()
    if answer.exists:
        ends = answer.point + (ends - answer.point) @ answer.directions.T @ answer.directions
    told = answer.exists == 1 and answer.decided
    within = ~outside(exact, torch.as_tensor(ends))
    outcome = np.where(within, FIXED if told else UNDECIDED if answer.exists else LOST, OUTSIDE)
    moved = (exact.displacement(states).norm(dim=-1) > tolerance(states)).numpy().astype(np.int64)
    places = []
    if answer.exists and within.any():
        flat = len(answer.directions)
        status = UNDECIDED if not told else CONTINUUM if flat else FIXED
        sigma, v = np.linalg.svd(equations(exact).matrix(torch.as_tensor(answer.point)[None])[0].numpy())[1:]
        residual = float(exact.displacement(torch.as_tensor(answer.point)[None]).norm())
        error = residual / sigma[-1 - flat] if flat < len(sigma) and sigma[-1 - flat] > 0 else 0.0
        along = answer.directions if status == CONTINUUM else answer.directions[:0]
        places.append(Place(answer.point, status, np.inf, error, v[-1], along))
    assignment = np.where(within & bool(answer.exists), 0, NOWHERE)
    # an affine map that is bounded is constant
    alone = exact.system.state_bound() is not None and [place.status for place in places] == [FIXED]
    known = np.ones(1, dtype=np.int64) if alone else None
    affine = "affine wherever it was looked at" if has_users_code(exact.system) else "affine"
    residuals, rounded = _residuals(exact, ends), not answer.exact
    return Search(places, ends, assignment, outcome, origin, moved, None, affine, residuals, known, rounded=rounded)


def _add_slow_points(exact: Held, places: Places, batches: list[_Batch], starts: Tensor, largest_speed: float) -> None:
    """Add the slow points, and assign to them the first round's starts that led nowhere else."""
    begin = exact.unit * starts.to(exact.input)
    states, reached_from = slow_points_from(replace(exact, unit=1.0), begin, largest_speed)
    states = (torch.as_tensor(states) / exact.unit).numpy()
    inside = ~outside(exact, torch.as_tensor(states))
    states, reached_from = states[inside], reached_from[inside]
    labels = merging.merged(states)
    first = batches[0]
    for label in range(labels.max(initial=-1) + 1):
        members = np.flatnonzero(labels == label)
        speeds = exact.displacement(torch.as_tensor(states[members])).norm(dim=-1)
        best = states[members[int(speeds.argmin())]]
        _sigma, v = np.linalg.svd(equations(exact).matrix(torch.as_tensor(best)[None])[0].numpy())[1:]
        places.found.append(Place(best, SLOW, 0.0, 0.0, v[-1], np.zeros((0, len(best)))))
        stays = members[first.outcome[reached_from[members]] == LOST]
        first.ends[reached_from[stays]], first.outcome[reached_from[stays]] = states[stays], SLOW
        first.assignment[reached_from[stays]] = len(places.found) - 1
