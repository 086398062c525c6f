"""Lyapunov exponents as a textbook has them: carry a frame along the orbit, QR every few steps, sum ln abs(R_ii)."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dynlab.diagnostics.lyapunov.tangent_maps import Flags, TangentMaps
from dynlab.diagnostics.lyapunov.variational import TOLERANCE as OF_SOLVER
from dynlab.diagnostics.lyapunov.variational import Solution
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.frame import SAFETY, growth, orthonormal, random_frame

TOLERANCE = 1e-3  # bound of a growth factor's error beyond which intervals are made shorter; the error is far below it
CONDITION = float(np.log(2e7))  # of an interval's product at most: of 16 digits nine are left
FIRST, LONGEST = 4, 64  # steps between two orthonormalisations, before their growth is known and at most


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
    intervals : int
        Number of orthonormalisations.
    columns : ndarray, shape (frame, sample, n, k)
        The last frame.
    """

    log_growth: Real
    bound: Real
    log_det: Real
    intervals: int
    columns: Real


def growth_along(blocks: Iterable[TangentMaps], frame: Real, stops: Index) -> Growth:
    """Carry frames (frame, sample, n, k) along orbits: J_t Q_{t−1} = Q_t R_t, Λ_i = Σ_t ln abs(R_t,ii) / T.

    Several J_t are multiplied between two QR, as many as leave the condition of their product below e^`CONDITION`.

    References
    ----------
    Benettin, Galgani, Giorgilli and Strelcyn, Meccanica 15 (1980).
    """
    Q, log_det, every, longest, intervals = frame, np.zeros(frame.shape[1]), FIRST, LONGEST, 0
    sums, bound = np.zeros((2, *frame.shape[:2], frame.shape[3]))
    above = np.zeros(frame.shape[1], dtype=bool)  # whether a map drowned in its error: growth is an upper bound
    noted = []
    for maps in blocks:
        while True:
            cuts = _cuts(maps, every, stops)
            new, factors = _carried(Q, maps, cuts)
            logs, errors = _told(factors, maps, cuts, frame.shape[2], np.isneginf(sums) & np.isfinite(bound))
            several = errors[np.diff(cuts) > 1][:, np.isfinite(bound)]
            if several.max(initial=0.0) <= TOLERANCE:
                break
            every = longest = max(1, int(np.diff(cuts).max()) - 1)
        totals, bounds = sums + logs.cumsum(axis=0), bound + errors.cumsum(axis=0)
        drowned = np.logical_or.accumulate(maps.drowned[:, cuts[1:] - 1].T | above)
        unknown = np.isinf(bounds) | np.isposinf(totals) | (np.isneginf(totals) & drowned[:, None, :, None])
        noted += [*np.where(unknown, np.nan, totals)[np.isin(cuts[1:] + maps.start, stops)]]
        Q, sums, bound, above = new, totals[-1], bounds[-1], drowned[-1]
        every = min(longest, _next_length(logs[..., np.isfinite(bound).all(axis=(0, 1))], int(cuts[-1])))
        intervals += len(logs)
        log_det = log_det + maps.log_dets.sum(axis=1)
    return Growth(
        np.stack(noted, axis=2) if noted else sums[:, :, None],
        np.where(above[:, None], np.inf, bound[0]),
        np.where(above, np.nan, log_det),
        intervals,
        Q,
    )


def growth_of_flow(solutions: list[Solution], start: float, stops: Real) -> Growth:
    """Carry the solutions' tangent vectors up to the `stops`, and count what they grow from `start` on."""
    found = []
    for each in solutions:
        marks = []
        for stop in (start, *stops):
            each.to(float(stop))
            marks.append(each.totals())
        found.append(np.array(marks[1:]) - marks[0])
    grown = np.array(found)
    last = grown[:, -1]
    k = solutions[0].shape[1]
    columns = np.stack([each.vectors for each in solutions])[None]
    bounds = SAFETY * OF_SOLVER * last[:, k : 2 * k]
    return Growth(grown[None, ..., :k], bounds, last[:, -2], max(1, int(last[:, -1].sum())), columns)


def _cuts(maps: TangentMaps, every: int, stops: Index) -> Index:
    """Return where intervals of `every` steps end that also end at the `stops`; a map that drowned is alone."""
    count = maps.log_norms.shape[1]
    alone = np.flatnonzero(maps.drowned.any(axis=0))
    found = np.concatenate([np.arange(0, count, every), alone, alone + 1, stops - maps.start, [count]])
    return np.unique(found[(found >= 0) & (found <= count)])


def _carried(Q: Real, maps: TangentMaps, cuts: Index) -> tuple[Real, Real]:
    """Return the frame after the last of the intervals between `cuts`, and each one's R."""
    factors = []
    for start, stop in pairwise(cuts.tolist()):
        for step in range(start, stop):
            Q = maps.apply(step, Q)
        Q, R = orthonormal(Q)
        factors.append(R)
    return Q, np.stack(factors)


def _told(factors: Real, maps: TangentMaps, cuts: Index, n: int, gone: Flags) -> tuple[Real, Real]:
    """Return ln abs(R_ii) of intervals, and their errors: gone for certain is −inf ± 0, drowned a bound."""
    last, starts = cuts[1:] - 1, cuts[:-1]
    sizes, roundings = (
        np.add.reduceat(each[:, : cuts[-1]], starts, axis=1).T[:, None] for each in (maps.log_norms, maps.roundings)
    )
    steps = np.diff(cuts)[:, None, None]
    with np.errstate(divide="ignore", invalid="ignore"):  # norms of products are far below the products of norms
        image = np.log(np.linalg.norm(factors, axis=(-2, -1)))
        reach = np.where(steps > 1, image * (1 - 1 / steps) + sizes / steps, sizes)
    logs, errors = growth(factors, reach, roundings)
    drowned = maps.drowned[:, last].T[:, None, :, None]
    certain = np.arange(logs.shape[-1]) >= n - maps.nullities[:, last].T[:, None, :, None]
    singular = np.logical_or.reduceat(maps.singular[:, : cuts[-1]], starts, axis=1).T[:, None, :, None]
    certain = certain | np.logical_or.accumulate(np.isneginf(logs) & singular) | gone
    most = (sizes + np.log1p(roundings))[..., None]
    logs = np.where(certain, -np.inf, np.where(drowned, most, logs))
    return logs, np.where(certain | drowned, 0.0, errors)


def _next_length(logs: Real, steps: int) -> int:
    """Return how many steps the next intervals may have, where frames grew by `logs` in so many."""
    with np.errstate(invalid="ignore"):
        rates = logs.sum(axis=0) / steps
    finite = rates[np.isfinite(rates)]
    spread = float(np.ptp(finite)) if finite.size else 0.0
    return int(min(LONGEST, max(1.0, CONDITION / spread if spread else LONGEST)))


def renewed(columns: Real, seed: int) -> Real:
    """Return the frame (frame, sample, n, k) after a transient, with new directions for dimensions that were lost."""
    gone = (columns == 0).all(axis=-2, keepdims=True)
    if not gone.any():
        return columns
    n, k = columns.shape[-2:]
    return np.asarray(np.linalg.qr(np.where(gone, random_frame(1, n, k, seed), columns))[0])
