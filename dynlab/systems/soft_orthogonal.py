"""The soft-orthogonal RNN: a recurrent matrix whose singular values may leave 1 by a margin.

References
----------
Vorontsov, Trabelsi, Kadoury and Pal, "On orthogonality and learning recurrent networks with long term dependencies",
ICML 2017, arXiv 1702.00071, sections 2.1 and 2.2; starts as in the authors' code, whose steps along the orthogonal
matrices, taken from the first base for ever and in the wrong order of factors, are corrected here. Theirs
learns h_0 too, which is 0 here.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.errors import UserError
from dynlab.systems.activations import Activated, activation_named
from dynlab.systems.base import Map
from dynlab.systems.orthogonal import Orthogonal, SkewSymmetric, constrain, skew_start

# The input weights start uniform in this range on both sides of 0.
INPUT_REACH = 0.01


class SoftOrthogonalRNN(Activated, Map):
    """h_t = φ(W h_{t−1} + V x_t + b), W = U diag(s) Qᵀ with s in (1 − m, 1 + m), and the Jacobian diag(φ') W.

    U and Q are orthogonal; s = 1 + 2 m (σ(p) − ½), p = 0 at the start. W has n² free parameters. Each step of an
    optimiser is one along the orthogonal matrices, by the Cayley map from where it stands: the bases move every step.

    Parameters
    ----------
    input_size, state_size : int
    margin : float
        m in [0, 1); with 0 the matrix is orthogonal and there is no p.
    activation : {"identity", "tanh", "relu", "sigmoid"}
        φ; the identity in the authors' code, on MNIST it is not published.

    Examples
    --------
    >>> cell = SoftOrthogonalRNN(input_size=1, state_size=128)
    >>> sum(parameter.numel() for parameter in cell.parameters())
    16640
    """

    U: Tensor
    Q: Tensor

    def __init__(self, input_size: int, state_size: int, margin: float = 0.1, activation: str = "identity") -> None:
        super().__init__(state_size, input_size)
        if not 0 <= margin < 1:
            raise UserError(f"The margin of the singular values around 1 must be from 0 to below 1, got {margin}.")
        self.activation, self.margin = activation_named(activation), margin
        self.V = nn.Parameter(torch.empty(state_size, input_size).uniform_(-INPUT_REACH, INPUT_REACH))
        self.b = nn.Parameter(torch.zeros(state_size))
        self.p = nn.Parameter(torch.zeros(state_size)) if margin else None
        bases = {
            "U": nn.init.orthogonal_(torch.empty(state_size, state_size, dtype=torch.float64)),
            "Q": torch.eye(state_size),
        }
        for name, base in bases.items():
            orthogonal = Orthogonal(SkewSymmetric(state_size), "cayley", base, rebase_every=1)
            constrain(self, name, skew_start(state_size, "zero"), orthogonal)

    step = Activated.value
    state_bound = Activated.value_bound

    def weights(self) -> tuple[Tensor, Tensor]:
        return (self.U * self.singular_values()) @ self.Q.mT, self.V

    def singular_values(self) -> Tensor:
        """s, shape (state,)."""
        return torch.ones_like(self.b) if self.p is None else 1 + 2 * self.margin * (torch.sigmoid(self.p) - 0.5)

    def penalty(self) -> Tensor:
        """‖WᵀW − I‖_F² = Σ (s_i² − 1)²."""
        return (self.singular_values().square() - 1).square().sum()

    def preactivation(self, state: Tensor, input: Tensor) -> Tensor:
        turned = self.singular_values() * linear(state, self.Q.mT)
        return linear(turned, self.U) + linear(input, self.V, self.b)
