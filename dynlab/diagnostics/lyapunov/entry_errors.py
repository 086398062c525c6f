"""How wrong the Jacobians along an orbit are: rounding moves their entries, and the states that they are taken at."""

import torch
from torch import Tensor

from dynlab.driven import ARRAYS, NUMBERS_AT_ONCE, Driven
from dynlab.jacobians import DOUBT, DRAWS, OF_FUNCTIONS, belied, exact_zeros, jacobian, jacobian_and_error
from dynlab.systems.function import has_users_code

SMALL = (
    1e-3  # ‖J‖₂ below which its error is looked at: a larger one would have to change by 10¹⁰ times its state's change
)

LOOKED_AT = 8  # Jacobians whose typical error stands for that of all
FEW = 128  # states: of larger systems a user's Jacobians are held against the values of the step alone
SMALL_STATE = 1e-6  # of a unit: a smaller state has a unit of its own
KINKED = 1e-3  # ‖E‖₂/‖J‖₂ of a Jacobian beside which another side of a kink begins, not told by rounding
AT_KINK = 1e-6  # ‖E‖₂ of a Jacobian 0: a larger one is that of a slope on the other side of a kink


def certain_zeros(driven: Driven, start: int, rows: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
    """Which rows and columns of zeros are so exactly: the slope of a saturated unit only rounds to 0.

    Parameters
    ----------
    driven : Driven
    start : int
        The number of the state that the first Jacobian is taken at.
    rows, columns : Tensor of bool, shape (sample, step, state)
        Those that are 0 as computed.

    Returns
    -------
    Tensor of bool, shape (sample, step, state)
        For rows and for columns.
    """
    n = driven.states.shape[-1]
    rows, columns = rows.clone(), columns.clone()
    looked_at = (rows | columns).any(dim=-1).nonzero()
    for some in looked_at.split(max(1, NUMBERS_AT_ONCE // (ARRAYS * n * n))) if len(looked_at) else ():
        sample, step = some.to(driven.states.device).unbind(dim=1)
        place = tuple(some.unbind(dim=1))
        states, inputs = driven.states[sample, start + step], driven.inputs[sample, start + step]
        zeros = exact_zeros(driven.system, states, inputs, start + step).to(rows.device).expand(len(some), n, n)
        rows[place] &= zeros.all(dim=-1)
        columns[place] &= zeros.all(dim=-2)
    return rows, columns


def relative_errors(driven: Driven, start: int, log_norms: Tensor, gone: Tensor) -> tuple[Tensor, Tensor]:
    """‖E‖₂/‖J‖₂ of the Jacobians after h_start, h_{start+1}, …, shape (sample, step), and ln ‖J‖₂ at most.

    Near a fixed point whose multipliers are all 0 the slope is as small as its own error, and its logarithm is not
    known from below.

    Parameters
    ----------
    driven : Driven
    start : int
        The number of the first of these states.
    log_norms : Tensor, shape (sample, step)
        ln ‖J‖₂.
    gone : Tensor of bool, shape (sample, step)
        Where J has an exact row or column of zeros.

    Returns
    -------
    Tensor
        Where ‖J‖₂ is at least `SMALL`, or exactly 0, or not finite, the typical one of a user's step, 0 of others; inf
        where it is 0 on one side of a kink.
    Tensor
        `log_norms`, but ln ‖E‖₂ where J is 0 and not exactly so: the first is 1 there.

    Notes
    -----
    E counts the bound of `dynlab.jacobians.jacobian_and_error`, and the change of J by a change of h_i by
    (1 + max abs(h)) ε/2, estimated as there: by a larger change in random directions.
    """
    log_norms = log_norms.clone()
    found = _typical(driven, start, log_norms).expand(log_norms.shape).clone()
    small = ~log_norms.isnan() & (log_norms.exp() < SMALL) & torch.isfinite(found)
    if not small.any():
        return found, log_norms
    n = driven.states.shape[-1]
    for some in small.nonzero().split(max(1, NUMBERS_AT_ONCE // (ARRAYS * n * n))):
        sample, step = some.to(driven.states.device).unbind(dim=1)
        error = _errors(driven, sample, start + step).to(found)
        size = _size(error)
        place = tuple(some.unbind(dim=1))
        known, kinked = torch.isfinite(log_norms[place]), size > AT_KINK
        vanished = ~known & ~kinked & ~gone[place] & (size > 0)
        log_norms[place] = torch.where(vanished, size.log(), log_norms[place])
        of_zero = torch.where(kinked, torch.inf, vanished.to(size))
        found[place] = torch.where(known, size / log_norms[place].exp(), of_zero)
    return found, log_norms


def _typical(driven: Driven, start: int, log_norms: Tensor) -> Tensor:
    """The median of ‖E‖₂/‖J‖₂ over some Jacobians of each sample of a user's step, shape (sample, 1); inf at kinks.

    That is where most of the Jacobians that are looked at have one, of any system. Of dynlab's own, whose entries are
    exact to a few roundings elsewhere, it is 0, as where nothing is known. Samples beyond the first `LOOKED_AT` have
    the largest of these.
    """
    users, count = has_users_code(driven.system), min(LOOKED_AT, len(log_norms))
    found = torch.zeros_like(log_norms[:, :1])
    steps = torch.linspace(0, log_norms.shape[1] - 1, min(LOOKED_AT, log_norms.shape[1])).long()
    told = log_norms[:count, steps]
    known = (torch.isfinite(told) & (told.exp() >= SMALL)).cpu()  # smaller ones are looked at one by one
    sample, place = known.nonzero().unbind(dim=1)
    step = steps[place] + start
    if not len(sample) or (driven.states.shape[-1] > FEW and not users):
        return found
    at = sample.to(driven.states.device), step.to(driven.states.device)
    states, inputs = driven.states[at], driven.inputs[at]
    if driven.states.shape[-1] > FEW:
        matrices = jacobian(driven.system, states, inputs, at[1]).dense()
        wrong = belied(driven.system, states, inputs, at[1], matrices).flatten(1).any(dim=1)
        shares = torch.where(wrong, torch.inf, 0.0).to(log_norms)
    else:
        error = jacobian_and_error(driven.system, states, inputs, at[1])[1]
        shares = _size(error).to(log_norms) / log_norms[sample, steps[place]].exp()
    for number in set(sample.tolist()):
        typical = float(shares[sample == number].nanmedian().nan_to_num(0.0))
        found[number] = torch.inf if not typical < KINKED else typical if users else 0.0
    found[count:] = found[:count][torch.isfinite(found[:count])].amax() if torch.isfinite(found[:count]).any() else 0.0
    return found


def _size(error: Tensor) -> Tensor:
    """√(‖E‖₁ ‖E‖_∞) ≥ ‖E‖₂ of bounds on entries (some, n, n), shape (some,)."""
    return error.sum(dim=-1).amax(dim=-1).sqrt() * error.sum(dim=-2).amax(dim=-1).sqrt()


def _errors(driven: Driven, sample: Tensor, step: Tensor) -> Tensor:
    """The errors of the Jacobians' entries after the states of these numbers, shape (some, state, state)."""
    states, inputs = driven.states[sample, step], driven.inputs[sample, step]
    matrices, error = jacobian_and_error(driven.system, states, inputs, step)
    unit = torch.finfo(states.dtype).eps / 2
    doubt, size = DOUBT * (states.shape[-1] + OF_FUNCTIONS), 1 + states.abs().amax(dim=-1, keepdim=True)
    generator = torch.Generator(states.device).manual_seed(0)
    moved = torch.zeros_like(matrices)
    for _ in range(DRAWS):
        drawn = torch.rand(states.shape, generator=generator, device=states.device, dtype=states.dtype) - 0.5
        near = states + unit**0.5 * size * drawn.sign()
        changed = jacobian(driven.system, near, inputs, step).dense() - matrices
        moved = torch.maximum(moved, changed.abs())
    there = matrices.abs().amax(dim=(-2, -1), keepdim=True) > 0  # else it is 0 at this state, whatever it is beside
    return error + doubt * unit**0.5 * moved * there
