"""Adaptive steps of many solutions of a flow at once, each with a step size of its own.

The pair of Dormand and Prince, of orders 5 and 4, keeps the error of a step below `TOLERANCE`; so the field itself says
how long a step is, in whatever unit its time is. Extrema of the coordinates lie between two steps; they are those of
the cubic through the states and velocities at both.

References
----------
Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, sections II.4 and II.5.
"""

from collections.abc import Callable

import torch
from torch import Tensor

TOLERANCE = 1e-6  # of a step, relative to the state and its scale
FIRST = 1e-2  # times 1/‖∂f/∂h‖: the first step
SAFETY, LEAST, MOST = 0.9, 0.2, 5.0  # of the change of a step's size
LONGEST = 1e6  # times the first step: where nothing moves
NODES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
NEWTON = 3  # iterations for the place of an extremum within a step

Field = Callable[[Tensor], Tensor]
Solutions = tuple[Tensor, Tensor, Tensor, Tensor]


def begin(field: Field, states: Tensor, slopes: Tensor) -> Solutions:
    """Return the states (..., n), the velocities, step sizes and longest steps of solutions with these ∂f/∂h."""
    first = FIRST / torch.linalg.matrix_norm(slopes).clamp_min(torch.finfo(states.dtype).tiny)[..., None]
    return states, field(states), first, LONGEST * first


def step(field: Field, scale: Tensor, solutions: Solutions) -> tuple[Solutions, Tensor]:
    """Return the solutions a step on, and the extrema of the coordinates on the way, (..., n), NaN where there is none.

    A solution whose step has too large an error stays where it is and tries a shorter one next.
    """
    h, velocity, size, longest = solutions
    slopes, new = [velocity], h
    for weights in NODES:
        new = h + size * _combined(weights, slopes)
        slopes.append(field(new))
    error = size * _combined(ERROR, slopes)
    allowed = TOLERANCE * (scale + torch.maximum(h.abs(), new.abs()))
    ratio = (error / allowed).abs().amax(dim=-1, keepdim=True)
    taken = ratio <= 1
    factor = (SAFETY * ratio.clamp_min(1e-12) ** -0.2).clamp(LEAST, MOST).nan_to_num(LEAST)
    top = torch.where(taken, extremum(h, new, size * velocity, size * slopes[-1]), torch.nan)
    lost = torch.where(torch.isfinite(h), h, torch.nan)
    moved = torch.where(taken, new, lost), torch.where(taken, slopes[-1], velocity)
    return (*moved, torch.minimum(factor * size, longest), longest), top


def extremum(first: Tensor, last: Tensor, slope: Tensor, end: Tensor) -> Tensor:
    """Return the extremum between two values of the cubic with these slopes over the step, NaN where it has none."""
    a, b = 2 * (first - last) + slope + end, 3 * (last - first) - 2 * slope - end
    part = slope / (slope - end)
    for _ in range(NEWTON):
        part = (part - (slope + part * (2 * b + 3 * a * part)) / (2 * b + 6 * a * part)).clamp(0, 1)
    return torch.where(slope * end < 0, first + part * (slope + part * (b + part * a)), torch.nan)


def _combined(weights: tuple[float, ...], slopes: list[Tensor]) -> Tensor:
    found = weights[0] * slopes[0]
    for weight, slope in zip(weights[1:], slopes[1:], strict=True):
        found = torch.add(found, slope, alpha=weight) if weight else found
    return found
