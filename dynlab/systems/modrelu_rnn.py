"""The RNN with modReLU whose recurrent matrix is free; with an orthogonal one it is `dynlab.systems.orthogonal_rnn`.

ModReLU is the activation that keeps directions: the sign of a real number, the phase of a complex one. The constants
that public codes add to the modulus are left out: they shrink the state at every step.

References
----------
Arjovsky, Shah and Bengio, "Unitary evolution recurrent neural networks", ICML 2016, arXiv 1511.06464, equation 8, for
modReLU; Lezcano-Casado and Martínez-Rubio, ICML 2019, arXiv 1901.08428, section 4, for the step; Nguyen-Duy, Pham and
Nguyen, arXiv 2304.11790, whose code has this network, mode "rnn" with nonlinearity "modrelu", as the one without a
constraint.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.operators import Diagonal, Operator, Shared
from dynlab.program import Program
from dynlab.systems.base import Map, check_sizes
from dynlab.systems.orthogonal import Orthogonal, SkewSymmetric, skew_start
from dynlab.systems.unitwise import Unitwise


def modrelu(z: Tensor, b: Tensor) -> Tensor:
    """sign(z) max(abs(z) + b, 0), and 0 at z = 0."""
    return torch.sign(z) * torch.relu(z.abs() + b)


def modrelu_slope(z: Tensor, b: Tensor) -> Tensor:
    """Its derivative: 1 where abs(z) + b > 0, else 0, and 0 at z = 0."""
    return ((z.abs() + b > 0) & (z != 0)).to(z.dtype)


MODRELU_REACH = 0.01  # the range of modReLU's b at the start, on both sides of 0


class ModReLURNN(Map):
    """h_t = modReLU(V x_t + Bᵀ h_{t−1}), and ∂h_t/∂h_{t−1} = diag(modReLU') Bᵀ. V has no bias of its own.

    Parameters
    ----------
    V : Tensor, shape (state, input)
    b : Tensor, shape (state,)
        modReLU's, at the start.
    """

    B: Tensor

    def __init__(self, V: Tensor, b: Tensor) -> None:
        super().__init__(*V.shape)
        self.V = nn.Parameter(V)
        self.b = nn.Parameter(b)

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        return modrelu(linear(state, self.recurrent()) + linear(input, self.V), self.b)

    def unitwise(self, inputs: Tensor) -> Unitwise:
        return Unitwise(
            self.recurrent(), linear(inputs, self.V), lambda state, pre, b: modrelu(pre, b), shared=(self.b,)
        )

    def formula(self, p: Program, h: int, x: int, t: int = 0) -> int:
        return p.modrelu(p.add(p.linear(self.recurrent(), h), p.linear(self.V, x)), self.b)

    def closed_form_jacobian(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator:
        recurrent = self.recurrent()
        return Diagonal(modrelu_slope(linear(state, recurrent) + linear(input, self.V), self.b)) @ Shared(recurrent)

    def recurrent(self) -> Tensor:
        """Bᵀ, what the step multiplies a state with."""
        return self.B.mT


def modrelu_rnn(input_size: int, state_size: int, init: str = "cayley") -> ModReLURNN:
    """The RNN with modReLU and a free B that starts where expRNN's does, at exp(A).

    Parameters
    ----------
    input_size, state_size : int
    init : {"cayley", "henaff", "zero"}
        The skew-symmetric A, `dynlab.systems.orthogonal.skew_start`.

    Examples
    --------
    >>> cell = modrelu_rnn(input_size=1, state_size=170)
    >>> sum(parameter.numel() for parameter in cell.parameters())  # 170² + 2 · 170
    29240
    """
    check_sizes(state_size, input_size)
    cell = ModReLURNN(*exprnn_weights(input_size, state_size))
    cell.B = nn.Parameter(Orthogonal(SkewSymmetric(state_size))(skew_start(state_size, init)))
    return cell


def exprnn_weights(input_size: int, state_size: int) -> tuple[Tensor, Tensor]:
    """V of variance 2/input_size (Kaiming) and modReLU's b, as the authors start them."""
    V = torch.randn(state_size, input_size) * math.sqrt(2 / max(input_size, 1))
    return V, modrelu_bias(state_size)


def modrelu_bias(state_size: int) -> Tensor:
    """The b that modReLU starts with."""
    return torch.empty(state_size).uniform_(-MODRELU_REACH, MODRELU_REACH)
