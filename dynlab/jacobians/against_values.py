"""A user's Jacobian held against the function's own values: where they belie it, and by how much."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from dynlab.jacobians.automatic import evolution
from dynlab.jacobians.draws import Draws
from dynlab.systems import System
from dynlab.systems.function import has_users_code

# Of the distances at which a function's values are held against its derivative, as shares of |h_i|, and of 1 at 0.
DISTANCES = tuple(10.0**-k for k in (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13))
NEAR_ZERO = tuple(10.0**-k for k in (2, 4, 6, 9, 12, 16, 20, 40, 60, 80, 110, 150))
NEAREST = 1e-7  # times abs(h_i): a spacing of that share of a share is still many of the last digits
BELIED = 1e-2  # of what the derivative says, at all of them: what is smooth and steep comes nearer
BELIED_ALL_TOGETHER = 1e-4  # the same where that is above what rounds the largest value: a small one may round more
LASTING, THE_SAME = (0.3, float("inf")), (0.7, 1.5)  # times what they differ by, from one distance to the next
JUMPS = 0.99  # of what a derivative was off by at the distance before
ROUNDED_ALIKE = 64.0  # times ε: what rounding makes of such a difference


def belied(
    system: System, state: Tensor, input: Tensor, t: int | Tensor, found: Tensor, unit: float | Tensor = 1.0
) -> Tensor:
    """What the entries of a user's Jacobian `found` are wrong by where the function's own values belie it; else 0.

    A detached state, or a rule of its own for the backward pass, gives a derivative that is another function's. The
    difference of two values, along signs drawn at random, is then another one at every distance that is tried. Where
    some coordinates are 0 and others are not, it is taken along each of both kinds apart: the distances of a 0 are of
    all sizes, and one kind would hide the other.
    """
    wrong = torch.zeros_like(found)
    if not has_users_code(system) or found.numel() == 0:
        return wrong
    evolve = evolution(system)
    drawn = Draws(state.device, 1.0).rounded(torch.ones_like(state)) - 1
    signs = drawn.sign() * (1 + drawn.abs()) / 2  # of sizes of their own: a way along the state itself may see nothing
    measured = torch.as_tensor(unit, dtype=state.dtype, device=state.device).expand_as(state)
    at_zero = state.abs() < NEAREST * measured
    size = torch.where(at_zero, measured, state.abs())
    apart = bool((at_zero.any(dim=-1) & ~at_zero.all(dim=-1)).any())
    for kind in (at_zero, ~at_zero) if apart else (torch.ones_like(at_zero),):
        ways = [
            signs * size * torch.where(at_zero, of_zero, share) * kind
            for share, of_zero in zip(DISTANCES, NEAR_ZERO, strict=True)
        ]
        wrong = torch.maximum(wrong, _belied_along(lambda h: evolve(h, input, t), state, ways, found))
    return wrong


def _belied_along(function: Callable[[Tensor], Tensor], state: Tensor, ways: Sequence[Tensor], found: Tensor) -> Tensor:
    """The same along these ways, each nearer than the one before; 0 in the columns of coordinates that stay."""
    eps, none = torch.finfo(state.dtype).eps, torch.zeros_like(found)
    looked_at = []
    for way in ways:
        ahead, back = (function(state + sign * way) for sign in (1, -1))
        told = (found @ way.unsqueeze(-1)).squeeze(-1)
        changed, noise = (ahead - back) / 2, ROUNDED_ALIKE * eps * (ahead.abs() + back.abs())
        scale = (found.abs() @ way.abs().unsqueeze(-1)).squeeze(-1) + changed.abs()
        looked_at.append((way.abs(), (changed - told).abs(), noise, scale))
    small = [(way, off, noise.amax(dim=-1, keepdim=True), scale) for way, off, noise, scale in looked_at]
    return torch.maximum(
        _belied_by(looked_at, BELIED, LASTING, none), _belied_by(small, BELIED_ALL_TOGETHER, THE_SAME, none)
    )


def _belied_by(
    looked_at: Sequence[tuple[Tensor, ...]], belied: float, lasting: tuple[float, float], none: Tensor
) -> Tensor:
    """What entries are wrong by where all distances say so that tell that share of what the derivative says.

    At the last two of them the rates must be alike, as `lasting` says.

    Of each distance: the way there, what it is off by there, the rounding of that, and what the derivative says.
    """
    first = looked_at[0][1]
    least, share = torch.full_like(first, torch.inf), none
    steepest = torch.zeros_like(first)  # at the distances before: where a nearer one shows no change it belies that
    rates = [torch.zeros_like(first)] * 2  # at the two smallest distances that tell
    offs = [torch.zeros_like(first)] * 2
    for way, off, noise, scale in looked_at:
        longest = way.amax(dim=-1, keepdim=True)
        scale = torch.maximum(scale, steepest * longest)
        tells, rate = noise < belied * scale, off / longest
        steepest = torch.where(tells, torch.maximum(steepest, rate), steepest)
        rates = [torch.where(tells, later, former) for later, former in zip((rates[1], rate), rates, strict=True)]
        offs = [torch.where(tells, later, former) for later, former in zip((offs[1], off), offs, strict=True)]
        moved = way.unsqueeze(-2) > 0
        share = torch.where(tells.unsqueeze(-1) & moved, off.unsqueeze(-1) / way.unsqueeze(-2), share)
        least = torch.where(tells, torch.minimum(off / scale, least), least)
    # what the step bends by shrinks with the distance
    stays = (rates[0] > 0) & (rates[1] > lasting[0] * rates[0]) & (rates[1] < lasting[1] * rates[0])
    stays &= offs[1] < JUMPS * offs[0]  # what does not shrink with the distance is a jump, of which kinks tell
    return torch.where((torch.isfinite(least) & (least > 2 * belied) & stays).unsqueeze(-1), share, 0.0)
