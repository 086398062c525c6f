"""The linear maps that carry tangent vectors along an orbit of a map: its Jacobians, with their errors."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.frame import SAFETY, UNRESOLVED
from dynlab.program.differentiation import jacobian_and_error
from dynlab.program.jacobian import Operator
from dynlab.trajectories.driven import NUMBERS_IN_CACHE, Driven

Flags = NDArray[np.bool_]

# Above so many states tangent vectors go through a Jacobian's factors, and its matrix is never made: n² numbers a step
# cost more than a product with a few vectors.
DENSE = 128
NUMBERS = 64  # for each unit, that the factors of a Jacobian and their moduli take at most


@dataclass(frozen=True)
class TangentMaps:
    """Several consecutive linear maps along each orbit.

    Attributes
    ----------
    apply : callable
        ``apply(index, vectors)`` multiplies vectors (..., sample, n, k) by the maps of one step.
    log_norms, log_dets, roundings : ndarray, shape (sample, step)
        A bound of ln ‖J‖₂; ln abs(det J), NaN where it would need a matrix that is not made; and ‖E‖₂, the error of a
        map and of its product with a vector, as a share of that bound.
    zeros : ndarray of bool, shape (sample, step)
        Whether a row or a column of J is exactly zero, and none only rounds to zero.
    unseen : ndarray of bool, shape (sample, step, n)
        The columns of J that are exactly zero.
    drowned : ndarray of bool, shape (sample, step)
        Whether the map is as small as its error: nothing is known of it but a bound of its norm.
    ends : ndarray of bool, shape (step,)
        After which steps the growth is noted.
    """

    apply: Callable[[int, Real], Real]
    log_norms: Real
    log_dets: Real
    roundings: Real
    zeros: Flags
    unseen: Flags
    drowned: Flags
    ends: Flags

    def boundary(self, start: int) -> int:
        """Return the end of the longest interval from `start` on that the frame may be carried at once."""
        alone = np.asarray(self.unseen.any(axis=(0, 2)) | self.drowned.any(axis=0))[start:]
        stops = np.flatnonzero(self.ends[start:] | alone) + 1
        first = int(stops[0]) if len(stops) else len(alone)
        return start + (first if not alone[first - 1] or first == 1 else first - 1)


def jacobian_maps(driven: Driven, first: int, last: int, k: int, stops: Index, inside: Flags) -> Iterator[TangentMaps]:
    """Yield the Jacobians of a driven orbit's steps first + 1 … last, some steps at a time.

    Parameters
    ----------
    driven : Driven
    first, last : int
    k : int
        How many vectors they will multiply.
    stops : ndarray of int
        The steps after which growth is noted.
    inside : ndarray of bool, shape (sample, time + 1)
        Where the orbit is within its bound. From its first Jacobian that is not finite it is set to false here; maps
        outside are the identity.
    """
    samples, _, n = driven.states.shape
    dense = n <= DENSE or k == n
    at_once = max(1, NUMBERS_IN_CACHE // (samples * (n * n if dense else NUMBERS * n)))
    start = first
    for block, rounding in driven.operators_with_rounding(range(first + 1, last + 1), at_once):
        count = rounding.shape[1]
        within = slice(start + 1, start + count + 1)
        moduli, ones = block.absolute(), torch.ones(n, 1, dtype=torch.float64, device=rounding.device)
        columns, rows = (
            part.squeeze(-1).expand(samples, count, n).cpu().numpy()
            for part in (moduli.apply_transpose(ones), moduli.apply(ones))
        )
        norms = np.sqrt(columns.max(axis=-1)) * np.sqrt(rows.max(axis=-1))  # √(‖J‖₁ ‖J‖_∞) ≥ ‖J‖₂
        inside[:, within] &= np.isfinite(norms)
        inside[:] = np.logical_and.accumulate(inside, axis=1)
        valid = inside[:, within]
        zero_rows, zero_columns = _certain_zeros(driven, start, rows == 0, columns == 0)
        norms, errors = np.where(valid, norms, 1.0), np.where(valid, np.asarray(rounding.cpu()), 0.0)
        doubtful = ((rows == 0) ^ zero_rows | (columns == 0) ^ zero_columns).any(axis=-1)  # some only round to zero
        zeros = (zero_rows.any(axis=-1) | zero_columns.any(axis=-1)) & ~doubtful & valid
        share = np.where(norms > 0, errors / np.where(norms > 0, norms, 1), np.where(zeros, 0, np.inf))
        dets = np.asarray(block.log_abs_det().expand(samples, count).cpu()) if dense else np.full(norms.shape, np.nan)
        dets = np.where(np.isneginf(dets) & ~zeros, np.nan, dets)
        drowned = ~zeros & ~(SAFETY * share < UNRESOLVED)
        with np.errstate(divide="ignore"):
            size = np.log(np.where(drowned & (norms == 0), errors, norms))
        yield TangentMaps(
            _applied(block, dense, samples, count, None if valid.all() else valid, rounding.device),
            size,
            np.where(valid, dets, 0.0),
            np.where(drowned & (norms == 0), 1.0, share),
            zeros,
            zero_columns & valid[..., None],
            drowned,
            np.isin(np.arange(start + 1, start + count + 1), stops),
        )
        start += count


def _certain_zeros(driven: Driven, start: int, rows: Flags, columns: Flags) -> tuple[Flags, Flags]:
    """Return which rows and columns of zeros are so exactly: the slope of a saturated unit only rounds to 0."""
    rows, columns = rows.copy(), columns.copy()
    for sample, step in np.argwhere((rows | columns).any(axis=-1)).tolist():
        given = driven.states[sample, start + step], driven.inputs[sample, start + step], start + step
        exact = (jacobian_and_error(driven.system, *given)[1] == 0).cpu().numpy()
        exact = np.broadcast_to(exact, (rows.shape[-1],) * 2)
        rows[sample, step] &= exact.all(axis=1)
        columns[sample, step] &= exact.all(axis=0)
    return rows, columns


def _applied(
    block: Operator, dense: bool, samples: int, count: int, valid: Flags | None, device: torch.device
) -> Callable[[int, Real], Real]:
    """Return what multiplies vectors by the Jacobians of one step, the identity where they are not valid."""
    if dense:
        matrices = np.asarray(block.dense().expand(samples, count, block.rows, block.columns).cpu())
        if valid is not None:
            matrices = np.where(valid[..., None, None], matrices, np.eye(block.rows))
        return lambda index, vectors: matrices[:, index] @ vectors

    def apply(index: int, vectors: Real) -> Real:
        given: Tensor = torch.from_numpy(vectors).to(device)
        found = np.asarray(block[:, index].apply(given).cpu())
        return found if valid is None else np.where(valid[:, index, None, None], found, vectors)

    return apply
