"""The linear maps that carry tangent vectors along orbits: a map's Jacobians, a flow's over intervals of time."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.lyapunov.variational import RELATIVE_TOLERANCE, Carried, solved
from dynlab.driven import Driven, in_float64
from dynlab.numerics.frame import beyond
from dynlab.progress import through
from dynlab.simulation import Evaluations, unit_of_solution
from dynlab.systems import Flow


@dataclass(frozen=True)
class TangentSteps:
    """∂h_t/∂h_{t−1} for t = 1 … count.

    Attributes
    ----------
    samples, size, count : int
        Orbits, dimensions of the state, and steps.
    length : float
        Of one step in steps, or in seconds.
    roundings : float
        The relative error of one of these maps.
    cut : ndarray, shape (sample,)
        The step at which an orbit left the bound on states, or was no number, inf where it did not; from there on its
        maps are the identity. Known once all blocks were read.
    left : ndarray of bool, shape (sample,)
        Whether it was cut beyond the bound.
    states : ndarray, shape (sample, count + 1, state)
        h_0 … h_count.
    block : callable
        Of start and stop: the maps of the steps start + 1 … stop, shape (sample, step, n, n), in float64.
    """

    samples: int
    size: int
    count: int
    length: float
    roundings: float
    cut: NDArray[np.float64]
    left: NDArray[np.bool_]
    states: NDArray[np.float64]
    block: Callable[[int, int], Tensor]


def steps_of_map(driven: Driven, largest_state: float) -> TangentSteps:
    """The Jacobians along driven orbits."""
    samples, _, n = driven.states.shape
    outside = ~(driven.states.abs() <= largest_state).all(dim=-1).cpu().numpy()
    cut = np.where(outside.any(axis=1), outside.argmax(axis=1), np.inf)
    gone = beyond(driven.states[range(samples), outside.argmax(axis=1)], largest_state)
    states = driven.states.double().cpu().numpy()

    def block(start: int, stop: int) -> Tensor:
        numbers = np.arange(start + 1, stop + 1)
        found = torch.cat([in_float64(part) for part in driven.blocks(driven.system, numbers)], dim=1)
        finite = torch.isfinite(found).all(dim=(-2, -1)).cpu().numpy()
        first = np.where(finite.all(axis=1), np.inf, numbers[(~finite).argmax(axis=1)])
        np.minimum(cut, first, out=cut)
        inside = torch.as_tensor(numbers < cut[:, None], device=found.device)
        return torch.where(inside[..., None, None], found, torch.eye(n, dtype=found.dtype, device=found.device))

    return TangentSteps(samples, n, driven.steps, 1.0, n * np.finfo(float).eps, cut, gone, states, block)


def steps_of_flow(
    system: Flow, initial: Tensor, count: int, interval: float, largest_state: float, max_memory: float
) -> TangentSteps:
    """The solutions of the variational equation over `count` intervals, from `initial` (sample, state).

    They are kept where they fit into `max_memory` bytes; else only the states between the intervals are, and what a
    block needs is solved again.
    """
    samples, n = initial.shape
    cut, gone = np.full(samples, np.inf), np.zeros(samples, dtype=bool)
    states, kept = [initial], []
    keeps = 8 * samples * n * n * count <= max_memory
    step = 0.0
    unit, eye = unit_of_solution(system, initial, count * interval), torch.eye(n, dtype=initial.dtype)

    def over(
        number: int, step: float, alive: NDArray[np.bool_], evaluations: Evaluations
    ) -> tuple[Carried, float, NDArray[np.bool_]]:
        """The tangent map of an interval, the solver's last step, and which of the `alive` samples ran away."""
        start = Carried(states[number], initial.new_zeros(samples), eye.expand(samples, n, n), unit)
        return solved(system, start, number * interval, interval, step, alive, largest_state, evaluations)[:3]

    evaluations = Evaluations(system, 0.0, count * interval)
    for number in through(range(count)):
        left = np.ones(samples, dtype=bool)
        while left.any():  # once more, with the solutions that ran away held where they are
            end, step, left = over(number, step, np.isinf(cut), evaluations)
            cut[left] = number
            gone |= left & beyond(end.state, largest_state)
        states.append(end.state)
        if keeps:
            kept.append(end.vectors)

    followed = torch.stack(states, dim=1).numpy()

    def block(start: int, stop: int) -> Tensor:
        if keeps:
            return torch.stack(kept[start:stop], dim=1)
        again = Evaluations(system, 0.0, count * interval)
        return torch.stack([over(one, 0.0, cut > one, again)[0].vectors for one in range(start, stop)], dim=1)

    return TangentSteps(samples, n, count, interval, RELATIVE_TOLERANCE, cut, gone, followed, block)
