"""ERNN's inner flow g' = F(g): its equilibria, and the iteration g ← g + η F(g) towards them."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.numerics import merging
from dynlab.numerics.eigenvalues import approximate_eigenvalues
from dynlab.numerics.fsolve_check import position_error
from dynlab.numerics.roots import Function, led_by_flow, solve, tolerance
from dynlab.numerics.singular_values import singular_values
from dynlab.numerics.threads import slices
from dynlab.progress import through
from dynlab.systems.ernn import ERNN
from dynlab.trajectories.driven import NUMBERS_AT_ONCE

ONE, SEVERAL, DEGENERATE, NONE = "one equilibrium", "several equilibria", "degenerate", "none found"
# Random states to begin at, beside where the iteration starts and where it ends. Of 196 equilibria of nets with 3 to 7
# ReLU units 58 are missed from 6, 22 from 24, 2 from 96. The cost of each grows as the cube of the size.
MOST_RANDOM, FEWEST_RANDOM, RANDOM_ENTRIES = 96, 6, 1536
# Times 1 + ‖∇F‖₂: below, a root is degenerate to rounding. At a double root, a residual of 1e-12 leaves σ_min = 2e-6.
SINGULAR = 3e-6
FARTHEST = 1e3  # times a state's size: a step of Newton's leads no farther
REACH = 2.0  # z = g + s h is sought within this many times max(1, |z| where the iteration starts)


class InnerFlow(NamedTuple):
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
        """Return F(g) of states (k, n) at these points."""
        return self.system.inner_velocity(g, self.state[points], self.input[points])

    def jacobian(self, g: Tensor, points: Tensor | slice = slice(None)) -> Tensor:
        """Return ∇F(g), shape (k, n, n)."""
        dense = self.system.inner_jacobian(g, self.state[points], self.input[points]).dense()
        return dense.expand(len(g), *dense.shape[-2:])


class InnerEquilibria(NamedTuple):
    """The equilibria that were found at each point.

    Attributes
    ----------
    states : ndarray, shape (point, state)
        The one nearest to where the iteration ended; NaN where none was found.
    residuals, errors : ndarray, shape (point,)
        ‖F‖₂ there, and how far from the true equilibrium it may be, 10 ‖F‖₂/σ_min(∇F).
    counts : ndarray of int, shape (point,)
        Number of different ones that the searches found; those that are degenerate count as one.
    kinds : ndarray of str, shape (point,)
        `ONE`, `SEVERAL`, `DEGENERATE` (∇F is singular at one of them: a multiple root or a continuum) or `NONE`.
    """

    states: NDArray[np.float64]
    residuals: NDArray[np.float64]
    errors: NDArray[np.float64]
    counts: NDArray[np.int64]
    kinds: NDArray[np.str_]


def inner_equilibria(flow: InnerFlow, start: Tensor, end: Tensor, generator: np.random.Generator) -> InnerEquilibria:
    """Search from where the iteration starts and ends, (point, state), and from random states.

    The flow is in float64 on the CPU.
    """
    number, size = start.shape
    shift = flow.system.sign * flow.state
    reach = REACH * (start + shift).abs().amax(dim=-1).clamp_min(1)
    random = min(MOST_RANDOM, max(FEWEST_RANDOM, RANDOM_ENTRIES // size))
    spread = torch.as_tensor(generator.uniform(-1, 1, (random, number, size)))
    reached = torch.where(torch.isfinite(end).all(-1, keepdim=True), end, start)
    drawn = spread * reach.unsqueeze(-1) - shift
    drawn[::2] = _by_one_step(flow, drawn[::2])  # to what is an equilibrium if no unit's slope changes on the way
    starts = torch.cat([torch.stack([start, reached]), drawn]).flatten(0, 1)
    points = torch.arange(number).repeat(len(drawn) + 2)
    ended = solve(*_at(flow, points), starts)
    rows = (~ended.converged.reshape(-1, number).any(dim=0)[points]).nonzero()[:, 0]
    if len(rows):  # where Newton's method stops in a slow region the flow itself leads on
        f, jacobian = _at(flow, points[rows])
        again = solve(f, jacobian, led_by_flow(f, jacobian, starts[rows]))
        ended.states[rows], ended.converged[rows] = again.states, again.converged
    roots = [ended.states[ended.converged & (points == i)].numpy() for i in range(number)]
    each = [_at_point(flow, i, roots[i], reached[i].numpy()) for i in range(number)]
    return InnerEquilibria(*map(np.array, zip(*each, strict=True)))


def _at(flow: InnerFlow, points: Tensor) -> tuple[Function, Function]:
    """Return the velocity and Jacobian of states each of which belongs to one of the points."""
    return (lambda g, rows: flow.velocity(g, points[rows]), lambda g, rows: flow.jacobian(g, points[rows]))


def _by_one_step(flow: InnerFlow, states: Tensor) -> Tensor:
    """Return states (k, point, n) after a whole step of Newton's, but for those that it leads far away."""
    points, begun = torch.arange(states.shape[1]).repeat(len(states)), states.reshape(-1, states.shape[2])
    off = flow.velocity(begun, points).unsqueeze(-1)
    moved = begun - torch.linalg.solve_ex(flow.jacobian(begun, points), off)[0].squeeze(-1)
    near = moved.abs().amax(dim=-1, keepdim=True) < FARTHEST * begun.abs().amax(dim=-1, keepdim=True)  # not of NaN
    return torch.where(near, moved, begun).reshape(states.shape)


