"""Where many orbits of an autonomous map end: at rest, on a cycle, still moving, or beyond a bound."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.numerics.threads import cores, in_threads, slices
from dynlab.progress import through
from dynlab.simulation import LONGEST_PERIOD
from dynlab.systems import Map
from dynlab.systems.held import Held

SETTLED = 1e-9  # relative to 1 + ‖h‖: an orbit that moves no more than this in a step is at rest
LOOK = 25  # steps between two looks at which orbits rest or have left
LONGER = 10  # times the steps asked for: so long an orbit is followed that is still coming to rest
COMING = 0.5  # it moves by this part of what it moved half as many steps before, the most of `LOOK` steps each
ROWS, NUMBERS = (
    256,
    2**16,
)  # of a block, the least rows; more numbers are followed in blocks beside each other, in caches
FEW = 8  # units of a state: up to so many, products of the states put behind each other by coordinate are faster
COPIES = 6  # arrays of the size (start, state) that a block holds beside the states of its last cycle
GONE, MOVING = -1, 0  # in place of a period


@dataclass(frozen=True)
class Ends:
    """Where starts ended.

    Attributes
    ----------
    states : ndarray, shape (start, state)
        After the last step; the last one within the bound of an orbit that left.
    period : ndarray of int, shape (start,)
        1 at rest, p on a cycle of p steps, `MOVING` where it does not repeat, `GONE` where it left the bound.
    steps : ndarray of int, shape (start,)
        After which it was seen at rest or gone, or was not followed any longer.
    """

    states: NDArray[np.float64]
    period: NDArray[np.int64]
    steps: NDArray[np.int64]


def ends(held: Held, starts: NDArray[np.float64], steps: int, bound: float, max_memory: float) -> Ends:
    """Follow every start for `steps` steps, in blocks that stay below `max_memory` bytes.

    One that is still coming to rest then is followed on while it does, for `LONGER` times as many steps at most.
    """
    n = starts.shape[1]
    at_once = max(1, int(max_memory // (8 * n * (COPIES + 2 * LONGEST_PERIOD))))
    return Ends(*_in_blocks(held, starts, lambda some: _block(held, some, steps, bound), at_once))


def tail(held: Held, states: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """The next `steps` states of the orbits from `states` (k, n), shape (k, step, n)."""
    with torch.no_grad():
        rows = list(_orbit(held, torch.as_tensor(states).to(held.input), steps))
    return torch.stack(rows, dim=1).double().cpu().numpy()


def carried(held: Held, states: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """Where `steps` steps lead from each of the states (k, n)."""

    def work(some: NDArray[np.float64]) -> tuple[NDArray[np.float64]]:
        h, step = torch.as_tensor(some).to(held.input), stepper(held)
        for _ in through(range(steps)):
            h = step(h)
        return (h.double().cpu().numpy(),)

    found: NDArray[np.float64] = _in_blocks(held, states, work, len(states))[0]
    return found


def stepper(held: Held) -> Callable[[Tensor], Tensor]:
    """F, with what the held input adds to the pre-activation found once where the cell says its step as such a sum."""
    system = held.system
    steps = None
    if isinstance(system, Map) and isinstance(held.unit, float) and getattr(system, "length", None) is None:
        steps = system.unitwise(held.input)
    if steps is None or steps.into is not None or steps.aside is not None or steps.shared:
        return held.moved
    drive, matrix, function = steps.drive, steps.matrix, steps.function
    if matrix.shape[1] > FEW:
        return lambda h: function(h, torch.addmm(drive, h, matrix.mT))
    return lambda h: function(h, torch.addmm(drive.unsqueeze(-1), matrix, h.mT).mT)


def _in_blocks(
    held: Held, starts: NDArray[np.float64], work: Callable[[NDArray[np.float64]], tuple[Any, ...]], at_once: int
) -> tuple[Any, ...]:
    """What `work` finds of blocks of at most so many starts, joined; small states are shared among the cores."""
    blocks = slices(len(starts), min(at_once, max(ROWS, NUMBERS // starts.shape[1])))

    def several(some: slice) -> tuple[Any, ...]:
        with torch.no_grad():  # each thread has its own
            parts = [work(starts[rows]) for rows in through(blocks[some])]
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))

    is_shared = len(blocks) > 1 and held.input.device.type == "cpu" and at_once >= cores() * ROWS
    return in_threads(several, len(blocks)) if is_shared else several(slice(None))


def _orbit(held: Held, states: Tensor, steps: int) -> Iterator[Tensor]:
    step = stepper(held)
    for _ in range(steps):
        states = step(states)
        yield states


def _block(
    held: Held, starts: NDArray[np.float64], steps: int, bound: float
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    h = torch.as_tensor(starts).to(held.input)
    final = h.clone()
    period = torch.full((len(h),), MOVING)
    taken = torch.zeros(len(h), dtype=torch.int64)
    live = torch.arange(len(h))
    half = max(1, steps // 2)
    earlier, lately = torch.full_like(h[:, 0], torch.inf), torch.zeros_like(h[:, 0])
    follow = stepper(held)
    farthest = bound / (float(torch.as_tensor(held.unit).max()) * h.shape[1] ** 0.5)
    for step in range(1, LONGER * steps + 1):
        before, h = h, follow(h)
        looked, counted = step % LOOK == 0 or step >= steps, -step % half < LOOK
        inside = bool(h.abs().amax() <= farthest)  # not true of NaN; the norms of all are seldom needed
        if inside and not (looked or counted):
            continue
        gone = torch.zeros_like(earlier, dtype=torch.bool)
        if not inside:
            gone = ~(_length(held.unit * h) <= bound)  # true of NaN too
        rest, over = torch.zeros_like(gone), torch.zeros_like(gone)
        if looked or counted:
            moved = _length(h - before)
            rest = moved <= _allowed(_length(h)) if looked else rest
            lately = torch.maximum(lately, moved) if counted else lately
        if step % half == 0:
            over = ~(lately <= COMING * earlier) & (step >= steps)
            earlier, lately = lately, torch.zeros_like(lately)
        stops = gone | rest | over
        if not stops.any():
            continue
        h = torch.where(gone.unsqueeze(-1), before, h)
        stopped = stops.cpu()
        final[live[stopped]] = h[stops]
        period[live[stopped]] = torch.where(gone, GONE, torch.where(rest, 1, MOVING)).cpu()[stopped]
        taken[live[stopped]] = step
        live, h, earlier, lately = live[~stopped], h[~stops], earlier[~stops], lately[~stops]
        if len(live) == 0:
            break
    final[live], taken[live] = h, LONGER * steps
    moving = (period == MOVING).nonzero()[:, 0]
    if len(moving):
        period[moving] = _periods(held, final[moving])
    return final.double().cpu().numpy(), period.numpy(), taken.numpy()


def _length(states: Tensor) -> Tensor:
    """‖h‖₂, twenty times faster than torch's norm where the states lie coordinate by coordinate."""
    return states.square().sum(dim=-1).sqrt()


