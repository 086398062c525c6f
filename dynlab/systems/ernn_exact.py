"""The exact ERNN: each step ends at the equilibrium of the inner flow, which K Euler steps only approach.

References
----------
Kag, Zhang and Saligrama, "RNNs evolving on an equilibrium manifold", arXiv 1908.08574, equation 4, lemma 1 and
theorem 1; `dynlab.systems.ernn` for what its experiments compute.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.errors import UserError
from dynlab.numerics.running_error import as_meant
from dynlab.operators import Diagonal, Operator
from dynlab.systems.activations import activation_named
from dynlab.systems.base import Map
from dynlab.systems.equilibrium import Equilibrium
from dynlab.systems.ernn import square


class ExactERNN(Map):
    """h_k = z*(x_k) − s h_{k−1}, where z* = φ(P (U z* + W x_k + b)), and ∂h_k/∂h_{k−1} = −s I.

    z* is found by a solver that follows the inner flow from 0; gradients by the implicit function theorem. z* depends
    on the input alone, so that h_T is an alternating sum (s = 1), or a plain one, of a function of each input. Where no
    equilibrium is found the state is NaN, and so is the Jacobian.

    Exactly one equilibrium exists where ‖P U‖₂ < 1. The source's U = I + V H with ReLU need not have any (U = I and a
    positive offset has none, nor had 200 random inputs at its sizes); the default is a full U and tanh, which always
    have one. It is found while ‖P U‖₂ is below about 2; far above that the flow itself may settle nowhere. Where there
    are several it is, but for rare cases, the one that the flow from 0 ends at.

    Parameters
    ----------
    input_size, state_size : int
    rank : int or None
        d of U = I + V H with V (state, d) and H (d, state); None for a full matrix U.
    sign : {1, -1}
        s.
    activation : {"tanh", "relu", "sigmoid", "identity"}
        φ.
    projection : bool
        P = U, or left out.

    Examples
    --------
    >>> cell = ExactERNN(input_size=9, state_size=80, rank=20)
    >>> sum(parameter.numel() for parameter in cell.parameters())
    4000
    """

    def __init__(
        self,
        input_size: int,
        state_size: int,
        rank: int | None = None,
        sign: int = 1,
        activation: str = "tanh",
        projection: bool = True,
    ) -> None:
        super().__init__(state_size, input_size)
        if sign not in (1, -1) or (rank is not None and rank < 1):
            raise UserError(
                f"The exact ERNN takes a sign of 1 or -1 and a rank of at least 1 (None for a full matrix), "
                f"got {sign} and {rank}."
            )
        self.activation = activation_named(activation)
        self.sign, self.projection = sign, projection
        reach = 1 / math.sqrt(state_size)
        self.W = nn.Parameter(torch.empty(state_size, input_size).uniform_(-reach, reach))
        self.b = nn.Parameter(torch.empty(state_size).uniform_(-reach, reach))
        self.U = square(state_size, rank, reach)

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        return self.equilibrium(input) - self.sign * state

    def equilibrium(self, input: Tensor) -> Tensor:
        """z*(x), shape (..., state), NaN where none was found."""
        with torch.autocast(input.device.type, enabled=False):  # a solver needs the digits, and has no other numbers
            q = linear(input, self.W, self.b)
            U = self.U.matrix()
            if self.projection:
                return Equilibrium.apply(linear(q, U), U @ U, self.activation)
            return Equilibrium.apply(q, U, self.activation)

    def closed_form_jacobian(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator:
        with as_meant():
            # 0 · z* is 0, and NaN where there is no equilibrium
            return Diagonal(0 * self.equilibrium(input) - self.sign * torch.ones_like(state))

    def known_equilibrium(self, input: Tensor, t: int | Tensor = 0) -> Tensor | None:
        """z*/2 for s = 1; for s = −1 every state moves by z*."""
        half = self.equilibrium(input) / 2
        return half if self.sign == 1 and torch.isfinite(half).all() else None
