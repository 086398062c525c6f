"""The linear maps that carry tangent vectors along an orbit of a map: its Jacobians, with their errors."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.frame import SAFETY, UNRESOLVED
from dynlab.program.differentiation import jacobian_and_error
from dynlab.program.jacobian import Operator
from dynlab.trajectories.driven import Driven

Flags = NDArray[np.bool_]

# Above so many states tangent vectors go through a Jacobian's factors, and its matrix is never made: n² numbers a step
# cost more than a product with a few vectors.
DENSE = 128
NUMBERS = 64  # for each unit, that the factors of a Jacobian and their moduli take at most
INTERVALS = 64  # after which their length is chosen anew
AT_ONCE = 2**21  # numbers of Jacobians that are made together: fewer take longer each, more leave the cache


@dataclass(frozen=True)
class TangentMaps:
    """Consecutive linear maps along each orbit, after the steps `start` + 1, `start` + 2, …

    Attributes
    ----------
    start : int
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
    """

    start: int
    apply: Callable[[int, Real], Real]
    log_norms: Real
    log_dets: Real
    roundings: Real
    zeros: Flags
    unseen: Flags
    drowned: Flags

    def cuts(self, done: int, every: int, stops: Index) -> Index:
        """Return where the next `INTERVALS` intervals begin, and the last one's end: after `every` steps at most.

        They end at each of the `stops`, and after a map with zeros; what has lost columns or drowned is alone.
        """
        end = min(done + INTERVALS * every, self.log_norms.shape[1])
        alone = np.flatnonzero(self.unseen.any(axis=(0, 2)) | self.drowned.any(axis=0))
        after = np.concatenate([alone, np.flatnonzero(self.zeros.any(axis=0)), stops - self.start - 1]) + 1
        found = np.concatenate([np.arange(done, end, every), alone, after, [end]])
        return np.unique(found[(found >= done) & (found <= end)])


def jacobian_maps(driven: Driven, first: int, last: int, k: int, inside: Flags) -> Iterator[TangentMaps]:
    """Yield the Jacobians of a driven orbit's steps first + 1 … last, some steps at a time.

    Parameters
    ----------
    driven : Driven
    first, last : int
    k : int
        How many vectors they will multiply.
    inside : ndarray of bool, shape (sample, time + 1)
        Where the orbit is within its bound. From its first Jacobian that is not finite it is set to false here; maps
        outside are the identity.
    """
    samples, _, n = driven.states.shape
    dense = n <= DENSE or k == n
    at_once, start = max(1, AT_ONCE // (samples * (n * n if dense else NUMBERS * n))), first
    for block, rounding in driven.operators_with_rounding(range(first + 1, last + 1), at_once):
        shape = samples, rounding.shape[1]
        within = slice(start + 1, start + shape[1] + 1)
        moduli, ones = block.absolute(), torch.ones(n, 1, dtype=torch.float64, device=rounding.device)
        sums = (moduli.apply_transpose(ones), moduli.apply(ones))
        columns, rows = (each.squeeze(-1).expand(*shape, n).cpu().numpy() for each in sums)
        norms = np.sqrt(columns.max(axis=-1)) * np.sqrt(rows.max(axis=-1))  # √(‖J‖₁ ‖J‖_∞) ≥ ‖J‖₂
        inside[:, within] &= np.isfinite(norms)
        inside[:] = np.logical_and.accumulate(inside, axis=1)
        valid = inside[:, within]
        nothing = np.stack([rows == 0, columns == 0])
        certain = _certain_zeros(driven, start, nothing)
        zeros = certain.any(axis=(0, -1)) & (certain == nothing).all(axis=(0, -1)) & valid
        norms, errors = np.where(valid, norms, 1.0), np.where(valid, np.asarray(rounding.cpu()), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(zeros & (norms == 0), 0.0, errors / norms)
            drowned = ~zeros & ~(SAFETY * share < UNRESOLVED)
            size = np.log(np.where(drowned & (norms == 0), errors, norms))
        dets = np.asarray(block.log_abs_det().expand(*shape).cpu()) if dense else np.full(shape, np.nan)
        yield TangentMaps(
            start,
            _applied(block, dense, valid, rounding.device),
            size,
            np.where(valid, np.where(np.isneginf(dets) & ~zeros, np.nan, dets), 0.0),
            np.where(drowned & (norms == 0), 1.0, share),
            zeros,
            certain[1] & valid[..., None],
            drowned,
        )
        start += shape[1]


def _certain_zeros(driven: Driven, start: int, nothing: Flags) -> Flags:
    """Return which rows and columns of zeros (2, sample, step, n) are so exactly: a saturated slope only rounds to 0."""
    certain = nothing.copy()
    for sample, step in np.argwhere(nothing.any(axis=(0, -1))).tolist():
        given = driven.states[sample, start + step], driven.inputs[sample, start + step], start + step
        exact = (jacobian_and_error(driven.system, *given)[1] == 0).cpu().numpy()
        exact = np.broadcast_to(exact, (nothing.shape[-1],) * 2)
        certain[:, sample, step] &= np.stack([exact.all(axis=1), exact.all(axis=0)])
    return certain


def _applied(block: Operator, dense: bool, valid: Flags, device: torch.device) -> Callable[[int, Real], Real]:
    """Return what multiplies vectors by the Jacobians of one step, the identity where they are not valid."""
    whole = valid.all()
    if dense:
        matrices = np.asarray(block.dense().expand(*valid.shape, block.rows, block.columns).cpu())
        matrices = matrices if whole else np.where(valid[..., None, None], matrices, np.eye(block.rows))
        return lambda index, vectors: matrices[:, index] @ vectors

    def apply(index: int, vectors: Real) -> Real:
        found = np.asarray(block[:, index].apply(torch.from_numpy(vectors).to(device)).cpu())
        return found if whole else np.where(valid[:, index, None, None], found, vectors)

    return apply
