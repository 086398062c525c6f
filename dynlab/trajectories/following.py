"""Many orbits followed at once: steps of a map, or steps of a flow as long as its field allows.

A repetition is found by Brent's method: the state at an age of 64, 128, 256, … steps is held against all that follow up
to the next such age. A map's orbit repeats where it comes back to that state within `REPEATS`, a flow's where it
crosses the plane through that state, square to the velocity there, near it.

References
----------
Brent, "An improved Monte Carlo factorization algorithm", BIT 20 (1980), section 2.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from dynlab.systems.held import Held
from dynlab.systems.held_jacobians import finite_or_zero, held_matrices

REPEATS = 1e-9  # of an orbit's scale: a map's orbit that comes back so near to where it was repeats
ROUNDED = 8  # roundings: in float32 it comes no nearer
RETURNS = 1e-2  # likewise of a flow's, whose return Newton's method then makes exact
LOOK = 32  # steps between two looks at which orbits rest or have left
PER_RATE = 0.25  # a flow's step, as a part of 1/ρ with the largest ρ(∂f/∂h) where its orbits are
FASTEST_OF = 256  # orbits of a flow at which that is taken

Step = Callable[[Tensor], Tensor]


def step_of(held: Held, states: Tensor) -> tuple[Step, float]:
    """Return the step of orbits (k, n) and its length: a map's own, 1; Runge and Kutta's of a flow, in seconds."""
    if not held.is_flow:
        return held.moved, 1.0
    some = states[torch.linspace(0, len(states) - 1, min(len(states), FASTEST_OF)).long()]
    rates = torch.linalg.eigvals(finite_or_zero(held_matrices(held, some))).abs()
    dt = PER_RATE / (float(rates.max()) or 1.0)

    def step(h: Tensor) -> Tensor:
        first = held.moved(h)
        second = held.moved(h + dt / 2 * first)
        third = held.moved(h + dt / 2 * second)
        return h + dt / 6 * (first + 2 * second + 2 * third + held.moved(h + dt * third))

    return step, dt


class Stretch(NamedTuple):
    """Orbits after some steps.

    Attributes
    ----------
    states : Tensor, shape (k, n)
        The last ones; of an orbit that left, the last within the bound.
    period : Tensor, shape (k,)
        After which an orbit came back to where it was at first, in steps or seconds; 0 where it did not.
    gone : Tensor of bool, shape (k,)
        Whether it left the bound, or became no number.
    taken : Tensor of int, shape (k,)
        Steps until it left or rested, `count` of others.
    """

    states: Tensor
    period: Tensor
    gone: Tensor
    taken: Tensor


def followed(held: Held, begin: Tensor, count: int, bound: float, scale: Tensor) -> Stretch:
    """Follow orbits (k, n) for `count` steps; those that rest or leave are let go.

    Parameters
    ----------
    held : Held
    begin : Tensor, shape (k, n)
    count : int
    bound : float
        On max |h_i|.
    scale : Tensor, shape (k,)
        Of each orbit, which its repetition is relative to.
    """
    step, dt = step_of(held, begin)
    final, period, taken = begin.clone(), torch.zeros_like(scale), torch.full(scale.shape, count)
    gone = torch.zeros_like(scale, dtype=torch.bool)
    live, h, ref, allowed = (
        torch.arange(len(begin)),
        begin,
        begin,
        (max(REPEATS, ROUNDED * torch.finfo(begin.dtype).eps) * scale)[:, None],
    )
    normal = held.moved(begin) if held.is_flow else begin
    for number in range(1, count + 1):
        before, h = h, step(h)
        if held.is_flow:
            side, then = ((before - ref) * normal).sum(-1), ((h - ref) * normal).sum(-1)
            part = (side / (side - then)).unsqueeze(-1)
            away = (before + part * (h - before) - ref).abs().amax(-1)
            back = (side < 0) & (then >= 0) & (away <= RETURNS * scale[live])
            first = back & (period[live] == 0)
            period[live[first]] = dt * (number - 1 + part[first, 0])
        elif bool(((h - ref).abs() <= allowed).all(-1).any()):
            first = ((h - ref).abs() <= allowed).all(-1) & (period[live] == 0)
            period[live[first]] = float(number)
        if number % LOOK and number < count and bool(h.abs().amax() <= bound):
            continue
        left = ~(h.abs().amax(-1) <= bound)
        rests = ((h - before).abs() <= allowed).all(-1) & ~left & (not held.is_flow)
        stops = left | rests
        period[live[rests]] = 1.0
        gone[live[left]] = True
        final[live] = torch.where(left[:, None], before, h)
        taken[live[stops]] = number
        if stops.any():
            stays = ~stops
            live, h, ref, allowed, normal = (each[stays] for each in (live, h, ref, allowed, normal))
            if not len(live):
                break
    return Stretch(final, period, gone, taken)


def orbit(held: Held, begin: Tensor, count: int) -> tuple[Tensor, float]:
    """Return `count` states that follow on each of the states (k, n), shape (count, k, n), and the time between."""
    step, dt = step_of(held, begin)
    states = [begin]
    for _ in range(count):
        states.append(step(states[-1]))
    return torch.stack(states[1:]), dt
