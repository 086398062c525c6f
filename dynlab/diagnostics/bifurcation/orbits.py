"""The brute-force diagram: where orbits are after a transient, at many values of the parameter at once."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.bifurcation.parameter import Changed, Varied
from dynlab.numerics.grids import blocks

TRANSIENT, KEPT = 1000, 128  # steps of a map
FLOW_STEP = 0.01  # in seconds, of the classical Runge–Kutta method
FLOW_TRANSIENT, FLOW_SECONDS = 40.0, 20.0
MOST_EXTREMA = 64  # of a flow's solution, its last ones
AT_REST = 1e-6  # times max(1, |h|): a coordinate of a solution that moves less over that time is at rest
COPIES = 12  # of a batch's states that a step holds at once, Jacobians not included


def visited_by_map(
    varied: Varied, values: NDArray[np.float64], starts: NDArray[np.float64], largest: float, max_memory: float
) -> NDArray[np.float64]:
    """The last points of each orbit, shape (value, start, KEPT, n); NaN for an orbit that left abs(h_i) ≤ `largest`.

    Parameters
    ----------
    varied : Varied
    values : ndarray, shape (value, parameter)
    starts : ndarray, shape (value, start, n)
    largest : float
    max_memory : float
        In bytes; values are taken in blocks that stay below.
    """
    number, each, n = starts.shape
    parts = blocks(number, _work(varied, each), max_memory, 8 * number * each * KEPT * n)
    kept = np.empty((number, each, KEPT, n))
    for block in parts:
        step = batched(varied, values[block], "step")
        states = torch.from_numpy(starts[block].copy())
        for count in range(TRANSIENT + KEPT):
            states = cut(step(states), largest)
            if count >= TRANSIENT:
                kept[block, :, count - TRANSIENT] = states.numpy()
    return kept


def visited_by_flow(
    varied: Varied,
    values: NDArray[np.float64],
    starts: NDArray[np.float64],
    largest: float,
    max_memory: float,
    coordinate: int,
) -> NDArray[np.float64]:
    """The last local maxima and minima of one coordinate along each solution, shape (value, start, MOST_EXTREMA).

    A solution at rest, or without an extremum, has its last value; what is not filled is NaN. Arguments as in
    `visited_by_map`.
    """
    number, each, _ = starts.shape

    def step(one: Changed, h: Tensor) -> Tensor:
        k1 = varied.using(one, "velocity", h)
        k2 = varied.using(one, "velocity", h + FLOW_STEP / 2 * k1)
        k3 = varied.using(one, "velocity", h + FLOW_STEP / 2 * k2)
        k4 = varied.using(one, "velocity", h + FLOW_STEP * k3)
        return h + FLOW_STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    runge_kutta = torch.func.vmap(step)
    steps, skipped = int((FLOW_TRANSIENT + FLOW_SECONDS) / FLOW_STEP), int(FLOW_TRANSIENT / FLOW_STEP)
    found = np.full((number, each, MOST_EXTREMA), np.nan)
    series = 8 * each * (steps - skipped)
    for block in blocks(number, _work(varied, each) + 2 * series, max_memory, found.nbytes):
        changed = torch.func.vmap(varied.changed)(torch.from_numpy(values[block]))
        h = torch.from_numpy(starts[block].copy())
        seen = np.empty((*h.shape[:2], steps - skipped))
        for count in range(steps):
            h = cut(runge_kutta(changed, h), largest)
            if count >= skipped:
                seen[..., count - skipped] = h[..., coordinate].numpy()
        found[block] = np.apply_along_axis(_extrema, -1, seen)
    return found


def check_memory(count: int, each: int, n: int, is_map: bool, max_memory: float) -> None:
    """Raise where the visited points of `count` values, `each` orbits of n states, do not fit, before any is made."""
    blocks(count, 8.0 * each * n, max_memory, 8.0 * count * each * (KEPT * n if is_map else MOST_EXTREMA))


def batched(varied: Varied, values: NDArray[np.float64], method: str) -> Callable[[Tensor], Tensor]:
    """`method` of states (value, start, n), at each value with parameters of its own, (value, parameter)."""
    changed = torch.func.vmap(varied.changed)(torch.from_numpy(values))
    return lambda states: torch.func.vmap(lambda one, h: varied.using(one, method, h))(changed, states)


def cut(states: Tensor, largest: float) -> Tensor:
    """The states, NaN where they have left the bound, and so from there on."""
    gone = ~(states.abs() <= largest).all(dim=-1, keepdim=True)
    return torch.where(gone, torch.nan, states)


def _work(varied: Varied, each: int) -> int:
    """Bytes that one value needs: its states some times over, and the weights that are its own."""
    n = varied.system.state_size
    weights = varied.changed(torch.zeros(len(varied.parameters_varied), dtype=torch.float64))[1]
    return 8 * (each * n * COPIES + 2 * sum(weight.numel() for weight in weights.values()))


def _extrema(line: NDArray[np.float64]) -> NDArray[np.float64]:
    """The last values at local maxima and minima, each by the parabola through three neighbouring values."""
    found = np.full(MOST_EXTREMA, np.nan)
    if not np.isfinite(line).all():
        return found
    found[0] = line[-1]
    if np.ptp(line) <= AT_REST * max(1.0, float(np.abs(line).max())):
        return found
    left, middle, right = line[:-2], line[1:-1], line[2:]
    turning = (middle - left) * (right - middle) < 0
    slope, bend = (right - left)[turning] / 2, (right - 2 * middle + left)[turning]
    tops = (middle[turning] - slope**2 / (2 * bend))[-MOST_EXTREMA:]
    found[: len(tops)] = tops
    return found
