"""Solutions of a flow with tangent vectors along them, by DOP853 (Hairer, Nørsett and Wanner, II.5 and II.10).

The states of a step's stages do not depend on the tangent vectors: the Jacobians at all of them are asked for at once.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.jacobians import jacobian
from dynlab.simulation import LEAST_TOLERANCE, Evaluations
from dynlab.systems import Flow

RELATIVE_TOLERANCE = 1e-10  # of a step, for states and tangent vectors alike
ABSOLUTE_TOLERANCE = 1e-13
FIRST_STEP = 1e-3  # of the time asked for, where no step is known
SHORTEST_STEP = 10 * np.finfo(float).eps  # of the time asked for: no shorter one moves the time
SAFETY, SMALLEST_CHANGE, LARGEST_CHANGE = 0.9, 0.2, 10.0  # of the length from one step to the next
ORDER = 8
HALVINGS = 40  # of a step in which a solution leaves the bound
NUMBERS_AT_ONCE = 2**22  # of Jacobians, 32 MiB


@dataclass(frozen=True)
class Carried:
    """A state (sample, state), the integral of its divergence (sample,), and its tangent vectors.

    `unit`, shape (sample, 1), is what the state's absolute error is measured in.
    """

    state: Tensor
    log_det: Tensor
    vectors: Tensor
    unit: Tensor

    def packed(self) -> Tensor:
        """All of it, shape (sample, state + 1 + state · k)."""
        return torch.cat([self.state, self.log_det.unsqueeze(-1), self.vectors.flatten(1)], dim=1)

    def unpacked(self, values: Tensor) -> "Carried":
        n = self.state.shape[1]
        return Carried(values[:, :n], values[:, n], values[:, n + 1 :].reshape(self.vectors.shape), self.unit)

    def least(self) -> Tensor:
        """The absolute error that is allowed, as `packed`."""
        found = torch.full_like(self.packed(), ABSOLUTE_TOLERANCE)
        found[:, : self.state.shape[1]] *= self.unit
        found.clamp_(min=LEAST_TOLERANCE)
        return found


def solved(
    system: Flow,
    start: Carried,
    begin: float,
    span: float,
    step: float,
    alive: NDArray[np.bool_],
    largest_state: float,
    evaluations: Evaluations,
) -> tuple[Carried, float, NDArray[np.bool_], float]:
    """What is carried from `begin` to a time `span` later, the step to go on with, and which `alive` samples ran away.

    At the end is the time that was reached: where some ran away, when the first of them did, and only these are told.
    A `step` of 0 says that none is known. `evaluations` counts those of the whole solution.
    """
    from scipy.integrate import DOP853  # here, since a third of a second is long for a command that solves no flow

    weights, errors = (torch.tensor(np.vstack(rows)) for rows in ([DOP853.A, DOP853.B], [DOP853.E5, DOP853.E3]))
    variation = _Variation(system, start, torch.from_numpy(alive)[:, None], weights)
    y, t, length, left, refused = start.packed(), 0.0, step or FIRST_STEP * span, np.zeros_like(alive), False
    rates = y.new_zeros(len(weights), *y.shape)
    variation.fill(rates, y, 0.0, range(1))
    least, lost = start.least(), np.zeros_like(alive)  # of which samples the last step ended at what is no number

    def after(h: float) -> Tensor:
        variation.fill(rates, y, h, range(1, len(rates)))
        return y + h * torch.tensordot(weights[-1], rates[:-1], 1)

    def beyond(values: Tensor) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = (start.unpacked(values).state.abs() <= largest_state).all(dim=-1).numpy()
        return ~found & alive

    while t < span and alive.any() and not left.any():
        h = min(length, span - t)
        evaluations.add(len(rates) - 1, begin + t)
        new = after(h)
        error = _error(errors, rates, h, least + RELATIVE_TOLERANCE * torch.maximum(y.abs(), new.abs()))
        # in this order NaN, of a step beyond where the velocity is a number, makes the next one shorter
        change = max(SMALLEST_CHANGE, SAFETY * error ** (-1 / ORDER)) if error != 0 else LARGEST_CHANGE
        if error < 1:
            longer = h * min(1.0 if refused else LARGEST_CHANGE, change)
            length, refused = longer if h == length else max(length, longer), False
            still = (start.unpacked(new).state == start.unpacked(y).state).all(dim=-1).numpy()
            left, inside = beyond(new), 0.0
            for _ in range(HALVINGS if left.any() else 0):
                middle = (inside + h) / 2
                if (earlier := beyond(after(middle))).any():
                    h, left = middle, earlier
                else:
                    inside = middle
            y, t, rates[0] = new, span if h == span - t else t + h, rates[-1]
            left |= lost & still  # only a step that moves nothing ends at a number
            lost = np.zeros_like(alive)
        else:  # or no number
            length, refused = h * change, True
            lost = alive & ~torch.isfinite(rates).all(dim=-1).all(dim=0).numpy()
            left = (lost if lost.any() else alive) & (length < SHORTEST_STEP * span)  # nothing is known beyond
    return start.unpacked(y), length, left, begin + t


class _Variation:
    """The rates of change of state, integrated divergence and tangent vectors at the stages of a step.

    They are zero for samples that are not `moving`, shape (sample, 1), also where the velocity is no number.
    `weights` (stage, stage − 1) are those of the rates of the stages before.
    """

    def __init__(self, system: Flow, carried: Carried, moving: Tensor, weights: Tensor) -> None:
        self.system, self.carried, self.moving, self.weights = system, carried, moving, weights
        self.no_input = carried.state.new_zeros(system.input_size)

    def fill(self, rates: Tensor, y: Tensor, h: float, stages: range) -> None:
        """Set the `rates` (stage, sample, …) of these stages of a step of length `h` from `y`."""
        samples, n = self.carried.state.shape
        states = []
        for i in stages:
            states.append(self._at(i, rates[..., :n], y[:, :n], h))
            rates[i, :, :n] = torch.where(self.moving, self.system.velocity(states[-1], self.no_input), 0.0)
        at_once = max(1, NUMBERS_AT_ONCE // (samples * n * n))
        for some in (stages[i : i + at_once] for i in range(0, len(stages), at_once)):
            where = torch.stack(states[some.start - stages.start : some.stop - stages.start])
            A = jacobian(self.system, where, self.no_input).dense().expand(len(some), samples, n, n)
            rates[some.start : some.stop, :, n] = torch.where(
                self.moving[:, 0], A.diagonal(dim1=-2, dim2=-1).sum(-1), 0.0
            )
            for i, matrices in zip(some, A, strict=True):
                vectors = self._at(i, rates[..., n + 1 :], y[:, n + 1 :], h).reshape(self.carried.vectors.shape)
                rates[i, :, n + 1 :] = torch.where(self.moving, (matrices @ vectors).flatten(1), 0.0)

    def _at(self, stage: int, rates: Tensor, y: Tensor, h: float) -> Tensor:
        return y + h * torch.tensordot(self.weights[stage, :stage], rates[:stage], 1)


def _error(errors: Tensor, rates: Tensor, h: float, allowed: Tensor) -> float:
    """The estimate of a step's error as a share of what is `allowed`: of order 5, damped by that of order 3."""
    fifth, third = torch.tensordot(errors, rates, 1) / allowed
    fifth, third = float(fifth.square().sum()), float(third.square().sum())
    return h * fifth / (((fifth + 0.01 * third) * allowed.numel()) ** 0.5) if fifth or third else 0.0
