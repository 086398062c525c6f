"""A flow's solution with its tangent maps, by DOP853 (Hairer, Nørsett and Wanner, II.5 and II.10).

The loop works on plain arrays and asks two callables, velocity and Jacobian. A step's states do not depend on its
tangent vectors, so that the Jacobians at all its stages are asked for at once.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch

from dynlab.diagnostics.lyapunov.tangent_maps import Flags, TangentMaps
from dynlab.numerics.arrays import Real
from dynlab.program.differentiation import jacobian
from dynlab.systems import Flow
from dynlab.trajectories.simulation import check_evaluations

RELATIVE_TOLERANCE = 1e-9  # of a step: of the state's largest size so far, and of the tangent map's norm
FIRST_STEP = 0.1  # in units of 1/‖J‖ at the start
SHORTEST_STEP = 10 * np.finfo(float).eps  # of the whole time: no shorter one moves the time
CROSSING = 1e-5  # of the time passed: how well is found when a solution leaves its bound
SAFETY, SMALLEST_CHANGE, LARGEST_CHANGE = 0.9, 0.2, 10.0  # of the length from one step to the next
ORDER = 8

Function = Callable[[Real], Real]


class Tableau:
    """The coefficients of DOP853: `A` of the stages, the new state's among them, and two error estimates."""

    def __init__(self) -> None:
        from scipy.integrate import DOP853  # here, since a third of a second is long for a command that solves no flow

        self.A = np.vstack([DOP853.A, DOP853.B])
        self.errors = np.vstack([DOP853.E5, DOP853.E3])


class Solution:
    """Solutions of a flow from `state` (sample, n), followed until `end` seconds.

    Attributes
    ----------
    t : float
    state : ndarray, shape (sample, n)
        Where an orbit was cut, it stays.
    cut : ndarray, shape (sample,)
        When an orbit left its bound, or could not be followed; inf where it did not.
    lost : ndarray of bool, shape (sample,)
        Whether it was cut within the bound, where no step could be taken.
    visited : list of ndarray, shape (n,)
        The first sample's state after each step.
    """

    def __init__(self, system: Flow, state: Real, end: float, largest_state: float) -> None:
        self.velocity, self.jacobian = callables(system)
        self.t, self.state, self.largest, self.end = 0.0, state, largest_state, end
        self.cut, self.lost = np.full(len(state), np.inf), np.zeros(len(state), dtype=bool)
        self.visited = [state[0]]
        self._tableau, self._system, self._evaluations = Tableau(), system, 0
        self._scale = np.abs(state).max(axis=1, keepdims=True)
        self._rates = self.velocity(state)
        with np.errstate(all="ignore"):
            size = float(np.nanmax(np.linalg.norm(self.jacobian(state), axis=(1, 2)), initial=0.0))
        self._length = min(end, FIRST_STEP / size) if 0 < size < np.inf else FIRST_STEP * end

    def maps(self, marks: Real) -> Iterator[TangentMaps]:
        """Yield the tangent maps of the steps up to each of the `marks`, which are later and later times."""
        for mark in marks:
            found = []
            while self.t < mark:
                found.append(self._step(float(mark)))
            matrices, dets = (
                np.stack([each[0] for each in found], axis=1),
                np.stack([each[1] for each in found], axis=1),
            )
            yield tangent_maps(matrices, dets)

    def _step(self, mark: float) -> tuple[Real, Real]:
        """Take one step that ends at `mark` at the latest; return its tangent map and its integrated divergence."""
        refused = False
        while True:
            alive = np.isinf(self.cut)
            h = min(self._length, mark - self.t)
            with np.errstate(all="ignore"):
                states, rates, matrices, divergence = self._stages(h, alive)
                new, tangents = states[-1], matrices
                error = self._error(h, rates, new, tangents, alive)
            change = max(SMALLEST_CHANGE, SAFETY * error ** (-1 / ORDER)) if error != 0 else LARGEST_CHANGE
            inside = (np.abs(new) <= self.largest).all(axis=1) | ~alive
            self._evaluations += len(rates) - 1
            check_evaluations(self._system, self._evaluations, self.t, self.end)
            if error < 1 and inside.all():
                longer = h * min(1.0 if refused else LARGEST_CHANGE, change)
                self._length = longer if h == self._length else max(self._length, longer)
                self.t, self.state, self._rates = mark if h == mark - self.t else self.t + h, new, rates[-1]
                self._scale = np.maximum(self._scale, np.abs(new).max(axis=1, keepdims=True))
                self.visited.append(new[0])
                return tangents[-1], divergence
            refused, shortest = True, self._length < SHORTEST_STEP * self.end
            if error < 1 and h <= CROSSING * self.t:
                self.cut[~inside] = self.t
            elif shortest:
                stuck = alive & ~np.isfinite(rates).all(axis=(0, 2))
                stuck = stuck if stuck.any() else alive
                self.cut[stuck], self.lost[stuck], self._length = self.t, True, mark - self.t
            else:
                self._length = h * (0.5 if error < 1 else change)

    def _stages(self, h: float, alive: Flags) -> tuple[Real, Real, Real, Real]:
        """Return states, rates and rates of the tangent map at all stages, the step's end last, and ∫ tr J."""
        A, (samples, n) = self._tableau.A, self.state.shape
        moving = alive[:, None]
        states, rates = np.empty((2, len(A), samples, n))
        states[0], rates[0] = self.state, np.where(moving, self._rates, 0.0)
        flat_rates = rates.reshape(len(A), -1)
        for i in range(1, len(A)):
            states[i] = self.state + h * (A[i, :i] @ flat_rates[:i]).reshape(samples, n)
            rates[i] = np.where(moving, self.velocity(states[i]), 0.0)
        J = np.where(moving[..., None], self.jacobian(states), 0.0)
        eye = np.broadcast_to(np.eye(n), (samples, n, n))
        slopes, end = np.empty((len(A), samples, n, n)), eye
        flat_slopes = slopes.reshape(len(A), -1)
        for i in range(len(A)):
            end = eye + h * (A[i, :i] @ flat_slopes[:i]).reshape(eye.shape)
            slopes[i] = J[i] @ end
        divergence = h * (A[-1] @ np.trace(J[:-1], axis1=-2, axis2=-1))
        return states, rates, np.concatenate([slopes, end[None]]), divergence

    def _error(self, h: float, rates: Real, new: Real, tangents: Real, alive: Flags) -> float:
        """Return the largest estimate of a step's error in units of what is allowed."""
        scale = np.maximum(self._scale, np.abs(new).max(axis=1, keepdims=True))
        of_state = _estimate(self._tableau.errors, h, rates / np.where(scale > 0, scale, 1.0))
        size = np.linalg.norm(tangents[-1], axis=(1, 2), keepdims=True)
        of_map = _estimate(self._tableau.errors, h, (tangents[:-1] / size).reshape(*rates.shape[:2], -1))
        return float(np.maximum(of_state, of_map)[alive].max(initial=0.0)) / RELATIVE_TOLERANCE


