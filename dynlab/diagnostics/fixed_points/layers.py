"""The search of a stack, layer by layer: a fixed point is one of layer 1, with one of layer 2 under its output above.

An LSTM's layer is searched without its memory c, which is i g/(1 − f) at a fixed point. So a stack of three LSTM-256 is
no problem of 1,536 dimensions but a tree of problems of 256. Any other system is one layer, and so is a stack whose
starts are given, since they are states of all layers.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from dynlab.diagnostics.fixed_points import starting_states as where
from dynlab.diagnostics.fixed_points.distinct_roots import FIXED, NOT_ISOLATED, NOWHERE, Root, equations
from dynlab.diagnostics.fixed_points.rounds import Confidence, Search, joined
from dynlab.diagnostics.fixed_points.rounds import search as search_one
from dynlab.numerics.threads import in_threads
from dynlab.numerics.unseen import share_bound
from dynlab.systems import frozen
from dynlab.systems.autonomous import Held
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
    root : Root
        Of `searched`; its error has what comes from below.
    input_error : float
        How far the input may be off.
    """

    whole: Held
    searched: Held
    root: Root
    input_error: float

    def lifted(self, states: Tensor, input: Tensor) -> Tensor:
        """Return the layer's states, memory included, from those that were searched."""
        cell = self.whole.system
        return cell.at_rest(states, input) if isinstance(cell, Cell) else states

    @property
    def state(self) -> Tensor:
        """The layer's state, shape (m,)."""
        return self.lifted(torch.as_tensor(self.root.state), self.whole.input)

    @property
    def error(self) -> float:
        """How far the root is taken to be off."""
        scale = max(1.0, float(np.linalg.norm(self.root.state)))
        if self.root.status == FIXED:
            return self.root.error
        return min(self.root.error, FARTHEST * scale) if np.isfinite(self.root.error) else SINGULAR * scale


@dataclass(frozen=True)
class Point:
    """A fixed point of the whole system, or of its lowest layers: the layers it is made of, from the lowest up."""

    layers: tuple[Layer, ...]

    @property
    def state(self) -> np.ndarray:
        """The joint state, shape (n,)."""
        return np.concatenate([layer.state.numpy() for layer in self.layers])

    @property
    def status(self) -> str:
        """`FIXED` where every layer's point is alone, else that of one that is not."""
        return next((layer.root.status for layer in self.layers if layer.root.status != FIXED), FIXED)


def search(
    held: Held,
    *,
    count: int = 0,
    given: Tensor | None = None,
    visited: Tensor | None = None,
    seed: int | np.random.Generator = 0,
    dtype: torch.dtype = torch.float64,
    device: str = "cpu",
) -> Search:
    """Find the fixed points of a map, or the equilibria of a flow, whose input is held.

    Parameters
    ----------
    held : Held
        In float64 on the CPU.
    count : int
        Random starts of a round.
    given : Tensor, shape (start, n), optional
        The only starts.
    visited : Tensor, shape (state number, n), optional
        States along driven trajectories; without them along orbits from random states.
    seed : int or numpy.random.Generator
    dtype, device : torch.dtype and str
        In which Newton's method begins.

    Returns
    -------
    Search
        With `points` of type `Point`, and the starts of the searches of all layers.
    """
    generator = np.random.default_rng(seed)
    if visited is None:
        visited = where.orbits(held, generator) if given is None else given
    cells = where.cells_of(held.system)
    cells = [] if given is not None and len(cells) > 1 else cells
    points, done, starts, skipped, begin = [Point(())], [], [], 0, 0
    for level in range(max(1, len(cells))):
        skipped, points = skipped + max(0, len(points) - MOST_SEARCHES), points[:MOST_SEARCHES]
        layers = [_layer(held, cells, level, point) for point in points]
        hidden = slice(begin, begin + layers[0][1].system.state_size)
        begin += layers[0][0].system.state_size
        each = min(count, max(FEWEST, OF_A_LAYER * count // max(1, len(points))))
        asked = None if given is None else given[:, hidden]
        jobs = [
            partial(search_one, own, _fast(own, dtype, device), each, asked, visited[:, hidden], child)
            for (_, own), child in zip(layers, generator.spawn(len(points)), strict=True)
        ]
        found, below = in_threads(partial(_run, jobs), len(jobs))[0], points
        points = []
        for point, (whole, own), one in zip(below, layers, found, strict=True):
            is_top, first = level == max(1, len(cells)) - 1, len(points)
            numbers = np.where((one.starts.assignment >= 0) & is_top, first + one.starts.assignment, NOWHERE)
            starts.append(one.starts._replace(assignment=numbers, layer=np.full(len(numbers), level + 1)))
            points += [Point((*point.layers, _above(point, whole, own, root))) for root in one.points]
        done += found
    return Search(points, joined(starts), _confidence(done, points, skipped), all(one.affine for one in done))


def _run(jobs: list[partial[Search]], rows: slice) -> tuple[list[Search]]:
    return ([job() for job in jobs[rows]],)


def _layer(held: Held, cells: list[Cell], level: int, below: Point) -> tuple[Held, Held]:
    """Return a layer under the output of the point below, whole and as it is searched."""
    if not cells:
        return held, held
    input = cells[level - 1].output(below.layers[-1].state) if below.layers else held.input
    whole = replace(held, system=cells[level], input=input)
    return whole, replace(whole, system=cells[level].resting())


def _fast(held: Held, dtype: torch.dtype, device: str) -> Held:
    if (dtype, device) == (torch.float64, "cpu"):
        return held
    return replace(held, system=frozen(held.system, dtype, device), input=held.input.to(device, dtype))


def _above(below: Point, whole: Held, searched: Held, root: Root) -> Layer:
    """Return a layer above the point below, which is off by f'⁻¹ ∂f/∂x times what its input is off by, too."""
    input_error = below.layers[-1].error if below.layers else 0.0
    if below.layers and root.status == FIXED:
        state = torch.as_tensor(root.state)[None]
        by_input = torch.func.jacrev(lambda x: replace(searched, input=x).displacement(state)[0])(searched.input)
        moved = torch.linalg.solve_ex(equations(searched).matrix(state)[0], by_input)[0]
        off = NONLINEAR * float(torch.linalg.matrix_norm(moved)) * input_error
        root = replace(root, error=root.error + off) if np.isfinite(off) else replace(root, status=NOT_ISOLATED)
    return Layer(whole, searched, root, input_error)


def _confidence(done: list[Search], points: list[Point], skipped: int) -> Confidence | None:
    """Return what is true of every search: the bounds fail together in 5 % of all cases at most."""
    sure = [one.confidence for one in done if one.confidence is not None]
    if len(sure) < 2 and not skipped:
        return sure[0] if sure else None
    known = all(each.index_sum is not None for each in sure)
    indices = [int(np.prod([layer.root.index for layer in point.layers])) for point in points]
    return Confidence(
        max(each.rounds for each in sure),
        all(each.complete for each in sure) and not skipped,
        sum(each.starts for each in sure),
        sum(each.new for each in sure),
        max(each.share for each in sure),
        max(share_bound(each.new, each.starts, max(1, each.rounds - 1), len(sure)) for each in sure),
        sum(indices) if known else None,
    )
