"""Long products of Jacobians that keep every mode: M = Q e^d T, Q orthogonal, d in log scale, T's rows of length 1.

A product accumulated as one matrix keeps only what stands above rounding beside its largest singular value. Kept as
Q e^d T, each factor multiplies Q alone, a matrix without scales; QR with the columns in decreasing size, and the rows
too, takes the new scales apart before they mix. Nothing here overflows or underflows, however long the product.

References
----------
Loh, Gubernatis, Scalettar, White, Scalapino and Sugar, "Sign problem in the numerical simulation of many-electron
systems", Phys. Rev. B 41 (1990), 9301 (the stratified product); Tomas, Chang, Scalettar and Bai, "Advancing large scale
many-body QMC simulations on GPU accelerated multicore systems", IPDPS 2012 (sorting before QR, not pivoting in it);
Cox and Higham, "Stability of Householder QR factorization for weighted least squares problems", 1998 (sorted rows).
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.linalg import vector_norm

from dynlab.numerics.product_errors import (
    NO_ZERO,
    differences,
    eye,
    local_error,
    lose,
    mixed_errors,
    of_modes,
    rounding_of_logarithms,
    rounding_of_sums,
)

KNOWN = 1e-3  # error of a logarithm, or as a share of it beyond ±1, up to which it is stated
# A column stays where it is while none behind it is larger by more than this factor e; otherwise QR is done once more.
DISORDER = 1.0
LARGEST_PART = 1e100  # of one row in another, in lengths of the other: beyond it nothing is known of the other
LEAST = 2.0**-1074  # the smallest number: what a term of a sum may lose where it underflows
NOTHING = (
    -1e9
)  # the logarithm of a row that is exactly zero, far below any product: a finite one needs no rules of its own
PIVOT = 2.0**-500  # in place of a zero on R's diagonal: the errors beside it are the row's then
REORDERINGS = 16  # at most; of 100 factors of saturated networks two needed one


@dataclass(frozen=True)
class GradedProduct:
    """Q e^d T, one for each sample.

    Attributes
    ----------
    orthogonal : Tensor, shape (sample, state, state)
        Q.
    log_scale : Tensor, shape (sample, state)
        d, nearly decreasing; of lost rows a bound, of rows that are exactly zero `NOTHING`.
    rows : Tensor, shape (sample, state, state)
        T, whose rows have length 1.
    log_error : Tensor, shape (sample, state, state)
        ln Y: row k of T is wrong by at most Y_ki times row i; see `dynlab.numerics.product_errors`.
    lost : Tensor of bool, shape (sample, state)
        The rows that drowned in errors: e^d bounds their length, and nothing else is known of them.
    nullity : Tensor of int, shape (sample,)
        Number of singular values that are zero for certain: a factor, or what a product may be, has so many rows or
        columns of zeros.
    reach : Tensor, shape (sample, state, state)
        1 where an entry of the product may not be zero.
    valid : Tensor of bool, shape (sample,)
        False from the first factor that is not finite.
    """

    orthogonal: Tensor
    log_scale: Tensor
    rows: Tensor
    log_error: Tensor
    lost: Tensor
    nullity: Tensor
    reach: Tensor
    valid: Tensor

    def error(self) -> Tensor:
        """Return a bound for the error of ln σ of each mode, decreasing σ: no mode is better than those above it."""
        return torch.where(self.certain_zeros(), 0, of_modes(self.log_error, self.log_scale, self.lost))

    def certain_zeros(self) -> Tensor:
        """Return which modes are exactly zero for certain, shape (sample, state)."""
        return torch.isneginf(self.scales().sort(dim=-1, descending=True).values)

    def scales(self) -> Tensor:
        """Return d, −inf for rows that are exactly zero."""
        return torch.where(self.log_scale < NOTHING / 2, -torch.inf, self.log_scale)


def resolved(logarithm: NDArray[Any], error: NDArray[Any], limit: float = KNOWN) -> NDArray[np.bool_]:
    """Return whether logarithms are known well enough, by the bounds on their errors, entry by entry."""
    return np.asarray(error <= limit * np.maximum(1, np.nan_to_num(np.abs(logarithm), nan=1, posinf=1)))


def number_from(lower: NDArray[Any], upper: NDArray[Any], least: float) -> NDArray[np.float64]:
    """Return how many singular values are at least e^`least`; NaN where one is not certainly above or below.

    Parameters
    ----------
    lower, upper : ndarray, shape (..., n)
        Bounds of their logarithms, which decrease; NaN where nothing is known.
    """
    above = lower >= least
    below = np.logical_or.accumulate(upper < least, axis=-1)
    return np.where((above | below).all(axis=-1), above.sum(axis=-1), np.nan)


def identity(samples: int, size: int, like: Tensor) -> GradedProduct:
    """Return the product of no factors."""
    zero = like.new_zeros(samples, size)
    one = eye(zero).expand(samples, size, size)
    nullity = torch.zeros(samples, dtype=torch.int64, device=like.device)
    return GradedProduct(one, zero, one, torch.full_like(one, -torch.inf), zero > 0, nullity, one, nullity == 0)


def multiply(factor: Tensor, product: GradedProduct, error: Tensor) -> GradedProduct:
    """Return ``factor @ product``, where an entry of the factor is wrong by `error` at most."""
    finite = torch.isfinite(factor).all(dim=(-2, -1))
    factor = torch.where(finite[:, None, None], factor, eye(factor))
    error = torch.where(finite[:, None, None], error, 0)
    blind = ((factor == 0) & (error == 0)).all(dim=-2)
    if blind.any():  # columns of zeros take dimensions away, and exactly so where the projection is a factor of its own
        kept = torch.diag_embed((~blind).to(factor.dtype))
        product = _multiply(kept, product, torch.zeros_like(kept))
    product = _multiply(factor, product, error)
    return replace(product, valid=product.valid & finite)


def _multiply(factor: Tensor, product: GradedProduct, error: Tensor) -> GradedProduct:
    image, moduli = factor @ product.orthogonal, factor.abs() @ product.orthogonal.abs()
    possible = ((factor != 0) | (error > 0)).to(factor.dtype)
    terms = possible @ (product.orthogonal != 0).to(factor.dtype)
    wrong = error @ product.orthogonal.abs() + rounding_of_sums(factor) * moduli + LEAST * terms
    wrong = wrong + (image.abs() + wrong) @ _towards_vanished(product)
    doubtful = (wrong > NO_ZERO * moduli).any(dim=-2)
    length = _lengths(image, -2)
    length = torch.where(length > 0, length, _lengths(wrong, -2))  # of what vanished all is wrong
    length = torch.where(length > 0, length, 1)
    Q, R, order = _ordered_qr(image / length.unsqueeze(-2), length.log() + product.log_scale)
    image, wrong = (_columns(each / length.unsqueeze(-2), order) for each in (image, wrong))
    scale = (length.log() + product.log_scale).gather(-1, order)
    lost, doubtful = product.lost.gather(-1, order), doubtful.gather(-1, order)
    reach = (possible @ product.reach > 0).to(factor.dtype)
    empty = [(~each.any(dim=-1)).sum(dim=-1) for each in (possible, possible.mT, reach, reach.mT)]  # rows and columns
    nullity = torch.stack([product.nullity, *empty]).amax(dim=0)
    diagonal = R.diagonal(dim1=-2, dim2=-1)
    vanished = diagonal == 0
    last = torch.arange(R.shape[-1], device=R.device) >= R.shape[-1] - nullity.unsqueeze(-1)
    zero = last & (vanished | (scale < NOTHING / 2))
    lost = (lost | vanished) & ~zero
    diagonal = torch.where(vanished, PIVOT, diagonal)
    R = torch.diagonal_scatter(R, diagonal, dim1=-2, dim2=-1)
    mixing = _unit_triangular(R, scale)
    rows, before = _rows(product.rows, order), _rows(_columns(product.log_error, order), order)
    mixed = mixing @ rows
    norm = vector_norm(mixed, dim=-1)
    log_scale = scale + diagonal.log() + torch.where(lost, mixing.abs().sum(dim=-1), norm).log()
    own = rounding_of_sums(R) * vector_norm(mixing.abs() @ rows.abs(), dim=-1) / norm
    own = own + rounding_of_logarithms(scale) + rounding_of_logarithms(log_scale)
    own = torch.where(mixing.abs().amax(dim=-1) < LARGEST_PART, own, torch.inf)
    kept = lose(mixed_errors(before, own, mixing, log_scale, lost), log_scale, lost)
    added = local_error(image, wrong, Q, R)
    log_error, log_scale, lost = lose(torch.logaddexp(kept[0], added.log() + differences(kept[1])), *kept[1:])
    # a row that is zero for certain may not be so in this basis by what of its column is wrong by more than rounding
    seen = added * torch.where(zero, torch.where(vanished, diagonal, 1) * doubtful, 1).unsqueeze(-2)
    zero = zero & ~(seen >= NO_ZERO).any(dim=-1)
    log_error, log_scale = _without(zero, log_error, log_scale, added)
    return GradedProduct(
        Q, log_scale, mixed / norm.unsqueeze(-1), log_error, lost & ~zero, nullity, reach, product.valid
    )


def _towards_vanished(product: GradedProduct) -> Tensor:
    """[j, i]: how much of column j of Q, whose row is zero, column i may have."""
    zero, d = product.log_scale < NOTHING / 2, product.log_scale
    share = (product.log_error + d.unsqueeze(-1) - d.unsqueeze(-2)).exp()
    return torch.where(zero.unsqueeze(-1) & ~zero.unsqueeze(-2), share, 0)


def _without(zero: Tensor, log_error: Tensor, log_scale: Tensor, added: Tensor) -> tuple[Tensor, Tensor]:
    """Return ln Y and d where some rows are zero: the shares that other rows had of them are errors of their own.

    Of others' shares in a row of zeros, F of this factor alone is kept: what was there before has come into it.
    """
    rows, columns = zero.unsqueeze(-1), zero.unsqueeze(-2)
    shares = torch.logsumexp(torch.where(columns, log_error, -torch.inf), dim=-1)
    diagonal = torch.logaddexp(log_error.diagonal(dim1=-2, dim2=-1), shares)
    log_error = torch.diagonal_scatter(log_error, diagonal, dim1=-2, dim2=-1)
    log_error = torch.where(rows, added.log() + log_scale.unsqueeze(-2) - NOTHING, log_error)
    return torch.where(columns, -torch.inf, log_error), torch.where(zero, NOTHING, log_scale)


def _ordered_qr(image: Tensor, log_scale: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return Q R of the columns in an order in which each is about the largest that is left, and that order.

    Rows of R are then as well conditioned as those of a QR with pivoting. Sorting by length nearly always suffices.
    """
    order = torch.argsort(log_scale, dim=-1, descending=True, stable=True)
    n = image.shape[-1]
    places = torch.arange(n, device=image.device)
    upper = places.unsqueeze(-1) <= places
    for _ in range(REORDERINGS):
        Q, R = _qr(_columns(image, order), log_scale.gather(-1, order))
        left = R.abs().flip(-2).cummax(-2).values.flip(-2).log() + log_scale.gather(-1, order).unsqueeze(-2)
        left = torch.where(upper, left, -torch.inf)  # [k, j]: what column j has left of itself at stage k
        poor = left.amax(dim=-1) > left.diagonal(dim1=-2, dim2=-1) + DISORDER
        if not poor.any():
            break
        stage = torch.where(poor.any(dim=-1), poor.to(torch.int8).argmax(dim=-1), n).unsqueeze(-1)
        at_stage = left.gather(-2, stage.clamp(max=n - 1).unsqueeze(-1).expand(-1, 1, n)).squeeze(-2)
        key = torch.where(places < stage, torch.inf, at_stage)
        order = order.gather(-1, torch.argsort(key, dim=-1, descending=True, stable=True))
    return (*_qr(_columns(image, order), log_scale.gather(-1, order)), order) if poor.any() else (Q, R, order)


