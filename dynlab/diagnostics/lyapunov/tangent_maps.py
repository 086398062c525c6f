"""The linear maps that carry tangent vectors along an orbit of a map: its Jacobians, with their errors."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.frame import SAFETY, UNRESOLVED
from dynlab.program.jacobian import Operator
from dynlab.trajectories.driven import Driven

Flags = NDArray[np.bool_]

# Above so many states tangent vectors go through a Jacobian's factors, and its matrix is never made: n² numbers a step
# cost more than a product with a few vectors.
DENSE = 128
NUMBERS = 64  # for each unit, that the factors of a Jacobian and their moduli take at most
AT_ONCE = 2**21  # numbers of Jacobians that are made together: fewer take longer each, more leave the cache
STEPS = 1024  # at most, of which the products are chosen together


@dataclass(frozen=True)
class TangentMaps:
    """Consecutive linear maps along each orbit, of the steps from `start` + 1 on.

    Attributes
    ----------
    start : int
    apply : callable
        ``apply(index, vectors)`` multiplies vectors (..., sample, n, k) by the maps of one step.
    log_norms, log_dets, roundings : ndarray, shape (sample, step)
        A bound of ln ‖J‖₂; ln abs(det J), NaN where it would need a matrix that is not made; and ‖E‖₂, the error of a
        map and of its product with a vector, as a share of that bound.
    nullities : ndarray of int, shape (sample, step)
        Number of dimensions that are gone for certain after the step: the most rows or columns of zeros so far.
    singular : ndarray of bool, shape (sample, step)
        True where the map itself has a row or a column of zeros for certain.
    drowned : ndarray of bool, shape (sample, step)
        True where the map is as small as its error: nothing is known of it but a bound of its norm.
    """

    start: int
    apply: Callable[[int, Real], Real]
    log_norms: Real
    log_dets: Real
    roundings: Real
    nullities: Index
    singular: Flags
    drowned: Flags


def inside_of(driven: Driven, largest_state: float) -> Flags:
    """Return where orbits are within their bound, (sample, time + 1); once they left it they are not."""
    bounded = (driven.states.abs() <= largest_state).all(dim=-1).cpu().numpy()
    return np.asarray(np.logical_and.accumulate(bounded, axis=1))


def cut_at(states: Real, inside: Flags, largest_state: float) -> tuple[Real, Flags]:
    """Return at which step (sample,) orbits left the bound, inf where they did not, and whether it was within it."""
    first = np.argmin(inside, axis=1)
    cut = np.where(inside.all(axis=1), np.inf, first)
    return cut, np.isfinite(cut) & ~(np.abs(states[range(len(cut)), first]) > largest_state).any(axis=-1)


def jacobian_maps(driven: Driven, first: int, last: int, k: int, inside: Flags) -> Iterator[TangentMaps]:
    """Yield the Jacobians of a driven orbit's steps first + 1 … last, some steps at a time.

    Parameters
    ----------
    driven : Driven
    first, last : int
    k : int
        Number of vectors that they will multiply.
    inside : ndarray of bool, shape (sample, time + 1)
        True where the orbit is within its bound. It is set to false here from a Jacobian that is not finite; maps
        outside are the identity.
    """
    samples, _, n = driven.states.shape
    dense = n <= DENSE or k == n
    at_once, start = min(STEPS, max(1, AT_ONCE // (samples * (n * n if dense else NUMBERS * n)))), first
    gone = np.zeros((samples, 1), dtype=np.int64)
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
        dead, singular = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
        if not ((rows > 0).all() and (columns > 0).all()):
            dead, singular = _zeros(driven, range(start + 1, start + shape[1] + 1), valid)
        nullities = np.maximum.accumulate(np.concatenate([gone, dead], axis=1), axis=1)[:, 1:]
        gone = nullities[:, -1:]
        norms, errors = np.where(valid, norms, 1.0), np.where(valid, np.asarray(rounding.cpu()), 0.0)
        nothing = singular & (norms == 0) & (errors == 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(nothing, 0.0, errors / norms)
            drowned = ~(SAFETY * share < UNRESOLVED)
            size = np.log(np.where(drowned & (norms == 0), errors, norms))
        dets = np.asarray(block.log_abs_det().expand(*shape).cpu()) if dense else np.full(shape, np.nan)
        yield TangentMaps(
            start,
            _applied(block, dense, valid, rounding.device),
            size,
            np.where(valid, np.where(np.isneginf(dets) & ~singular, np.nan, dets), 0.0),
            np.where(drowned & (norms == 0), 1.0, share),
            nullities,
            singular,
            drowned,
        )
        start += shape[1]


def _zeros(driven: Driven, steps: Sequence[int], valid: Flags) -> tuple[Index, Flags]:
    """Return how many rows or columns of each Jacobian are zero for certain, and whether nothing in it underflowed."""
    parts = zip(*driven.blocks_and_errors(driven.system, steps), strict=True)
    J, error = (np.concatenate(each, axis=1) for each in parts)
    possible = (J != 0) | (error > 0) | ~valid[..., None, None]
    dead = np.maximum(*((~possible.any(axis=axis)).sum(axis=-1) for axis in (-1, -2)))
    return dead, (dead > 0) & ~((J == 0) & (error > 0)).any(axis=(-1, -2))


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
