"""Many orbits followed at once: steps of a map, or steps of a flow as long as its field allows.

A repetition is found by Brent's method: the state at an age of 64, 128, 256, … steps is held against all that follow up
to the next such age. A map's orbit repeats where it comes back to that state within `REPEATS`, a flow's where it
crosses the plane through that state, square to the velocity there, near it.

References
----------
Brent, "An improved Monte Carlo factorization algorithm", BIT 20 (1980), section 2.
"""

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dynlab.numerics.arrays import Real
from dynlab.numerics.threads import in_threads
from dynlab.program.compiled import Compiled, compiled
from dynlab.program.derived import derived
from dynlab.program.program import NoProgram
from dynlab.systems import Flow, RungeKutta4
from dynlab.systems.autonomous import Held
from dynlab.systems.autonomous_jacobians import finite_or_zero, held_matrices

REPEATS = 1e-9  # of an orbit's scale: a map's orbit that comes back so near to where it was repeats
ROUNDED = 8  # roundings: in float32 it comes no nearer
RETURNS = 1e-2  # likewise of a flow's, and of its largest distance; Newton's method makes the return exact
LOOK = 32  # steps between two looks at which orbits rest or have left
PER_RATE = 0.25  # a flow's step, as a part of 1/ρ with the largest ρ(∂f/∂h) where its orbits are
LOOPS = Path(__file__).with_name("loops.py")
FASTEST_OF, NEARBY = 256, 2.0  # states at which that is taken, up to so many times the largest at first

Step = Callable[[Tensor], Tensor]


def scalar_code(held: Held) -> Compiled | None:
    """Return compiled code of a small step, with the loops over it; None without numba or without a program."""
    if held.angles or held.input.dtype != torch.float64 or held.input.device.type != "cpu":
        return None
    try:
        return compiled(derived(held.system).program.held(held.input, held.t), LOOPS)
    except NoProgram:
        return None