def _at_point(
    flow: InnerFlow, point: int, roots: NDArray[np.float64], reached: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float, float, int, str]:
    if len(roots) == 0:
        return np.full(len(reached), np.nan), np.nan, np.nan, 0, NONE
    distinct = roots[np.unique(merging.merged(roots), return_index=True)[1]]
    states, here = torch.as_tensor(distinct), torch.full((len(distinct),), point)
    sigmas = np.linalg.svd(flow.jacobian(states, here).numpy(), compute_uv=False)
    singular = sigmas[:, -1] <= SINGULAR * (1 + sigmas[:, 0])
    count = int((~singular).sum()) + bool(singular.any())
    kind = DEGENERATE if singular.any() else SEVERAL if count > 1 else ONE
    chosen = int(np.argmin(np.linalg.norm(distinct - reached, axis=1)))
    residual = float(flow.velocity(states, here)[chosen].norm())
    return distinct[chosen], residual, position_error(residual, float(sigmas[chosen, -1])), count, kind


ROUNDING = 100  # times ε max(1, ‖g*‖): distances below are rounding
PART = 3  # the last third of what lies above rounding is used
FEWEST = 4  # distances that a regression needs
LARGEST = 1e100  # distances above are those of an iteration that has long diverged
AGREEMENT = 0.02  # of the slope: where the two halves of the window differ by more, the rate has not settled
LINEAR = 1e-3  # of the first distance: above it the iteration need not be linear yet, however straight its line
SAME_JACOBIAN = 1e-8  # times max(1, ‖g*‖): within this of an equilibrium ∇F is the equilibrium's


def iterates(flow: InnerFlow, start: Tensor, etas: Tensor, iterations: int) -> Tensor:
    """Return g⁽⁰⁾ … g⁽ᴵ⁾, (iteration + 1, point, state), from `start` (point, state) by `etas` (K, point), cycled."""
    found = [start]
    for i in through(range(iterations)):
        found.append(found[-1] + etas[i % len(etas)].unsqueeze(-1) * flow.velocity(found[-1]))
    return torch.stack(found)


def theorem_2(flow: InnerFlow, states: Tensor, etas: Tensor) -> NDArray[np.float64]:
    """Return ‖F + η ∇F·F‖₂/‖F‖₂ at each iterate, (iteration + 1, point); NaN where F is rounding or not finite."""
    F = flow.velocity(states)
    along = flow.system.inner_jacobian(states, flow.state, flow.input).apply(F.unsqueeze(-1)).squeeze(-1)
    eta = etas[torch.arange(len(states)) % len(etas)].unsqueeze(-1)
    norm = F.norm(dim=-1)
    ratio = (F + eta * along).norm(dim=-1) / norm
    return torch.where(torch.isfinite(ratio) & (norm > tolerance(states)), ratio, torch.nan).numpy()


