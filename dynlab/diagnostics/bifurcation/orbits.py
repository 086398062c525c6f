"""The brute-force diagram: where orbits are once they have settled, at many values of the parameter at once."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from dynlab.diagnostics.bifurcation.parameter import Changed, Varied
from dynlab.numerics.grids import blocks
from dynlab.progress import through

KEPT = 128  # steps of a map that are kept
WINDOW = 256  # steps of a map: half of its age when it is first looked at
FLOW_STEP = 0.01  # in seconds, of the classical Runge–Kutta method
FLOW_WINDOW, FLOW_SECONDS = 10.0, 20.0  # half of a flow's age when it is first looked at, and what is kept of it
LOOKS, LOOKS_OF_NETWORKS, LOOKS_OF_FLOWS = 6, 5, 5  # at ages of 2, 4, 8, … windows: 16,384 and 8,192 steps, 320 s
SMALL = 8  # dimensions of what is no network
# Over the latter half of an orbit's life its envelope is taken PARTS times. One that changes by less in between has
# settled: times its own width, or times max(1, |h|), which no picture shows and no transient beside an onset stays
# below. Where it goes one way all the time it has to change by less than half of what it did in the half before, as
# what comes ever more slowly does not, or not at all.
PARTS = 8
SHARE, UNSEEN = 2e-3, 1e-5
FADES, AT_ALL = 0.5, 1e-7  # the second times max(1, |h|)
# From look LATE on a part is as long as a turn of what turns fast, and change counts as told above; before, only what
# does not change has settled. Of chaos an envelope is never the same. It has settled where none of its sides goes a
# way, and where parts are so long that of some coordinate the next one has the same but for this share of the width:
# else a slow oscillation is seen in pieces, and no growth of it.
LATE, NOISE = 2, 0.25
MOST_EXTREMA = 64  # of a flow's solution, its last ones
AT_REST = 1e-6  # times max(1, |h|): a coordinate of a solution that moves less over that time is at rest
COPIES = 12  # of a batch's states that a step holds at once, Jacobians not included
SETTLED, UNSETTLED, LEFT = 1, 0, -1


Step = Callable[[Tensor], Tensor]


class Visited(NamedTuple):
    """Where orbits are after they have settled, and whether they have.

    Attributes
    ----------
    states : ndarray, shape (value, start, KEPT, n), or of a flow (value, start, MOST_EXTREMA)
        NaN for an orbit that left abs(h_i) ≤ `largest`.
    settled : ndarray of int, shape (value, start)
        `SETTLED`, `UNSETTLED` where the envelope still changed when an orbit was not followed any longer, or `LEFT`.
    """

    states: NDArray[np.float64]
    settled: NDArray[np.int8]


def visited_by_map(
    varied: Varied, values: NDArray[np.float64], starts: NDArray[np.float64], largest: Tensor, max_memory: float
) -> Visited:
    """The points of each orbit after it has settled.

    Parameters
    ----------
    varied : Varied
    values : ndarray, shape (value, parameter)
    starts : ndarray, shape (value, start, n)
    largest : Tensor, shape (n,)
    max_memory : float
        In bytes; values are taken in blocks that stay below.
    """
    number, each, n = starts.shape
    kept, settled = np.empty((number, each, KEPT, n)), np.empty((number, each), dtype=np.int8)
    looks = LOOKS if n <= SMALL else LOOKS_OF_NETWORKS

    def step_at(some: NDArray[np.float64]) -> Step:
        step = batched(varied, some, "step")
        return lambda h: cut(step(h), largest)

    for block in through(blocks(number, _work(varied, each), max_memory, kept.nbytes)):
        states, settled[block] = _settle(step_at, values[block], starts[block], WINDOW, looks)
        step = recorded(step_at(values[block]), states)
        for count in range(KEPT):
            states = step(states)
            kept[block, :, count] = states.numpy()
    return Visited(kept, settled)


def visited_by_flow(
    varied: Varied,
    values: NDArray[np.float64],
    starts: NDArray[np.float64],
    largest: Tensor,
    max_memory: float,
    coordinate: int,
) -> Visited:
    """The last local maxima and minima of one coordinate along each solution after it has settled.

    A solution at rest, or without an extremum, has its last value; what is not filled is NaN. Arguments as in
    `visited_by_map`.
    """
    number, each, _ = starts.shape

    def rk4(one: Changed, h: Tensor) -> Tensor:
        k1 = varied.using(one, "velocity", h)
        k2 = varied.using(one, "velocity", h + FLOW_STEP / 2 * k1)
        k3 = varied.using(one, "velocity", h + FLOW_STEP / 2 * k2)
        k4 = varied.using(one, "velocity", h + FLOW_STEP * k3)
        return h + FLOW_STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    runge_kutta = torch.func.vmap(rk4)
    window, steps = round(FLOW_WINDOW / FLOW_STEP), round(FLOW_SECONDS / FLOW_STEP)
    found, settled = np.full((number, each, MOST_EXTREMA), np.nan), np.empty((number, each), dtype=np.int8)

    def step_at(some: NDArray[np.float64]) -> Step:
        changed = torch.func.vmap(varied.changed)(torch.from_numpy(some))
        return lambda h: cut(runge_kutta(changed, h), largest)

    for block in through(blocks(number, _work(varied, each) + 16 * each * steps, max_memory, found.nbytes)):
        h, settled[block] = _settle(step_at, values[block], starts[block], window, LOOKS_OF_FLOWS)
        step = recorded(step_at(values[block]), h)
        seen = np.empty((*h.shape[:2], steps))
        for count in through(range(steps)):
            h = step(h)
            seen[..., count] = h[..., coordinate].numpy()
        found[block] = np.apply_along_axis(_extrema, -1, seen)
    return Visited(found, settled)


def _settle(
    step_at: Callable[[NDArray[np.float64]], Step],
    values: NDArray[np.float64],
    starts: NDArray[np.float64],
    window: int,
    looks: int,
) -> tuple[Tensor, NDArray[np.int8]]:
    """The states (value, start, n) when every orbit of that value has settled or `looks` are over, and which have.

    `step_at` gives the step at some of the values (value, parameter). An orbit is looked at when it is 2, 4, 8, …
    windows old, by the least and the largest of each coordinate in parts of the latter half of that time.
    """
    states = torch.from_numpy(starts.copy())
    settled = np.full(states.shape[:2], UNSETTLED, dtype=np.int8)
    live, drifted = np.arange(len(states)), torch.full((2, *states.shape), torch.nan, dtype=states.dtype)
    step, of = recorded(step_at(values), states), len(live)
    for _ in range(window):  # of the first look's life the former half
        states = step(states)
    for look in range(looks):
        h = states[live]
        if len(live) < of:  # a record is of one shape, and takes half a second
            step, of = recorded(step_at(values[live]), h), len(live)
        parts = []
        for _ in range(PARTS):
            h, part = _envelope(step, h, window * 2**look // PARTS)
            parts.append(part)
        states[live] = h
        envelopes = torch.stack(parts)
        rests = _rests(envelopes, drifted, look >= LATE).numpy()
        now = np.where(h.isnan().any(dim=-1).numpy(), LEFT, np.where(rests, SETTLED, settled[live])).astype(np.int8)
        settled[live] = now
        still = (now == UNSETTLED).any(axis=1)
        live, drifted = live[still], _range(envelopes)[:, torch.from_numpy(still)]
        if not len(live):
            break
    return states, settled


def _rests(envelopes: Tensor, drifted: Tensor, late: bool) -> Tensor:
    """Which orbits have settled (value, start), by their envelopes (PARTS, 2, value, start, n).

    `drifted` (2, value, start, n) is how far the envelope went in the half of life before. Before it is `late` only
    what does not change at all has settled: parts are shorter than a turn then.
    """
    drift, noise = _range(envelopes), envelopes.diff(dim=0).abs().amax(dim=0)
    width = envelopes[:, 1].amax(dim=0) - envelopes[:, 0].amin(dim=0)
    size = envelopes.abs().amax(dim=(0, 1)).clamp_min(1)
    ways = envelopes.diff(dim=0).sign()
    one_way = (ways == ways[0]).all(dim=0) & (ways[0] != 0)
    former, latter = (half.mean(dim=0) for half in envelopes.split(PARTS // 2))
    goes = one_way | ((latter - former).abs() > noise)  # by chance one of chaos does so in a thousand
    still = drift <= AT_ALL * size
    small = drift <= torch.maximum(SHARE * width, UNSEEN * size)
    whole = noise <= NOISE * width
    quiet = (still | (late & small & ((drift <= FADES * drifted) | (~goes & whole)))).all(dim=0)
    resolved = (~small & whole).all(dim=0).any(dim=-1)
    return quiet.all(dim=-1) | ((quiet | ~goes.any(dim=0)).all(dim=-1) & resolved & late)


def _range(envelopes: Tensor) -> Tensor:
    return envelopes.amax(dim=0) - envelopes.amin(dim=0)


def _envelope(step: Step, h: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The states `count` steps on, and least and largest of each coordinate on the way, (2, value, start, n)."""
    low = high = h = step(h)
    for _ in range(count - 1):
        h = step(h)
        low, high = torch.minimum(low, h), torch.maximum(high, h)
    return h, torch.stack([low, high])


