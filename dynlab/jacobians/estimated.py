"""The error of a Jacobian for which nothing rigorous is known: an estimate from changes of the last digits."""

import torch
from torch import Tensor

from dynlab.jacobians.against_values import NEAREST, belied
from dynlab.jacobians.draws import Draws
from dynlab.jacobians.noise import noise
from dynlab.jacobians.of_system import jacobian
from dynlab.numerics.rounded_anew import RoundedAnew
from dynlab.systems import System
from dynlab.systems.copied import copied

# Where a bound is only estimated, DOUBT (n + OF_FUNCTIONS) times what a change of the last digit of every stored number
# and of what every operation makes of them does, and a rounding of the largest entry: sums of n terms round n times, an
# activation, its slope and products with it some eight times more, however small n is.
DOUBT = 4.0
OF_FUNCTIONS = 8
DRAWS = 2
FEWER_PLACES = 4.0  # times an estimate from two differences, each of which may be small by chance
AROUND = range(-4, 4)  # where a Jacobian is evaluated for its noise: on both sides of a kink
SPACINGS = (1.0, 0.618034)  # in one of them rounding may look smooth
BALANCED = 16  # sweeps: units need not be exact, they only have to be of the right size


def with_estimate(
    system: System, state: Tensor, input: Tensor, t: int | Tensor, unit_of_states: float | Tensor
) -> tuple[Tensor, Tensor]:
    """The Jacobian, and an estimate of what rounding has left in each entry, shape (..., rows, columns).

    Parameters and the estimate are those of `dynlab.jacobians.jacobian_and_error`.
    """
    found = jacobian(system, state, input, t).dense()
    unit = torch.finfo(found.dtype).eps / 2
    reach, doubt = unit**0.5, DOUBT * (max(found.shape[-2:]) + OF_FUNCTIONS)
    draws = Draws(state.device, reach)
    measured = torch.as_tensor(unit_of_states, dtype=found.dtype, device=found.device).expand(found.shape[-1])
    error = torch.full_like(found, torch.inf)
    # what the largest entry has, in the units of the states and in those in which entries are alike
    for units in (measured, _units_of_likeness(found.abs(), measured)):
        ratio = units.unsqueeze(-2) / units.unsqueeze(-1)
        largest = (found * ratio).abs().amax(dim=(-2, -1), keepdim=True)
        error = torch.minimum(error, doubt * unit * largest / ratio)
    zero = found == 0  # and not for rounding, as of a saturated unit
    for _ in range(DRAWS):
        near = copied(system)
        with torch.no_grad():
            for numbers in (*near.parameters(), *near.buffers()):
                if numbers.is_floating_point():
                    numbers.copy_(draws.changed(numbers))
        with RoundedAnew(draws.rounded):
            moved = (jacobian(near, draws.changed(state), draws.changed(input), t).dense() - found).abs()
        error, zero = torch.maximum(error, doubt * unit / reach * moved), zero & (moved == 0)
    error = torch.where(zero, 0.0, error)
    if system.closed_form_jacobian(state, input, t) is None:  # it may cancel, or jump beside the state
        apart = torch.maximum(state.abs().clamp_max(1), NEAREST * state.abs())  # a state may be far from 0
        beside_0 = (reach * measured).clamp_max(torch.finfo(state.dtype).tiny ** 0.5)  # in tiny units nearer still
        size = torch.where(state == 0, beside_0.to(state), apart)
        for spacing in SPACINGS:
            beside = noise(lambda h: jacobian(system, h, input, t).dense(), state, spacing * size, AROUND)
            error = torch.maximum(error, FEWER_PLACES * beside)
    return found, torch.maximum(error, FEWER_PLACES * belied(system, state, input, t, found, unit_of_states))


def _units_of_likeness(sizes: Tensor, units: Tensor) -> Tensor:
    """Units of states (..., n), from those given on, in which the entries (..., n, n) of a matrix are most alike.

    Each row is to have as large a sum as the column of that number (Osborne, "On pre-conditioning of matrices", Journal
    of the ACM 7, 1960), all at once, and so by the fourth root.
    """
    units, apart = units.expand(sizes.shape[:-1]), sizes - torch.diag_embed(sizes.diagonal(dim1=-2, dim2=-1))
    for _ in range(BALANCED):
        alike = apart * (units.unsqueeze(-2) / units.unsqueeze(-1))
        share = (alike.sum(-1) / alike.sum(-2)) ** 0.25
        units = units * torch.where(torch.isfinite(share) & (share > 0), share, 1.0)
    return units
