"""FastRNN: a residual step with two learned scalars.

References
----------
Kusupati et al., "FastGRNN: a fast, accurate, stable and tiny kilobyte sized gated recurrent neural network",
NeurIPS 2018, section 3.1; initial values as in the authors' EdgeML library.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.systems.activations import activation_named
from dynlab.systems.base import Flow, Map

# EdgeML's initial values: σ(β) = 0.9526 of the old state and σ(α) = 0.0474 of the candidate; weights of deviation 0.1.
INITIAL_ALPHA, INITIAL_BETA = -3.0, 3.0
WEIGHT_DEVIATION = 0.1


class FastRNN(Map):
    """h_t = σ(β) h_{t−1} + σ(α) φ(W x_t + U h_{t−1} + b), with ∂h_t/∂h_{t−1} = σ(β) I + σ(α) diag(φ') U.

    Parameters
    ----------
    input_size, state_size : int
    activation : {"tanh", "relu", "sigmoid", "identity"}
        φ; the authors take tanh mostly, ReLU on HAR-2 and the spoken commands.
    """

    def __init__(self, input_size: int, state_size: int, activation: str = "tanh") -> None:
        super().__init__(state_size, input_size)
        self.activation = activation_named(activation)
        self.W = nn.Parameter(WEIGHT_DEVIATION * torch.randn(state_size, input_size))
        self.U = nn.Parameter(WEIGHT_DEVIATION * torch.randn(state_size, state_size))
        self.b = nn.Parameter(torch.ones(state_size))
        self.alpha = nn.Parameter(torch.tensor(INITIAL_ALPHA))
        self.beta = nn.Parameter(torch.tensor(INITIAL_BETA))

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        candidate = self.activation.function(self.preactivation(state, input))
        return torch.sigmoid(self.beta) * state + torch.sigmoid(self.alpha) * candidate

    def preactivation(self, state: Tensor, input: Tensor) -> Tensor:
        """W x + U h + b, shape (..., state)."""
        return linear(input, self.W) + linear(state, self.U, self.b)


class FastRNNFlow(Flow):
    """h' = φ(W x + U h + b) − κ h with κ = (1 − σ(β))/σ(α): the flow whose Euler step of size σ(α) a FastRNN is.

    Parameters
    ----------
    cell : FastRNN
    """

    def __init__(self, cell: FastRNN) -> None:
        super().__init__(cell.state_size, cell.input_size)
        self.cell = cell
        self.name, self.config = cell.name, cell.config
        self.source, self.task, self.task_settings = cell.source, cell.task, cell.task_settings

    def velocity(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        return self.cell.activation.function(self.cell.preactivation(state, input)) - self._leak() * state

    def _leak(self) -> Tensor:
        """κ; 1 − σ(β) = σ(−β) does not cancel."""
        return torch.sigmoid(-self.cell.beta) / torch.sigmoid(self.cell.alpha)