def _columns(matrix: Tensor, order: Tensor) -> Tensor:
    return matrix.gather(-1, order.unsqueeze(-2).expand_as(matrix))


def _rows(matrix: Tensor, order: Tensor) -> Tensor:
    return matrix.gather(-2, order.unsqueeze(-1).expand_as(matrix))


def _lengths(vectors: Tensor, dim: int) -> Tensor:
    """2-norms; a sum of squares would take entries below 1e-162 for zeros."""
    largest = vectors.abs().amax(dim=dim, keepdim=True)
    return vector_norm(vectors / torch.where(largest > 0, largest, 1), dim=dim) * largest.squeeze(dim)


def _qr(image: Tensor, log_scale: Tensor) -> tuple[Tensor, Tensor]:
    """Q R with a diagonal ≥ 0 of R, the rows of image · e^log_scale in decreasing size: each keeps its own digits."""
    size = (image.abs().log() + log_scale.unsqueeze(-2)).amax(dim=-1)
    down = torch.argsort(size, dim=-1, descending=True, stable=True)
    sorted_q, R = torch.linalg.qr(_rows(image, down))
    sign = torch.where(R.diagonal(dim1=-2, dim2=-1) < 0, -1, 1)
    index = down.unsqueeze(-1).expand_as(image)
    return torch.empty_like(sorted_q).scatter(-2, index, sorted_q * sign.unsqueeze(-2)), R * sign.unsqueeze(-1)


def _unit_triangular(R: Tensor, scale: Tensor) -> Tensor:
    """D⁻¹ R e^scale with D = diag(R) e^scale: 1 on the diagonal, where a column is smaller than the row's own, less."""
    grown = (scale.unsqueeze(-2) - scale.unsqueeze(-1)).clamp(max=math.log(LARGEST_PART)).exp()
    quotient = (R / R.diagonal(dim1=-2, dim2=-1).unsqueeze(-1)).nan_to_num()
    return (quotient * grown).clamp(-LARGEST_PART, LARGEST_PART).triu(1) + eye(R)
