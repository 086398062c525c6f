"""ERNN with a deep transition: several layers within one step, the same equilibrium between steps.

References
----------
Kag, Zhang and Saligrama, arXiv 1908.08574, "Multi-Layer RNN Blocks"; Pascanu, Gulcehre, Cho and Bengio, "How to
construct deep recurrent neural networks", ICLR 2014.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.errors import UserError
from dynlab.operators import Diagonal, Operator, Shared
from dynlab.program import Program
from dynlab.systems.activations import operation_of
from dynlab.systems.inner_iteration import InnerIteration


class DeepERNN(InnerIteration):
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

    formula = InnerIteration.steps_formula

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
        super().__init__(input_size, state_size, start, sign, activation)
        if length < 1 or inner_steps < 1 or layers < 0:
            raise UserError(
                f"A deep ERNN needs a length and inner steps of at least 1 and no negative layers, got {length}, "
                f"{inner_steps} and {layers}."
            )
        U, *above = (torch.empty(state_size, state_size).uniform_(-self.reach, self.reach) for _ in range(1 + layers))
        self.U = nn.Parameter(U)
        self.above = nn.ParameterList(above)
        self.eta = nn.Parameter(torch.full((inner_steps, length), float(eta)))

    def transition(self, z: Tensor, drive: Tensor) -> Tensor:
        found = self.activation.function(linear(z, self.U) + drive)
        for weight in self.above:
            found = self.activation.function(linear(found, weight))
        return found

    def transition_formula(self, p: Program, z: int, drive: int) -> int:
        name = operation_of(self.activation)
        found = p.activation(name, p.add(p.linear(self.U, z), drive))
        for weight in self.above:
            found = p.activation(name, p.linear(weight, found))
        return found

    def transition_jacobian(self, z: Tensor, drive: Tensor, eta: float | Tensor = 1.0) -> Operator:
        pre = linear(z, self.U) + drive
        product: Operator = Diagonal(eta * self.activation.slope(pre)) @ Shared(self.U)
        for weight in self.above:
            pre = linear(self.activation.function(pre), weight)
            product = Diagonal(self.activation.slope(pre)) @ Shared(weight) @ product
        return product
