"""The search for fixed points: rounds of starts until a whole round finds nothing new, and how sure that is."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.fixed_points import starts as where
from dynlab.diagnostics.fixed_points.affine import affine_place, is_affine
from dynlab.diagnostics.fixed_points.places import FIXED, NOWHERE, Place, Places, equations
from dynlab.diagnostics.fixed_points.suggestions import path_ends, suggested
from dynlab.numerics import merging
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.roots import solve, tolerance
from dynlab.numerics.unseen import share_bound, unseen_share
from dynlab.systems.held import Held

MOST_ROUNDS, MOST_OF_LARGE = 8, 3
MOST_PLACES = 1024  # points beyond which no round follows, as of an angle that is counted on
# Of a round's starts, how many go on with slower methods where Newton's stops, and of a large map; none of random ones
# after the first round, so that what is said of them is of Newton's method.
PURSUED, PURSUED_OF_LARGE = 64, 2
BOUND_SLACK = 1e-9  # a coordinate that rounding puts on its bound is within it
OPEN = 1e-8  # times max(1, ‖h‖): an ungated residual above that means that a closed gate made the residual small
# What a start comes to, beside a place's status; where a start is from.
LOST, OUTSIDE, CLOSED_GATE = "not converged", "outside the state's bounds", "closed gate"
GIVEN, VISITED, RANDOM, SUGGESTED = "given", "visited", "random", "points found"


@dataclass(frozen=True)
class Starts:
    """What became of starts, each array of shape (start,).

    `assignment` is the number of the place, −1 for none; `residual` is ‖F(h) − h‖₂ where the start ended, or of a flow
    ‖f(h)‖₂; `layer` counts the layers of a stack from 1.
    """

    assignment: Index
    outcome: NDArray[np.str_]
    origin: NDArray[np.str_]
    iterations: Index
    residual: Real
    layer: Index

    @classmethod
    def joined(cls, parts: "list[Starts]") -> "Starts":
        """Return several as one."""
        names = cls.__dataclass_fields__
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})

    def some(self, rows: Index) -> "Starts":
        """Return those of these numbers."""
        return Starts(**{name: getattr(self, name)[rows] for name in self.__dataclass_fields__})


@dataclass(frozen=True)
class Confidence:
    """How sure a search is to have found every point.

    Attributes
    ----------
    rounds : int
    complete : bool
        Whether the last round found nothing new.
    starts, new : int
        The random starts of the last round, and how many of them ended at a point that was not known before.
    share : float
        Good and Turing's estimate, from all random starts, of the share that would end at a point not seen by any.
    bound : float
        What the share that would end at a point not listed is below, with 95 % confidence.
    index_sum : int or None
        Of the points found, where it must be 1.
    """

    rounds: int
    complete: bool
    starts: int
    new: int
    share: float
    bound: float
    index_sum: int | None


@dataclass(frozen=True)
class Search:
    """What a search found.

    Attributes
    ----------
    places : list of Place
    starts : Starts
    confidence : Confidence or None
        None where the starts were given, and where the map is affine: then all is known.
    affine : bool
    """

    places: list[Place]
    starts: Starts
    confidence: Confidence | None = None
    affine: bool = False


def search(
    frozen: Held, exact: Held, count: int, given: Tensor | None, visited: Tensor, generator: np.random.Generator
) -> Search:
    """Find fixed points from the starts `given`, or in rounds of `count` random starts and of what points suggest.

    Parameters
    ----------
    frozen, exact : Held
        In the dtype and on the device of the search, and in float64 on the CPU.
    count : int
    given : Tensor, shape (start, n), optional
        The only starts.
    visited : Tensor, shape (state number, n)
        States along driven trajectories, or along orbits of the map from random states.
    generator : numpy.random.Generator
    """
    if is_affine(exact):
        begun = visited[generator.integers(len(visited), size=count)] if given is None else given
        return _of_affine(exact, begun, VISITED if given is None else GIVEN)
    places = Places(exact)
    if given is not None:
        return Search(places.found, _ended(frozen, places, given, GIVEN))
    visited = where.bounded(visited)
    reach = where.reach_of(frozen, visited)
    seen = where.visited_starts(frozen, count // 2, visited, generator)
    if _is_large(frozen):
        seen = torch.cat([torch.as_tensor(path_ends(exact, exact.input.new_zeros(1, seen.shape[1]))).to(seen), seen])
    random = where.random_starts(frozen, count - count // 2, reach, generator)
    most = PURSUED_OF_LARGE if _is_large(frozen) else PURSUED
    batches = [_ended(frozen, places, seen, VISITED, most), _ended(frozen, places, random, RANDOM, most)]
    confidence = _rounds(frozen, places, batches, count, reach, generator)
    return Search(places.found, Starts.joined(batches), confidence)


def _rounds(
    frozen: Held, places: Places, batches: list[Starts], count: int, reach: Tensor, generator: np.random.Generator
) -> Confidence:
    """Run round after round until one finds nothing new, and the index sum does not say that points are missing."""
    rounds, new, complete, stuck = 1, 0, False, False
    most, pursued = (MOST_OF_LARGE, PURSUED_OF_LARGE) if _is_large(frozen) else (MOST_ROUNDS, PURSUED)
    while rounds < most and len(places.found) <= MOST_PLACES and not complete:
        rounds, before = rounds + 1, len(places.found)
        further = suggested(frozen, places, stuck, reach, generator)
        batches.append(_ended(frozen, places, further, SUGGESTED, pursued))
        known = len(places.found)
        random = where.random_starts(frozen, count, reach, generator)
        batches.append(_ended(frozen, places, random, RANDOM, 0))
        new, stuck = int((batches[-1].assignment >= known).sum()), len(places.found) == before
        total = places.index_sum()
        complete = new == 0 if total == 1 else stuck and total is None
    drawn = np.concatenate([each.assignment[each.origin == RANDOM] for each in batches])
    share = unseen_share(np.bincount(drawn[drawn >= 0]), len(drawn))
    bound = share_bound(new, count, max(1, rounds - 1))
    return Confidence(rounds, complete or stuck, count, new, share, bound, places.index_sum())


def _is_large(held: Held) -> bool:
    return where.usual_count(held.system.state_size) < where.USUAL


def _ended(frozen: Held, places: Places, starts: Tensor, origin: str, most: int | None = None) -> Starts:
    """Return what becomes of starts (k, n); the places they lead to are added."""
    exact, sought = places.held, equations(frozen)
    ended = solve(sought.value, sought.matrix, starts, most)
    iterations = ended.iterations.cpu()
    if frozen is not exact:
        sought = equations(exact)
        ended = solve(sought.value, sought.matrix, ended.states.to(exact.input))
        iterations = iterations + ended.iterations
    moved, states = exact.displacement(ended.states).norm(dim=-1), ended.states.numpy()
    open_ = ended.residuals.numpy() > OPEN * merging.scale(states)
    still = (moved <= tolerance(ended.states)).numpy()
    outcome = np.where(ended.converged.numpy(), FIXED, np.where(still & open_, CLOSED_GATE, LOST)).astype(object)
    outcome[outside(exact, ended.states) & (outcome != LOST)] = OUTSIDE
    assignment = np.full(len(states), NOWHERE)
    roots = np.flatnonzero(outcome == FIXED)
    if len(roots):
        assignment[roots] = places.numbers(states[roots])
        outcome[roots] = [LOST if k == NOWHERE else places.found[k].status for k in assignment[roots]]
    return Starts(
        assignment,
        outcome.astype(str),
        np.full(len(states), origin),
        iterations.numpy(),
        moved.numpy(),
        np.ones(len(states), dtype=np.int64),
    )


def outside(exact: Held, states: Tensor) -> NDArray[np.bool_]:
    """Return whether each state (k, n) is outside the bounds that the system states."""
    bound = exact.system.state_bound()
    if bound is None:
        return np.zeros(len(states), dtype=bool)
    return np.asarray((states.abs() > bound * (1 + BOUND_SLACK)).any(-1).numpy())


def _of_affine(exact: Held, starts: Tensor, origin: str) -> Search:
    """Return what an affine map's starts come to: its one set of fixed points, in one step."""
    place = affine_place(exact)
    outcome, begun = LOST if place is None else place.status, starts.to(exact.input)
    moved = exact.displacement(begun).norm(dim=-1)
    taken = (moved > tolerance(begun)).numpy().astype(np.int64)
    if place is not None:
        moved = exact.displacement(torch.as_tensor(place.state)[None]).norm(dim=-1).expand(len(starts))
    ones = np.ones(len(starts), dtype=np.int64)
    ended = Starts(
        ones * (NOWHERE if place is None else 0),
        np.full(len(starts), outcome),
        np.full(len(starts), origin),
        taken,
        moved.numpy(),
        ones,
    )
    return Search([] if place is None else [place], ended, affine=True)
