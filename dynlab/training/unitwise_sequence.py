"""Sequences of steps that are one product and a function of each unit (`dynlab.program.unitwise`), with their gradient.

What a step multiplies by is one matrix, made once a sequence, and so is what the inputs go through. On a processor the
steps are taken under automatic differentiation. On a GPU all steps of small networks are one kernel, and their gradient
another (`dynlab.training.fused_kernels`), with derivatives of the function that are taken for all steps at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

from dynlab.program import NoProgram
from dynlab.program.unitwise import Unitwise
from dynlab.systems import Map
from dynlab.training.fused_kernels import LARGEST, at_hand, run_backward, run_forward, unit_of
from dynlab.training.recorded import Recorded

PARTS = 64  # of a sum over all steps and samples
_FORMS: WeakKeyDictionary[Map, dict[Any, Unitwise | None]] = WeakKeyDictionary()


def unitwise(system: Map, like: Tensor) -> Unitwise | None:
    """Return the steps of a system as one product and a function of each unit; None where they are not that.

    They are read again for another device or precision, and where a setting has changed.
    """
    of_system = _FORMS.setdefault(system, {})
    key = (like.device, like.dtype)
    form = of_system.get(key)
    if key not in of_system or (form is not None and not form.made.has_settings()):
        try:
            form = Unitwise(system)
        except NoProgram:
            form = None
        of_system[key] = form
    return form


@dataclass(frozen=True)
class How:
    """The function of a unit: its form, the numbers among what all its steps share, and how many asides it takes."""

    form: Unitwise
    numbers: Sequence[float | None]  # None for a tensor, which is handed over
    asides: int
    every_step: bool
    unit: str | None  # the function in C, where kernels run all steps

    def function(self, tensors: Sequence[Tensor]) -> Callable[..., Tensor]:
        """Return f of the state, of M h + d and of the asides, for the tensors that all steps share."""
        given = iter(tensors)
        return self.form.function([next(given) if number is None else number for number in self.numbers])


def unitwise_states(
    form: Unitwise, inputs: Tensor, state: Tensor, every_step: bool, recorded: Recorded
) -> tuple[Tensor, Tensor]:
    """Return h_1 … h_T from h_0 where every step is asked for, else h_T alone, and h_T.

    Parameters
    ----------
    form : Unitwise
    inputs : Tensor, shape (time, sample, input)
    state : Tensor, shape (sample, state)
        h_0.
    every_step : bool
    recorded : Recorded

    Returns
    -------
    (Tensor, shape (time, sample, state) or (1, sample, state), Tensor, shape (sample, state))
    """
    constants = form.constants()
    drive, *asides = form.driving(constants, inputs)
    matrix, out = form.matrices(constants, drive)
    state = state.to(drive)
    if out is not None:
        state = torch.linalg.solve(out, state.mT).mT
    shared = form.shared(constants)
    numbers = [None if isinstance(each, Tensor) else each for each in shared]
    unit = unit_of(form, numbers) if at_hand(drive) and drive.shape[-1] <= LARGEST else None
    how = How(form, numbers, len(asides), every_step, unit)
    tensors = (drive, state, matrix, *asides, *(each for each in shared if isinstance(each, Tensor)))
    found = recorded(partial(_steps, how), *tensors) if unit is None else tuple(_Kernels.apply(how, *tensors))
    if out is not None:
        found = tuple(linear(one, out) for one in found)
    return found[0] if every_step else found[0].unsqueeze(0), found[-1]


def _steps(how: How, drive: Tensor, state: Tensor, matrix: Tensor, *others: Tensor) -> tuple[Tensor, ...]:
    """Return h_1 … h_T together where every step is asked for, and h_T."""
    function, states = how.function(others[how.asides :]), []
    for pre, *here in zip(drive, *others[: how.asides], strict=True):
        state = function(state, torch.addmm(pre, state, matrix.mT), here)
        states.append(state)
    return (torch.stack(states), state) if how.every_step else (state,)


class _Kernels(Function):
    """The same by one kernel for all steps, and one for all steps of the gradient."""

    @staticmethod
    def forward(
        ctx: Any, how: How, drive: Tensor, state: Tensor, matrix: Tensor, *others: Tensor
    ) -> tuple[Tensor, ...]:
        drive, asides, shared = drive.contiguous(), others[: how.asides], others[how.asides :]
        states = torch.cat([state.unsqueeze(0), torch.empty_like(drive)])
        run_forward(str(how.unit), states, drive, matrix, asides, shared)
        ctx.save_for_backward(states, drive, matrix, *others)
        ctx.how = how
        last = states[-1].clone()
        return (states[1:], last) if how.every_step else (last,)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *by_found: Tensor) -> tuple[Tensor | None, ...]:
        how, (states, pre, matrix, *others) = ctx.how, ctx.saved_tensors
        *by_states, by_last = by_found
        by = [states[:-1].detach().requires_grad_(), pre.detach().requires_grad_()]
        beside = [one.detach().requires_grad_() for one in others]
        with torch.enable_grad():
            value = how.function(beside[how.asides :])(*by, beside[: how.asides])
        of_state, of_pre = torch.autograd.grad(value, by, torch.ones_like(value), retain_graph=True, allow_unused=True)
        entering = by_states[0] if by_states else None
        by_pre, by_first, arriving = run_backward(how.unit, entering, by_last, of_pre, of_state, matrix, bool(others))
        by_matrix = _summed_products(by_pre.flatten(0, 1), states[:-1].flatten(0, 1))
        return None, by_pre, by_first, by_matrix, *(torch.autograd.grad(value, beside, arriving) if others else ())


def _summed_products(left: Tensor, right: Tensor) -> Tensor:
    """Return the transpose of left, shape (row, i), times right, (row, j), in parts that a GPU works on at once."""
    even = len(left) // PARTS * PARTS
    parts = [one[:even].unflatten(0, (PARTS, -1)) for one in (left, right)]
    return (parts[0].mT @ parts[1]).sum(dim=0).addmm_(left[even:].T, right[even:])
