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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.linalg import solve_triangular, vector_norm

# For what is beyond first order, and for T far from orthogonal: tests/diagnostics/test_stated_errors.py holds it.
SAFETY = 4.0
KNOWN = 1e-3  # error of a logarithm, or as a share of it beyond ±1, up to which it is stated
# A column stays where it is while none behind it is larger by more than this factor e; otherwise QR is done once more.
DISORDER = 1.0
FAR = 230.0  # of a larger scale in a smaller row nothing is known: its logarithm
# A row is lost of which so much is wrong, or that may hold so much of a larger one, as beside a kink: rounding is less.
DROWNED, TURNED = 0.1, 1e-4
NO_BOUND = 1e12  # the logarithm of what is larger than any product: of rows that may be of any size
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
        d, nearly decreasing; −inf for each dimension that an exact zero took away.
    rows : Tensor, shape (sample, state, state)
        T, whose rows have length 1, unless it is one matrix.
    shares : Tensor, shape (sample, state)
        How much of each row is wrong, as a share of it.
    turned : Tensor, shape (sample, state, state)
        ln of the share of row i that Q's error puts in the place of row k, [k, i]: a later factor may mix the two.
    lost : Tensor of bool, shape (sample, state)
        The rows that drowned in errors: e^d bounds their length, and nothing else is known of them.
    pattern : Tensor of bool, shape (sample, state, state)
        Which entries of the product are not zero for certain.
    nullity : Tensor of int, shape (sample,)
        How many singular values are exactly zero for certain: a product of factors has so many rows or columns of
        zeros.
    valid : Tensor of bool, shape (sample,)
        False from the first factor that is not finite.
    """

    orthogonal: Tensor
    log_scale: Tensor
    rows: Tensor
    shares: Tensor
    turned: Tensor
    lost: Tensor
    pattern: Tensor
    nullity: Tensor
    valid: Tensor

    def error(self) -> Tensor:
        """Return a bound for the error of ln σ of each mode, decreasing σ: no mode is better than those above it."""
        d, order = torch.sort(self.log_scale, dim=-1, descending=True, stable=True)
        shares, lost = self.shares.gather(-1, order), self.lost.gather(-1, order)
        rounding = torch.finfo(d.dtype).eps * (d.shape[-1] + d.abs().nan_to_num(0, 0))
        # rows whose squares sum to e^2L, added to a matrix, add at most e^2L to the square of each singular value
        beneath = torch.where(lost.unsqueeze(-2), 2 * (d.unsqueeze(-2) - d.unsqueeze(-1)), -torch.inf).exp().sum(dim=-1)
        each = torch.where(lost | torch.isneginf(d), torch.inf, shares + rounding + beneath)
        return torch.where(self.certain_zeros(), 0, SAFETY * each.nan_to_num(torch.inf).cummax(dim=-1).values)

    def certain_zeros(self) -> Tensor:
        """Return which modes are exactly zero for certain, shape (sample, state)."""
        n = self.log_scale.shape[-1]
        return torch.arange(n, device=self.nullity.device) >= n - self.nullity.unsqueeze(-1)


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
    eye, zero = _eye(like, size).expand(samples, size, size), like.new_zeros(samples, size)
    nullity = torch.zeros(samples, dtype=torch.int64, device=like.device)
    return GradedProduct(
        eye, zero, eye, zero, torch.full_like(eye, -torch.inf), zero > 0, eye > 0, nullity, nullity == 0
    )


def of_matrix(matrix: Tensor, log_scale: Tensor) -> GradedProduct:
    """e^log_scale times matrices (sample, state, state), as they are: their errors are 0."""
    like = identity(len(matrix), matrix.shape[-1], matrix)
    return dataclasses.replace(like, log_scale=log_scale.unsqueeze(-1) + like.log_scale, rows=matrix)


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
    possible = (factor != 0) | (error != 0)
    blind = ~possible.any(dim=-2)
    if blind.any():  # columns of zeros take dimensions away, and exactly so where the projection is a factor of its own
        kept = torch.diag_embed((~blind).to(factor.dtype))
        product = _multiply(kept, product, torch.zeros_like(kept))
    product = _multiply(factor, product, error)
    pattern, nullity = product.pattern, product.nullity
    if not (possible.all() and pattern.all()):
        pattern = possible.to(factor.dtype) @ pattern.to(factor.dtype) > 0
        counts = (blind, ~pattern.any(dim=-1), ~pattern.any(dim=-2))
        nullity = torch.stack([nullity, *(each.sum(dim=-1) for each in counts)]).amax(dim=0)
    return dataclasses.replace(product, valid=product.valid & finite, pattern=pattern, nullity=nullity)


def _multiply(factor: Tensor, product: GradedProduct, error: Tensor) -> GradedProduct:
    """J Q = Q' R: R e^d is e^d' N with N unit triangular, so that the rows become N T.

    What is wrong with J Q and its QR, E, makes a factor I + F beside Q', F = Q'ᵀ E R⁻¹. It adds to row k F_ki of
    row i; of a smaller row that share is smaller in row k, and a larger one only turns Q'.
    """
    unit = factor.shape[-1] ** 0.5 * torch.finfo(factor.dtype).eps
    image = factor @ product.orthogonal
    possible = ((factor != 0) | (error != 0)).any(dim=-1, keepdim=True)
    reached = LEAST * factor.shape[-1] * possible
    wrong = (error + unit * factor.abs()) @ product.orthogonal.abs() + reached
    length = _lengths(image, -2)
    length = torch.where(length > 0, length, _lengths(wrong, -2))  # of what vanished all is wrong
    divisor = torch.where(length > 0, length, 1).unsqueeze(-2)
    Q, R, order = _ordered_qr(image / divisor, length.log() + product.log_scale)
    image, wrong = _columns(image / divisor, order), _columns(wrong / divisor + reached, order)
    scale = (length.log() + product.log_scale).gather(-1, order)
    left = (Q.mT @ (image - Q @ R)).abs() + Q.abs().mT @ (wrong + unit * (Q.abs() @ R.abs()))
    diagonal = R.diagonal(dim1=-2, dim2=-1)
    void = (R == 0).all(dim=-2)  # of a column that vanished the direction is unknown
    largest = torch.where(void, left.amax(dim=-2), left.diagonal(dim1=-2, dim2=-1))
    diagonal = torch.where(diagonal == 0, largest, diagonal)  # a zero is as large as it may be
    alive = (diagonal > 0) & ~torch.isneginf(scale)
    R = torch.diagonal_scatter(R, torch.where(alive, diagonal, 1), dim1=-2, dim2=-1)
    mixing = _unit_triangular(R, scale, alive)
    rows = _rows(product.rows, order)
    shares, lost = product.shares.gather(-1, order), product.lost.gather(-1, order)
    mixed = mixing @ rows
    norm = vector_norm(mixed, dim=-1)
    size = torch.where(lost, mixing.abs().sum(dim=-1), norm)
    d = torch.where(alive, scale + diagonal.log() + size.log(), -torch.inf)
    passed = (mixing.abs() * torch.where(lost, 1, shares).unsqueeze(-2)).nan_to_num(torch.inf).amax(dim=-1) / norm
    own = unit * vector_norm(mixing.abs() @ rows.abs(), dim=-1) / norm
    before = _rows(_columns(product.turned, order), order)
    crossing = (mixing.triu(1).abs().log() + before.mT).nan_to_num(-torch.inf, torch.inf, -torch.inf).exp()
    own = own + crossing.sum(dim=-1) + crossing.sum(dim=-2)
    own = own + torch.finfo(d.dtype).eps * (scale.abs() + d.abs()).nan_to_num(0, 0)
    F = (left @ solve_triangular(R, _eye(R).expand_as(R), upper=True).abs()).nan_to_num(torch.inf, torch.inf)
    F = torch.where(alive.unsqueeze(-2), F, 0)
    gap = torch.where(alive.unsqueeze(-2), d.unsqueeze(-2) - d.unsqueeze(-1), -torch.inf)  # [k, i]: d_i − d_k
    mixed_in, turned = (F.log() + gap.clamp(max=0)).exp(), torch.where(gap > 0, F, 0)
    heavy = (mixed_in >= DROWNED) | (turned >= TURNED)
    most = torch.logsumexp(torch.where(heavy, F.log() + d.unsqueeze(-2), -torch.inf), dim=-1)
    d, lost = (
        torch.logaddexp(d, most).nan_to_num(NO_BOUND, NO_BOUND, -torch.inf),
        (alive & (lost | void)) | heavy.any(dim=-1),
    )
    shares = torch.maximum(shares, passed) + own + mixed_in.sum(dim=-1)
    turned = torch.maximum(before, turned.log() + gap.nan_to_num(0))
    rows = mixed / norm.unsqueeze(-1)
    return dataclasses.replace(product, orthogonal=Q, log_scale=d, rows=rows, shares=shares, turned=turned, lost=lost)


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


def _unit_triangular(R: Tensor, scale: Tensor, alive: Tensor) -> Tensor:
    """D⁻¹ R e^scale with D = diag(R) e^scale: 1 on the diagonal, where a column is smaller than the row's own, less."""
    both = alive.unsqueeze(-1) & ~torch.isneginf(scale).unsqueeze(-2)  # a column whose own mode dies here still counts
    difference = torch.where(both, scale.unsqueeze(-2) - scale.unsqueeze(-1), -torch.inf).clamp(max=FAR)
    quotient = (R / R.diagonal(dim1=-2, dim2=-1).unsqueeze(-1)).nan_to_num()
    return (quotient * difference.exp()).clamp(-1e100, 1e100).triu(1) + _eye(R)


def _eye(like: Tensor, size: int = 0) -> Tensor:
    return torch.eye(size or like.shape[-1], dtype=like.dtype, device=like.device)
