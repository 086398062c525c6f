"""What the errors of factors, and rounding, do to the singular values of a product that is kept as Q e^d T.

A factor J that is wrong by E, and the rounding of its QR, J Q = Q' R, change the product by a factor (I + F) beside Q',
with F = Q'ᵀ E Q R⁻¹. An entry F_ki adds to row k of e^d T a share of its row i; as a share of row i for row k it is
Y_ki = F_ki e^{d_i − d_k}, and stays that while the scales grow apart. Where row i is the larger one, d_i > d_k, it is
seen from the other side: a rotation of Q' that moves no singular value at first order, until the next factor mixes the
two, which moves both by |N_ik| Y_ki. All logarithms, as Y spans what e^d does.

The bounds are of first order and their constants are measured: `SAFETY` is for what of the mixing is left out. Two
things are counted beyond it, as a unit at a kink makes them large: what may stand in a row that is zero but for its
error, and the squares of shares.

A row of which a share of `DROWNED` or more is wrong has left the first order. It is **lost**: nothing is claimed of it
but a size. (I + F) e^d T adds to row k at most Σ_i |F_ki| e^{d_i}, exactly and however large F is, so that e^{d_k}
together with this sum bounds the row, and d_k becomes its logarithm. A later factor multiplies the rows by R, and the
bound of a lost row by the moduli of R's entries. Where R adds a part N_ki of a lost row i to a row k that is known,
this part is an error of row k. So the product is always a known part and lost rows with a bound each. Taking rows away
from a matrix makes no singular value larger, and adding rows whose squares sum to e^{2L} adds at most e^{2L} to the
square of each. The modes that stand above e^L are therefore those of the known rows, each in its place and with an
error of e^{2(L − d)} more; of all others no bound is stated, as a lost row may stand anywhere among them.
"""

import math

import torch
from torch import Tensor
from torch.linalg import solve_triangular

# In some 2,900 resolved modes of 180 random and saturated networks of every trainable family the true error was always
# within the bound with it, and at most 0.6 of it.
SAFETY = 4.0
DROWNED = 0.1  # the share of a row beyond which first order says nothing
LARGEST_SQUARE = 340.0  # the logarithm of a square: of two such numbers the product does not overflow
NO_ZERO = 1e-8  # the share of another row in a row of zeros, of which the square is beyond rounding
NO_BOUND = 1e12  # the logarithm of what is larger than any product: of rows that may be of any size


def rounding_of_sums(like: Tensor) -> float:
    """Return the rounding of a sum of n products, as a share of the sum of their moduli."""
    return like.shape[-1] ** 0.5 * torch.finfo(like.dtype).eps / 2


def rounding_of_logarithms(scale: Tensor) -> Tensor:
    """Return the rounding of scales kept as logarithms, as a share of the scales themselves."""
    return torch.finfo(scale.dtype).eps * scale.abs().nan_to_num(0, 0)


def local_error(image: Tensor, wrong: Tensor, Q: Tensor, R: Tensor) -> Tensor:
    """Return |F| entry by entry, for ``image`` = Q R whose entries are wrong by `wrong`; all (sample, n, n).

    Where a column of R has a diagonal of 0, F is |Q'ᵀ E Q| itself.
    """
    eye = torch.eye(R.shape[-1], dtype=R.dtype, device=R.device).expand_as(R)
    dead = R.diagonal(dim1=-2, dim2=-1) == 0
    inverse = solve_triangular(torch.where(dead.unsqueeze(-2), eye, R), eye, upper=True)
    left = (Q.mT @ (image - Q @ R)).abs() + Q.abs().mT @ (wrong + rounding_of_sums(R) * (Q.abs() @ R.abs()))
    return (left @ inverse.abs()).nan_to_num(torch.inf, torch.inf)


