"""The exact ERNN: each step ends at the equilibrium of the inner flow, which K Euler steps only approach.

The equilibrium z = φ(M z + q) is found by a solver, and its derivative by the implicit function theorem.

References
----------
Kag, Zhang and Saligrama, "RNNs evolving on an equilibrium manifold", arXiv 1908.08574, equation 4, lemma 1 and
theorem 1; `dynlab.systems.ernn` for what its experiments compute.
"""

import math
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn.functional import linear

from dynlab.numerics.roots import led_by_flow, newton_roots
from dynlab.program.differentiation import automatic_jacobian
from dynlab.systems.activations import Activation
from dynlab.systems.ernn import ERNNCell, matrix_of, square


class Equilibrium(torch.autograd.Function):
    """``Equilibrium.apply(q, M, activation)``: z* of shape (..., n), for `q` (..., n) and `M` (n, n).

    z* is sought along the flow z' = φ(M z + q) − z from 0, and NaN where none was found. By the implicit
    function theorem ∂z*/∂q = (I − D M)⁻¹ D with D = diag(φ'(M z* + q)), and a change of M acts as one of q by ΔM z*.
    """

    @staticmethod
    def forward(q: Tensor, M: Tensor, activation: Activation) -> Tensor:
        return solve(q, M, activation)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Activation], output: Tensor) -> None:
        q, M, ctx.activation = inputs
        ctx.save_for_backward(q, M, output)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        q, M, z = ctx.saved_tensors
        slope = ctx.activation.slope(z @ M.mT + q)
        identity = torch.eye(len(M), dtype=M.dtype, device=M.device)
        adjoint = torch.linalg.solve((identity - slope.unsqueeze(-1) * M).mT, gradient.unsqueeze(-1)).squeeze(-1)
        by_q = slope * adjoint
        by_M = by_q.reshape(-1, len(M)).mT @ z.reshape(-1, len(M))
        return by_q, by_M, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, int | None, None], q: Tensor, M: Tensor, activation: Activation
    ) -> tuple[Tensor, int]:
        """The function is batched itself; several M are taken one after the other."""
        at_q, at_M, _ = in_dims
        if at_M is None:
            return Equilibrium.apply(q.movedim(cast(int, at_q), 0), M, activation), 0
        qs = [q] * info.batch_size if at_q is None else q.unbind(at_q)
        each = [Equilibrium.apply(one, matrix, activation) for one, matrix in zip(qs, M.unbind(at_M), strict=True)]
        return torch.stack(each), 0


def solve(q: Tensor, M: Tensor, activation: Activation) -> Tensor:
    """z* for each `q` (..., n), NaN where it was not found."""
    if not torch.isfinite(M).all():
        return torch.full_like(q, math.nan)
    offsets, identity = q.reshape(-1, len(M)), torch.eye(len(M), dtype=M.dtype, device=M.device)

    def residual(z: Tensor, rows: Tensor) -> Tensor:
        return activation.function(linear(z, M) + offsets[rows]) - z

    def slopes(z: Tensor, rows: Tensor) -> Tensor:
        return activation.slope(linear(z, M) + offsets[rows]).unsqueeze(-1) * M - identity

    # where M does not contract there may be several equilibria, and a long first step leaves the flow for another one
    norm = float(torch.linalg.matrix_norm(M, 2))
    start = led_by_flow(residual, slopes, torch.zeros_like(offsets), 1.0 if norm <= 1 else 0.5 / norm)
    return newton_roots(residual, slopes, start).reshape(q.shape)


class ExactERNN(ERNNCell):
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
        super().__init__(input_size, state_size, sign, activation)
        self.projection = projection
        self.U = square(state_size, rank, self.reach)

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        return self.equilibrium(input) - self.sign * state

    def equilibrium(self, input: Tensor) -> Tensor:
        """z*(x), shape (..., state), NaN where none was found."""
        with torch.autocast(input.device.type, enabled=False):  # a solver needs the digits, and has no other numbers
            q = linear(input, self.W, self.b)
            U = matrix_of(self.U)
            if self.projection:
                return Equilibrium.apply(linear(q, U), U @ U, self.activation)
            return Equilibrium.apply(q, U, self.activation)

    def stated_jacobian(self, state: Tensor, input: Tensor, t: int | Tensor = 0, by: str = "state") -> Tensor:
        """Return −s I by the state, the implicit function theorem's by the input; NaN without an equilibrium."""
        z = self.equilibrium(input)
        if by == "state":
            return torch.diag_embed(0 * z - self.sign * torch.ones_like(state))
        return automatic_jacobian(self.step, state, input, t, by)

    def known_equilibrium(self, input: Tensor, t: int | Tensor = 0) -> Tensor | None:
        """z*/2 for s = 1; for s = −1 every state moves by z*."""
        half = self.equilibrium(input) / 2
        return half if self.sign == 1 and torch.isfinite(half).all() else None
