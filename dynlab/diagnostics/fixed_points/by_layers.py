"""The search of a stack, layer by layer: a fixed point is one of layer 1, with one of layer 2 under its output above.

An LSTM's layer is searched without its memory, which is a function of the rest at a fixed point. So a stack of three
LSTM-256 is no problem of 1,536 dimensions but a tree of problems of 256.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np
import torch
from torch import Tensor

from dynlab.diagnostics.fixed_points import starts as where
from dynlab.diagnostics.fixed_points.found import Confidence, Search
from dynlab.diagnostics.fixed_points.places import FIXED, NOWHERE, Place, equations
from dynlab.diagnostics.fixed_points.search import search_at_once
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.block_triangular import parts_of
from dynlab.numerics.threads import in_threads
from dynlab.numerics.unseen import share_bound
from dynlab.progress import through
from dynlab.systems.held import Held
from dynlab.systems.torch_cells import Cell
from dynlab.systems.torch_stacks import Stack

OF_A_LAYER = 4  # times `count`: random starts of a round of all searches of one layer together
FEWEST = 8  # random starts of a round of one search
MOST_SEARCHES = 256  # of one layer, each under another fixed point of the layers below
NONLINEAR = 2.0  # times what a root moves with its input to first order: in its ball f' changes by half at most


@dataclass(frozen=True)
class _Branch:
    """A fixed point of the lowest layers.

    Attributes
    ----------
    layers : tuple of (Held, Place)
        What each layer's search held, and the place that it found.
    state, weakest : Tensor, shape (m,)
        Of these layers, and the way in which it may be off most, in its length.
    input : Tensor, shape (input,)
        Of the layer above.
    input_error : float
        How far that may be off.
    index : int or None
        The product of the layers' indices.
    given : ndarray of int
        The given starts that lead here.
    """

    layers: tuple[tuple[Held, Place], ...]
    state: Tensor
    weakest: Tensor
    input: Tensor
    input_error: float
    index: int | None
    given: Index


@dataclass(frozen=True)
class _Searched:
    """One search of a layer: where its starts ended as states of the stack, and the first of its branches' numbers."""

    found: Search
    ends: Real
    layer: int
    given: Index
    first: int


def search(
    frozen: Held,
    exact: Held,
    *,
    count: int = 0,
    given: Tensor | None = None,
    visited: Tensor | None = None,
    largest_speed: float | None = None,
    seed: int | np.random.Generator = 0,
) -> Search:
    """Fixed points of any map, as `search_at_once` finds them; of a stack layer by layer.

    The layers of a stack are searched at once where one has a continuum, or a state that is not told from a fixed
    point, and where slow points are asked for, which are none of the layers' own.
    """
    generator = np.random.default_rng(seed)
    if isinstance(exact.system, Stack) and largest_speed is None:
        found = _by_layers(frozen, exact, count, given, visited, generator)
        if found is not None:
            return found
    return search_at_once(
        frozen, exact, count=count, given=given, visited=visited, largest_speed=largest_speed, seed=generator
    )


