"""How tangent vectors grow along the solutions of a flow, by the variational equation."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.lyapunov.variational import RELATIVE_TOLERANCE, Carried, solved
from dynlab.errors import UserError
from dynlab.jacobians import jacobian
from dynlab.numerics.frame import (
    SAFETY,
    Growth,
    beyond,
    change_of_length,
    random_frame,
    renewed,
    stretched,
)
from dynlab.progress import through
from dynlab.simulation import Evaluations, unit_of_solution
from dynlab.systems import Flow

TOLERANCE = 1e-7  # largest error of a growth factor between two orthonormalisations
SHORTEST = 1e-9  # of the whole duration: an interval this short is not shortened again


def growth_of_flow(
    system: Flow,
    initial: Tensor,
    k: int,
    transient: float,
    stops: NDArray[np.float64],
    largest_state: float,
    seed: int,
) -> Growth:
    """Carry k tangent vectors along solutions from `initial` (sample, state).

    Parameters
    ----------
    system : Flow
    initial : Tensor, shape (sample, state)
    k : int
    transient : float
        How many seconds align the frame before its growth counts.
    stops : ndarray
        Increasing seconds after the start at which the growth is noted.
    largest_state : float
        Where abs(h_i) exceeds it, a sample's solution is cut.
    seed : int
        Of the first frame.

    Raises
    ------
    UserError
        Where the system changes within less than the time's last digit.
    """
    samples, n = initial.shape
    frame = random_frame(samples, n, k, seed, initial)
    state, log_det = initial, torch.zeros(samples, dtype=torch.float64)
    cut, lost = np.full(samples, np.inf), np.zeros(samples, dtype=bool)
    noted: list[Tensor] = []
    unit = unit_of_solution(system, initial, float(stops[-1]))
    visited: list[Tensor] = []
    t, count, step, length = 0.0, 0, 0.0, time_scale(system, initial)
    evaluations = Evaluations(system, 0.0, float(stops[-1]))
    boundaries = [*([transient] if transient > 0 else []), *map(float, stops)]
    for boundary in through(boundaries):
        if t == transient:
            frame, log_det = renewed(frame, seed), torch.zeros_like(log_det)
        while t < boundary:
            span = min(length, boundary - t)
            span = boundary - t if boundary - t - span < SHORTEST * boundary else span
            if t + span == t:
                raise UserError(
                    f"{system.name} changes within {length:.2g} s, so short a time that {t:.4g} s and that much more "
                    f"are the same number: take smaller parameters."
                )
            start = Carried(state, log_det, frame.columns, unit)
            still = np.isinf(cut)
            end, next_step, left, when = solved(system, start, t, span, step, still, largest_state, evaluations)
            if left.any():  # once more, with the solutions that ran away held where they are
                cut[left] = when
                lost |= left & ~beyond(end.state, largest_state)
                continue
            size = torch.linalg.matrix_norm(end.vectors).clamp(min=1).log()
            found, worst = stretched(frame, end.vectors, size, RELATIVE_TOLERANCE)
            change = change_of_length(worst, TOLERANCE, SAFETY * RELATIVE_TOLERANCE)
            if worst > TOLERANCE and span > SHORTEST * boundaries[-1]:
                length = span * min(change, 0.5)
                continue
            frame, state, log_det, step, count = found, end.state, end.log_det, next_step, count + 1
            length = max(length, span * change) if span < length else span * change
            t = boundary if span == boundary - t else t + span
        if boundary > transient:
            unknown = torch.isinf(frame.bound) | torch.from_numpy(np.isfinite(cut))[:, None]
            noted.append(torch.where(unknown, torch.nan, frame.log_growth))
            visited.append(torch.where(torch.from_numpy(np.isinf(cut))[:, None], state, torch.nan))
    return Growth(
        torch.stack(noted, dim=1).numpy(),
        np.where(np.isinf(cut), log_det.numpy(), np.nan),
        frame.bound.numpy(),
        cut,
        lost,
        torch.stack(visited, dim=1).numpy(),
        t / count,
        np.empty((0, samples, k)),
    )


def time_scale(system: Flow, initial: Tensor) -> float:
    """One over the size of the Jacobian at the start, the length of the first interval."""
    rate = jacobian(system, initial, initial.new_zeros(system.input_size)).dense()
    return 1 / max(1e-6, float(torch.linalg.matrix_norm(rate).max()))
