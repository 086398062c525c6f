"""The search of a stack, layer by layer: a fixed point is one of layer 1, with one of layer 2 under its output above.

An LSTM's layer is searched without its memory c, which is i g/(1 − f) at a fixed point. So a stack of three LSTM-256 is
no problem of 1,536 dimensions but a tree of problems of 256. Any other system is one layer.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from dynlab.diagnostics.fixed_points import starts as where
from dynlab.diagnostics.fixed_points.places import FIXED, NOT_ISOLATED, NOWHERE, Place, equations
from dynlab.diagnostics.fixed_points.search import Confidence, Search, Starts
from dynlab.diagnostics.fixed_points.search import search as search_one
from dynlab.numerics.arrays import Index
from dynlab.numerics.threads import in_threads
from dynlab.numerics.unseen import share_bound
from dynlab.systems.held import Held
from dynlab.systems.torch_cells import Cell

OF_A_LAYER = 4  # times `count`: random starts of a round of all searches of one layer together
FEWEST = 8  # random starts of a round of one search
MOST_SEARCHES = 256  # of one layer, each under another fixed point of the layers below
NONLINEAR = 2.0  # times what a root moves with its input to first order: in its ball f' changes by half at most
# Times max(1, ‖h‖): how far off a root is taken to be where I − J is singular to rounding, and nearly so at most.
SINGULAR, FARTHEST = 1e-6, 1e-4


@dataclass(frozen=True)
class Layer:
    """A layer with a fixed point of it, under the output of those below.

    Attributes
    ----------
    whole, searched : Held
        The layer itself, and the map whose roots were looked for: of an LSTM that of h alone.
    place : Place
        Of `searched`; its error has what comes from below.
    input_error : float
        How far the input may be off.
    """

    whole: Held
    searched: Held
    place: Place
    input_error: float

    def lifted(self, states: Tensor, input: Tensor) -> Tensor:
        """Return the layer's states, memory included, from those that were searched."""
        cell = self.whole.system
        return cell.at_rest(states, input) if isinstance(cell, Cell) else states

    @property
    def state(self) -> Tensor:
        """The layer's state, shape (m,)."""
        return self.lifted(torch.as_tensor(self.place.state), self.whole.input)

    @property
    def error(self) -> float:
        """How far the root is taken to be off."""
        scale = max(1.0, float(np.linalg.norm(self.place.state)))
        if self.place.status == FIXED:
            return self.place.error
        return min(self.place.error, FARTHEST * scale) if np.isfinite(self.place.error) else SINGULAR * scale


@dataclass(frozen=True)
class Point:
    """A fixed point of the whole system, or of its lowest layers: the layers it is made of, from the lowest up.

    `given` are the numbers of the given starts that lead to it.
    """

    layers: tuple[Layer, ...]
    given: Index

    @property
    def state(self) -> np.ndarray:
        """The joint state, shape (n,)."""
        return np.concatenate([layer.state.numpy() for layer in self.layers])

    @property
    def status(self) -> str:
        """`FIXED` where every layer's point is alone, else that of one that is not."""
        return next((layer.place.status for layer in self.layers if layer.place.status != FIXED), FIXED)

    @property
    def index(self) -> int:
        """Sign det(I − J), the product of the layers'."""
        return int(np.prod([layer.place.index for layer in self.layers]))


@dataclass(frozen=True)
class Found:
    """What the searches of all layers found.

    Attributes
    ----------
    places : list of Point
    starts : Starts
        Of all searches; of given starts, what became of each at last.
    confidence : Confidence or None
    affine : bool
    searches : tuple of int
        How many each layer had.
    """

    places: list[Point]
    starts: Starts
    confidence: Confidence | None
    affine: bool
    searches: tuple[int, ...]


