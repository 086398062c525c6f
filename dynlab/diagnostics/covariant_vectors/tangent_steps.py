"""∂h_t/∂h_{t−1} along orbits, as matrices: a map's Jacobians, a flow's tangent maps over intervals of time."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dynlab.diagnostics.lyapunov.tangent_maps import Flags, cut_at, inside_of
from dynlab.diagnostics.lyapunov.variational import TOLERANCE, Solution, loops_of
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