def time_step(held: Held, states: Tensor) -> float:
    """Return the step at which a flow's orbits are followed from states (k, n), in seconds.

    Its rates are those at the states and on the way from some of them, in steps that move none by more than its size:
    a pendulum's linearisation has no rate at ±π/2.
    """
    here = _fastest(held, _some(states, FASTEST_OF))
    some = _some(states, FASTEST_OF // LOOK)
    size, speed = float(some.abs().max()) or 1.0, float(held.moved(some).abs().nan_to_num(0.0, 0.0, 0.0).max())
    ahead = torch.cat(iterates(step_of(held, PER_RATE / (max(here, speed / size) or 1.0)), some, LOOK))
    near = ahead[(ahead.abs() <= NEARBY * size).all(dim=-1)]  # what leaves meets rates that orbits here do not
    return PER_RATE / (max(here, _fastest(held, near)) or 1.0)


def _some(states: Tensor, most: int) -> Tensor:
    return states[torch.linspace(0, len(states) - 1, min(len(states), most)).long()]


def _fastest(held: Held, states: Tensor) -> float:
    """Return the largest modulus of the eigenvalues of ∂f/∂h at states (k, n)."""
    return float(torch.linalg.eigvals(finite_or_zero(held_matrices(held, states))).abs().max())


def step_of(held: Held, dt: float) -> Step:
    """Return the step of orbits (k, n): a map's own, or Runge and Kutta's of a flow, `dt` seconds long or back."""
    stepping = held
    if isinstance(held.system, Flow):
        method = RungeKutta4(held.system, abs(dt))
        method.step_size = dt  # may be negative, which no integrator of a user's may
        stepping = replace(held, system=method)
    return (lambda h: stepping.difference(stepping.moved(h))) if held.angles else stepping.moved


def iterates(step: Step, start: Tensor, count: int) -> list[Tensor]:
    """Return a start and the states after 1 … `count` steps."""
    return list(itertools.accumulate(range(count), lambda state, _: step(state), initial=start))


class Stretch(NamedTuple):
    """Orbits after some steps.

    Attributes
    ----------
    states : Tensor, shape (k, n)
        The last ones; of an orbit that left, the last within the bound.
    period : Tensor, shape (k,)
        After which an orbit came back to where it was at first, in steps or seconds; 0 where it did not.
    gone : Tensor of bool, shape (k,)
        True where it left the bound, or became no number.
    taken : Tensor of int, shape (k,)
        Steps until it left or rested, `count` of others.
    """

    states: Tensor
    period: Tensor
    gone: Tensor
    taken: Tensor


def followed(held: Held, begin: Tensor, count: int, bound: float, scale: Tensor, code: Compiled | None) -> Stretch:
    """Follow orbits (k, n) for `count` steps; those that rest or leave are let go.

    Parameters
    ----------
    held : Held
    begin : Tensor, shape (k, n)
    count : int
    bound : float
        On max |h_i|.
    scale : Tensor, shape (k,)
        Size of each orbit, which its repetition is relative to.
    code : Compiled or None
        The result of `scalar_code`.
    """
    dt = time_step(held, begin) if held.is_flow else 0.0
    allowed = (RETURNS if held.is_flow else max(REPEATS, ROUNDED * torch.finfo(begin.dtype).eps)) * scale
    if code is not None:
        return _by_loops(code, begin, dt, count, bound, allowed.numpy())
    step = step_of(held, dt)
    final, period, taken = begin.clone(), torch.zeros_like(scale), torch.full(scale.shape, count)
    gone = torch.zeros_like(scale, dtype=torch.bool)
    live, h, ref, allowed = torch.arange(len(begin)), begin, begin, allowed[:, None]
    normal, reach = held.moved(begin) if held.is_flow else begin, torch.zeros_like(allowed)
    for number in range(1, count + 1):
        before, h = h, step(h)
        back, when = (held.difference(h, ref).abs() <= allowed).all(-1), torch.tensor(float(number))
        if held.is_flow:
            side, then = ((held.difference(each, ref) * normal).sum(-1) for each in (before, h))
            part = side / (side - then)
            crossed = before + part[:, None] * held.difference(h, before)
            reach = torch.maximum(reach, held.difference(h, ref).abs().amax(-1, keepdim=True))
            nearest = torch.minimum(allowed, RETURNS * reach)
            back = (held.difference(crossed, ref).abs() <= nearest).all(-1) & (side < 0) & (then >= 0)
            when = dt * (number - 1 + part[back])
        if back.any():
            period[live[back]] = torch.where(period[live[back]] == 0, when.to(period), period[live[back]])
        if number % LOOK and number < count and bool(h.abs().amax() <= bound):
            continue
        left = ~(h.abs().amax(-1) <= bound)
        rests = (held.difference(h, before).abs() <= allowed).all(-1) & ~left & (not held.is_flow)
        stops = left | rests
        period[live[rests]] = 1.0
        gone[live[left]] = True
        final[live] = torch.where(left[:, None], before, h)
        taken[live[stops]] = number
        if stops.any():
            live, h, ref, allowed, normal, reach = (each[~stops] for each in (live, h, ref, allowed, normal, reach))
            if not len(live):
                break
    return Stretch(final, period, gone, taken)


def _by_loops(code: Compiled, begin: Tensor, dt: float, count: int, bound: float, near: Real) -> Stretch:
    def work(rows: slice) -> tuple[Tensor, ...]:
        states, size = begin[rows].numpy().copy(), len(begin[rows])
        period, gone, taken = np.zeros(size), np.zeros(size, dtype=bool), np.full(size, count)
        code.module.follow(states, code.numbers, code.workspace, dt, count, bound, near[rows], period, gone, taken)
        return tuple(torch.from_numpy(each) for each in (states, period, gone, taken))

    return Stretch(*in_threads(work, len(begin), 8.0 * begin.shape[1] * count))


def orbit(
    held: Held, begin: Tensor, count: int, code: Compiled | None = None, dt: float | None = None
) -> tuple[Tensor, float]:
    """Return `count` states that follow on each of the states (k, n), shape (count, k, n), and the time between."""
    length = 1.0 if not held.is_flow else time_step(held, begin) if dt is None else dt
    if code is not None:
        states = np.empty((len(begin), count + 1, begin.shape[1]))
        states[:, 0] = begin.numpy()
        for one in states:
            code.module.orbit(one, code.numbers, code.workspace, length * held.is_flow)
        return torch.from_numpy(states[:, 1:].swapaxes(0, 1)), length
    return torch.stack(iterates(step_of(held, length), begin, count)[1:]), length