def _estimate(errors: Real, h: float, rates: Real) -> Real:
    """Return ‖error‖ of each sample (sample,): of order 5, damped by that of order 3."""
    fifth, third = (np.square(np.tensordot(row, rates, 1)).sum(axis=-1) for row in errors)
    return h * fifth / np.sqrt(np.where(fifth > 0, fifth + 0.01 * third, 1.0))


def callables(system: Flow) -> tuple[Function, Function]:
    """Return velocity and Jacobian of states (..., n) as functions of plain arrays."""
    zero = torch.zeros(system.input_size, dtype=torch.float64)

    def velocity(states: Real) -> Real:
        return np.asarray(system.velocity(torch.from_numpy(states), zero).detach())

    def matrices(states: Real) -> Real:
        found = jacobian(system, torch.from_numpy(states), zero).dense().detach()
        return np.asarray(found.expand(*states.shape, states.shape[-1]))

    return velocity, matrices


def tangent_maps(matrices: Real, log_dets: Real) -> TangentMaps:
    """Return the maps (sample, step, n, n) of a solution, the last of them at a mark."""
    samples, count, n = matrices.shape[:3]
    none = np.zeros((samples, count), dtype=bool)
    return TangentMaps(
        apply=lambda index, vectors: matrices[:, index] @ vectors,
        log_norms=np.log(np.linalg.norm(matrices, axis=(2, 3))),
        log_dets=log_dets,
        roundings=np.full((samples, count), RELATIVE_TOLERANCE),
        zeros=none,
        unseen=np.zeros((samples, count, n), dtype=bool),
        drowned=none,
        ends=np.arange(count) == count - 1,
    )
