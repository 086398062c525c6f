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

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.linalg import vector_norm

from dynlab.numerics.product_errors import (
    NO_ZERO,
    local_error,
    lose,
    lose_zeros,
    mixed_errors,
    of_modes,
    rounding_of_logarithms,
    rounding_of_sums,
    with_factor_errors,
)

KNOWN = 1e-3  # error of a logarithm, or as a share of it beyond ±1, up to which it is stated
# A column stays where it is while none behind it is larger by more than this factor e; otherwise QR is done once more.
DISORDER = 1.0
LARGEST_PART = 1e100  # of one row in another, in lengths of the other: beyond it nothing is known of the other
LEAST = 2.0**-1074  # the smallest number: what a term of a sum may lose where it underflows
REORDERINGS = 16  # at most; of 100 factors of saturated networks two needed one


@dataclass(frozen=True)
class GradedProduct:
    """Q e^d T, one for each sample.

    Attributes
    ----------
    orthogonal : Tensor, shape (sample, state, state)
        Q.
    log_scale : Tensor, shape (sample, state)
        d, nearly decreasing; −inf for each dimension that an exact zero took away, of lost rows a bound.
    rows : Tensor, shape (sample, state, state)
        T, whose rows have length 1.
    log_error : Tensor, shape (sample, state, state)
        ln Y: row k of T is wrong by at most Y_ki times row i, or ln F for a row that is zero; see
        `dynlab.numerics.product_errors`.
    lost : Tensor of bool, shape (sample, state)
        The rows that drowned in errors: e^d bounds their length, and nothing else is known of them.
    nullity : Tensor of int, shape (sample,)
        How many singular values are exactly zero for certain: a factor has so many rows or columns of zeros.
    valid : Tensor of bool, shape (sample,)
        False from the first factor that is not finite.
    """

    orthogonal: Tensor
    log_scale: Tensor
    rows: Tensor
    log_error: Tensor
    lost: Tensor
    nullity: Tensor
    valid: Tensor

    def error(self) -> Tensor:
        """Return a bound for the error of ln σ of each mode, decreasing σ: no mode is better than those above it."""
        return torch.where(self.certain_zeros(), 0, of_modes(self.log_error, self.log_scale, self.lost))

    def certain_zeros(self) -> Tensor:
        """Return which modes are exactly zero for certain, shape (sample, state)."""
        n = self.log_scale.shape[-1]
        zeros = torch.minimum(self.nullity, torch.isneginf(self.log_scale).sum(dim=-1))
        return torch.arange(n, device=self.nullity.device) >= n - zeros.unsqueeze(-1)


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
    eye = torch.eye(size, dtype=like.dtype, device=like.device).expand(samples, size, size)
    zero = like.new_zeros(samples, size)
    nullity = torch.zeros(samples, dtype=torch.int64, device=like.device)
    return GradedProduct(eye, zero, eye, torch.full_like(eye, -torch.inf), zero > 0, nullity, nullity == 0)


def accumulate(factors: Iterable[tuple[Tensor, Tensor]]) -> Iterator[GradedProduct]:
    """J₁, J₂ J₁, J₃ J₂ J₁, … of factors with bounds on the error of their entries, each (sample, state, state)."""
    product = None
    for factor, error in factors:
        if product is None:
            product = identity(factor.shape[0], factor.shape[-1], factor)
        product = multiply(factor, product, error)
        yield product


def multiply(factor: Tensor, product: GradedProduct, error: Tensor) -> GradedProduct:
    """Return ``factor @ product``, where an entry of the factor is wrong by `error` at most."""
    finite = torch.isfinite(factor).all(dim=(-2, -1))
    factor = torch.where(finite[:, None, None], factor, _eye(factor))
    error = torch.where(finite[:, None, None], error, 0)
    blind = ((factor == 0) & (error == 0)).all(dim=-2)
    if blind.any():  # columns of zeros take dimensions away, and exactly so where the projection is a factor of its own
        kept = torch.diag_embed((~blind).to(factor.dtype))
        product = _multiply(kept, product, torch.zeros_like(kept))
    product = _multiply(factor, product, error)
    return dataclasses.replace(product, valid=product.valid & finite)


