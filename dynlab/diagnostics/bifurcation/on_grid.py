"""Fixed points and what orbits settle to, at many values of two parameters at once."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.bifurcation.orbits import batched, cut, recorded
from dynlab.diagnostics.bifurcation.parameter import Varied
from dynlab.numerics.eigenvalues import eigenvalues as eigenvalues_of
from dynlab.numerics.grids import blocks
from dynlab.numerics.kinds import kind_of_flow, kind_of_map
from dynlab.progress import through

MAX_NEWTON = 50
SETTLED = 1e-11  # times max(1, ‖h‖): the residual ‖G‖₂ up to which a state is a fixed point
TRANSIENT = 2000  # steps before an orbit is looked at
RETURNS, STAYS_AWAY = 1e-7, 1e-3  # times max(1, ‖h‖): an orbit that comes back so near is periodic; nearer than the
# second and not than the first it may still be on its way
APERIODIC, CUT, UNDECIDED = 0, -1, -2  # in place of a period
COPIES = 6  # of a Jacobian and a state that a step holds at once


class Fixed(NamedTuple):
    """Of the fixed point reached at each value: the state, ‖G‖₂, Newton's iterations, and what its eigenvalues say.

    `leading` is the largest modulus of a map's multipliers, of a flow's eigenvalues the largest real part; `stable` is
    1, 0, or −1 where the eigenvalues' error does not tell or no fixed point was reached (`leading` is NaN then).
    """

    states: NDArray[np.float64]
    residual: NDArray[np.float64]
    iterations: NDArray[np.int64]
    converged: NDArray[np.bool_]
    leading: NDArray[np.float64]
    stable: NDArray[np.int8]
    unstable: NDArray[np.int64]


def fixed_points(
    varied: Varied, is_map: bool, values: NDArray[np.float64], start: NDArray[np.float64], max_memory: float
) -> Fixed:
    """Newton's method from `start` (n,) at each of `values` (value, parameter)."""
    parts = [
        _block(varied, is_map, values[block], start) for block in through(_blocks(varied, len(values), max_memory))
    ]
    return Fixed(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def periods(
    varied: Varied,
    values: NDArray[np.float64],
    starts: NDArray[np.float64],
    longest: int,
    largest: float,
    max_memory: float,
) -> NDArray[np.int64]:
    """The period, up to `longest`, of what the orbit from each of `starts` (value, n) settles to, or a code above."""
    found = np.empty(len(values), dtype=np.int64)
    for block in through(_blocks(varied, len(values), max_memory)):
        states = torch.from_numpy(starts[block][:, None].copy())
        step = recorded(batched(varied, values[block], "step"), states)
        for _ in range(TRANSIENT):
            states = cut(step(states), largest)
        reference, away = states, []
        for _ in range(longest):
            states = cut(step(states), largest)
            away.append((states - reference).norm(dim=-1)[:, 0] / reference.norm(dim=-1)[:, 0].clamp_min(1))
        found[block] = _period(torch.stack(away))
    return found


def _period(away: Tensor) -> NDArray[np.int64]:
    """From the distances (step, value) to where the orbit was."""
    near = (away <= RETURNS).numpy()
    period = np.where(near.any(axis=0), near.argmax(axis=0) + 1, APERIODIC)
    closest = away.nan_to_num(np.inf).amin(dim=0).numpy()
    period[(period == APERIODIC) & (closest < STAYS_AWAY)] = UNDECIDED
    period[torch.isnan(away).any(dim=0).numpy()] = CUT
    return period.astype(np.int64)


def _block(
    varied: Varied, is_map: bool, values: NDArray[np.float64], start: NDArray[np.float64]
) -> tuple[NDArray[np.generic], ...]:
    moved, jacobian = (batched(varied, values, name) for name in ("step" if is_map else "velocity", "jacobian"))
    states = torch.from_numpy(np.tile(start, (len(values), 1, 1)))
    identity = torch.eye(len(start), dtype=torch.float64) if is_map else torch.zeros(len(start), len(start))

    def residual(h: Tensor) -> Tensor:
        return moved(h) - h if is_map else moved(h)

    iterations = torch.zeros(len(values), dtype=torch.int64)
    for _ in range(MAX_NEWTON):
        value = residual(states)
        live = ~_small(value, states)
        if not live.any():
            break
        step, info = torch.linalg.solve_ex(jacobian(states) - identity, value.unsqueeze(-1))
        usable = live & (info == 0)
        states = torch.where(usable.unsqueeze(-1), states - step.squeeze(-1), states)
        iterations += live[:, 0]
    norm = residual(states).norm(dim=-1)
    converged = (_small(residual(states), states) & torch.isfinite(states).all(-1))[:, 0].numpy()
    matrices = jacobian(torch.where(torch.isfinite(states), states, 0.0))[:, 0].numpy()
    judged = [
        _judged(matrix, is_map) if ok else (np.nan, -1, 0) for matrix, ok in zip(matrices, converged, strict=True)
    ]
    leading, stable, unstable = (np.array(part) for part in zip(*judged, strict=True))
    return (
        states[:, 0].numpy(),
        norm[:, 0].numpy(),
        iterations.numpy(),
        converged,
        leading.astype(float),
        stable.astype(np.int8),
        unstable.astype(np.int64),
    )


def _judged(matrix: NDArray[np.float64], is_map: bool) -> tuple[float, int, int]:
    eigenvalues, errors, _ = eigenvalues_of(matrix)
    kind = (kind_of_map if is_map else kind_of_flow)(eigenvalues, errors)
    leading = np.abs(eigenvalues).max() if is_map else eigenvalues.real.max()
    return float(leading), kind.stable, kind.unstable


def _small(value: Tensor, states: Tensor) -> Tensor:
    return value.norm(dim=-1) <= SETTLED * states.norm(dim=-1).clamp_min(1)


def _blocks(varied: Varied, count: int, max_memory: float) -> list[slice]:
    n = varied.system.state_size
    weights = varied.changed(torch.zeros(len(varied.parameters_varied), dtype=torch.float64))[1]
    own = sum(weight.numel() for weight in weights.values())
    return blocks(count, 8 * (COPIES * (n * n + n) + 2 * own), max_memory, 8 * count * (n + 8))
