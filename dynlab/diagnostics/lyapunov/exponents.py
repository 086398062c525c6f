"""Lyapunov exponents as a textbook has them: carry a frame along the orbit, QR every few steps, sum ln abs(R_ii)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch

from dynlab.diagnostics.lyapunov.orbits import Flags
from dynlab.diagnostics.lyapunov.variational import TOLERANCE as OF_SOLVER
from dynlab.diagnostics.lyapunov.variational import Solution
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.frame import SAFETY, UNRESOLVED, growth, orthonormal, random_frame
from dynlab.program.jacobian import Operator, of_matrix
from dynlab.trajectories.driven import Driven

# Above so many states tangent vectors go through a Jacobian's factors, and its matrix is never made: n² numbers a step
# cost more than a product with a few vectors.
DENSE = 128
NUMBERS = 64  # for each unit, that the factors of a Jacobian and their moduli take at most
AT_ONCE = 2**21  # numbers of Jacobians that are made together: fewer take longer each, more leave the cache
STEPS = 1024  # at most, of which the products are chosen together
LONGEST = 16  # steps between two orthonormalisations at most
TOLERANCE = 1e-7  # bound of a growth factor's error beyond which there are fewer: of 16 digits nine are left


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


@dataclass(frozen=True)
class Growth:
    """Growth of frames along orbits.

    Attributes
    ----------
    log_growth : ndarray, shape (frame, sample, stop, mode)
        Σ ln R_ii after each stop; NaN once the mode is not resolved, −inf once its dimension is gone.
    bound : ndarray, shape (sample, mode)
        Bound of the first frame's error by rounding; inf beside a finite growth that is an upper bound only.
    log_det : ndarray, shape (sample,)
        Σ ln abs(det J).
    columns : ndarray, shape (frame, sample, n, k)
        The last frame.
    """

    log_growth: Real
    bound: Real
    log_det: Real
    columns: Real


def carried(Q: Real, maps: TangentMaps, cuts: Index) -> tuple[Real, Real]:
    """Carry a frame, J_t Q_{t−1} = Q_t R_t; return the last Q, and R of each interval of steps between `cuts`."""
    factors = []
    for start, stop in pairwise(cuts.tolist()):
        for step in range(start, stop):
            Q = maps.apply(step, Q)
        Q, R = orthonormal(Q)
        factors.append(R)
    return Q, np.stack(factors)


def growth_along(blocks: Iterable[TangentMaps], frame: Real, stops: Index) -> Growth:
    """Return the growth of frames (frame, sample, n, k) along orbits, Σ_t ln abs(R_t,ii).

    Several J_t are multiplied between two QR, as many as leave the errors of a growth factor below `TOLERANCE`.

    References
    ----------
    Benettin, Galgani, Giorgilli and Strelcyn, Meccanica 15 (1980).
    """
    Q, log_det, every = frame, np.zeros(frame.shape[1]), LONGEST
    sums, bound = np.zeros((2, *frame.shape[:2], frame.shape[3]))
    above = np.zeros(frame.shape[1], dtype=bool)  # whether a map drowned in its error: growth is an upper bound
    noted = []
    for maps in blocks:
        while True:
            cuts = _cuts(maps, every, stops)
            new, factors = carried(Q, maps, cuts)
            logs, errors = _growth_and_errors(factors, maps, cuts, frame.shape[2], np.isneginf(sums) & (bound < np.inf))
            if errors[np.diff(cuts) > 1][:, bound < np.inf].max(initial=0.0) <= TOLERANCE:
                break
            every = max(1, min(every, int(np.diff(cuts).max())) // 2)
        totals, bounds = sums + logs.cumsum(axis=0), bound + errors.cumsum(axis=0)
        drowned = np.logical_or.accumulate(maps.drowned[:, cuts[1:] - 1].T | above)
        unknown = np.isinf(bounds) | np.isposinf(totals) | (np.isneginf(totals) & drowned[:, None, :, None])
        noted += [*np.where(unknown, np.nan, totals)[np.isin(cuts[1:] + maps.start, stops)]]
        Q, sums, bound, above = new, totals[-1], bounds[-1], drowned[-1]
        log_det = log_det + maps.log_dets.sum(axis=1)
    return Growth(
        np.stack(noted, axis=2) if noted else sums[:, :, None],
        np.where(above[:, None], np.inf, bound[0]),
        np.where(above, np.nan, log_det),
        Q,
    )


def growth_of_flow(solutions: list[Solution], start: float, stops: Real) -> Growth:
    """Carry the solutions' tangent vectors up to the `stops`, and count what they grow from `start` on."""
    totals = np.array([[each.to(float(stop)) for stop in (start, *stops)] for each in solutions])
    grown = totals[:, 1:] - totals[:, :1]
    last, k = grown[:, -1], solutions[0].shape[1]
    columns = np.stack([each.vectors for each in solutions])[None]
    return Growth(grown[None, ..., :k], SAFETY * OF_SOLVER * last[:, k : 2 * k], last[:, -1], columns)


