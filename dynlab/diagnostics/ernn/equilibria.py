"""The equilibria of ERNN's inner flow g' = F(g), for given h_{k−1} and x_k."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.numerics import fsolve_check, merging
from dynlab.numerics.roots import solve, tolerance
from dynlab.systems.ernn import ERNN

ONE, SEVERAL, NOT_ISOLATED, NONE = "one equilibrium", "several equilibria", "not isolated", "none found"
# Random states to begin at, beside where the iteration starts and where it ends. Of 196 equilibria of nets with 3 to 7
# ReLU units 58 are missed from 6, 22 from 24, 2 from 96. The cost of each grows as the cube of the size.
MOST_RANDOM, FEWEST_RANDOM, RANDOM_ENTRIES = 96, 6, 1536
# Times 1 + ‖∇F‖₂: below, a root is not isolated to rounding. At a double root, a residual of 1e-12 leaves σ_min = 2e-6.
SINGULAR = 3e-6
FARTHEST = 1e3  # times a state's size: a step of Newton's leads no farther
REACH = 2.0  # z = g + s h is sought within this many times max(1, |z| where the iteration starts)


@dataclass(frozen=True)
class InnerFlow:
    """F for many steps k at once.

    Attributes
    ----------
    system : ERNN
    state : Tensor, shape (point, state)
        h_{k−1} of each.
    input : Tensor, shape (point, input)
        x_k.
    """

    system: ERNN
    state: Tensor
    input: Tensor

    def velocity(self, g: Tensor, points: Tensor | slice = slice(None)) -> Tensor:
        """F(g) of states (k, n) at these points."""
        return self.system.inner_velocity(g, self.state[points], self.input[points])

    def jacobian(self, g: Tensor, points: Tensor | slice = slice(None)) -> Tensor:
        """∇F(g), shape (k, n, n)."""
        dense = self.system.inner_jacobian(g, self.state[points], self.input[points]).dense()
        return dense.expand(len(g), *dense.shape[-2:])


class InnerEquilibria(NamedTuple):
    """What was found at each point.

    Attributes
    ----------
    states : ndarray, shape (point, state)
        The one nearest to where the iteration ended, by fsolve; NaN where none was found.
    residuals : ndarray, shape (point,)
        ‖F‖₂ there.
    errors : ndarray, shape (point,)
        How far from the true equilibrium it may be, 10 ‖F‖₂/σ_min(∇F).
    counts : ndarray of int, shape (point,)
        How many different ones the searches found; those that are not isolated count as one.
    kinds : ndarray of str, shape (point,)
        `ONE`, `SEVERAL`, `NOT_ISOLATED` (∇F is singular at one of them: a multiple root or a continuum) or `NONE`.
    iterations : ndarray of int, shape (point,)
        Of the searches, the most that one of the starts took.
    """

    states: NDArray[np.float64]
    residuals: NDArray[np.float64]
    errors: NDArray[np.float64]
    counts: NDArray[np.int64]
    kinds: NDArray[np.str_]
    iterations: NDArray[np.int64]


def inner_equilibria(flow: InnerFlow, start: Tensor, end: Tensor, generator: np.random.Generator) -> InnerEquilibria:
    """Search from where the iteration starts and ends and from random states, and verify with fsolve.

    Parameters
    ----------
    flow : InnerFlow
        In float64 on the CPU.
    start, end : Tensor, shape (point, state)
        Of the inner iteration.
    generator : numpy.random.Generator
    """
    number, size = start.shape
    shift = flow.system.sign * flow.state
    reach = REACH * (start + shift).abs().amax(dim=-1).clamp_min(1)
    random = min(MOST_RANDOM, max(FEWEST_RANDOM, RANDOM_ENTRIES // size))
    spread = torch.as_tensor(generator.uniform(-1, 1, (random, number, size)))
    reached = torch.where(torch.isfinite(end).all(-1, keepdim=True), end, start)
    drawn = spread * reach.unsqueeze(-1) - shift
    drawn[::2] = _by_one_step(flow, drawn[::2])  # to what is an equilibrium if no unit's slope changes on the way
    starts = torch.cat([torch.stack([start, reached]), drawn])
    points = torch.arange(number).repeat(len(starts))
    ended = solve(
        lambda g, rows: flow.velocity(g, points[rows]),
        lambda g, rows: flow.jacobian(g, points[rows]),
        starts.reshape(-1, size),
    )
    roots = ended.states.reshape(len(starts), number, size).numpy()
    converged = ended.converged.reshape(len(starts), number).numpy()
    direction = generator.standard_normal(size)
    direction /= np.linalg.norm(direction)
    found = [_at_point(flow, i, roots[converged[:, i], i], reached[i].numpy(), direction) for i in range(number)]
    taken = ended.iterations.reshape(len(starts), number).amax(dim=0).numpy()
    states, residuals, errors, counts, kinds = map(np.array, zip(*found, strict=True))
    return InnerEquilibria(states, residuals, errors, counts, kinds, taken)


def _by_one_step(flow: InnerFlow, states: Tensor) -> Tensor:
    """States (k, point, n) after a whole step of Newton's, but for those that it leads far away."""
    points, begun = torch.arange(states.shape[1]).repeat(len(states)), states.reshape(-1, states.shape[2])
    off = flow.velocity(begun, points).unsqueeze(-1)
    moved = begun - torch.linalg.solve_ex(flow.jacobian(begun, points), off)[0].squeeze(-1)
    near = moved.abs().amax(dim=-1, keepdim=True) < FARTHEST * begun.abs().amax(dim=-1, keepdim=True)  # not of NaN
    return torch.where(near, moved, begun).reshape(states.shape)


def _at_point(
    flow: InnerFlow,
    point: int,
    roots: NDArray[np.float64],
    reached: NDArray[np.float64],
    direction: NDArray[np.float64],
) -> tuple[NDArray[np.float64], float, float, int, str]:
    if len(roots) == 0:
        return np.full(len(reached), np.nan), np.nan, np.nan, 0, NONE
    here = torch.tensor([point])

    def f(g: NDArray[np.float64]) -> NDArray[np.float64]:
        return flow.velocity(torch.as_tensor(g)[None], here)[0].numpy()

    def jacobian(g: NDArray[np.float64]) -> NDArray[np.float64]:
        return flow.jacobian(torch.as_tensor(g)[None], here)[0].numpy()

    distinct = roots[np.unique(merging.merged(roots), return_index=True)[1]]
    sigmas = np.linalg.svd(np.array([jacobian(root) for root in distinct]), compute_uv=False)
    singular = sigmas[:, -1] <= SINGULAR * (1 + sigmas[:, 0])
    count = int((~singular).sum()) + bool(singular.any())
    kind = NOT_ISOLATED if singular.any() else SEVERAL if count > 1 else ONE
    chosen = int(np.argmin(np.linalg.norm(distinct - reached, axis=1)))
    state, sigma = distinct[chosen], float(sigmas[chosen, -1])
    if not singular[chosen]:
        checked = fsolve_check.check(f, jacobian, state, direction)
        allowed = fsolve_check.allowed_distance(float(np.linalg.norm(f(state))), sigma)
        if checked.distance <= allowed and checked.residual <= float(tolerance(torch.as_tensor(checked.state))):
            state = checked.state
    residual = float(np.linalg.norm(f(state)))
    return state, residual, fsolve_check.position_error(residual, sigma), count, kind
