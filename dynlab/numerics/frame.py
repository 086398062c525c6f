"""Tangent vectors that are carried along an orbit, and made orthonormal again before rounding blurs them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.linalg import solve_triangular, vector_norm

# The first-order bound of `stretched` has no constants of QR and multiplication; the true error of 4,000 random and
# saturated products was at most 2.4 times as large (see dynlab.numerics.graded_product).
SAFETY = 4.0
UNRESOLVED = 0.1  # a relative error of a growth factor from which on its logarithm is not known
ALIKE = 1e-3  # rows that are no smaller than this share of the largest lose three digits at most in a QR as they are
SLACK = 0.9  # an interval is aimed a little shorter than allowed, so that few have to be taken back
SMALLEST_CHANGE, LARGEST_CHANGE = 0.2, 2.0  # of the interval's length from one to the next


@dataclass(frozen=True)
class Frame:
    """k tangent vectors for each sample, and how much they have grown.

    Attributes
    ----------
    columns : Tensor, shape (sample, state, k)
        Orthonormal; zero for a dimension that an exactly singular Jacobian took away.
    log_growth : Tensor, shape (sample, k)
        Σ ln R_ii; −inf for a dimension that is gone.
    bound : Tensor, shape (sample, k)
        Of the error of `log_growth` by rounding; inf from where a growth factor drowned in it.
    """

    columns: Tensor
    log_growth: Tensor
    bound: Tensor


@dataclass(frozen=True)
class Growth:
    """How much a frame grew along orbits.

    Attributes
    ----------
    log_growth : ndarray, shape (sample, stop, mode)
        Since the transient; NaN once the orbit was cut or the mode is not resolved, −inf once its dimension is gone.
    log_det : ndarray, shape (sample,)
        ln abs(det) of all that was multiplied since the transient, of a flow the integral of its divergence.
    bound : ndarray, shape (sample, mode)
        Of the error of the last `log_growth` by rounding; inf beside a finite growth that is an upper bound only.
    cut : ndarray, shape (sample,)
        When the orbit left the bound on states, or was lost; inf where it did not.
    lost : ndarray of bool, shape (sample,)
        Whether it was cut where it is no number, or its derivative is not, and not beyond the bound.
    visited : ndarray, shape (sample, stop, state)
        The states at the stops; of a flow NaN once it was cut.
    length : float
        Of the mean interval between two orthonormalisations, in steps or seconds.
    others : ndarray, shape (frame, sample, mode)
        The last `log_growth` of further frames, from other random directions.
    """

    log_growth: NDArray[np.float64]
    log_det: NDArray[np.float64]
    bound: NDArray[np.float64]
    cut: NDArray[np.float64]
    lost: NDArray[np.bool_]
    visited: NDArray[np.float64]
    length: float
    others: NDArray[np.float64]


def beyond(states: Tensor, largest_state: float) -> NDArray[np.bool_]:
    """Which of the states (sample, state) are beyond the bound; one that is no number is not."""
    found: NDArray[np.bool_] = (states.abs() > largest_state).any(dim=-1).cpu().numpy()
    return found


def random_frame(samples: int, size: int, k: int, seed: int, like: Tensor) -> Frame:
    """The same k random directions for every sample: an axis might be an invariant direction, these are not.

    The first of them do not depend on k: an exponent is the same number however many are asked for.
    """
    drawn = np.random.default_rng(seed).standard_normal((k, size)).T
    columns = torch.linalg.qr(torch.as_tensor(drawn, dtype=torch.float64, device=like.device)).Q
    zero = torch.zeros(samples, k, dtype=torch.float64, device=like.device)
    return Frame(columns.expand(samples, size, k), zero, zero)


def stacked(frames: Sequence[Frame]) -> Frame:
    """Several frames as one, each with samples of its own."""
    parts = ([frame.columns, frame.log_growth, frame.bound] for frame in frames)
    return Frame(*(torch.cat(part) for part in zip(*parts, strict=True)))


def renewed(frame: Frame, seed: int) -> Frame:
    """The frame after the transient: nothing has grown yet, and dimensions that were lost are there again."""
    gone = (frame.columns == 0).all(dim=-2, keepdim=True)
    samples, size, k = frame.columns.shape
    columns = torch.where(gone, random_frame(samples, size, k, seed, frame.columns).columns, frame.columns)
    Q, _ = torch.linalg.qr(columns) if gone.any() else (columns, None)
    zero = torch.zeros_like(frame.log_growth)
    return Frame(Q, zero, zero)


def stretched(
    frame: Frame, image: Tensor, log_size: Tensor, roundings: Tensor | float, singular: Tensor | None = None
) -> tuple[Frame, float]:
    """The frame made orthonormal again, and the largest error of a growth factor that is not gone.

    Parameters
    ----------
    frame : Frame
    image : Tensor, shape (sample, state, k)
        What the Jacobians J_1 … J_m have made of its columns.
    log_size : Tensor, shape (sample,)
        ln of a bound on ‖J_m‖ … ‖J_1‖.
    roundings : Tensor, shape (sample,), or float
        Error of `image` relative to that bound: n ε for each factor, and what its own entries are wrong by.
    singular : Tensor of bool, shape (sample,), optional
        Whether the last factor takes a dimension away: only then is R_ii = 0 a dimension that is gone. Elsewhere it has
        underflowed, or cancelled, and the mode is not known.

    Notes
    -----
    With Q R = `image`, a change δ of it moves ln R_ii by (Qᵀ δ R⁻¹)_ii to first order: by at most
    ‖δ‖₂ ‖R⁻¹ e_i‖₂.
    """
    columns, R = orthonormal(image)
    diagonal = R.diagonal(dim1=-2, dim2=-1)
    gone = torch.isneginf(frame.log_growth)
    if singular is not None:
        gone = gone | ((diagonal == 0) & singular.unsqueeze(-1))
    eye = torch.eye(R.shape[-1], dtype=R.dtype, device=R.device)
    vanished = diagonal == 0
    if vanished.any() or gone.any():
        columns, R = columns.masked_fill(gone.unsqueeze(-2), 0), torch.where((gone | vanished).unsqueeze(-2), eye, R)
    inverse = solve_triangular(R, eye.expand_as(R), upper=True)
    error = _errors(inverse, log_size, roundings).masked_fill(vanished, torch.inf).masked_fill(gone, 0)
    known = torch.where(error < UNRESOLVED, error, torch.inf)
    grown = torch.where(gone, -torch.inf, frame.log_growth + diagonal.abs().log())
    counted = error.masked_fill(torch.isinf(frame.bound), 0)  # a mode that is lost already need not be spared
    return Frame(columns, grown, frame.bound + known), float(counted.max())


def passed(frame: Frame, triangles: Tensor, log_sizes: Tensor, roundings: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The growth after each of several orthonormalisations, its bound, and the errors of the growth factors.

    Parameters
    ----------
    frame : Frame
        Before the first; no dimension of it is gone.
    triangles : Tensor, shape (time, sample, k, k)
        R of each, with a diagonal without zeros.
    log_sizes, roundings : Tensor, shape (time, sample)
        As `stretched` takes them.

    Returns
    -------
    Tensor, shape (time, sample, k)
        Each of the three; the errors are 0 of modes that were lost before.
    """
    eye = torch.eye(triangles.shape[-1], dtype=triangles.dtype, device=triangles.device)
    grown = frame.log_growth + triangles.diagonal(dim1=-2, dim2=-1).abs().log().cumsum(dim=0)
    error = _errors(solve_triangular(triangles, eye.expand_as(triangles), upper=True), log_sizes, roundings)
    bound = frame.bound + torch.where(error < UNRESOLVED, error, torch.inf).cumsum(dim=0)
    return grown, bound, error.masked_fill(torch.isinf(frame.bound), 0)


