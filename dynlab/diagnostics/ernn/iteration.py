"""ERNN's inner iteration g ← g + η F(g), continued beyond K steps, and the source's conditions along it."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.ernn.equilibria import InnerFlow
from dynlab.numerics.eigenvalues import approximate_eigenvalues
from dynlab.numerics.roots import tolerance
from dynlab.numerics.threads import in_threads

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
    for i in range(iterations):
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
    """ρ(∏(I + η_i ∇F))^{1/K} at the equilibria, shape (point,): the eigenvalues are ∏(1 + η_i μ) of ∇F's μ."""
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
    (largest,) = in_threads(lambda some: (np.linalg.eigvalsh(squares[some])[:, -1],), len(squares))
    return np.asarray(np.sqrt(largest))


def _log(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logarithm, −inf at 0: a mode that one step of the cycle removes."""
    with np.errstate(divide="ignore"):
        return np.log(values)