def search(
    frozen: Held,
    exact: Held,
    *,
    count: int = 0,
    given: Tensor | None = None,
    visited: Tensor | None = None,
    seed: int | np.random.Generator = 0,
) -> Found:
    """Find the fixed points of a map, or the equilibria of a flow, whose input is held.

    Parameters
    ----------
    frozen, exact : Held
        In the dtype and on the device of the search, and in float64 on the CPU.
    count : int
        Random starts of a round.
    given : Tensor, shape (start, n), optional
        The only starts.
    visited : Tensor, shape (state number, n), optional
        States along driven trajectories; without them along orbits from random states.
    seed : int or numpy.random.Generator
    """
    generator = np.random.default_rng(seed)
    if visited is None:
        visited = where.orbits(frozen, generator) if given is None else given
    points = [Point((), np.arange(0 if given is None else len(given)))]
    done: list[Search] = []
    parts: list[tuple[Starts, Index]] = []
    searches: list[int] = []
    start, skipped = 0, 0
    cells = where.cells_of(exact.system)
    for level in range(max(1, len(cells))):
        skipped, points = skipped + max(0, len(points) - MOST_SEARCHES), points[:MOST_SEARCHES]
        size = cells[level].resting().state_size if cells else exact.system.state_size
        hidden, start = slice(start, start + size), start + (cells[level].state_size if cells else size)
        each = min(count, max(FEWEST, OF_A_LAYER * count // max(1, len(points))))
        found = _level(frozen, exact, points, level, hidden, each, given, visited, generator)
        following: list[Point] = []
        for point, one in zip(points, found, strict=True):
            parts.append((_numbered(one.starts, level, len(following), level == max(1, len(cells)) - 1), point.given))
            following += [_above(exact, point, level, one, number) for number in range(len(one.places))]
        searches.append(len(points))
        done, points = done + found, following
    starts = Starts.joined([part for part, _ in parts])
    if given is not None:
        last = np.zeros(len(given), dtype=np.int64)
        rows = np.concatenate([some for _, some in parts])
        last[rows] = np.arange(len(rows))  # what became of a start in the highest layer that it came to stays
        starts = starts.some(last)
    confidence = _confidence(done, points, skipped)
    return Found(points, starts, confidence, all(one.affine for one in done), tuple(searches))


def _level(
    frozen: Held,
    exact: Held,
    points: list[Point],
    level: int,
    hidden: slice,
    count: int,
    given: Tensor | None,
    visited: Tensor,
    generator: np.random.Generator,
) -> list[Search]:
    """Search one layer under each of the points of those below."""
    seeds = generator.spawn(len(points))

    def searched(number: int) -> Search:
        own = _held(exact, points[number], level)[1]
        other = own if frozen is exact else _held(frozen, points[number], level)[1]
        begun = None if given is None else given[torch.as_tensor(points[number].given)][:, hidden]
        return search_one(other, own, count, begun, visited[:, hidden], seeds[number])

    return in_threads(lambda some: (list(map(searched, range(len(points))[some])),), len(points))[0]


def _held(held: Held, below: Point, level: int) -> tuple[Held, Held]:
    """Return a layer under the output of the point below, whole and as it is searched."""
    cells = where.cells_of(held.system)
    if not cells:
        return held, held
    input = held.input
    if below.layers:
        input = cells[level - 1].output(below.layers[-1].state).to(held.input)
    whole = replace(held, system=cells[level], input=input)
    return whole, replace(whole, system=cells[level].resting())


def _above(exact: Held, below: Point, level: int, found: Search, number: int) -> Point:
    """Return the point below with one more layer's, which is off by f'⁻¹ ∂f/∂x times what its input is off by, too."""
    place = found.places[number]
    whole, searched = _held(exact, below, level)
    input_error = below.layers[-1].error if below.layers else 0.0
    if below.layers and place.status == FIXED:
        state = torch.as_tensor(place.state)[None]
        by_input = torch.func.jacrev(lambda x: replace(searched, input=x).displacement(state)[0])(searched.input)
        moved = torch.linalg.solve_ex(equations(searched).matrix(state)[0], by_input)[0]
        off = NONLINEAR * float(torch.linalg.matrix_norm(moved)) * input_error
        place = replace(place, error=place.error + off) if np.isfinite(off) else replace(place, status=NOT_ISOLATED)
    given = below.given[found.starts.assignment == number] if len(below.given) else below.given
    return Point((*below.layers, Layer(whole, searched, place, input_error)), given)


def _numbered(starts: Starts, level: int, first: int, is_top: bool) -> Starts:
    """Return the starts of one search with the layer's number, and the numbers of points of the whole system."""
    numbers = np.where((starts.assignment >= 0) & is_top, first + starts.assignment, NOWHERE)
    return replace(starts, assignment=numbers, layer=np.full(len(numbers), level + 1))


def _confidence(done: list[Search], points: list[Point], skipped: int) -> Confidence | None:
    """Return what is true of every search: the bounds fail together in 5 % of all cases at most."""
    sure = [one.confidence for one in done if one.confidence is not None]
    if not sure:
        return None
    if len(sure) == 1 and not skipped:
        return sure[0]
    bounds = [share_bound(each.new, each.starts, max(1, each.rounds - 1), len(sure)) for each in sure]
    known = all(each.index_sum is not None for each in sure)
    return Confidence(
        max(each.rounds for each in sure),
        all(each.complete for each in sure) and not skipped,
        sum(each.starts for each in sure),
        sum(each.new for each in sure),
        max(each.share for each in sure),
        max(bounds),
        sum(point.index for point in points) if known else None,
    )
