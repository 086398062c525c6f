"""Orbits that end at a fixed point, an equilibrium or a cycle, and the exponents that its multipliers give."""

from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from dynlab.diagnostics.lyapunov.variational import callables
from dynlab.numerics.arrays import Index, Real
from dynlab.systems import Flow
from dynlab.trajectories.driven import Driven
from dynlab.trajectories.simulation import LONGEST_PERIOD

REPEATED = 64 * np.finfo(float).eps  # of the state's size: an orbit that returns so near has closed
NEAR = 1e-9  # likewise: Newton's step from where a flow rests
MOST = 256  # dimensions of the eigenvalue problem
SMALL = 1e-3  # of ‖J‖: an equilibrium's eigenvalue with a larger error is not resolved
RESOLVED = 0.1  # of a multiplier: an error beyond it leaves its logarithm unknown


@dataclass(frozen=True)
class Ends:
    """Where orbits end that nothing drives.

    Attributes
    ----------
    periods : ndarray of int, shape (sample,)
        1 at a fixed point or an equilibrium, p on a cycle of p states, 0 where the orbit has not closed.
    points : ndarray, shape (sample, state)
        The last states.
    exponents, errors : ndarray, shape (sample, state)
        ln abs(μ)/p of the cycle's multipliers μ, Re λ of an equilibrium, decreasing; NaN where it is not resolved.
    log_dets : ndarray, shape (sample,)
        Mean ln abs(det J) over the cycle; the trace of an equilibrium's Jacobian.
    """

    periods: Index
    points: Real
    exponents: Real
    errors: Real
    log_dets: Real


def ends_of_map(driven: Driven) -> Ends:
    """Return where the orbits of a map end."""
    states = driven.states.double().cpu().numpy()
    periods = repeats(states)
    found = [_of_cycle(driven, sample, int(period)) for sample, period in enumerate(periods)]
    return Ends(periods, states[:, -1], *map(np.stack, zip(*found, strict=True)))


def ends_of_flow(system: Flow, visited: Real) -> Ends:
    """Return where solutions end, from states (sample, time, state) that they visit."""
    velocity, jacobian = callables(system)
    n, last = visited.shape[-1], np.nan_to_num(visited[:, -1])
    found = [_unknown(n) for _ in last]
    periods = np.zeros(len(last), dtype=np.int64)
    for sample in np.flatnonzero(np.isfinite(visited[:, -1]).all(axis=1)):
        J = jacobian(last[sample : sample + 1])[0]
        step = np.linalg.lstsq(J, velocity(last[sample : sample + 1])[0], rcond=None)[0]
        scale = max(np.abs(visited[sample]).max(), np.finfo(float).tiny)
        if np.isfinite(J).all() and np.abs(step).max() <= NEAR * scale:
            periods[sample] = 1
            values, errors = eigenvalues(J, n * np.finfo(float).eps * np.linalg.norm(J))
            order = np.argsort(-values.real)
            known = errors[order] <= SMALL * np.linalg.norm(J)
            found[sample] = np.where(known, values.real[order], np.nan), errors[order], np.asarray(np.trace(J))
    return Ends(periods, last, *map(np.stack, zip(*found, strict=True)))


def repeats(states: Real) -> Index:
    """Return after how many steps the orbits (sample, time, state) are back at their last states, twice; else 0."""
    periods = np.zeros(len(states), dtype=np.int64)
    last, scale = states[:, -1], np.maximum(np.abs(states).max(axis=(1, 2)), np.finfo(float).tiny)
    with np.errstate(invalid="ignore", over="ignore"):  # of orbits that have run away
        for p in range(min(LONGEST_PERIOD, (states.shape[1] - 1) // 2), 0, -1):
            away = [np.abs(states[:, -1 - times * p] - last).max(axis=1) for times in (1, 2)]
            periods[(np.maximum(*away) <= REPEATED * scale)] = p
    return periods


def eigenvalues(matrix: Real, error: float) -> tuple[Real, Real]:
    """Return all eigenvalues, and to first order what an `error` of the matrix does to each: its condition times it."""
    import scipy.linalg  # here, since it takes a tenth of a second to import

    values, left, right = scipy.linalg.eig(matrix, left=True)
    with np.errstate(divide="ignore"):
        return values, error / np.abs((left.conj() * right).sum(axis=0))


def _of_cycle(driven: Driven, sample: int, period: int) -> tuple[Real, Real, Real]:
    n = driven.states.shape[-1]
    if not period or n > MOST:
        return _unknown(n)
    numbers = range(driven.steps - period + 1, driven.steps + 1)
    parts = [*driven.of(slice(sample, sample + 1)).factors(numbers)]
    matrices, wrong = (np.concatenate([np.asarray(part[i][0].cpu()) for part in parts]) for i in (0, 1))
    with np.errstate(all="ignore"):
        before = [np.eye(n), *accumulate(matrices, lambda product, J: J @ product)]
        after = [np.eye(n), *accumulate(matrices[::-1], lambda product, J: product @ J)][-2::-1]
        sizes = [np.linalg.norm(b) * np.linalg.norm(a) for b, a in zip(before[:-1], after, strict=True)]
        error = float(wrong @ np.array(sizes))
    if not (np.isfinite(error) and np.isfinite(before[-1]).all()):
        return _unknown(n)
    values, errors = eigenvalues(before[-1], error)
    order = np.argsort(-np.abs(values))
    with np.errstate(divide="ignore", invalid="ignore"):
        size, share = np.abs(values[order]), errors[order] / np.abs(values[order])
        known = share < RESOLVED
        found = np.where(known, np.log(size), np.nan) / period, np.where(known, -np.log1p(-share), np.nan) / period
        log_det = np.linalg.slogdet(matrices).logabsdet.mean()
    return *found, np.asarray(log_det)


def _unknown(n: int) -> tuple[Real, Real, Real]:
    return np.full(n, np.nan), np.full(n, np.nan), np.asarray(np.nan)
