"""UGRNN: one gate between the old state and a candidate, as in EdgeML.

References
----------
Collins, Sohl-Dickstein and Sussillo, "Capacity and trainability in recurrent neural networks", ICLR 2017,
arXiv 1611.09913, section 2; initial values and the form without an extra bias of the gate as in Microsoft's EdgeML
library, the code beside Kusupati et al., "FastGRNN", NeurIPS 2018.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.systems.base import Map

# EdgeML's initial deviation of every weight; its biases start at 1.
WEIGHT_DEVIATION = 0.1


class UGRNN(Map):
    """h_t = z ∘ h_{t−1} + (1 − z) ∘ c with z = σ(W_z x + U_z h + b_z) and c = tanh(W_c x + U_c h + b_c).

    The Jacobian is diag(z) + diag(σ'(p_z) (h − c)) U_z + diag((1 − z) tanh'(p_c)) U_c of the two pre-activations.

    Parameters
    ----------
    input_size, state_size : int

    Examples
    --------
    >>> cell = UGRNN(input_size=9, state_size=64)
    >>> sum(parameter.numel() for parameter in cell.parameters())
    9472
    """

    def __init__(self, input_size: int, state_size: int) -> None:
        super().__init__(state_size, input_size)
        self.W_z = nn.Parameter(WEIGHT_DEVIATION * torch.randn(state_size, input_size))
        self.U_z = nn.Parameter(WEIGHT_DEVIATION * torch.randn(state_size, state_size))
        self.b_z = nn.Parameter(torch.ones(state_size))
        self.W_c = nn.Parameter(WEIGHT_DEVIATION * torch.randn(state_size, input_size))
        self.U_c = nn.Parameter(WEIGHT_DEVIATION * torch.randn(state_size, state_size))
        self.b_c = nn.Parameter(torch.ones(state_size))

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        p_z, p_c = self._preactivations(state, input)
        candidate = torch.tanh(p_c)
        return candidate + torch.sigmoid(p_z) * (state - candidate)

    def state_bound(self) -> Tensor:
        return self.b_c.new_ones(self.state_size)

    def ungated_residual(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        return state - torch.tanh(self._preactivations(state, input)[1])

    def _preactivations(self, state: Tensor, input: Tensor) -> tuple[Tensor, Tensor]:
        """Return the pre-activations of z and of c."""
        p_z = linear(input, self.W_z) + linear(state, self.U_z, self.b_z)
        return p_z, linear(input, self.W_c) + linear(state, self.U_c, self.b_c)