def corollary_1(flow: InnerFlow, states: Tensor, etas: Tensor) -> NDArray[np.float64]:
    """Return ‖I + η ∇F‖₂ at each iterate, shape (iteration + 1, point); NaN where the iterate is not finite.

    Near the last iterate it is computed once, for that one.
    """
    cycle = torch.arange(len(states)) % len(etas)
    near = (states - states[-1]).norm(dim=-1) <= SAME_JACOBIAN * states[-1].norm(dim=-1).clamp_min(1)
    points = torch.arange(states.shape[1])
    last = np.array([_norms(flow, states[-1], eta, points) for eta in etas])
    found = np.where(near, last[cycle], np.nan)
    moving = torch.isfinite(states).all(dim=-1) & ~near
    i, points = moving.nonzero(as_tuple=True)
    found[moving.numpy()] = _norms(flow, states[i, points], etas[cycle[i], points], points)
    return found


@np.errstate(divide="ignore")  # a mode that one step of the cycle removes
def predicted_rates(flow: InnerFlow, equilibria: NDArray[np.float64], etas: Tensor) -> NDArray[np.float64]:
    """Return ρ(∏(I + η_i ∇F))^{1/K} at the equilibria, shape (point,): the eigenvalues are ∏(1 + η_i λ) of ∇F's λ."""
    matrices = flow.jacobian(torch.as_tensor(equilibria)).numpy()
    factors = 1 + etas.numpy()[:, :, None] * approximate_eigenvalues(matrices)
    rates = np.exp(np.log(np.abs(factors)).mean(axis=0).max(axis=-1))
    return np.where(np.isfinite(equilibria).all(axis=1), rates, np.nan)


def _norms(flow: InnerFlow, g: Tensor, eta: Tensor, points: Tensor) -> NDArray[np.float64]:
    """Return ‖I + η ∇F‖₂ at states (k, n) of these points; NaN at those that are not finite."""
    identity, norms = torch.eye(g.shape[-1]).to(g), np.zeros(len(g))
    for some in slices(len(g), NUMBERS_AT_ONCE / g.shape[-1] ** 2):
        matrices = identity + eta[some, None, None] * flow.jacobian(g[some], points[some])
        norms[some] = singular_values(matrices.numpy())[:, 0]
    return norms


def measured_rate(distance: NDArray[np.float64], floor: float, cycle: int = 1) -> tuple[float, bool]:
    """Return the rate at which a distance (iteration,) falls, by regression of its logarithm, and whether it settled.

    The regression is over the last third of what lies above rounding, `floor`; before, faster modes still count. Its
    window is a multiple of `cycle`, the period of the step sizes. The rate is NaN where fewer than `FEWEST` distances
    lie in it. It has settled where the slopes of the window's halves agree within `AGREEMENT`, and the distance has
    fallen to `LINEAR`. Where many modes decay alike, as in a large random net, the slowest one does not dominate before
    rounding sets in: the measured rate is then a little below the true one, although it has settled.
    """
    usable = np.isfinite(distance) & (distance > floor) & (distance < LARGEST)
    length = len(distance) if usable.all() else int(np.argmin(usable))
    width = (length // PART) // (2 * cycle) * (2 * cycle)
    if width < FEWEST:
        return np.nan, False
    window = np.log(distance[length - width : length])
    slope, early, late = (
        float(np.polyfit(np.arange(len(part)), part, 1)[0])
        for part in (window, window[: width // 2], window[width // 2 :])
    )
    close = distance[length - 1] <= LINEAR * distance[0]
    return float(np.exp(slope)), bool(close and abs(early - late) <= AGREEMENT * abs(slope))


def floor_of(equilibrium: NDArray[np.float64], error: float) -> float:
    """Return the distance below which an iterate cannot be told from an equilibrium (state,) known up to `error`."""
    return max(ROUNDING * np.finfo(np.float64).eps * max(1.0, float(np.linalg.norm(equilibrium))), error)
