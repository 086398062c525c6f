"""The Jacobian of a system's step or velocity: in closed form where the system has one, else automatic."""

import torch
from torch import Tensor

from dynlab.jacobians.automatic import automatic_jacobian
from dynlab.operators import Operator
from dynlab.systems import Map, System


def jacobian(system: System, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator:
    """∂step/∂state of a map, ∂velocity/∂state of a flow.

    Parameters
    ----------
    system : System
    state : Tensor, shape (..., state)
    input : Tensor, shape (..., input)
    t : int or Tensor
        The step's number, broadcastable with the leading dimensions.

    Returns
    -------
    Operator
        With the leading dimensions of `state`.
    """
    closed = system.closed_form_jacobian(state, input, t)
    return automatic_jacobian(system, state, input, t) if closed is None else closed


def input_jacobian(system: System, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator:
    """∂step/∂input of a map, ∂velocity/∂input of a flow, as `jacobian`: operators from the input to the state."""
    closed = system.closed_form_input_jacobian(state, input, t)
    return automatic_jacobian(system, state, input, t, by_input=True) if closed is None else closed


def along(system: Map, states: Tensor, inputs: Tensor) -> Operator:
    """∂h_t/∂h_{t−1} for t = 1…T along a trajectory.

    Parameters
    ----------
    system : Map
    states : Tensor, shape (..., T + 1, state)
        h_0 … h_T.
    inputs : Tensor, shape (..., T, input)
        x_1 … x_T.

    Returns
    -------
    Operator
        With leading dimensions (..., T).
    """
    steps = torch.arange(inputs.shape[-2], device=states.device)
    return jacobian(system, states[..., :-1, :], inputs, steps)