def mixed_errors(before: Tensor, own: Tensor, mixing: Tensor, log_scale: Tensor, lost: Tensor) -> Tensor:
    """Return the logarithm of Y after a factor without errors.

    Parameters
    ----------
    before : Tensor, shape (sample, n, n)
        ln Y of the rows in the order that they have now.
    own : Tensor, shape (sample, n)
        What rounding adds to each row, as a share of it.
    mixing : Tensor, shape (sample, n, n)
        N, unit upper triangular: the rows are now N times what they were.
    log_scale : Tensor, shape (sample, n)
        d after the factor.
    lost : Tensor of bool, shape (sample, n)
        Of which rows only a size is known.
    """
    size = mixing.triu(1).abs().log()
    crossing = (size + before.mT).nan_to_num(-torch.inf, torch.inf, -torch.inf)
    turned = torch.logaddexp(torch.logsumexp(crossing, dim=-1), torch.logsumexp(crossing, dim=-2))
    diagonal = torch.logaddexp(before.diagonal(dim1=-2, dim2=-1), torch.logaddexp(turned, own.log()))
    unknown = torch.where(lost.unsqueeze(-2) & ~lost.unsqueeze(-1), size, -torch.inf)
    found = torch.diagonal_scatter(torch.logaddexp(before, unknown), diagonal, dim1=-2, dim2=-1)
    gap = _differences(log_scale)
    found = torch.where(gap.isfinite(), found, -torch.inf)
    eye = torch.eye(mixing.shape[-1], dtype=mixing.dtype, device=mixing.device).expand_as(mixing)
    inverse = solve_triangular(mixing, eye, upper=True, unitriangular=True)
    passed = _passed_on(_passed_on(found, mixing, gap, left=True), inverse, gap, left=False)
    return torch.diagonal_scatter(passed, found.diagonal(dim1=-2, dim2=-1), dim1=-2, dim2=-1)


def _passed_on(log_error: Tensor, mixing: Tensor, gap: Tensor, *, left: bool) -> Tensor:
    """Return the larger of ln Y and of what rows pass on to others: N Y, of which the left side is `mixing`, or Y N⁻¹.

    Errors have either sign: of what comes from several rows it is the root of the sum of squares. Above the diagonal Y
    itself is summed, below it F, as both are below 1.
    """
    both = gap.isfinite()
    gap, found, weight = torch.where(both, gap, 0), log_error, mixing.triu(1).abs().log()
    for shift, side in ((torch.zeros_like(gap), torch.triu), (gap, lambda below: below.tril(-1))):
        weights, squares = ((2 * (of - shift)).clamp(max=LARGEST_SQUARE).exp() for of in (weight, log_error))
        squares = side(squares)
        found = torch.maximum(found, (weights @ squares if left else squares @ weights).log() / 2 + shift)
    return torch.where(both, found, -torch.inf)


def with_factor_errors(log_error: Tensor, added: Tensor, log_scale: Tensor, scale: Tensor) -> Tensor:
    """Return the logarithm of Y with the errors of the factor.

    Parameters
    ----------
    log_error : Tensor, shape (sample, n, n)
        What `mixed_errors` returns.
    added : Tensor, shape (sample, n, n)
        |F|, `local_error`.
    log_scale, scale : Tensor, shape (sample, n)
        d after the factor, and the logarithms of the lengths of the columns before their QR.
    """
    alive = ~torch.isneginf(log_scale)
    gap = _differences(log_scale)
    found = torch.where(gap.isfinite(), torch.logaddexp(log_error, added.log() + gap.nan_to_num(0)), -torch.inf)
    # the column of a row that is zero now has errors of its own size, which are the other rows'
    of_dead = torch.where(alive, -torch.inf, scale).unsqueeze(-2) - torch.where(alive, log_scale, 0).unsqueeze(-1)
    own = torch.where(torch.isneginf(of_dead), -torch.inf, added.log() + of_dead)
    diagonal = torch.logaddexp(found.diagonal(dim1=-2, dim2=-1), torch.logsumexp(own, dim=-1))
    found = torch.diagonal_scatter(found, diagonal, dim1=-2, dim2=-1)
    return torch.where(alive.unsqueeze(-1), found, added.log())


