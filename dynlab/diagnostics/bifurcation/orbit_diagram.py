"""The orbit diagram: where orbits are once they have settled, at many values of the parameter at once.

An orbit has settled where what its coordinates reach does not change any more: over the latter half of its life the
least and largest values are taken `PARTS` times. They stay, or change by a small share of their width and ever less, or
they go to and fro as those of chaos do and none of them goes one way.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from dynlab.diagnostics.bifurcation.branches import Branch, Diagram
from dynlab.diagnostics.bifurcation.parameters import Varied
from dynlab.numerics import dormand_prince
from dynlab.numerics.grids import blocks
from dynlab.progress import through

Real = NDArray[np.float64]
Index = NDArray[np.intp]
Carry = tuple[Tensor, ...]
Step = Callable[[Carry], tuple[Carry, Tensor]]  # what moves, and the extrema of the coordinates on the way

ORBITS = 4  # at each value of the parameter
OFF, OFF_STABLE = 1e-2, 1e-4  # times the branches' size: so far orbits start from a branch, and from a stable one
WINDOW, LOOKS, FEWER_LOOKS = (
    256,
    6,
    5,
)  # looks at ages of 2, 4, 8, … windows; fewer of networks, beyond SMALL dimensions
SMALL = 8
PARTS = 8
SHARE, UNSEEN = 2e-3, 1e-5  # times the width, and the size: a smaller change is small
FADES, STILL = 0.5, 1e-7  # a change must be so much less than in the half of life before, or than that times the size
LATE, NOISE = 2, 0.25  # the look from which parts hold a turn; of the width: parts of chaos differ by less
KEPT, EXTREMA = 128, 64  # points of a map's orbit that are kept, and extrema of a solution, its last ones
COLLECTED = 1024  # steps of a flow over which these are collected
AT_REST = 1e-5  # times the size: a solution whose extrema differ by less is at rest
MOVES_MORE = 2.0  # times: a coordinate in which orbits move more by less is not preferred
COPIES = 24  # of a batch's states that a step holds at once
SETTLED, UNSETTLED, LEFT = 1, 0, -1


class Visited(NamedTuple):
    """Settled orbits.

    Attributes
    ----------
    coordinate : int
        The one that is kept.
    states : ndarray, shape (value, ORBITS, KEPT), or of a flow (value, ORBITS, EXTREMA)
        NaN for an orbit that left the bound, and beyond the extrema of a solution.
    settled : ndarray of int, shape (value, ORBITS)
        `SETTLED`, `UNSETTLED` where its reach still changed at the end, or `LEFT`.
    """

    coordinate: int
    states: Real
    settled: NDArray[np.int8]


def visited(
    diagram: Diagram, values: Real, bound: float, max_memory: float, coordinate: int, chosen: bool, seed: int
) -> Visited:
    """Return where orbits that start beside the branches are after they have settled.

    Parameters
    ----------
    diagram : Diagram
    values : ndarray, shape (value,)
        Of the parameter.
    bound : float
        An orbit has left where some abs(h_i) exceeds it.
    max_memory : float
        In bytes; values are taken in blocks that stay below.
    coordinate : int
        The one to keep, but where it is not `chosen` and orbits move much more in another.
    chosen : bool
    seed : int
        Seed of the starts.
    """
    curve, count = diagram.curve, len(values)
    is_map, n = curve.equation.is_map, len(curve.scale)
    begin = starts(diagram, values, np.random.default_rng(seed))
    parts = blocks(count, _work(curve.equation.varied), max_memory, result_size(count, n, is_map))
    scale = torch.from_numpy(curve.scale / np.sqrt(n))
    run = partial(_carry, curve.equation.varied, scale=scale, bound=bound)
    ends, widths, settled = [], [], []
    for part in through(parts):
        carry, width, told = _settle(*run(values[part], begin[part]), scale, LOOKS if n <= SMALL else FEWER_LOOKS)
        ends.append(carry[0].numpy())
        widths.append(width)
        settled.append(told)
    moves = np.nan_to_num(np.concatenate(widths)).mean(axis=(0, 1))
    if not chosen and moves.max() > MOVES_MORE * moves[coordinate] + UNSEEN * float(scale.max()):
        coordinate = int(moves.argmax())
    collect = _points if is_map else _extrema
    states = [collect(*run(values[part], end), coordinate) for part, end in zip(parts, ends, strict=True)]
    return Visited(coordinate, np.concatenate(states), np.concatenate(settled))


def result_size(count: int, n: int, is_map: bool) -> float:
    """Return the bytes of the orbits at so many values."""
    return 8.0 * count * ORBITS * ((KEPT if is_map else EXTREMA) + 2 * n)


def starts(diagram: Diagram, values: Real, generator: np.random.Generator) -> Real:
    """Return where orbits begin at each value, (value, ORBITS, n): beside each branch in turn, else beside 0."""
    n = len(diagram.curve.scale)
    aside = diagram.curve.scale / np.sqrt(n) * generator.standard_normal((len(values), ORBITS, n))
    for number, z in enumerate((values - diagram.curve.start) / diagram.curve.width):
        near = [one for branch in diagram.branches for one in _beside(diagram, branch, float(z))]
        for orbit in range(ORBITS):
            state, stable = near[orbit % len(near)] if near else (np.zeros(n), False)
            aside[number, orbit] = state + (OFF_STABLE if stable else OFF) * aside[number, orbit]
    return aside


def _beside(diagram: Diagram, branch: Branch, z: float) -> list[tuple[Real, bool]]:
    """Return the states of a branch where the parameter is z in units of the curve, and whether they are stable."""
    at = np.array([one.z[-1] for one in branch.solutions])
    found = []
    for left in np.flatnonzero((at[:-1] - z) * (at[1:] - z) <= 0):
        first, second = branch.solutions[left], branch.solutions[left + 1]
        part = (z - at[left]) / (at[left + 1] - at[left]) if at[left + 1] != at[left] else 0.5
        state = diagram.curve.state(first.z + part * (second.z - first.z))
        found.append((state, first.kind.stable == second.kind.stable == 1))
    return found


def batched(varied: Varied, values: Real, method: str) -> Callable[[Tensor], Tensor]:
    """Return `method` as a function of states (value, start, n), at each value (value, parameter) its own."""
    changed = torch.func.vmap(varied.changed)(torch.from_numpy(values))
    return lambda states: torch.func.vmap(lambda one, h: varied.using(one, method, h))(changed, states)


def cut(states: Tensor, bound: float) -> Tensor:
    """Return the states, NaN where they have left the bound, and so from there on."""
    gone = ~(states.abs() <= bound).all(dim=-1, keepdim=True)
    return torch.where(gone, torch.nan, states)


def _carry(
    varied: Varied, values: Real, begin: Real, *, scale: Tensor, bound: float
) -> tuple[Callable[[Index], Step], Carry]:
    """Return the step of some of the values, and what it moves: of a map the states (value, start, n)."""
    states = torch.from_numpy(begin.copy())
    if not varied.held.is_flow:

        def of_map(some: Index) -> Step:
            move = batched(varied, values[some][:, None], "step")

            def step(carry: Carry) -> tuple[Carry, Tensor]:
                moved = cut(move(carry[0]), bound)
                return (moved,), moved

            return step

        return of_map, (states,)
    slopes = batched(varied, values[:, None], "jacobian")(states)

    def of_flow(some: Index) -> Step:
        field = batched(varied, values[some][:, None], "velocity")

        def step(carry: Carry) -> tuple[Carry, Tensor]:
            (h, *rest), top = dormand_prince.step(field, scale, (carry[0], carry[1], carry[2], carry[3]))
            return (cut(h, bound), *rest), top

        return step

    return of_flow, dormand_prince.begin(batched(varied, values[:, None], "velocity"), states, slopes)


def _recorded(step: Step, carry: Carry) -> Step:
    """Return the same step from a record of its operations: what Python does around them is done once."""
    return make_fx(step)(carry)


def _settle(
    step_at: Callable[[Index], Step], carry: Carry, scale: Tensor, looks: int
) -> tuple[Carry, Real, NDArray[np.int8]]:
    """Return what moves when every orbit of a value has settled or `looks` are over, the widths, and which have."""
    settled = np.full(carry[0].shape[:2], UNSETTLED, dtype=np.int8)
    width, drifted = torch.zeros_like(carry[0]), torch.full((2, *carry[0].shape), torch.nan, dtype=torch.float64)
    live, recorded = np.arange(len(settled)), None
    for look in range(looks):
        rows = torch.from_numpy(live)
        now = tuple(each[rows] for each in carry)
        if recorded is None or len(recorded[1]) != len(live):  # a record is of one shape
            recorded = _recorded(step_at(live), now), live
        now, _ = _envelope(recorded[0], now, 0 if look else WINDOW)
        parts = []
        for _ in range(PARTS):
            now, part = _envelope(recorded[0], now, WINDOW * 2**look // PARTS)
            parts.append(part)
        for whole, each in zip(carry, now, strict=True):
            whole[rows] = each
        envelopes = torch.stack(parts)
        drift = envelopes.amax(dim=0) - envelopes.amin(dim=0)
        width[rows] = envelopes[:, 1].amax(dim=0) - envelopes[:, 0].amin(dim=0)
        rests = _rests(envelopes, drift, drifted, scale, look >= LATE).numpy()
        told = np.where(now[0].isnan().any(dim=-1).numpy(), LEFT, np.where(rests, SETTLED, settled[live]))
        settled[live], still = told, (told == UNSETTLED).any(axis=1)
        live, drifted = live[still], drift[:, torch.from_numpy(still)]
        if not len(live):
            break
    return carry, width.numpy(), settled


def _rests(envelopes: Tensor, drift: Tensor, drifted: Tensor, scale: Tensor, late: bool) -> Tensor:
    """Return which orbits have settled (value, start), by their envelopes (PARTS, 2, value, start, n).

    `drift` (2, value, start, n) is how far the envelope went, `drifted` the same in the half of life before; `scale`
    (n,) is the size of the branches.
    """
    noise = envelopes.diff(dim=0).abs().amax(dim=0)
    width = envelopes[:, 1].amax(dim=0) - envelopes[:, 0].amin(dim=0)
    size = torch.maximum(envelopes.abs().amax(dim=(0, 1)), scale)
    ways = envelopes.diff(dim=0).sign()
    former, latter = (half.mean(dim=0) for half in envelopes.split(PARTS // 2))
    goes = ((ways == ways[0]).all(dim=0) & (ways[0] != 0)) | ((latter - former).abs() > noise)
    small, alike = drift <= torch.maximum(SHARE * width, UNSEEN * size), noise <= NOISE * width
    quiet = (drift <= STILL * size) | (late & small & ((drift <= FADES * drifted) | (~goes & alike)))
    return (quiet | (late & ~goes & (small | alike))).all(dim=0).all(dim=-1)


def _envelope(step: Step, carry: Carry, count: int) -> tuple[Carry, Tensor]:
    """Return what moves `count` steps on, and least and largest of each coordinate on the way, (2, value, start, n)."""
    low = high = carry[0]
    for number in range(count):
        carry, top = step(carry)
        reached = top.nan_to_num(nan=torch.inf), top.nan_to_num(nan=-torch.inf)
        low, high = (carry[0], carry[0]) if number == 0 else (low, high)
        low = torch.minimum(torch.minimum(low, carry[0]), reached[0])
        high = torch.maximum(torch.maximum(high, carry[0]), reached[1])
    return carry, torch.stack([low, high])


def _points(step_at: Callable[[Index], Step], carry: Carry, coordinate: int) -> Real:
    """Return the next `KEPT` values of a coordinate of each orbit, (value, start, KEPT)."""
    step, found = _recorded(step_at(np.arange(len(carry[0]))), carry), []
    for _ in range(KEPT):
        carry, _ = step(carry)
        found.append(carry[0][..., coordinate].numpy())
    return np.stack(found, axis=-1)


def _extrema(step_at: Callable[[Index], Step], carry: Carry, coordinate: int) -> Real:
    """Return the last extrema of a coordinate of each solution, (value, start, EXTREMA); its last value at rest."""
    step, tops = _recorded(step_at(np.arange(len(carry[0]))), carry), []
    for _ in through(range(COLLECTED)):
        carry, top = step(carry)
        tops.append(top[..., coordinate].numpy())
    last = carry[0][..., coordinate].numpy()
    found = np.full((*last.shape, EXTREMA), np.nan)
    for place in np.ndindex(*last.shape):
        line = np.array([top[place] for top in tops])
        line = line[np.isfinite(line)][-EXTREMA:]
        moves = np.isfinite(last[place]) and len(line) and np.ptp(line) > AT_REST * np.abs(line).max()
        line = line if moves else last[place][None]
        found[place][: len(line)] = line
    return found


def _work(varied: Varied) -> int:
    """Return the bytes that one value needs: its states some times over, and the weights that are its own."""
    n = varied.system.state_size
    weights = varied.changed(torch.zeros(len(varied.parameters_varied), dtype=torch.float64))[1]
    return 8 * (
        ORBITS * n * COPIES + ORBITS * n * n * varied.held.is_flow + 2 * sum(one.numel() for one in weights.values())
    )