def _by_layers(
    frozen: Held,
    exact: Held,
    count: int,
    given: Tensor | None,
    visited: Tensor | None,
    generator: np.random.Generator,
) -> Search | None:
    """The tree of fixed points of all layers; None where a layer's cannot be told apart."""
    if given is None and visited is None:
        visited = where.orbits(frozen, generator)
    nothing = torch.zeros(0, dtype=torch.float64)
    rows = np.arange(0 if given is None else len(given))
    branches = [_Branch((), nothing, nothing, exact.input, 0.0, 1, rows)]
    done: list[_Searched] = []
    skipped = 0
    for layer, part in enumerate(through(_parts(exact))):
        skipped += max(0, len(branches) - MOST_SEARCHES)
        branches = branches[:MOST_SEARCHES]
        each = min(count, max(FEWEST, OF_A_LAYER * count // max(1, len(branches))))
        hidden = slice(part.start, part.start + _layers(exact)[layer].resting().state_size)
        following: list[_Branch] = []
        for branch, found, above in _searches(frozen, exact, branches, layer, hidden, each, given, visited, generator):
            if None in above:
                return None
            ends = _ends(exact, branch, layer, hidden, found, given)
            done.append(_Searched(found, ends, layer, branch.given, len(following)))
            following += cast(list[_Branch], above)
        branches = following
    return _joined(exact, done, [_place(branch) for branch in branches], branches, given, skipped)


def _searches(
    frozen: Held,
    exact: Held,
    branches: list[_Branch],
    layer: int,
    hidden: slice,
    count: int,
    given: Tensor | None,
    visited: Tensor | None,
    generator: np.random.Generator,
) -> list[tuple[_Branch, Search, list[_Branch | None]]]:
    """The searches of one layer under each of the branches, and what they add to it."""
    seeds = generator.spawn(len(branches))

    def searched(number: int) -> tuple[_Branch, Search, list[_Branch | None]]:
        branch = branches[number]
        held = _held(exact, branch, layer, hidden)
        found = search_at_once(
            held if frozen is exact else _held(frozen, branch, layer, hidden),
            held,
            count=count,
            given=None if given is None else given[torch.as_tensor(branch.given)][:, hidden],
            visited=None if visited is None else visited[:, hidden],
            seed=seeds[number],
        )
        return branch, found, [_above(exact, branch, layer, hidden, found, each) for each in range(len(found.places))]

    return in_threads(lambda some: (list(map(searched, range(len(branches))[some])),), len(branches))[0]


def _layers(held: Held) -> list[Cell]:
    return cast(Stack, held.system).layers()


def _parts(held: Held) -> list[slice]:
    return parts_of([cell.state_size for cell in _layers(held)])


def _unit(held: Held, part: slice) -> float | Tensor:
    return held.unit[part] if isinstance(held.unit, Tensor) else held.unit


def _held(held: Held, branch: _Branch, layer: int, hidden: slice) -> Held:
    """The layer's map, without memory, under the output of the branch."""
    return held.part(_layers(held)[layer].resting(), branch.input.to(held.input), hidden)


def _at_rest(exact: Held, layer: int, hidden: slice, states: Tensor, input: Tensor) -> Tensor:
    """The layer's state in the unit of the search, memory included."""
    cell, unit = _layers(exact)[layer], _unit(exact, hidden)
    lifted = cell.at_rest(unit * states, input.expand(*states.shape[:-1], -1))
    return lifted / _unit(exact, slice(hidden.start, hidden.start + cell.state_size))


def _above(exact: Held, branch: _Branch, layer: int, hidden: slice, found: Search, number: int) -> _Branch | None:
    """The branch with one more layer's fixed point; None for a continuum, and where the input's error may move it far.

    A root moves by f'⁻¹ ∂f/∂x times what the input x moves, to first order.
    """
    place = found.places[number]
    if place.status != FIXED:
        return None
    held = _held(exact, branch, layer, hidden)
    state, weakest = torch.as_tensor(place.state), torch.as_tensor(place.weakest)
    error = place.error
    if branch.layers:
        by_input = torch.func.jacrev(lambda x: replace(held, input=x).ungated(state[None])[0])(held.input)
        moved = torch.linalg.solve_ex(equations(held).matrix(state[None])[0], by_input)[0]
        error += NONLINEAR * float(torch.linalg.matrix_norm(moved).nan_to_num(torch.inf)) * branch.input_error
    if not error <= place.radius:
        return None
    lift = partial(_at_rest, exact, layer, hidden, input=held.input)
    lifted, along = lift(state), torch.func.jacrev(lift)(state) @ weakest
    own = held.unit * state
    return _Branch(
        (*branch.layers, (held, replace(place, error=error))),
        torch.cat([branch.state, lifted]),
        torch.cat([branch.weakest, error * along]),
        _layers(exact)[layer].output(own),
        error * float(torch.as_tensor(held.unit).max()),
        None if found.indices is None or branch.index is None else int(found.indices[number]) * branch.index,
        branch.given[found.assignment == number] if len(branch.given) else branch.given,
    )


def _place(branch: _Branch) -> Place:
    """The branch as a place of the stack: alone where each layer's point is, whatever the layers below."""
    error = float(branch.weakest.norm())
    weakest = (branch.weakest / max(error, np.finfo(float).tiny)).numpy()
    radius = min(place.radius for _, place in branch.layers)
    return Place(branch.state.numpy(), FIXED, radius, error, weakest, np.zeros((0, len(weakest))), layers=branch.layers)


def _ends(exact: Held, branch: _Branch, layer: int, hidden: slice, found: Search, given: Tensor | None) -> Real:
    """Where the starts of a layer's search ended as states of the stack: 0, or as given, in the layers above."""
    ends = torch.zeros(len(found.ends), exact.system.state_size, dtype=torch.float64)
    if given is not None:
        ends[:] = given[torch.as_tensor(branch.given)].to(ends)
    lifted = _at_rest(exact, layer, hidden, torch.as_tensor(found.ends), branch.input)
    below = len(branch.state)
    ends[:, :below], ends[:, below : below + lifted.shape[1]] = branch.state, lifted
    return ends.numpy()


def _joined(
    exact: Held,
    done: Sequence[_Searched],
    places: list[Place],
    branches: Sequence[_Branch],
    given: Tensor | None,
    skipped: int,
) -> Search:
    """The searches of all layers as one, with every start of each, of given ones what became of them at last."""
    top = len(_layers(exact)) - 1
    numbers = [
        np.where((each.found.assignment >= 0) & (each.layer == top), each.first + each.found.assignment, NOWHERE)
        for each in done
    ]
    found = [each.found for each in done]
    layers = np.concatenate([np.full(len(each.ends), each.layer + 1) for each in done])
    kept, iterations = np.arange(len(layers)), np.concatenate([each.iterations for each in found])
    if given is not None:
        start = np.concatenate([each.given for each in done])
        iterations = np.bincount(start, iterations, len(given)).astype(np.int64)
        kept = np.zeros(len(given), dtype=np.int64)
        kept[start] = np.arange(len(start))  # the last one stays: the highest layer
    parts = zip(*((each.outcome, each.origin, each.residuals) for each in found), strict=True)
    outcome, origin, residuals = (np.concatenate(part)[kept] for part in parts)
    indices = [branch.index for branch in branches]
    known = None if None in indices or any(each.indices is None for each in found) else np.array(indices, dtype=int)
    return Search(
        places,
        np.concatenate([each.ends for each in done])[kept],
        np.concatenate(numbers)[kept],
        outcome,
        origin,
        iterations,
        _confidence(found, known, skipped),
        found[0].affine if all(each.affine for each in found) else "",
        residuals,
        known,
        layers[kept],
        tuple(sum(each.layer == layer for each in done) for layer in range(top + 1)),
    )


def _confidence(found: Sequence[Search], indices: Index | None, skipped: int) -> Confidence | None:
    """What is true of every one of the searches: the bounds fail together in 5 % of all cases at most."""
    sure = [each.confidence for each in found if each.confidence is not None]
    if not sure:
        return None
    bounds = [share_bound(each.new, each.starts, each.rounds - 1, len(sure)) for each in sure]
    return Confidence(
        max(each.rounds for each in sure),
        all(each.complete for each in sure) and not skipped,
        sum(each.starts for each in sure),
        sum(each.new for each in sure),
        max(each.share for each in sure),
        max(bounds),
        None if indices is None else int(indices.sum()),
        sum(each.missing for each in sure),
        max(each.reach for each in sure),
    )