def _errors(inverse: Tensor, log_size: Tensor, roundings: Tensor | float) -> Tensor:
    """Of ln R_ii, by the inverse of R."""
    error = SAFETY * (roundings * log_size.exp()).unsqueeze(-1) * vector_norm(inverse, dim=-2)
    return torch.nan_to_num(error, nan=torch.inf)


def alike(sizes: Tensor) -> Tensor:
    """Whether rows of these sizes (..., row) are so alike that a QR needs no order of them, shape (...)."""
    return sizes.amin(dim=-1) > ALIKE * sizes.amax(dim=-1)


def orthonormal(image: Tensor) -> tuple[Tensor, Tensor]:
    """Q R of the rows sorted by size where they differ, which keeps the digits of small ones and exact zeros."""
    rows = image.abs().amax(dim=-1)
    if bool(alike(rows).all()):
        return torch.linalg.qr(image)
    down = torch.argsort(rows, dim=-1, descending=True, stable=True).unsqueeze(-1).expand_as(image)
    Q, R = torch.linalg.qr(image.gather(-2, down))
    return torch.empty_like(Q).scatter(-2, down, Q), R


def change_of_length(worst: float, tolerance: float, base: float) -> float:
    """The factor by which an interval may grow, or must shrink, where the largest error grows like base·κ^length."""
    if worst <= base:
        return LARGEST_CHANGE
    if not math.isfinite(worst):
        return SMALLEST_CHANGE
    wanted = SLACK * math.log(tolerance / base) / max(math.log(worst) - math.log(base), np.finfo(float).eps)
    return min(LARGEST_CHANGE, max(SMALLEST_CHANGE, wanted))
