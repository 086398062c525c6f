"""What systems share whose step, or whose velocity, is an activation of a pre-activation linear in state and input."""

import math

from torch import Tensor
from torch.nn.functional import linear

from dynlab.operators import Diagonal, Operator, Shared
from dynlab.program import Program
from dynlab.systems.activations import Activation, operation_of
from dynlab.systems.base import System
from dynlab.systems.unitwise import Unitwise


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

    def value_formula(self, p: Program, h: int, x: int, t: int = 0) -> int:
        """φ of the pre-activation, written out as `System.formula` says."""
        by_state, by_input = self.weights()
        return p.activation(operation_of(self.activation), p.add(p.linear(by_state, h), p.linear(by_input, x, self.b)))

    def value_bound(self) -> Tensor | None:
        """The activation's own bound, as `System.state_bound` has it."""
        bound = self.activation.bound
        return self.weights()[1].new_full((self.state_size,), bound) if math.isfinite(bound) else None

    def closed_form_jacobian(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator:
        return Diagonal(self.activation.slope(self.preactivation(state, input))) @ Shared(self.weights()[0])

    def closed_form_input_jacobian(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator:
        return Diagonal(self.activation.slope(self.preactivation(state, input))) @ Shared(self.weights()[1])

    def preactivation(self, state: Tensor, input: Tensor) -> Tensor:
        """W h + V x + b, shape (..., state)."""
        by_state, by_input = self.weights()
        return linear(state, by_state) + linear(input, by_input, self.b)

    def weights(self) -> tuple[Tensor, Tensor]:
        """The derivatives of the pre-activation by the state and by the input."""
        return self.W, self.V