def lose(log_error: Tensor, log_scale: Tensor, lost: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the same with each row lost that is too wrong for first order: its d then bounds it."""
    alive = ~torch.isneginf(log_scale).unsqueeze(-1)
    rotated = _differences(log_scale).nan_to_num(0, 0, 0).clamp(min=0)
    heavy = (log_error - rotated >= math.log(DROWNED)) & alive
    wrong = torch.logsumexp(torch.where(heavy, log_error, -torch.inf), dim=-1)
    larger = torch.logaddexp(torch.zeros_like(wrong), wrong).nan_to_num(NO_BOUND).clamp(max=NO_BOUND)
    shares = torch.where(alive, larger.unsqueeze(-1), larger.unsqueeze(-2))  # F of rows that are zero is of the columns
    lost = (lost | heavy.any(dim=-1)) & alive.squeeze(-1)
    return torch.where(heavy, -torch.inf, log_error) - shares, log_scale + larger, lost


def lose_zeros(
    log_error: Tensor, added: Tensor, log_scale: Tensor, scale: Tensor, lost: Tensor, doubtful: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the same with each row of zeros lost that may be no zero by more than rounding, as at a kink.

    (I + F) adds Σ_i |F_ki| e^{d_i} to row k at most; of a column whose own row is zero now, in its size `scale`. Such a
    column counts where it is `doubtful`, wrong by more than rounding: all of it is wrong in any case.
    """
    zero = torch.isneginf(log_scale)
    beyond = torch.where(zero.unsqueeze(-2), doubtful.unsqueeze(-2) & (added >= NO_ZERO), added >= DROWNED)
    doubtful = zero & beyond.any(dim=-1)
    sizes = added.log() + torch.where(zero, scale, log_scale).unsqueeze(-2)
    bound = torch.logsumexp(sizes, dim=-1).nan_to_num(NO_BOUND, NO_BOUND, -torch.inf).clamp(max=NO_BOUND)
    doubtful &= ~torch.isneginf(bound)
    return (
        torch.where(doubtful.unsqueeze(-1), -torch.inf, log_error),
        torch.where(doubtful, bound, log_scale),
        lost | doubtful,
    )


def of_modes(log_error: Tensor, log_scale: Tensor, lost: Tensor) -> Tensor:
    """Return a bound on the error of each ln σ in decreasing order: no mode is better than those above it."""
    d, order = torch.sort(log_scale, dim=-1, descending=True, stable=True)
    index = order.unsqueeze(-1).expand_as(log_error)
    ordered = log_error.gather(-2, index).gather(-1, order.unsqueeze(-2).expand_as(log_error))
    gap = (d.unsqueeze(-1) - d.unsqueeze(-2)).nan_to_num(0, 0, -torch.inf)  # [k, i]: d_k − d_i
    # a share of a larger row is first seen as a rotation, and of that in the squares of the lengths; and so is its own
    seen = (ordered + 2 * gap.clamp(max=0)).exp() + (2 * (ordered + gap.clamp(max=0))).exp()
    zero = torch.isneginf(d)
    seen = torch.where(zero.unsqueeze(-1) & ~zero.unsqueeze(-2), (2 * ordered).exp(), seen)
    rounding = d.shape[-1] * torch.finfo(d.dtype).eps + rounding_of_logarithms(d)  # of the singular values of e^d T
    each = seen.sum(dim=-1) + seen.sum(dim=-2) - seen.diagonal(dim1=-2, dim2=-1)
    gone = lost.gather(-1, order)
    beneath = torch.where(gone.unsqueeze(-2), (-2 * gap).exp(), 0).sum(dim=-1)
    each = torch.where(gone | torch.isneginf(d), torch.inf, each + beneath)
    return SAFETY * (each.nan_to_num(torch.inf, torch.inf) + rounding).cummax(dim=-1).values


def _differences(log_scale: Tensor) -> Tensor:
    """[k, i]: d_i − d_k, not finite where one of the two is −inf."""
    return log_scale.unsqueeze(-2) - log_scale.unsqueeze(-1)