def _multiply(factor: Tensor, product: GradedProduct, error: Tensor) -> GradedProduct:
    image = factor @ product.orthogonal
    reached = LEAST * _terms(factor, error, product)
    wrong = (error + rounding_of_sums(factor) * factor.abs()) @ product.orthogonal.abs() + reached
    wrong = wrong + (image.abs() + wrong) @ _towards_vanished(product)
    unknown = (wrong > NO_ZERO * (factor.abs() @ product.orthogonal.abs())).any(dim=-2)
    length = _lengths(image, -2)
    length = torch.where(length > 0, length, _lengths(wrong, -2))  # of what vanished all is wrong
    divisor = torch.where(length > 0, length, 1).unsqueeze(-2)
    Q, R, order = _ordered_qr(image / divisor, length.log() + product.log_scale)
    image, wrong = _columns(image / divisor, order), _columns(wrong / divisor + reached, order)
    scale, lost = (length.log() + product.log_scale).gather(-1, order), product.lost.gather(-1, order)
    nullity = _nullity(factor, error, product)
    R = _with_doubtful_zeros(Q, R, wrong, scale, nullity)
    diagonal = R.diagonal(dim1=-2, dim2=-1)
    alive = (diagonal > 0) & ~torch.isneginf(scale)
    mixing = _unit_triangular(R, scale, alive)
    rows, before = _rows(product.rows, order), _rows(_columns(product.log_error, order), order)
    mixed = mixing @ rows
    norm = vector_norm(mixed, dim=-1)
    size = torch.where(lost, mixing.abs().sum(dim=-1), norm)
    log_scale = torch.where(alive, scale + diagonal.log() + size.log(), -torch.inf)
    own = rounding_of_sums(R) * vector_norm(mixing.abs() @ rows.abs(), dim=-1) / norm
    own = own + rounding_of_logarithms(scale) + rounding_of_logarithms(log_scale)
    dying = ~alive & ~torch.isneginf(product.log_scale.gather(-1, order))
    own = own + _of_dying(before, mixing, lost, dying) / norm
    own = torch.where(mixing.abs().amax(dim=-1) < LARGEST_PART, own, torch.inf)
    kept = lose(mixed_errors(before, own, mixing, log_scale, lost), log_scale, lost)
    added = local_error(image, wrong, Q, R)
    log_error = with_factor_errors(kept[0], added, kept[1], scale)
    log_error, log_scale, lost = lose(log_error, *kept[1:])
    log_error, log_scale, lost = lose_zeros(log_error, added, log_scale, scale, lost, unknown.gather(-1, order))
    return GradedProduct(Q, log_scale, mixed / norm.unsqueeze(-1), log_error, lost, nullity, product.valid)


def _of_dying(log_error: Tensor, mixing: Tensor, lost: Tensor, dying: Tensor) -> Tensor:
    """Return the share (sample, state) of a row that is wrong because of rows which are zero from now on.

    A row that dies is itself wrong by all of its errors, or lost; a row that stays by its share of it.
    """
    ends = dying.unsqueeze(-2)
    wrong = torch.where(lost, 1, torch.logsumexp(log_error, dim=-1).exp())
    shares = torch.where(ends, log_error, -torch.inf).exp().sum(dim=-1)
    parts = mixing.abs().triu(1) * torch.where(ends, wrong.unsqueeze(-2), 0)
    return (parts.sum(dim=-1) + (mixing.abs().triu() @ shares.unsqueeze(-1)).squeeze(-1)).nan_to_num(torch.inf)


def _towards_vanished(product: GradedProduct) -> Tensor:
    """[j, i]: how much of column j of Q, whose row is zero, column i may have."""
    zero = torch.isneginf(product.log_scale)
    share = product.log_error.clamp(max=math.log(LARGEST_PART)).exp()
    return torch.where(zero.unsqueeze(-1) & ~zero.unsqueeze(-2), share, 0)


