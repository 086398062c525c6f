"""The flow that a cell is a step of, where it is one, and the factors of that flow's Jacobian."""

from typing import NamedTuple

import torch
from torch import Tensor

from dynlab.operators import Diagonal, Operator, Product, Shared
from dynlab.systems import Euler, Map
from dynlab.systems.fastrnn import FastRNN, FastRNNFlow


class JacobianFactors(NamedTuple):
    """A flow's Jacobian diag(c) M.

    Attributes
    ----------
    diagonal : Tensor, shape (..., state)
        c, the activation's slopes of an ungated cell.
    matrix : Tensor, shape (state, state)
        M.
    """

    diagonal: Tensor
    matrix: Tensor


def euler_step(system: Map) -> Euler | None:
    """The system as an Euler step of a flow, or None where it is none: FastRNN is one of size σ(α)."""
    if isinstance(system, Euler):
        return system
    if isinstance(system, FastRNN):
        step = Euler(FastRNNFlow(system), float(torch.sigmoid(system.alpha.detach().double())))
        step.config, step.source, step.recorded_inputs = system.config, system.source, system.recorded_inputs
        step.embedding, step.network_input_size = system.embedding, system.network_input_size
        return step
    return None


def factors(jacobian: Operator) -> JacobianFactors | None:
    """The diagonal c and the matrix M of a Jacobian diag(c) M, or of one matrix M; None where it is made otherwise."""
    if isinstance(jacobian, Shared):
        return JacobianFactors(torch.ones_like(jacobian.matrix[0]), jacobian.matrix)
    if isinstance(jacobian, Product) and len(jacobian.factors) == 2:
        left, right = jacobian.factors
        if isinstance(left, Diagonal) and isinstance(right, Shared):
            return JacobianFactors(left.diagonal, right.matrix)
    return None
