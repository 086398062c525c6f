"""The equation that a branch solves: F^m(h, p) = h of a map, f(h, p) = 0 of a flow, with its derivatives."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from dynlab.diagnostics.bifurcation.parameter import Varied


@dataclass(frozen=True)
class Equation:
    """G(h, p) = 0, where p is the one parameter of `varied`.

    Attributes
    ----------
    varied : Varied
    is_map : bool
    period : int
        m; 1 for a flow.
    """

    varied: Varied
    is_map: bool
    period: int = 1

    @property
    def critical(self) -> float:
        """The eigenvalue with which G has a singular Jacobian: 1 of a map, 0 of a flow."""
        return 1.0 if self.is_map else 0.0

    def orbit(self, state: Tensor, p: Tensor) -> Tensor:
        """h, F(h), … F^{m−1}(h), shape (m, n)."""
        states = [state]
        for _ in range(self.period - 1):
            states.append(self._moved(states[-1], p))
        return torch.stack(states)

    def residual(self, state: Tensor, p: Tensor) -> Tensor:
        """G, shape (n,)."""
        last = self._moved(self.orbit(state, p)[-1], p)
        return last - state if self.is_map else last

    def linear(self, state: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
        """The Jacobian whose eigenvalues decide stability, ∂F^m/∂h or ∂f/∂h, (n, n), and ∂G/∂p, (n,)."""
        states = self.orbit(state, p)
        matrices = self.varied.at(p.reshape(1), "jacobian", states)
        by_p = self._by_parameter(states, p)
        matrix, along = matrices[0], by_p[0]
        for k in range(1, self.period):
            matrix, along = matrices[k] @ matrix, matrices[k] @ along + by_p[k]
        return matrix, along

    def jacobian(self, state: Tensor, p: Tensor) -> Tensor:
        """The first of the two alone."""
        matrices = self.varied.at(p.reshape(1), "jacobian", self.orbit(state, p))
        product = matrices[0]
        for matrix in matrices[1:]:
            product = matrix @ product
        return product

    def _moved(self, states: Tensor, p: Tensor) -> Tensor:
        return self.varied.at(p.reshape(1), "step" if self.is_map else "velocity", states)

    def _by_parameter(self, states: Tensor, p: Tensor) -> Tensor:
        """∂/∂p of what `states` (m, n) move to."""
        return derivative_along(lambda q: self._moved(states, q), p, torch.ones_like(p), states.requires_grad)


def derivative_along(function: Callable[[Tensor], Tensor], at: Tensor, along: Tensor, recorded: bool = False) -> Tensor:
    """The derivative of a function in one direction: u ↦ uᵀ ∂ function · along is linear, and its own derivative.

    Where `at` asks for gradients, or it is to be `recorded`, it can be differentiated further.
    """
    recorded = recorded or at.requires_grad
    with torch.enable_grad():
        place = at.clone() if at.requires_grad else at.detach().requires_grad_()
        moved = function(place)
        u = torch.zeros_like(moved, requires_grad=True)
        if not moved.requires_grad:  # it does not depend on `at`
            return torch.zeros_like(moved)
        pulled = torch.autograd.grad(moved, place, u, create_graph=True, materialize_grads=True)[0]
        if not pulled.requires_grad:
            return torch.zeros_like(moved)
        found: Tensor = torch.autograd.grad((pulled * along).sum(), u, create_graph=recorded, materialize_grads=True)[0]
    return found
