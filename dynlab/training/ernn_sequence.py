"""ERNN over whole sequences, run and differentiated two to three times faster than step by step.

With z = g + s h_{k−1} the inner iteration of `dynlab.systems.ernn.ERNN` is

    z_0 = (a + s) h_{k−1},   z_i = (1 − η_i) z_{i−1} + η_i φ(M z_{i−1} + d_k),   h_k = z_K − s h_{k−1},

where M = P U and d_k = P (W x_k + b), so that M is computed once a sequence and d for all its steps at once. The
numbers are those of the system's own steps up to rounding.
"""

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

from dynlab.systems.activations import ACTIVATIONS
from dynlab.systems.ernn import ERNN
from dynlab.systems.unitwise import Unitwise
from dynlab.training.recorded import Recorded
from dynlab.training.unitwise_sequence import STEPS_AT_ONCE, unitwise_states

# The gradient by φ's argument, from that by its value and the value itself.
THROUGH: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "tanh": torch.ops.aten.tanh_backward,
    "relu": lambda gradient, value: torch.ops.aten.threshold_backward(gradient, value, 0),
    "sigmoid": torch.ops.aten.sigmoid_backward,
    "identity": lambda gradient, value: gradient.clone(),
}


def ernn_states(system: ERNN, inputs: Tensor, state: Tensor, recorded: Recorded) -> Tensor:
    """h_1 … h_T from h_0, which no gradient goes to.

    Parameters
    ----------
    system : ERNN
    inputs : Tensor, shape (time, sample, input)
    state : Tensor, shape (sample, state)
        h_0.
    recorded : Recorded

    Returns
    -------
    Tensor, shape (time, sample, state)
    """
    drive = linear(inputs, system.W, system.b)
    drive = system.U(drive) if system.projection else drive
    etas = system.step_etas(torch.arange(inputs.shape[0], device=inputs.device)).T
    start = float(system.start == "previous") + system.sign
    if drive.is_cuda and etas.shape[1] == 1:
        return unitwise_states(single_step(system, drive, etas, start), state, True, recorded)[0]
    activation = next(name for name, known in ACTIVATIONS.items() if known.function is system.activation.function)
    how = (activation, start, system.sign)

    def run(*tensors: Tensor) -> tuple[Tensor, ...]:
        return (_Recurrence.apply(how, *tensors),)

    return recorded(run, drive, system.recurrent_matrix(), etas, state.to(drive))[0]


def single_step(system: ERNN, drive: Tensor, etas: Tensor, start: float) -> Unitwise:
    """One inner step is a product and a function of each unit, which have a kernel on a GPU."""
    function, sign = system.activation.function, system.sign

    def step(state: Tensor, pre: Tensor, eta: Tensor) -> Tensor:
        return start * ((1 - eta) * state) + eta * function(pre) - sign * state

    return Unitwise(start * system.recurrent_matrix(), drive.clone(), step, etas.unsqueeze(-1).expand_as(drive))


class _Recurrence(Function):
    """The states, with the gradient written out; all it keeps is z and φ of each inner step."""

    @staticmethod
    def forward(
        ctx: Any, how: tuple[str, float, int], drive: Tensor, matrix: Tensor, etas: Tensor, state: Tensor
    ) -> Tensor:
        activation, start, sign = how
        function, transposed = ACTIVATIONS[activation].function, matrix.mT
        states, kept = [], []
        for d, inner in zip(drive.unbind(0), _by_step(etas), strict=True):
            z = start * state
            for eta in inner:
                value = function(torch.addmm(d, z, transposed))
                kept.append((z, value))
                z = torch.lerp(z, value, eta)
            state = torch.sub(z, state, alpha=sign)
            states.append(state)
        ctx.save_for_backward(matrix, etas)
        ctx.kept, ctx.how = kept, how
        return torch.stack(states)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_states: Tensor) -> tuple[Tensor | None, ...]:
        matrix, etas = ctx.saved_tensors
        activation, start, sign = ctx.how
        by_matrix, by_state = torch.zeros_like(matrix), torch.zeros_like(by_states[0])
        by_drive: list[Tensor] = []
        by_etas: list[Tensor] = []
        rows: list[tuple[Tensor, ...]] = []  # of inner steps: z, φ, and the gradients by the new z and by M z + d
        steps = zip(by_states.unbind(0), _by_step(etas), _by_step(1 - etas), strict=True)
        for by_this, inner, rest in reversed(list(steps)):
            by_state = by_state + by_this
            by_z, by_arguments = by_state, []
            for eta, kept in zip(reversed(inner), reversed(rest), strict=True):
                z, value = ctx.kept.pop()
                by_argument = THROUGH[activation](by_z, value).mul_(eta)
                rows.append((z, value, by_z, by_argument))
                by_arguments.append(by_argument)
                by_z = (kept * by_z).addmm_(by_argument, matrix)
            by_state = torch.sub(start * by_z, by_state, alpha=sign)
            by_drive.append(functools.reduce(torch.add, by_arguments))
            if len(rows) >= STEPS_AT_ONCE or not ctx.kept:
                zs, values, by_zs, by_all = map(torch.stack, zip(*rows, strict=True))
                by_etas.append(torch.linalg.vecdot(by_zs.flatten(1), (values - zs).flatten(1)))
                by_matrix.addmm_(by_all.flatten(0, 1).T, zs.flatten(0, 1))
                rows = []
        by_etas_all = torch.cat(by_etas).flip(0).view_as(etas)
        return None, torch.stack(by_drive[::-1]), by_matrix, by_etas_all, None


def _by_step(etas: Tensor) -> list[Any]:
    """The η of each step's inner steps: numbers, but on a device that one need not wait for."""
    return etas.tolist() if etas.device.type == "cpu" else [row.unbind() for row in etas.unbind()]
