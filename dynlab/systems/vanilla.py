"""The vanilla RNN h_t = φ(W h + V x + b), and the same right-hand side as a flow and its Euler step, "feedback".

References
----------
Chang, Chen, Haber and Chi, "AntisymmetricRNN: a dynamical system view on recurrent neural networks", ICLR 2019,
arXiv 1902.09689, section 5 (the two kinds of planar systems compared there).
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from dynlab.errors import entry
from dynlab.systems.activations import Activated, ActivatedFlow, ActivatedMap, activation_named
from dynlab.systems.base import Euler
from dynlab.systems.orthogonal import polar_factor

# What the weights are made in place.
STARTS: dict[str, Callable[[Tensor], object]] = {
    "uniform": lambda weight: None,
    "qr": nn.init.orthogonal_,
    "svd": lambda weight: weight.copy_(polar_factor(torch.randn_like(weight))),
}


class Uniform(Activated):
    """W, V and b of an activated system, uniform in ±1/√state_size; a b that is no parameter is 0 and not saved."""

    def __init__(self, input_size: int, state_size: int, activation: str = "tanh", bias: bool = True) -> None:
        super().__init__(state_size, input_size)
        self.activation = activation_named(activation)
        reach = 1 / math.sqrt(state_size)
        self.W = nn.Parameter(torch.empty(state_size, state_size).uniform_(-reach, reach))
        self.V = nn.Parameter(torch.empty(state_size, input_size).uniform_(-reach, reach))
        if bias:
            self.b = nn.Parameter(torch.empty(state_size).uniform_(-reach, reach))
        else:
            self.b = nn.Buffer(torch.zeros(state_size), persistent=False)


class Vanilla(Uniform, ActivatedMap):
    """h_t = φ(W h_{t−1} + V x_t + b), with ∂h_t/∂h_{t−1} = diag(φ') W.

    Weights and biases start uniform in ±1/√state_size, as torch's recurrent layers do.

    Parameters
    ----------
    input_size, state_size : int
    activation : {"tanh", "relu", "sigmoid", "identity"}
        φ.
    bias : bool
        Without it b = 0 and is no parameter.
    start : {"uniform", "qr", "svd"}
        Start of the weights: uniform in ±1/√n; or W and V from a matrix of independent normal entries, the
        orthogonal factor of its QR decomposition or the polar factor of its singular value decomposition.

    Examples
    --------
    >>> cell = Vanilla(input_size=1, state_size=2, bias=False)
    >>> cell.step(torch.zeros(2), torch.zeros(1)).tolist()
    [0.0, 0.0]
    """

    def __init__(
        self, input_size: int, state_size: int, activation: str = "tanh", bias: bool = True, start: str = "uniform"
    ) -> None:
        started = entry(STARTS, start, "start of the weights")
        super().__init__(input_size, state_size, activation, bias)
        with torch.no_grad():
            for weight in (self.W, self.V):
                started(weight)


class FeedbackFlow(Uniform, ActivatedFlow):
    """h' = φ(W h + V x + b), with Jacobian diag(φ') W; parameters and start as in `Vanilla`."""


def feedback(
    input_size: int, state_size: int, step_size: float = 0.1, activation: str = "tanh", bias: bool = True
) -> Euler:
    """h_t = h_{t−1} + ε φ(W h_{t−1} + V x_t + b): `Euler` of `FeedbackFlow`.

    Parameters
    ----------
    input_size, state_size : int
    step_size : float
        ε in seconds.
    activation : {"tanh", "relu", "sigmoid", "identity"}
        φ.
    bias : bool
        Without it b = 0 and is no parameter.
    """
    return Euler(FeedbackFlow(input_size, state_size, activation, bias), step_size)
