"""The activations that cells are made with, each with its bound, and the systems that are one."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import linear

from dynlab.errors import entry
from dynlab.systems.base import Flow, Map, System


@dataclass(frozen=True)
class Activation:
    """φ with its bound.

    Attributes
    ----------
    function : callable
        φ, from a tensor of pre-activations to one of the same shape.
    bound : float
        The least b with −b ≤ φ ≤ b, inf where there is none.
    """

    function: Callable[[Tensor], Tensor]
    bound: float

    def slope(self, p: Tensor) -> Tensor:
        """φ' at pre-activations `p`, as automatic differentiation has it."""
        return torch.func.grad(lambda q: self.function(q).sum())(p)


def log_cosh(p: Tensor) -> Tensor:
    """The logarithm of cosh(p), the integral of tanh; near 0 as ln(1 + 2 sinh²(p/2)), which does not cancel."""
    size = p.abs()
    near = torch.log1p(2 * torch.sinh(size.clamp(max=1) / 2).square())
    return torch.where(size < 1, near, size + torch.log1p(torch.exp(-2 * size)) - math.log(2))


ACTIVATIONS = {
    "tanh": Activation(torch.tanh, 1.0),
    "relu": Activation(torch.relu, math.inf),
    "sigmoid": Activation(torch.sigmoid, 1.0),
    "identity": Activation(lambda p: p, math.inf),
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

    `ActivatedMap` has it as its step, `ActivatedFlow` as its velocity.

    Attributes
    ----------
    activation : Activation
        φ.
    W, V, b : Tensor
        Replaced by `weights` if W and V are made of something else, and by `preactivation` if the sum is.
    """

    activation: Activation
    W: Tensor
    V: Tensor
    b: Tensor

    def value(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        """φ of the pre-activation, shape (..., state)."""
        return self.activation.function(self.preactivation(state, input))

    def preactivation(self, state: Tensor, input: Tensor) -> Tensor:
        """W h + V x + b, shape (..., state)."""
        by_state, by_input = self.weights()
        return linear(state, by_state) + linear(input, by_input, self.b)

    def weights(self) -> tuple[Tensor, Tensor]:
        """The derivatives of the pre-activation by the state and by the input."""
        return self.W, self.V


class ActivatedMap(Activated, Map):
    """h_t = φ(W h_{t−1} + V x_t + b)."""

    step = Activated.value

    def state_bound(self) -> Tensor | None:
        """Return the activation's own bound."""
        bound = self.activation.bound
        return self.weights()[1].new_full((self.state_size,), bound) if math.isfinite(bound) else None


class ActivatedFlow(Activated, Flow):
    """h' = φ(W h + V x + b)."""

    velocity = Activated.value

    def known_equilibrium(self, input: Tensor, t: int | Tensor = 0) -> Tensor | None:
        """−W⁻¹ (V x + b), for the activations that vanish at 0 alone and a W that is not singular."""
        if self.activation not in (ACTIVATIONS["tanh"], ACTIVATIONS["identity"]):
            return None
        W, V = self.weights()
        found, singular = torch.linalg.solve_ex(W, -linear(input, V, self.b).unsqueeze(-1))
        return None if singular.any() else found.squeeze(-1)

    def energy(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> tuple[Tensor, Tensor] | None:
        """H = Σ log cosh(p_i) of a flow h' = tanh(p), p = W h + q, and its rate along the flow, tanh(p) · W tanh(p)."""
        if self.activation != ACTIVATIONS["tanh"]:
            return None
        p = self.preactivation(state, input)
        f = torch.tanh(p)
        return log_cosh(p).sum(dim=-1), (f * linear(f, self.weights()[0])).sum(dim=-1)
