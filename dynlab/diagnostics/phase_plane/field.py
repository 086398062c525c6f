"""The field of a planar system on arrays of states: a flow's velocity, a map's displacement in one step."""

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.jacobians import displacement_matrices
from dynlab.systems import System
from dynlab.systems.held import Held


def without_input(system: System) -> Held:
    """The system with its input held at zero, in the dtype and on the device of its weights."""
    like = next(system.parameters(), torch.zeros(0, dtype=torch.float64))
    return Held(system, like.new_zeros(system.input_size))


def field(held: Held, states: NDArray[np.float64]) -> NDArray[np.float64]:
    """The displacement at `states` (..., 2), which vanishes at an equilibrium or fixed point."""
    return held.displacement(torch.as_tensor(states).to(held.input)).double().cpu().numpy()


def divergence(held: Held, states: NDArray[np.float64]) -> NDArray[np.float64]:
    """The trace of the field's Jacobian, shape (...)."""
    matrices = displacement_matrices(held, torch.as_tensor(states).to(held.input))
    return matrices.diagonal(dim1=-2, dim2=-1).sum(-1).double().cpu().numpy()
