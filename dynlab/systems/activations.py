"""The activations that cells are made with, each with its slope and its bound, and the systems that are one.

Slopes are made of the pre-activation, not of the activation: 1 − tanh² and σ (1 − σ) cancel where the unit saturates.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import linear

from dynlab.errors import entry
from dynlab.systems.base import System
from dynlab.systems.unitwise import Unitwise


@dataclass(frozen=True)
class Activation:
    """φ with its derivative.

    Attributes
    ----------
    function : callable
        φ, from a tensor of pre-activations to one of the same shape.
    slope : callable
        φ' at the pre-activations; where φ has a kink, as ReLU at 0, the value that automatic differentiation takes.
    bound : float
        The least b with −b ≤ φ ≤ b, inf where there is none.
    """

    function: Callable[[Tensor], Tensor]
    slope: Callable[[Tensor], Tensor]
    bound: float


def tanh_slope(p: Tensor) -> Tensor:
    """1/cosh²(p) = 4 σ(2p) σ(−2p), which does not cancel where tanh is close to ±1 as 1 − tanh² does."""
    return 4 * sigmoid_slope(2 * p)


def sigmoid_slope(p: Tensor) -> Tensor:
    """σ(p) σ(−p), which does not cancel where σ is close to 1 as σ (1 − σ) does."""
    return torch.sigmoid(p) * torch.sigmoid(-p)


def log_cosh(p: Tensor) -> Tensor:
    """The logarithm of cosh(p), the integral of tanh; near 0 as ln(1 + 2 sinh²(p/2)), which does not cancel."""
    size = p.abs()
    near = torch.log1p(2 * torch.sinh(size.clamp(max=1) / 2).square())
    return torch.where(size < 1, near, size + torch.log1p(torch.exp(-2 * size)) - math.log(2))


def log_cosh_energy(p: Tensor, M: Tensor) -> tuple[Tensor, Tensor]:
    """H = Σ log cosh(p_i) of a flow h' = tanh(p), p = M h + q, and its rate along the flow, tanh(p) · M tanh(p)."""
    f = torch.tanh(p)
    return log_cosh(p).sum(dim=-1), (f * (f @ M.mT)).sum(dim=-1)


ACTIVATIONS = {
    "tanh": Activation(torch.tanh, tanh_slope, 1.0),
    "relu": Activation(torch.relu, lambda p: (p > 0).to(p.dtype), math.inf),
    "sigmoid": Activation(torch.sigmoid, sigmoid_slope, 1.0),
    "identity": Activation(lambda p: p, torch.ones_like, math.inf),
}


def activation_named(name: str) -> Activation:
    """The activation of that name.

    Raises
    ------
    UserError
        If `ACTIVATIONS` has no such name.
    """
    return entry(ACTIVATIONS, name, "activation")


class Activated(System):
    """φ(W h + V x + b), with the Jacobians diag(φ') W and diag(φ') V.

    A map says ``step = Activated.value``, a flow ``velocity = Activated.value``; ``formula = Activated.value_formula``
    and ``state_bound = Activated.value_bound`` where they are so.

    Attributes
    ----------
    activation : Activation
        φ.
    W, V, b : Tensor
        Where W and V are made of something else, `weights` is another; where the sum is, `preactivation`.
    """

    activation: Activation
    W: Tensor
    V: Tensor
    b: Tensor

    def value(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        """φ of the pre-activation, shape (..., state)."""
        return self.activation.function(self.preactivation(state, input))

    def unitwise(self, inputs: Tensor) -> Unitwise | None:
        def function(state: Tensor, pre: Tensor) -> Tensor:
            return self.activation.function(pre)

        W, V = self.weights()
        return Unitwise(W, linear(inputs, V, self.b), function)

    def value_bound(self) -> Tensor | None:
        """The activation's own bound, as `System.state_bound` has it."""
        bound = self.activation.bound
        return self.weights()[1].new_full((self.state_size,), bound) if math.isfinite(bound) else None

    def preactivation(self, state: Tensor, input: Tensor) -> Tensor:
        """W h + V x + b, shape (..., state)."""
        by_state, by_input = self.weights()
        return linear(state, by_state) + linear(input, by_input, self.b)

    def weights(self) -> tuple[Tensor, Tensor]:
        """The derivatives of the pre-activation by the state and by the input."""
        return self.W, self.V