def renewed(columns: Real, seed: int) -> Real:
    """Return the frame (frame, sample, n, k) after a transient, with new directions for dimensions that were lost."""
    gone = (columns == 0).all(axis=-2, keepdims=True)
    if not gone.any():
        return columns
    n, k = columns.shape[-2:]
    return np.asarray(np.linalg.qr(np.where(gone, random_frame(1, n, k, seed), columns))[0])


def _cuts(maps: TangentMaps, every: int, stops: Index) -> Index:
    """Return where intervals of `every` steps end that also end at the `stops`; a map that drowned is alone."""
    count = maps.log_norms.shape[1]
    alone = np.flatnonzero(maps.drowned.any(axis=0))
    found = np.concatenate([np.arange(0, count, every), alone, alone + 1, stops - maps.start, [count]])
    return np.unique(found[(found >= 0) & (found <= count)])


@np.errstate(divide="ignore", invalid="ignore")
def _growth_and_errors(factors: Real, maps: TangentMaps, cuts: Index, n: int, gone: Flags) -> tuple[Real, Real]:
    """Return ln abs(R_ii) of intervals, and their errors: gone for certain is −inf ± 0, drowned a bound."""
    last, starts, steps = cuts[1:] - 1, cuts[:-1], np.diff(cuts)[:, None, None]
    sizes, roundings = (
        np.add.reduceat(each[:, : cuts[-1]], starts, axis=1).T[:, None] for each in (maps.log_norms, maps.roundings)
    )
    # norms of products are far below the products of norms
    image = np.log(np.linalg.norm(factors, axis=(-2, -1)))
    reach = np.where(steps > 1, image * (1 - 1 / steps) + sizes / steps, sizes)
    logs, errors = growth(factors, reach, roundings)
    drowned = maps.drowned[:, last].T[:, None, :, None]
    certain = np.arange(logs.shape[-1]) >= n - maps.nullities[:, last].T[:, None, :, None]
    singular = np.logical_or.reduceat(maps.singular[:, : cuts[-1]], starts, axis=1).T[:, None, :, None]
    certain = certain | np.logical_or.accumulate(np.isneginf(logs) & singular) | gone
    logs = np.where(certain, -np.inf, np.where(drowned, (sizes + np.log1p(roundings))[..., None], logs))
    return logs, np.where(certain | drowned, 0.0, errors)


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
        share = np.where(drowned & (norms == 0), 1.0, share)
        dets = np.asarray(block.log_abs_det().expand(*shape).cpu()) if dense else np.full(shape, np.nan)
        dets = np.where(valid, np.where(np.isneginf(dets) & ~singular, np.nan, dets), 0.0)
        apply = _applied(of_matrix(block.dense().expand(*shape, n, n)) if dense else block, valid, rounding.device)
        yield TangentMaps(start, apply, size, dets, share, nullities, singular, drowned)
        start += shape[1]


def _zeros(driven: Driven, steps: Sequence[int], valid: Flags) -> tuple[Index, Flags]:
    """Return how many rows or columns of each Jacobian are zero for certain, and whether nothing in it underflowed."""
    parts = zip(*driven.blocks_and_errors(driven.system, steps), strict=True)
    J, error = (torch.cat(each, dim=1).cpu().numpy() for each in parts)
    possible = (J != 0) | (error > 0) | ~valid[..., None, None]
    dead = np.maximum(*((~possible.any(axis=axis)).sum(axis=-1) for axis in (-1, -2)))
    return dead, (dead > 0) & ~((J == 0) & (error > 0)).any(axis=(-1, -2))


def _applied(maps: Operator, valid: Flags, device: torch.device) -> Callable[[int, Real], Real]:
    """Return what multiplies vectors by the Jacobians of one step, the identity where they are not valid."""

    def apply(index: int, vectors: Real) -> Real:
        found = maps[:, index].apply(torch.from_numpy(vectors).to(device)).cpu().numpy()
        return np.where(valid[:, index, None, None], found, vectors)

    return apply
