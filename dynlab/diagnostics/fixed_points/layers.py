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
from dynlab.diagnostics.fixed_points.distinct_roots import DEGENERATE, FIXED, NOWHERE, Root, equations
from dynlab.diagnostics.fixed_points.rounds import Confidence, Search
from dynlab.diagnostics.fixed_points.rounds import search as search_one
from dynlab.numerics.threads import in_threads
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
        Root of `searched`; its error has what comes from below.
    input_error : float
        Bound on how far the input may be off.
    """

    whole: Held
    searched: Held
    root: Root
    input_error: float = 0.0

    def lifted(self, states: Tensor, input: Tensor) -> Tensor:
        """Return the layer's states, memory included, from those that were searched."""
        cell = self.whole.system
        return cell.at_rest(states, input) if isinstance(cell, Cell) else states

    @property
    def state(self) -> Tensor:
        """Return the layer's state, shape (m,)."""
        return self.lifted(torch.as_tensor(self.root.state), self.whole.input)

    @property
    def error(self) -> float:
        """Return the distance by which the root is taken to be off."""
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
        """Return the joint state, shape (n,)."""
        return np.concatenate([layer.state.numpy() for layer in self.layers])

    @property
    def status(self) -> str:
        """Return `FIXED` where every layer's point is alone, else that of one that is not."""
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
        System in float64 on the CPU.
    count : int
        Random starts of a round.
    given : Tensor, shape (start, n), optional
        The only starts.
    visited : Tensor, shape (state number, n), optional
        States along driven trajectories; without them along orbits from random states.
    seed : int or numpy.random.Generator
    dtype, device : torch.dtype and str
        Type and device in which Newton's method begins.

    Returns
    -------
    Search
        With `points` of type `Point`, and the starts of the searches of all layers.
    """
    generator = np.random.default_rng(seed)
    if visited is None:
        visited = where.orbits(held, generator) if given is None else given
    stacked = where.cells_of(held.system)
    cells: list[Cell | None] = [None] if not stacked or (given is not None and len(stacked) > 1) else list(stacked)
    points, done, starts, skipped, begin = [Point(())], [], [], 0, 0
    for level, cell in enumerate(cells):
        skipped, below = skipped + max(0, len(points) - MOST_SEARCHES), points[:MOST_SEARCHES]
        layers = [_layer(held, cell, point) for point in below]
        hidden = slice(begin, begin + layers[0][1].system.state_size)
        begin += layers[0][0].system.state_size
        each = min(count, max(FEWEST, OF_A_LAYER * count // max(1, len(below))))
        asked, searches = None if given is None else given[:, hidden], len(below) * len(cells)
        jobs = [
            partial(search_one, own, _fast(own, dtype, device), each, asked, visited[:, hidden], child, searches)
            for (_, own), child in zip(layers, generator.spawn(len(below)), strict=True)
        ]
        found, points = in_threads(partial(_run, jobs), len(jobs))[0], []
        for point, (whole, own), one in zip(below, layers, found, strict=True):
            listed = (one.starts["assignment"] >= 0) & (level == len(cells) - 1)
            one.starts["assignment"] = np.where(listed, len(points) + one.starts["assignment"], NOWHERE)
            one.starts["layer"] = level + 1
            points += [Point((*point.layers, _above(point, whole, own, root))) for root in one.points]
        starts += [one.starts for one in found]
        done += found
    return Search(points, np.concatenate(starts), _confidence(done, points, skipped), all(one.affine for one in done))


def _run(jobs: list[partial[Search]], rows: slice) -> tuple[list[Search]]:
    return ([job() for job in jobs[rows]],)


def _layer(held: Held, cell: Cell | None, below: Point) -> tuple[Held, Held]:
    """Return a layer under the output of the point below, whole and as it is searched; without a cell all of it."""
    if cell is None:
        return held, held
    last = below.layers[-1] if below.layers else None
    whole = replace(held, system=cell, input=last.whole.system.output(last.state) if last is not None else held.input)
    return whole, replace(whole, system=cell.resting())


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
        root = replace(root, error=root.error + off) if np.isfinite(off) else replace(root, status=DEGENERATE)
    return Layer(whole, searched, root, input_error)


def _confidence(done: list[Search], points: list[Point], skipped: int) -> Confidence | None:
    """Return what is true of every search: the bounds fail together in 5 % of all cases at most."""
    sure = [one.confidence for one in done if one.confidence is not None]
    if not sure:
        return None
    sums = [each.index_sum for each in sure]
    if len(sure) > 1 or skipped:
        indices = [int(np.prod([layer.root.index for layer in point.layers])) for point in points]
        sums = [None if None in sums else sum(indices)]
    complete = all(each.complete for each in sure) and not skipped
    return Confidence(complete, max(each.share for each in sure), max(each.bound for each in sure), sums[0])
