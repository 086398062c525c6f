"""ERNN's inner iteration g ← g + η F(g), continued beyond K steps: the source's conditions along it, and its rate."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.ernn.equilibria import InnerFlow
from dynlab.driven import NUMBERS_AT_ONCE
from dynlab.numerics.eigenvalues import approximate_eigenvalues
from dynlab.numerics.roots import tolerance
from dynlab.numerics.threads import in_threads
from dynlab.progress import through

ROUNDING = 100  # times ε max(1, ‖g*‖): distances below are rounding
PART = 3  # the last third of what lies above rounding is used
FEWEST = 4  # distances that a regression needs
LARGEST = 1e100  # distances above are those of an iteration that has long diverged
AGREEMENT = 0.02  # of the slope: where the two halves of the window differ by more, the rate has not settled
LINEAR = 1e-3  # of the first distance: above it the iteration need not be linear yet, however straight its line
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
    F = flow.velocity(states)
    along = flow.system.inner_jacobian(states, flow.state, flow.input).apply(F.unsqueeze(-1)).squeeze(-1)
    eta = etas[torch.arange(len(states)) % len(etas)].unsqueeze(-1)
    norm = F.norm(dim=-1)
    ratio = (F + eta * along).norm(dim=-1) / norm
    return torch.where(torch.isfinite(ratio) & (norm > tolerance(states)), ratio, torch.nan).numpy()


def corollary_1(
    flow: InnerFlow, states: Tensor, etas: Tensor, equilibria: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """‖I + η ∇F‖₂ at each iterate, shape (iteration + 1, point); NaN where the iterate is not finite.

    Near `equilibria` (point, state) it is computed once, for the equilibrium.
    """
    cycle = torch.arange(len(states)) % len(etas)
    near = torch.zeros(states.shape[:2], dtype=torch.bool)
    found = np.full(near.shape, np.nan)
    if equilibria is not None:
        targets = torch.as_tensor(equilibria)
        near = (states - targets).norm(dim=-1) <= SAME_JACOBIAN * targets.norm(dim=-1).clamp_min(1)
        reached = near.any(dim=0).expand(len(etas), -1)
        k, points = reached.nonzero(as_tuple=True)
        settled = np.full(etas.shape, np.nan)
        settled[reached.numpy()] = _norms(flow, targets[points], etas[k, points], points)
        found = np.where(near, settled[cycle], np.nan)
    moving = torch.isfinite(states).all(dim=-1) & ~near
    i, points = moving.nonzero(as_tuple=True)
    found[moving.numpy()] = _norms(flow, states[i, points], etas[cycle[i], points], points)
    return found


def predicted_rates(flow: InnerFlow, equilibria: NDArray[np.float64], etas: Tensor) -> NDArray[np.float64]:
    """ρ(∏(I + η_i ∇F))^{1/K} at the equilibria, shape (point,): the eigenvalues are ∏(1 + η_i λ) of ∇F's λ."""
    rates = np.full(len(equilibria), np.nan)
    points = torch.as_tensor(np.isfinite(equilibria).all(axis=1)).nonzero()[:, 0]
    if len(points):
        matrices = flow.jacobian(torch.as_tensor(equilibria)[points], points).numpy()
        factors = 1 + etas[:, points].numpy()[:, :, None] * approximate_eigenvalues(matrices)
        with np.errstate(divide="ignore"):  # a mode that one step of the cycle removes
            rates[points.numpy()] = np.exp(np.log(np.abs(factors)).mean(axis=0).max(axis=-1))
    return rates


def _norms(flow: InnerFlow, g: Tensor, eta: Tensor, points: Tensor) -> NDArray[np.float64]:
    """‖I + η ∇F‖₂ by the largest eigenvalue of its product with its transpose; inf where that overflows."""
    norms = np.full(len(g), np.inf)
    for some in torch.arange(len(g)).split(max(1, NUMBERS_AT_ONCE // g.shape[-1] ** 2)):
        matrices = eta[some, None, None] * flow.jacobian(g[some], points[some])
        matrices.diagonal(dim1=-2, dim2=-1).add_(1)
        squares = (matrices @ matrices.mT).numpy()
        finite = np.isfinite(squares).all(axis=(1, 2))
        good = squares[finite]
        (largest,) = in_threads(lambda rows, good=good: (np.linalg.eigvalsh(good[rows])[:, -1],), len(good))
        norms[some.numpy()[finite]] = np.sqrt(largest)
    return norms


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
    slope, early, late = (
        float(np.polyfit(np.arange(len(part)), part, 1)[0])
        for part in (window, window[: width // 2], window[width // 2 :])
    )
    close = distance[length - 1] <= LINEAR * distance[0]
    return float(np.exp(slope)), bool(close and abs(early - late) <= AGREEMENT * abs(slope))


def floor_of(equilibrium: NDArray[np.float64], error: float) -> float:
    """The distance below which an iterate cannot be told from an equilibrium (state,) known up to `error`."""
    return max(ROUNDING * np.finfo(np.float64).eps * max(1.0, float(np.linalg.norm(equilibrium))), error)
