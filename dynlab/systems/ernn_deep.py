"""ERNN with a deep transition: several layers within one step, the same equilibrium between steps.

References
----------
Kag, Zhang and Saligrama, arXiv 1908.08574, "Multi-Layer RNN Blocks"; Pascanu, Gulcehre, Cho and Bengio, "How to
construct deep recurrent neural networks", ICLR 2014.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.errors import UserError
from dynlab.operators import Diagonal, Identity, Operator, Shared
from dynlab.program import Program
from dynlab.systems.activations import activation_named, operation_of
from dynlab.systems.base import Map
from dynlab.systems.ernn import check_inner, etas_at


class DeepERNN(Map):
    """K Euler steps of g' = f(g + s h_{k−1}, x_k) − (g + s h_{k−1}), f(z, x) = φ(W_L φ(… W_1 φ(U z + W x + b) …)).

    The Jacobian is that of `dynlab.systems.ernn.ERNN` with diag(φ') P U replaced by diag(φ'_L) W_L … diag(φ'_0) U. As
    f sees h_{k−1} in g + s h_{k−1} alone, the equilibrium is z*(x_k) − s h_{k−1} at any depth, where there is one.

    Parameters
    ----------
    input_size, state_size : int
    length : int
        T: how many steps have their own η.
    layers : int
        L ≥ 0 layers above the first; 0 is an ERNN with a full U and no projection.
    inner_steps : int
        K.
    start : {"previous", "zero"}
        Where the inner iteration starts.
    sign : {1, -1}
        s.
    activation : {"tanh", "relu", "sigmoid", "identity"}
        φ.
    eta : float
        η at the start, learned, one for each inner step and step.

    Examples
    --------
    >>> cell = DeepERNN(input_size=9, state_size=20, length=128, layers=2)
    >>> sum(parameter.numel() for parameter in cell.parameters())  # 20 (9 + 1) + 3 · 20² + 128
    1528
    """

    def __init__(
        self,
        input_size: int,
        state_size: int,
        length: int,
        layers: int = 1,
        inner_steps: int = 1,
        start: str = "previous",
        sign: int = 1,
        activation: str = "tanh",
        eta: float = 0.01,
    ) -> None:
        super().__init__(state_size, input_size)
        check_inner(start, sign)
        if length < 1 or inner_steps < 1 or layers < 0:
            raise UserError(
                f"A deep ERNN needs a length and inner steps of at least 1 and no negative layers, got {length}, "
                f"{inner_steps} and {layers}."
            )
        self.activation = activation_named(activation)
        self.start, self.sign = start, sign
        reach = 1 / math.sqrt(state_size)
        self.W = nn.Parameter(torch.empty(state_size, input_size).uniform_(-reach, reach))
        self.b = nn.Parameter(torch.empty(state_size).uniform_(-reach, reach))
        self.U = nn.Parameter(torch.empty(state_size, state_size).uniform_(-reach, reach))
        self.above = nn.ParameterList(
            torch.empty(state_size, state_size).uniform_(-reach, reach) for _ in range(layers)
        )
        self.eta = nn.Parameter(torch.full((inner_steps, length), float(eta)))

    @property
    def length(self) -> int:
        """T: how many steps have an η."""
        return self.eta.shape[1]

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        drive = linear(input, self.W, self.b)
        g = self._inner_start(state)
        for eta in etas_at(self.eta, t):
            z = g + self.sign * state
            g = g + eta.unsqueeze(-1) * (self._layers(z, drive)[-1] - z)
        return g

    def formula(self, p: Program, h: int, x: int, t: int = 0) -> int:
        activation = operation_of(self.activation)
        driven = p.linear(self.W, x, self.b)
        signed = h if self.sign == 1 else p.scaled(-1.0, h)
        g = h if self.start == "previous" else p.constant(0.0, self.state_size)
        for eta in etas_at(self.eta, t):
            z = p.add(g, signed)
            found = p.activation(activation, p.add(p.linear(self.U, z), driven))
            for weight in self.above:
                found = p.activation(activation, p.linear(weight, found))
            g = p.add(g, p.scaled(eta, p.subtract(found, z)))
        return g

    def closed_form_jacobian(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator:
        identity = Identity(self.state_size, state)
        drive = linear(input, self.W, self.b)
        g = self._inner_start(state)
        # of z = g + s h by h
        jacobian: Operator = ((self.start == "previous") + self.sign) * identity
        for eta in etas_at(self.eta, t):
            eta = eta.unsqueeze(-1)
            z = g + self.sign * state
            kept = Diagonal((1 - eta) * torch.ones_like(z))
            jacobian = (kept + Diagonal(eta * torch.ones_like(z)) @ self._transition_jacobian(z, drive)) @ jacobian
            g = g + eta * (self._layers(z, drive)[-1] - z)
        return jacobian + (-self.sign) * identity

    def _inner_start(self, state: Tensor) -> Tensor:
        return state if self.start == "previous" else torch.zeros_like(state)

    def _layers(self, z: Tensor, drive: Tensor) -> list[Tensor]:
        """φ of each layer's pre-activations, from the lowest to the top."""
        found = [self.activation.function(linear(z, self.U) + drive)]
        for weight in self.above:
            found.append(self.activation.function(linear(found[-1], weight)))
        return found

    def _transition_jacobian(self, z: Tensor, drive: Tensor) -> Operator:
        """∂f/∂z."""
        values = self._layers(z, drive)
        product: Operator = Diagonal(self.activation.slope(linear(z, self.U) + drive)) @ Shared(self.U)
        for weight, below in zip(self.above, values, strict=False):
            product = Diagonal(self.activation.slope(linear(below, weight))) @ Shared(weight) @ product
        return product
