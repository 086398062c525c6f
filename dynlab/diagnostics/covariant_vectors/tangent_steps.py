"""∂h_t/∂h_{t−1} along orbits, as matrices: a map's Jacobians, a flow's tangent maps over intervals of time."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynlab.diagnostics.lyapunov.variational import TOLERANCE, Solution
from dynlab.numerics.arrays import Real
from dynlab.systems import Flow
from dynlab.trajectories.driven import Driven, in_float64


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
    cut : ndarray, shape (sample,)
        The step at which an orbit left its bound, or was no number, inf where it did not; from there on its maps are
        the identity. Known once all blocks were read.
    lost : ndarray of bool, shape (sample,)
        Whether it was cut within the bound.
    block : callable
        ``block(start, stop)``, the maps of the steps start + 1 … stop, shape (sample, step, n, n).
    """

    states: Real
    length: float
    rounding: float
    cut: Real
    lost: NDArray[np.bool_]
    block: Callable[[int, int], Real]

    @property
    def count(self) -> int:
        return self.states.shape[1] - 1


def steps_of_map(driven: Driven, largest_state: float) -> TangentSteps:
    """Return the Jacobians along driven orbits."""
    states = driven.states.double().cpu().numpy()
    n = states.shape[2]
    outside = ~(np.abs(states) <= largest_state).all(axis=2)
    left = outside.argmax(axis=1)
    cut = np.where(outside.any(axis=1), left, np.inf)
    lost = outside.any(axis=1) & ~(np.abs(states[range(len(states)), left]) > largest_state).any(axis=1)

    def block(start: int, stop: int) -> Real:
        numbers = np.arange(start + 1, stop + 1)
        found = np.concatenate(
            [in_float64(part).cpu().numpy() for part in driven.blocks(driven.system, numbers)], axis=1
        )
        finite = np.isfinite(found).all(axis=(2, 3))
        first = np.where(finite.all(axis=1), np.inf, numbers[(~finite).argmax(axis=1)])
        lost[first < cut] = True
        np.minimum(cut, first, out=cut)
        return np.where((numbers < cut[:, None])[..., None, None], found, np.eye(n))

    return TangentSteps(states, 1.0, n * np.finfo(float).eps, cut, lost, block)


def steps_of_flow(system: Flow, initial: Real, count: int, interval: float, largest_state: float) -> TangentSteps:
    """Return the solutions of the variational equation over `count` intervals, from `initial` (sample, state)."""
    n, marks = initial.shape[1], interval * np.arange(1, count + 1, dtype=np.float64)
    solutions = [Solution(system, start, np.eye(n), float(marks[-1]), largest_state) for start in initial]
    matrices, states = np.empty((len(initial), count, n, n)), np.empty((len(initial), count + 1, n))
    states[:, 0] = initial
    for sample, solution in enumerate(solutions):
        for number, mark in enumerate(marks):
            solution.vectors[:] = np.eye(n)
            solution.to(float(mark), orthonormal=False)
            matrices[sample, number], states[sample, number + 1] = solution.vectors, solution.state
    cut, lost = (np.array([getattr(each, name) for each in solutions]) for name in ("cut", "lost"))
    return TangentSteps(
        states, interval, TOLERANCE, np.floor(cut / interval), lost, lambda start, stop: matrices[:, start:stop]
    )
