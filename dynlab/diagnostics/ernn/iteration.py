"""ERNN's inner iteration g ← g + η F(g), continued beyond K steps: the source's conditions along it, and its rate."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.ernn.equilibria import InnerFlow
from dynlab.numerics.eigenvalues import approximate_eigenvalues
from dynlab.numerics.roots import tolerance
from dynlab.numerics.threads import in_threads
from dynlab.progress import through

SAME_JACOBIAN = 1e-8  # times max(1, ‖g*‖): within this of an equilibrium ∇F is the equilibrium's


def iterates(flow: InnerFlow, start: Tensor, etas: Tensor, iterations: int) -> Tensor:
    """g⁽⁰⁾ … g⁽ᴵ⁾, shape (iteration + 1, point, state).

    Parameters
    ----------
    flow : InnerFlow
    start : Tensor, shape (point, state)
    etas : Tensor, shape (K, point)
        Cycled.
    iterations : int
    """
    found = [start]
    for i in through(range(iterations)):
        found.append(found[-1] + etas[i % len(etas)].unsqueeze(-1) * flow.velocity(found[-1]))
    return torch.stack(found)


def theorem_2(flow: InnerFlow, states: Tensor, etas: Tensor) -> NDArray[np.float64]:
    """‖F + η ∇F·F‖₂/‖F‖₂ at each iterate, shape (iteration + 1, point); NaN where F is rounding or not finite."""
    found = []
    for i, g in enumerate(states):
        F = flow.velocity(g)
        along = flow.system.inner_jacobian(g, flow.state, flow.input).apply(F.unsqueeze(-1)).squeeze(-1)
        norm = F.norm(dim=-1)
        ratio = (F + etas[i % len(etas)].unsqueeze(-1) * along).norm(dim=-1) / norm
        usable = torch.isfinite(ratio) & (norm > tolerance(g))
        found.append(torch.where(usable, ratio, torch.nan))
    return torch.stack(found).numpy()


def corollary_1(flow: InnerFlow, states: Tensor, etas: Tensor, equilibria: NDArray[np.float64]) -> NDArray[np.float64]:
    """‖I + η ∇F‖₂ at each iterate, shape (iteration + 1, point); NaN where the iterate is not finite."""
    found = np.full(states.shape[:2], np.nan)
    targets = torch.as_tensor(equilibria)
    scale = SAME_JACOBIAN * targets.norm(dim=-1).clamp_min(1)
    settled: dict[int, NDArray[np.float64]] = {}
    for i, g in enumerate(states):
        eta = etas[i % len(etas)]
        near = (g - targets).norm(dim=-1) <= scale
        moving = (torch.isfinite(g).all(-1) & ~near).nonzero()[:, 0]
        found[i, moving.numpy()] = _norms(flow, g[moving], eta[moving], moving)
        if near.any():
            if i % len(etas) not in settled:
                reached = torch.isfinite(targets).all(-1).nonzero()[:, 0]
                values = np.full(len(g), np.nan)
                values[reached.numpy()] = _norms(flow, targets[reached], eta[reached], reached)
                settled[i % len(etas)] = values
            found[i, near.numpy()] = settled[i % len(etas)][near.numpy()]
    return found


def predicted_rates(flow: InnerFlow, equilibria: NDArray[np.float64], etas: Tensor) -> NDArray[np.float64]:
    """ρ(∏(I + η_i ∇F))^{1/K} at the equilibria, shape (point,): the eigenvalues are ∏(1 + η_i λ) of ∇F's λ."""
    rates = np.full(len(equilibria), np.nan)
    points = torch.as_tensor(np.isfinite(equilibria).all(axis=1)).nonzero()[:, 0]
    if len(points):
        matrices = flow.jacobian(torch.as_tensor(equilibria)[points], points).numpy()
        factors = 1 + etas[:, points].numpy()[:, :, None] * approximate_eigenvalues(matrices)
        rates[points.numpy()] = np.exp(_log(np.abs(factors)).mean(axis=0).max(axis=-1))
    return rates


def _norms(flow: InnerFlow, g: Tensor, eta: Tensor, points: Tensor) -> NDArray[np.float64]:
    """‖I + η ∇F‖₂ by the largest eigenvalue of its product with its transpose."""
    if len(g) == 0:
        return np.zeros(0)
    matrices = eta[:, None, None] * flow.jacobian(g, points)
    matrices.diagonal(dim1=-2, dim2=-1).add_(1)
    squares = (matrices @ matrices.mT).numpy()
    finite, norms = np.isfinite(squares).all(axis=(1, 2)), np.full(len(squares), np.inf)  # a square may overflow
    good = squares[finite]
    (largest,) = in_threads(lambda some: (np.linalg.eigvalsh(good[some])[:, -1],), len(good))
    norms[finite] = np.sqrt(largest)
    return norms


def _log(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logarithm, −inf at 0: a mode that one step of the cycle removes."""
    with np.errstate(divide="ignore"):
        return np.log(values)


ROUNDING = 100  # times ε max(1, ‖g*‖): distances below are rounding
PART = 3  # the last third of what lies above rounding is used
FEWEST = 4  # distances that a regression needs
LARGEST = 1e100  # distances above are those of an iteration that has long diverged
AGREEMENT = 0.02  # of the slope: where the two halves of the window differ by more, the rate has not settled
LINEAR = 1e-3  # of the first distance: above it the iteration need not be linear yet, however straight its line


def measured_rate(distance: NDArray[np.float64], floor: float, cycle: int = 1) -> tuple[float, bool]:
    """The rate at which a distance falls, by regression of its logarithm, and whether that has settled.

    The regression is over the last third of what lies above rounding: before, faster modes still count.
    Where many modes decay alike, as in a large random net, the slowest one does not dominate before rounding sets in:
    the measured rate is then a little below the true one, although it has settled.

    Parameters
    ----------
    distance : ndarray, shape (iteration,)
    floor : float
        Below it a distance is rounding.
    cycle : int
        The window is a multiple of this: the period of the step sizes.

    Returns
    -------
    rate : float
        NaN where fewer than `FEWEST` distances lie in the window.
    settled : bool
        Whether the slopes of the window's halves agree within `AGREEMENT`, and the distance has fallen to `LINEAR`.
    """
    usable = np.isfinite(distance) & (distance > floor) & (distance < LARGEST)
    length = len(distance) if usable.all() else int(np.argmin(usable))
    width = (length // PART) // (2 * cycle) * (2 * cycle)
    if width < FEWEST:
        return np.nan, False
    window = np.log(distance[length - width : length])
    slope = _slope(window)
    early, late = _slope(window[: width // 2]), _slope(window[width // 2 :])
    close = distance[length - 1] <= LINEAR * distance[0]
    return float(np.exp(slope)), bool(close and abs(early - late) <= AGREEMENT * abs(slope))


def floor_of(equilibrium: NDArray[np.float64], error: float) -> float:
    """The distance below which an iterate cannot be told from an equilibrium (state,) known up to `error`."""
    return max(ROUNDING * np.finfo(np.float64).eps * max(1.0, float(np.linalg.norm(equilibrium))), error)


def _slope(values: NDArray[np.float64]) -> float:
    steps = np.arange(len(values)) - (len(values) - 1) / 2
    return float(steps @ values / (steps @ steps))
