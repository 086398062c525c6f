"""A map with its input and its step number held: what fixed points are points of."""

from dataclasses import dataclass

import torch
from torch import Tensor

from dynlab.jacobians import jacobian
from dynlab.operators import Operator
from dynlab.systems import Map


@dataclass(frozen=True)
class FrozenMap:
    """F(h) = step(h, input, t).

    Attributes
    ----------
    system : Map
    input : Tensor, shape (input,)
    t : int
    """

    system: Map
    input: Tensor
    t: int

    def step(self, states: Tensor) -> Tensor:
        """F of states (k, n)."""
        return self.system.step(states, self.input.expand(len(states), -1), self.t)

    def displacement(self, states: Tensor, rows: Tensor | None = None) -> Tensor:
        """F(h) − h, for `levenberg_marquardt.solve`."""
        return self.step(states) - states

    def displacement_jacobian(self, states: Tensor, rows: Tensor | None = None) -> Tensor:
        """J − I, shape (k, n, n)."""
        matrices = self.jacobians(states)
        matrices.diagonal(dim1=-2, dim2=-1).sub_(1)
        return matrices

    def operator(self, states: Tensor) -> Operator:
        """J = ∂F/∂h."""
        return jacobian(self.system, states, self.input.expand(len(states), -1), self.t)

    def jacobians(self, states: Tensor) -> Tensor:
        """J as matrices, shape (k, n, n)."""
        n = states.shape[-1]
        return self.operator(states).dense().expand(len(states), n, n).clone()

    def ungated(self, states: Tensor, rows: Tensor | None = None) -> Tensor:
        """A residual that no closed gate makes small: `System.ungated_residual`, or F(h) − h where that is one."""
        found = self.system.ungated_residual(states, self.input.expand(*states.shape[:-1], -1), self.t)
        return self.displacement(states) if found is None else found

    def ungated_jacobian(self, states: Tensor, rows: Tensor | None = None) -> Tensor:
        """Its derivative, by automatic differentiation, shape (k, n, n)."""
        return torch.func.vmap(torch.func.jacrev(self.ungated))(states)