def _with_doubtful_zeros(Q: Tensor, R: Tensor, wrong: Tensor, scale: Tensor, nullity: Tensor) -> Tensor:
    """Return R with zeros of its diagonal made as large as they may be wrong, but for those that are zero for certain.

    Which they are the columns' errors and not their values decide: `local_error` sees that nothing is known of them.
    """
    dead = (R.diagonal(dim1=-2, dim2=-1) == 0) | torch.isneginf(scale)
    place = dead.cumsum(-1)
    doubtful = dead & (place <= place[..., -1:] - nullity.unsqueeze(-1))
    possible = (Q.abs() * wrong).sum(dim=-2).clamp(min=torch.finfo(R.dtype).tiny)
    return R + torch.diag_embed(torch.where(doubtful, possible, 0))


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


def _terms(factor: Tensor, error: Tensor, product: GradedProduct) -> Tensor:
    """Count the terms of each entry of ``factor @ product.orthogonal`` that are not zero for certain."""
    return ((factor != 0) | (error != 0)).to(factor.dtype) @ (product.orthogonal != 0).to(factor.dtype)


def _lengths(vectors: Tensor, dim: int) -> Tensor:
    """2-norms; a sum of squares would take entries below 1e-162 for zeros."""
    largest = vectors.abs().amax(dim=dim, keepdim=True)
    return vector_norm(vectors / torch.where(largest > 0, largest, 1), dim=dim) * largest.squeeze(dim)


def _nullity(factor: Tensor, error: Tensor, product: GradedProduct) -> Tensor:
    """Count the dimensions of ``factor @ product`` that are gone for certain: rows of zeros, vanished columns."""
    zero = torch.isneginf(product.log_scale)
    dead = ((factor == 0) & (error == 0)).all(dim=-1)
    if not (zero.any() or dead.any()):
        return product.nullity
    vanishing = (_terms(factor, error, product) == 0).all(dim=-2)
    leaning = _towards_vanished(product) >= NO_ZERO
    gone = vanishing & ~zero & ~(leaning & ~vanishing.unsqueeze(-1)).any(dim=-2)
    # what is lost, or leans on another, may be what was counted before, and counts once
    certain = zero & ~leaning.any(dim=-1)
    some = product.lost.any(dim=-1) | (zero & ~certain).any(dim=-1)
    counted = torch.where(some, certain.sum(dim=-1).minimum(product.nullity), product.nullity)
    return torch.maximum(torch.maximum(product.nullity, counted + gone.sum(dim=-1)), dead.sum(dim=-1))


def _qr(image: Tensor, log_scale: Tensor) -> tuple[Tensor, Tensor]:
    """Q R with a diagonal ≥ 0 of R, the rows of image · e^log_scale in decreasing size: each keeps its own digits."""
    size = (image.abs().log() + log_scale.unsqueeze(-2)).amax(dim=-1)
    down = torch.argsort(size, dim=-1, descending=True, stable=True)
    sorted_q, R = torch.linalg.qr(_rows(image, down))
    sign = torch.where(R.diagonal(dim1=-2, dim2=-1) < 0, -1, 1)
    index = down.unsqueeze(-1).expand_as(image)
    return torch.empty_like(sorted_q).scatter(-2, index, sorted_q * sign.unsqueeze(-2)), R * sign.unsqueeze(-1)


def _unit_triangular(R: Tensor, scale: Tensor, alive: Tensor) -> Tensor:
    """D⁻¹ R e^scale with D = diag(R) e^scale: 1 on the diagonal, where a column is smaller than the row's own, less."""
    difference = (scale.unsqueeze(-2) - scale.unsqueeze(-1)).triu(1)
    both = alive.unsqueeze(-1) & ~torch.isneginf(scale).unsqueeze(-2)  # a column whose own mode dies here still counts
    quotient = (R / torch.where(alive, R.diagonal(dim1=-2, dim2=-1), 1).unsqueeze(-1)).nan_to_num()
    grown = torch.where(both, difference.clamp(max=math.log(LARGEST_PART)), -torch.inf).exp()
    off = (quotient * grown).clamp(-LARGEST_PART, LARGEST_PART).triu(1)
    return off + _eye(R)


def _eye(like: Tensor) -> Tensor:
    return torch.eye(like.shape[-1], dtype=like.dtype, device=like.device)
