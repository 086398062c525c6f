"""Jacobians of a system whose input is held: as matrices, of its displacement."""

import torch
from torch import Tensor

from dynlab.errors import UserError
from dynlab.program.differentiation import jacobian
from dynlab.systems.autonomous import Held

MOST_TIMES = 5000  # of a flow's own time scale, 1/‖∂f/∂h‖₂, that it is solved for: about two minutes


def held_matrices(held: Held, states: Tensor) -> Tensor:
    """∂F/∂h of a map whose input is held, ∂f/∂h of a flow, at `states` (..., n), of its own memory: (..., n, n)."""
    return _own(jacobian(held.system, *held.given(states)).dense(), states)


def displacement_matrices(held: Held, states: Tensor, rows: Tensor | None = None) -> Tensor:
    """The derivative of `Held.displacement`, J − I of a map and J of a flow, shape (..., n, n); `rows` as there.

    It is 0 at states where it is no number: as good as singular.
    """
    matrices = held_matrices(held, states)
    if not held.is_flow:
        matrices.diagonal(dim1=-2, dim2=-1).sub_(1)
    return finite_or_zero(matrices)


def ungated_matrices(held: Held, states: Tensor, rows: Tensor | None = None) -> Tensor:
    """The derivative of `Held.ungated`, shape (k, n, n), as `displacement_matrices`."""
    if held.system.ungated_residual(*held.given(states[:1])) is None:
        return displacement_matrices(held, states)
    found = jacobian(held.system, *held.given(states), method="ungated_residual").dense()
    return finite_or_zero(_own(found, states))


def check_seconds(held: Held, states: Tensor, seconds: float) -> None:
    """Raise where a flow that is as fast as at one of the `states` would take minutes to be solved for that long."""
    matrices = finite_or_zero(held_matrices(held, states))
    # the Perron root of |J| is the smallest norm of rows that coordinates in units of their own can give it
    roots = torch.linalg.eigvals(matrices.abs()).abs().amax(-1)
    speed = float(torch.minimum(torch.linalg.matrix_norm(matrices, 2), roots).max())
    if speed * seconds > MOST_TIMES:
        raise UserError(
            f"{seconds:g} s are {speed * seconds:,.6g} times the flow's own time scale of {1 / speed:.2g} s, "
            f"of which at most {MOST_TIMES:,} are solved: take fewer steps, smaller ones, or other starts."
        )


def finite_or_zero(matrices: Tensor) -> Tensor:
    """Return the matrices (..., n, n) that are finite, and 0 in place of others, which have no singular values."""
    if torch.isfinite(matrices.sum()):  # a fraction of the time of a look at every entry
        return matrices
    return torch.where(torch.isfinite(matrices).all(-1, keepdim=True).all(-2, keepdim=True), matrices, 0.0)


def _own(matrices: Tensor, states: Tensor) -> Tensor:
    """One matrix for each of the states, in memory of its own: what is made for a batch is, what it shares is not."""
    shape = (*states.shape[:-1], *matrices.shape[-2:])
    return matrices if matrices.ndim > 2 and matrices.shape == shape else matrices.expand(shape).clone()
