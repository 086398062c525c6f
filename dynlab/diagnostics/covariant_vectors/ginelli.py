"""Covariant Lyapunov vectors by Ginelli's method: a frame carried forward, triangular coefficients carried back.

References
----------
Ginelli, Poggi, Turchi, Chaté, Livi and Politi, "Characterizing dynamics with covariant Lyapunov vectors", Phys. Rev.
Lett. 99 (2007); Ginelli, Chaté, Livi and Politi, J. Phys. A 46 (2013), section 3.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dynlab.diagnostics.lyapunov.orbits import Flags, cut_at, inside_of
from dynlab.diagnostics.lyapunov.variational import TOLERANCE, Solution, loops_of
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.frame import SAFETY, UNRESOLVED, orthonormal, random_frame
from dynlab.progress import through
from dynlab.systems import Flow
from dynlab.trajectories.driven import Driven, in_float64

RUNS = 2  # from other random frames and coefficients: what they agree on does not depend on these


@dataclass(frozen=True)
class TangentSteps:
    """The maps of steps t = 1 … count.

    Attributes
    ----------
    states : ndarray, shape (sample, count + 1, state)
        h_0 … h_count.
    length : float
        Length of one step in steps, or in seconds.
    rounding : float
        Relative error of one map.
    block : callable
        ``block(start, stop)``, the maps of the steps start + 1 … stop, shape (sample, step, n, n).
    cuts : callable
        The step (sample,) at which an orbit left its bound, or was no number, inf where it did not, and whether it was
        cut within the bound; from there on its maps are the identity. Known once all blocks were read.
    """

    states: Real
    length: float
    rounding: float
    block: Callable[[int, int], Real]
    cuts: Callable[[], tuple[Real, Flags]]

    @property
    def count(self) -> int:
        return self.states.shape[1] - 1


def steps_of_map(driven: Driven, largest_state: float) -> TangentSteps:
    """Return the Jacobians along driven orbits."""
    states, inside = driven.states.double().cpu().numpy(), inside_of(driven, largest_state)
    n = states.shape[2]

    def block(start: int, stop: int) -> Real:
        parts = driven.blocks(driven.system, np.arange(start + 1, stop + 1))
        found = np.concatenate([in_float64(part).cpu().numpy() for part in parts], axis=1)
        inside[:, start + 1 : stop + 1] &= np.isfinite(found).all(axis=(2, 3))
        inside[:] = np.logical_and.accumulate(inside, axis=1)
        return np.where(inside[:, start + 1 : stop + 1, None, None], found, np.eye(n))

    return TangentSteps(states, 1.0, n * np.finfo(float).eps, block, lambda: cut_at(states, inside, largest_state))


def steps_of_flow(system: Flow, initial: Real, count: int, interval: float, largest_state: float) -> TangentSteps:
    """Return the solutions of the variational equation over `count` intervals, from `initial` (sample, state)."""
    (samples, n), end = initial.shape, interval * count
    loops = loops_of(system)
    solutions = [Solution(loops, start, np.eye(n), end, largest_state) for start in initial]
    matrices, states = np.empty((samples, count, n, n)), np.repeat(initial[:, None], count + 1, axis=1)
    for sample, solution in enumerate(solutions):
        for number in range(count):
            solution.vectors[:] = np.eye(n)
            solution.to(interval * (number + 1), orthonormal=False)
            matrices[sample, number], states[sample, number + 1] = solution.vectors, solution.state
    cut, lost = (np.array([getattr(each, name) for each in solutions]) for name in ("cut", "lost"))
    ends = np.floor(cut / interval), lost
    return TangentSteps(states, interval, TOLERANCE, lambda start, stop: matrices[:, start:stop], lambda: ends)


@dataclass(frozen=True)
class Stretch:
    """Covariant vectors after the steps start + 1 … stop.

    Attributes
    ----------
    start, stop : int
    vectors : ndarray, shape (run, sample, step, n, k)
        Covariant vectors of length 1.
    coefficients : ndarray, shape (run, sample, step, k, k)
        The vectors in the frames, upper triangular.
    rates, residuals : ndarray, shape (sample, step, k)
        ln ‖J_t v(t − 1)‖ and ‖J_t v(t − 1)/‖…‖ − v(t)‖, of the first run.
    """

    start: int
    stop: int
    vectors: Real
    coefficients: Real
    rates: Real
    residuals: Real


class Passes:
    """The forward pass over all steps, and the pass back.

    Parameters
    ----------
    steps : TangentSteps
    k : int
    first, last : int
        The window between the transients.
    max_memory : float
        Bytes. Where frames and factors of the window do not fit, stretches are carried forward once more on the way
        back.
    seed : int

    Attributes
    ----------
    log_factors : ndarray, shape (sample, step, k)
        ln R_ii of the first run after the steps first + 1 … last.
    sound : ndarray of bool, shape (sample, k)
        Which modes no step drowned in rounding, and no mode before them.
    """

    def __init__(self, steps: TangentSteps, k: int, first: int, last: int, max_memory: float, seed: int) -> None:
        self.steps, self.k, self.last, self.seed = steps, k, last, seed
        samples, n = steps.states.shape[0], steps.states.shape[2]
        numbers = samples * (n * n + 2 * n * k + RUNS * (3 * n * k + 4 * k * k))
        self._at_once = max(1, int(max_memory // (8 * numbers)))
        self._sound = np.ones((RUNS, samples, k), dtype=bool)
        frame = np.stack([random_frame(samples, n, k, seed + run) for run in range(RUNS)])
        for start in range(0, first, self._at_once):
            frame = self._forward(frame, start, min(first, start + self._at_once))[1][-1]
        self._checkpoints: list[tuple[int, Real]] = []
        logs = []
        for start in through(range(first, steps.count, self._at_once)):
            self._checkpoints.append((start, frame))
            self._kept = self._forward(frame, start, min(steps.count, start + self._at_once))
            frame = self._kept[1][-1]
            logs.append(np.log(np.abs(np.diagonal(self._kept[2][:, 0], axis1=-2, axis2=-1))))
        self.log_factors = np.concatenate(logs).swapaxes(0, 1)[:, : last - first]
        self.sound = np.logical_and.accumulate(self._sound.all(axis=0), axis=1)

    def _forward(self, frame: Real, start: int, stop: int) -> tuple[Real, Real, Real]:
        """Return maps, frames and factors (step, …): J_t Q_{t−1} = Q_t R_t."""
        maps = self.steps.block(start, stop)
        frames, factors = [frame], []
        for J in maps.swapaxes(0, 1):
            Q, R = orthonormal(J @ frames[-1])
            size = np.linalg.norm(R, axis=(-2, -1))[..., None]
            sound = np.abs(np.diagonal(R, axis1=-2, axis2=-1)) * UNRESOLVED > SAFETY * self.steps.rounding * size
            self._sound &= sound
            frames.append(Q)
            # the rows and columns of a mode that is lost are the identity's: no others see them
            factors.append(np.where(sound[..., None] & sound[..., None, :], R, np.eye(self.k)))
        return maps, np.stack(frames), np.stack(factors)

    def back(self) -> Iterator[Stretch]:
        """Yield the covariant vectors of the window, the last stretch first: c(t − 1) ∝ R_t⁻¹ c(t), v = Q c."""
        k, samples = self.k, len(self.steps.states)
        drawn = np.triu(np.random.default_rng(self.seed).standard_normal((RUNS, 1, k, k)))
        C = np.broadcast_to(drawn / np.linalg.norm(drawn, axis=-2, keepdims=True), (RUNS, samples, k, k))
        for start, frame in through(self._checkpoints[::-1]):
            stop = min(self.steps.count, start + self._at_once)
            is_last = start == self._checkpoints[-1][0]
            maps, frames, factors = self._kept if is_last else self._forward(frame, start, stop)
            found = [C]
            for R in factors[::-1]:
                C = np.linalg.solve(R, C)
                C = C / np.linalg.norm(C, axis=-2, keepdims=True)
                found.append(C)
            count = min(self.last, stop) - start
            if count > 0:
                yield _stretch(start, count, maps, frames, np.stack(found[::-1]))


@np.errstate(divide="ignore", invalid="ignore")  # where the map takes a vector to 0
def _stretch(start: int, count: int, maps: Real, frames: Real, coefficients: Real) -> Stretch:
    vectors = np.moveaxis(frames[: count + 1] @ coefficients[: count + 1], 0, 2)
    images = maps[:, :count] @ vectors[0][:, :-1]
    sizes = np.linalg.norm(images, axis=-2)
    residuals = np.linalg.norm(images / sizes[..., None, :] - vectors[0][:, 1:], axis=-2)
    after = np.moveaxis(coefficients[1 : count + 1], 0, 2)
    return Stretch(start, start + count, vectors[:, :, 1:], after, np.log(sizes), residuals)


def smallest_angles(coefficients: Real, unstable: int, stable: int) -> Real:
    """Return the smallest principal angle between the spans of the first and of the last vectors, in radians.

    Parameters
    ----------
    coefficients : ndarray, shape (..., k, k)
        Upper triangular: the vectors' components in an orthonormal frame.
    unstable, stable : int
        Numbers of first and of last vectors, at least one each, k together at most.

    Notes
    -----
    The first vectors span the frame's first directions. With an orthonormal basis of the others, cos θ is the largest
    singular value of its rows there, sin θ the smallest of its rows elsewhere. The arc tangent of both is accurate for
    small angles and for right ones.

    References
    ----------
    Björck and Golub, "Numerical methods for computing angles between linear subspaces", Math. Comp. 27 (1973).
    """
    basis = np.linalg.qr(coefficients[..., -stable:])[0]
    cosine = np.linalg.svd(basis[..., :unstable, :], compute_uv=False)[..., 0]
    sine = np.linalg.svd(basis[..., unstable:, :], compute_uv=False)[..., -1]
    return np.asarray(np.arctan2(sine, cosine))


def subspace_angles(stretch: Stretch, unstable: Index, stable: Index, sound: Index) -> Real:
    """Return those of both runs, shape (run, sample, step), where so many of `sound` modes grow and decay; else NaN."""
    found = np.full(stretch.coefficients.shape[:3], np.nan)
    for sample in np.flatnonzero((unstable > 0) & (stable > 0)):
        known = slice(0, int(sound[sample]))
        coefficients = stretch.coefficients[:, sample, :, known, known]
        found[:, sample] = smallest_angles(coefficients, int(unstable[sample]), int(stable[sample]))
    return found


def angles_between(first: Real, second: Real) -> Real:
    """Return the angle between the lines along unit vectors (..., state, k), column by column; accurate near 0."""
    along = (first * second).sum(axis=-2, keepdims=True)
    beside = np.linalg.norm(second - along * first, axis=-2)
    return np.asarray(np.arctan2(beside, np.abs(along[..., 0, :])))