def _periods(held: Held, states: Tensor) -> Tensor:
    """After how many steps each orbit repeats, for as many steps again; `MOVING` where it does not."""
    found = torch.full((states.shape[0],), MOVING)
    some = _returning(held, states)
    if not len(some):
        return found
    begun = states[some]
    rows = torch.stack([begun, *_orbit(held, begun, 2 * LONGEST_PERIOD)])
    allowed = _allowed(rows[: LONGEST_PERIOD + 1].norm(dim=-1).amax(dim=0))
    for p in range(LONGEST_PERIOD, 1, -1):
        back = ((rows[p] - rows[0]).norm(dim=-1) <= allowed).nonzero()[:, 0]
        later, earlier = rows[p : p + LONGEST_PERIOD + 1, back], rows[: LONGEST_PERIOD + 1, back]
        moved = (later - earlier).norm(dim=-1).amax(dim=0)
        found[some[back[moved <= allowed[back]]].cpu()] = p
    return found


def _returning(held: Held, states: Tensor) -> Tensor:
    """Which orbits may come back within `LONGEST_PERIOD` steps: most do not, and only these are followed further."""
    nearest, size, begun = torch.full_like(states[:, 0], torch.inf), states.abs().amax(dim=-1), states
    for step, h in enumerate(_orbit(held, states, LONGEST_PERIOD)):
        begun = torch.empty_like(h).copy_(states) if step == 0 else begun  # in memory as the steps lay theirs
        nearest = torch.minimum(nearest, (h - begun).abs().amax(dim=-1))
        size = torch.maximum(size, h.abs().amax(dim=-1))
    return (nearest <= 2 * _allowed(states.shape[1] ** 0.5 * size)).nonzero()[:, 0]  # the largest entry is below ‖h‖


def _allowed(size: Tensor) -> Tensor:
    """How far apart two states of orbits of that size are that are one."""
    return SETTLED * (1 + size)
