"""Lyapunov exponents as a textbook has them: carry a frame along the orbit, QR every few steps, sum ln abs(R_ii)."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dynlab.diagnostics.lyapunov.tangent_maps import Flags, TangentMaps
from dynlab.numerics.arrays import Real
from dynlab.numerics.frame import growth, orthonormal, random_frame

TOLERANCE = 1e-3  # bound of a growth factor's error beyond which an interval is halved; the error is far below it
CONDITION = float(np.log(1e6))  # of an interval's product at most: of 16 digits ten are left
LONGEST = 64  # steps between two orthonormalisations


@dataclass(frozen=True)
class Growth:
    """How much a frame grew along orbits.

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


def growth_along(blocks: Iterable[TangentMaps], frame: Real) -> Growth:
    """Carry frames (frame, sample, n, k) along orbits: J_t Q_{t−1} = Q_t R_t, Λ_i = Σ_t ln abs(R_t,ii) / T.

    Several J_t are multiplied between two QR, as many as leave the condition of their product below e^`CONDITION`.

    References
    ----------
    Benettin, Galgani, Giorgilli and Strelcyn, Meccanica 15 (1980).
    """
    Q, sums, bound = frame, np.zeros(_modes(frame)), np.zeros(_modes(frame))
    log_det, from_above = np.zeros(frame.shape[1]), np.zeros(frame.shape[1], dtype=bool)
    noted, every, intervals = [sums], 1, 0
    for maps in blocks:
        done = 0
        while done < len(maps.ends):
            stop = min(done + every, maps.boundary(done))
            image, lost = _seen(Q, maps, done)
            for step in range(done, stop):
                image = maps.apply(step, image)
            new, R = orthonormal(image)
            logs, errors = growth(R, maps.log_norms[:, done:stop].sum(axis=1), maps.roundings[:, done:stop].sum(axis=1))
            if stop > done + 1 and errors[~_gone(sums) & np.isfinite(bound)].max(initial=0.0) > TOLERANCE:
                every = (stop - done) // 2
                continue
            logs, errors = _limited(logs, errors, _gone(sums) | lost, maps, stop - 1)
            Q, sums, bound = np.where(_gone(logs)[..., None, :], 0.0, new), sums + logs, bound + errors
            every, done, intervals = _next_length(every, logs[np.isfinite(bound)], stop - done), stop, intervals + 1
            if maps.ends[stop - 1]:
                above = from_above | maps.drowned[:, :stop].any(axis=1)
                unknown = np.isinf(bound) | np.isposinf(sums) | (_gone(sums) & above[:, None])
                noted.append(np.where(unknown, np.nan, sums))
        log_det, from_above = log_det + maps.log_dets.sum(axis=1), from_above | maps.drowned.any(axis=1)
    return Growth(
        np.stack(noted[1:] or noted, axis=2),
        np.where(from_above[:, None], np.inf, bound[0]),
        np.where(from_above, np.nan, log_det),
        intervals,
        Q,
    )


def renewed(columns: Real, seed: int) -> Real:
    """Return the frame (frame, sample, n, k) after a transient, with new directions for dimensions that were lost."""
    gone = (columns == 0).all(axis=-2, keepdims=True)
    if not gone.any():
        return columns
    n, k = columns.shape[-2:]
    return np.asarray(np.linalg.qr(np.where(gone, random_frame(1, n, k, seed), columns))[0])


def _modes(frame: Real) -> tuple[int, ...]:
    return (*frame.shape[:-2], frame.shape[-1])


def _gone(logs: Real) -> Flags:
    return np.asarray(np.isneginf(logs))


def _seen(Q: Real, maps: TangentMaps, index: int) -> tuple[Real, Flags]:
    """Return the frame without what a map's columns of zeros take away, and which directions that leaves empty.

    The projection is a factor of its own, so that a lost dimension is an exact 0 on the diagonal of R.
    """
    unseen = maps.unseen[:, index]
    lost = np.zeros(_modes(Q), dtype=bool)
    if not unseen.any():
        return Q, lost
    new, R = orthonormal(np.where(unseen[..., None], 0.0, Q))
    lost = np.diagonal(R, axis1=-2, axis2=-1) == 0
    return np.where(lost[..., None, :], 0.0, new @ np.where(lost[..., None, :], 0.0, R)), lost


def _limited(logs: Real, errors: Real, gone: Flags, maps: TangentMaps, last: int) -> tuple[Real, Real]:
    """Return growth and error with what is exactly gone as −inf ± 0, and a map that drowned in its error as a bound."""
    gone = gone | (_gone(logs) & maps.zeros[:, last, None])
    drowned = maps.drowned[:, last, None] & ~gone
    with np.errstate(invalid="ignore"):
        most = maps.log_norms[:, last, None] + np.log1p(maps.roundings[:, last, None])
    logs = np.where(gone, -np.inf, np.where(drowned, most, np.where(_gone(logs), 0.0, logs)))
    return logs, np.where(gone | drowned, 0.0, errors)


def _next_length(every: int, logs: Real, steps: int) -> int:
    """Return how many steps the next interval may have, where the last had so many and grew by `logs`."""
    finite = logs[np.isfinite(logs)]
    spread = float(np.ptp(finite)) / steps if finite.size else 0.0
    return int(min(2 * every, LONGEST, max(1.0, CONDITION / spread if spread else LONGEST)))
