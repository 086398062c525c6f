"""The field of a planar system on arrays of states: a flow's velocity, a map's displacement in one step."""

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab import jacobians
from dynlab.systems import Flow, Map, System


class Field:
    """The field of an autonomous (zero input) system, called on states of shape (..., 2)."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.is_flow = isinstance(system, Flow)
        self.like = next(system.parameters(), torch.zeros(0, dtype=torch.float64))

    def __call__(self, states: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.tensor(torch.as_tensor(states).to(self.like)).double().cpu().numpy()

    def divergence(self, states: NDArray[np.float64]) -> NDArray[np.float64]:
        """The trace of the field's Jacobian, shape (...)."""
        matrices = self.slope(torch.as_tensor(states).to(self.like))
        return matrices.diagonal(dim1=-2, dim2=-1).sum(-1).double().cpu().numpy()

    def tensor(self, states: torch.Tensor) -> torch.Tensor:
        """The field at `states` as a tensor; it vanishes at an equilibrium or fixed point."""
        nothing = states.new_zeros(*states.shape[:-1], self.system.input_size)
        if isinstance(self.system, Flow):
            return self.system.velocity(states, nothing)
        if isinstance(self.system, Map):
            return self.system.step(states, nothing) - states
        raise TypeError(f"{type(self.system).__name__} is neither a Map nor a Flow")

    def slope(self, states: torch.Tensor) -> torch.Tensor:
        """The field's Jacobian, shape (..., 2, 2)."""
        found = self.system_jacobian(states)
        return found if self.is_flow else found - torch.eye(2, dtype=states.dtype, device=states.device)

    def system_jacobian(self, states: torch.Tensor) -> torch.Tensor:
        """∂velocity/∂state of a flow, ∂step/∂state of a map, shape (..., 2, 2)."""
        nothing = states.new_zeros(*states.shape[:-1], self.system.input_size)
        matrices = jacobians.jacobian(self.system, states, nothing).dense()
        return matrices.expand(*states.shape[:-1], 2, 2)
