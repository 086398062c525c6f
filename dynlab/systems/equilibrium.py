"""The equilibrium z = φ(M z + q) by a solver, with its derivative by the implicit function theorem.

References
----------
Kelley and Keyes, "Convergence analysis of pseudo-transient continuation", SIAM J. Numer. Anal. 35 (1998): implicit
Euler steps along the flow z' = φ(M z + q) − z that lengthen as the residual falls, and end as Newton's.
"""

import math
from typing import Any, cast

import torch
from torch import Tensor

from dynlab.systems.activations import Activation

# Steps before a solution is given up; where there is an equilibrium a few tens are enough.
MAX_STEPS = 200
# A residual is rounding below this times the size, the precision, and the scale of z.
TOLERANCE = 10.0


class Equilibrium(torch.autograd.Function):
    """``Equilibrium.apply(q, M, activation)``: z* of shape (..., n), for `q` (..., n) and `M` (n, n).

    z* is sought along the flow z' = φ(M z + q) − z from 0, and NaN where none was found. By the implicit
    function theorem ∂z*/∂q = (I − D M)⁻¹ D with D = diag(φ'(M z* + q)), and a change of M acts as one of q by ΔM z*.
    """

    @staticmethod
    def forward(q: Tensor, M: Tensor, activation: Activation) -> Tensor:
        return solve(q.reshape(-1, q.shape[-1]), M, activation).reshape(q.shape)

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
    """z* for each row of `q` (point, n), NaN where it was not found."""
    n = q.shape[-1]
    identity = torch.eye(n, dtype=M.dtype, device=M.device)
    z, found = torch.zeros_like(q), torch.full_like(q, math.nan)
    if not torch.isfinite(M).all():
        return found
    pending = torch.arange(len(q), device=q.device)
    # where M does not contract there may be several equilibria, and a long first step leaves the flow for another one
    norm = torch.linalg.matrix_norm(M, 2)
    before = tau = torch.where(norm <= 1, torch.ones_like(norm), 0.5 / norm).expand(len(q))
    for number in range(MAX_STEPS):
        p = z @ M.mT + q[pending]
        residual = activation.function(p) - z
        norm = residual.norm(dim=-1)
        solved = norm <= TOLERANCE * n * torch.finfo(q.dtype).eps * (1 + z.norm(dim=-1))
        found[pending[solved]] = z[solved]
        left = ~solved & torch.isfinite(norm)
        if not left.any():
            break
        pending, p, z, residual, norm = pending[left], p[left], z[left], residual[left], norm[left]
        # the step lengthens by as much as the residual fell
        tau = tau[left] * (before[left] / norm if number else 1.0)
        before = norm
        slope = activation.slope(p).unsqueeze(-1)
        matrix = (1 + 1 / tau).reshape(-1, 1, 1) * identity - slope * M
        step, _ = torch.linalg.solve_ex(matrix, residual.unsqueeze(-1))
        z = z + step.squeeze(-1)
    return found
