"""The gradient of a loss by every state of a trajectory, in log scale."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.linalg import vector_norm
from torch.nn.functional import cross_entropy, mse_loss

from dynlab.errors import UserError
from dynlab.program.jacobian import Operator, of_matrix
from dynlab.systems import System
from dynlab.systems.module_copy import copied
from dynlab.trajectories.driven import Driven, in_float64


def log_loss_gradient(
    loss: Callable[[Tensor, Any], Tensor], targets: Any, driven: Driven, large: bool
) -> NDArray[np.float64]:
    """Return the logarithm of ‖∂L/∂h_t‖₂ for t = 0 … T, shape (sample, time + 1); NaN where it underflows.

    With p_t the derivative of the loss by h_t alone, ∂L/∂h_T = p_T and ∂L/∂h_t = p_t + J_{t+1}ᵀ ∂L/∂h_{t+1}; what is
    carried from step to step is a vector of length 1 and the logarithm of its size.

    Parameters
    ----------
    loss, targets
        Loss and targets as `dynlab.diagnostics.gradient.gradient` takes them.
    driven : Driven
    large : bool
        Multiply by the Jacobians' factors, and never make them.
    """
    partial = in_float64(_partial(loss, targets, driven.states))
    direction, size = _normalised(partial[:, -1], partial.new_zeros(len(partial)))
    sizes = [size]
    reached = partial[:, -1] != 0  # the entries that need not be zero
    for t, (jacobian, passes) in zip(range(driven.steps - 1, -1, -1), _backwards(driven, large), strict=True):
        carried, carried_size = _normalised(jacobian.apply_transpose(direction.unsqueeze(-1)).squeeze(-1), size)
        added, added_size = _normalised(partial[:, t], torch.zeros_like(size))
        top = torch.maximum(carried_size, added_size)
        top = torch.where(torch.isneginf(top), 0, top)
        shares = [(part_size - top).exp().unsqueeze(-1) for part_size in (carried_size, added_size)]
        direction, size = _normalised(carried * shares[0] + added * shares[1], top)
        reached = (passes.apply_transpose(reached.to(direction).unsqueeze(-1)).squeeze(-1) > 0) | (partial[:, t] != 0)
        sizes.append(torch.where(torch.isneginf(size) & reached.any(dim=-1), torch.nan, size))
    return torch.stack(sizes[::-1], dim=1).cpu().numpy()


def _backwards(driven: Driven, large: bool) -> Iterator[tuple[Operator, Operator]]:
    """Yield ∂h_T/∂h_{T−1}, …, each with one of no negative entries, that is zero where it is for certain."""
    numbers = range(driven.steps, 0, -1)
    if large:
        yield from ((each[:, 0], each[:, 0].absolute()) for each in driven.operators(numbers, 1))
    else:
        for J, error in driven.jacobians_with_errors(numbers):
            yield of_matrix(J), of_matrix(((J != 0) | (error > 0)).to(J))


def read_out_loss(system: System, read_out: nn.Module) -> Callable[[Tensor, Any], Tensor]:
    """Return the loss of a read-out, for `gradient`: cross-entropy of classes, the mean squared error of values.

    Targets that are whole numbers are classes, of the sequence (sample,), read from the last state, or of every step
    (sample, time); others are values of shape (sample, output), read from the last state, or of every step
    (sample, time, output).
    """
    read_out = copied(read_out).eval()

    def loss(states: Tensor, targets: Any) -> Tensor:
        wanted = torch.as_tensor(np.asarray(targets), device=states.device)
        classes = not wanted.is_floating_point()
        every_step = wanted.ndim == (2 if classes else 3)
        if len(wanted) != len(states) or (every_step and wanted.shape[1] != states.shape[1] - 1):
            raise UserError(
                f"The targets have shape {tuple(wanted.shape)} for {len(states)} sequences of {states.shape[1] - 1} "
                f"steps; give one for each sequence, or one for each step."
            )
        answers = read_out.to(states)(system.output(states[:, 1:] if every_step else states[:, -1]))
        if answers.shape[-1] <= int(wanted.max()) if classes else answers.numel() != wanted.numel():
            raise UserError(
                f"The targets, of shape {tuple(wanted.shape)} and up to {wanted.max():g}, do not fit the read-out's "
                f"answers {tuple(answers.shape)}: give targets of the task that it was trained on."
            )
        if classes:
            wrong = cross_entropy(answers.flatten(0, -2), wanted.flatten().long(), reduction="none")
        else:
            wrong = mse_loss(answers, wanted.to(answers).reshape(answers.shape), reduction="none")
        return wrong.reshape(len(states), -1).mean(dim=-1)

    return loss


def _partial(loss: Callable[[Tensor, Any], Tensor], targets: Any, states: Tensor) -> Tensor:
    """Return the derivative of the loss by each state with the others held, shape of `states`."""
    leaf = states.detach().clone().requires_grad_(True)
    with torch.enable_grad():
        values: Any = loss(leaf, targets)
        total = values.sum() if isinstance(values, Tensor) else None
    if total is None or values.shape != states.shape[:1] or not values.requires_grad:
        got = tuple(values.shape) if isinstance(values, Tensor) else type(values).__name__
        raise UserError(
            f"The loss must give one number for each of the {len(states)} samples, differentiable by torch, got {got}; "
            f"reduce over time and outputs, not over samples."
        )
    return torch.autograd.grad(total, leaf)[0]


def _normalised(vector: Tensor, log_size: Tensor) -> tuple[Tensor, Tensor]:
    """Return a vector times e^log_size as a direction, zero of zero, and the logarithm of its length."""
    largest = vector.abs().amax(dim=-1)  # first, so that squares neither underflow nor overflow
    scaled = vector / torch.where(largest > 0, largest, 1).unsqueeze(-1)
    length = vector_norm(scaled, dim=-1)
    direction = scaled / torch.where(largest > 0, length, 1).unsqueeze(-1)
    return direction, log_size + largest.log() + torch.where(largest > 0, length.log(), 0)