def check_memory(count: int, each: int, n: int, is_map: bool, max_memory: float) -> None:
    """Raise where the visited points of `count` values, `each` orbits of n states, do not fit, before any is made."""
    blocks(count, 8.0 * each * n, max_memory, 8.0 * count * each * (KEPT * n if is_map else MOST_EXTREMA))


def batched(varied: Varied, values: NDArray[np.float64], method: str) -> Step:
    """`method` of states (value, start, n), at each value with parameters of its own, (value, parameter)."""
    changed = torch.func.vmap(varied.changed)(torch.from_numpy(values))
    return lambda states: torch.func.vmap(lambda one, h: varied.using(one, method, h))(changed, states)


def recorded(step: Step, states: Tensor) -> Step:
    """The same step of states of that shape, from a record of its operations.

    It gives the same bits; what Python does around them, the most of a small step's time, is done once.
    """
    return make_fx(step)(states)


def cut(states: Tensor, largest: float | Tensor) -> Tensor:
    """The states, NaN where they have left the bound, and so from there on."""
    gone = ~(states.abs() <= largest).all(dim=-1, keepdim=True)
    return torch.where(gone, torch.nan, states)


def _work(varied: Varied, each: int) -> int:
    """Bytes that one value needs: its states some times over, and the weights that are its own."""
    n = varied.system.state_size
    weights = varied.changed(torch.zeros(len(varied.parameters_varied), dtype=torch.float64))[1]
    return 8 * (each * n * COPIES + 2 * sum(weight.numel() for weight in weights.values()))


def _extrema(line: NDArray[np.float64]) -> NDArray[np.float64]:
    """The last values at local maxima and minima, each by the parabola through three neighbouring values."""
    found = np.full(MOST_EXTREMA, np.nan)
    if not np.isfinite(line).all():
        return found
    found[0] = line[-1]
    if np.ptp(line) <= AT_REST * max(1.0, float(np.abs(line).max())):
        return found
    left, middle, right = line[:-2], line[1:-1], line[2:]
    turning = (middle - left) * (right - middle) < 0
    slope, bend = (right - left)[turning] / 2, (right - 2 * middle + left)[turning]
    tops = (middle[turning] - slope**2 / (2 * bend))[-MOST_EXTREMA:]
    found[: len(tops)] = tops
    return found
