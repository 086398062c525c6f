"""The noise of a function: what rounding does to its values, followed through it or seen in differences."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from dynlab.numerics.running_error import RunningErrors, Untracked, bounded
from dynlab.systems.function import has_users_code
from dynlab.systems.held import Held

ORDER = 6  # of the differences from which the noise of a function is estimated
AHEAD, BEHIND = range(2 * ORDER), range(1 - 2 * ORDER, 1)  # where it is evaluated for that
# What is so many times the noise of the other side, so many times as far out too, is a jump and no noise.
JUMP_TIMES, FARTHER = 1e3, 64.0
NOISE_REACH, NOISE_TIMES = 6.180339887e-8, 4.0  # between neighbours, no binary fraction; and for safety


def cancelled(held: Held, states: Tensor) -> Tensor:
    """A bound on what rounding does to `Held.displacement` of a user's function, shape (..., n); 0 of other systems.

    A function may subtract large numbers, exp(h) − 1 near 0: its error has nothing to do with the size of h then. Where
    `dynlab.numerics.running_error` has no rule for what it does, the error is estimated by differences. By how much it
    jumps at a state is no part of it.
    """
    if not has_users_code(held.system):
        return torch.zeros_like(states)
    try:
        error = _running_error(held, states)
        beside = [_running_error(held, _beside(states, size)) for size in _sizes(states)]
    except (Untracked, TypeError, AttributeError, ValueError):
        return _noise_of_displacement(held, states)
    # a comparison that rounding may decide, or that holds with equality, makes the jump an error of what it chooses
    near = torch.stack(beside).flatten(end_dim=1).amax(dim=0)
    error = torch.where(error > JUMP_TIMES * near, near, error)
    told = torch.isfinite(error)
    return error if bool(told.all()) else torch.where(told, error, _noise_of_displacement(held, states))


def _running_error(held: Held, states: Tensor) -> Tensor:
    with RunningErrors():
        found = held.displacement(states)
    return bounded(found)[1]


def _sizes(states: Tensor) -> tuple[Tensor, Tensor]:
    """Of what a state's neighbours are apart by a share, coordinate by coordinate: |h_i| where it is not 0, and 1."""
    ordinary = torch.ones_like(states)
    return torch.where(states == 0, ordinary, states.abs()), ordinary


def _noise_of_displacement(held: Held, states: Tensor) -> Tensor:
    """The noise of `Held.displacement` at states (..., n); one that jumps beside a state is no less exact."""
    return torch.maximum(*(_noise_of_a_side(held, states, size) for size in _sizes(states)))


def _noise_of_a_side(held: Held, states: Tensor, size: Tensor) -> Tensor:
    """That of the side without a jump, where the other has one."""
    ahead, behind, far_ahead, far_behind = (
        noise(held.displacement, states, farther * size, places)
        for farther in (1.0, FARTHER)
        for places in (AHEAD, BEHIND)
    )
    smaller, larger = torch.minimum(ahead, behind), torch.maximum(ahead, behind)
    # rounding may be a staircase, of which a side that is short shows no step
    beyond = torch.where(ahead < behind, far_ahead, far_behind).maximum(smaller)
    return torch.where(larger > JUMP_TIMES * beyond, smaller, larger)


def noise(function: Callable[[Tensor], Tensor], states: Tensor, size: Tensor, places: range) -> Tensor:
    """`NOISE_TIMES` the noise of a function at states (..., n), from differences of order `ORDER`.

    Over states so near each other what is smooth has none (Moré and Wild, "Estimating computational noise", SIAM
    Journal on Scientific Computing 33, 2011). They are apart by a share of `size`, at these `places`.
    """
    near = _beside(states, size, places)
    differences = function(near).diff(n=ORDER, dim=0).abs().amax(dim=0)
    return NOISE_TIMES / math.comb(2 * ORDER, ORDER) ** 0.5 * differences.nan_to_num(0.0, 0.0)


def _beside(states: Tensor, size: Tensor, places: Sequence[float] = (-1.0, 1.0)) -> Tensor:
    """States (place, ..., n) next to these (..., n), on a line that is parallel to no plane of coordinates."""
    reach = NOISE_REACH * (torch.finfo(states.dtype).eps / torch.finfo(torch.float64).eps) ** 0.5
    steps = torch.tensor(places, dtype=states.dtype, device=states.device)
    alternating = 1 - 2 * (torch.arange(states.shape[-1], device=states.device) % 2)
    return states + reach * steps.reshape(-1, *(1,) * states.ndim) * alternating * size
