"""Sequences of steps that are one product and a function of each unit (`dynlab.program.unitwise`), with their gradient.

Automatic differentiation records and replays every small operation of every step. Here the inputs go through their
matrix once for all steps; a step forward is one product and the function; a step backward is two products by unit, with
derivatives of the function that are taken for many steps at once, and one product; the gradient of the matrix is one
product for many steps. On a GPU all steps of small networks are one kernel (`dynlab.training.fused_kernels`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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

STEPS_AT_ONCE = 16  # whose derivatives are taken together: so many are still in the processor's cache
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
    unit: str | None  # the function in C, where a kernel runs all steps

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

    def run(*given: Tensor) -> tuple[Tensor, ...]:
        return tuple(_Sequence.apply(how, *given))

    found = recorded(run, *tensors) if unit is None else run(*tensors)
    if out is not None:
        found = tuple(linear(one, out) for one in found)
    return found[0] if every_step else found[0].unsqueeze(0), found[-1]


class _Sequence(Function):
    """The states; it keeps them and the arguments of the function."""

    @staticmethod
    def forward(
        ctx: Any, how: How, drive: Tensor, state: Tensor, matrix: Tensor, *others: Tensor
    ) -> tuple[Tensor, ...]:
        drive, asides, shared = drive.contiguous(), others[: how.asides], others[how.asides :]
        if how.unit is not None:
            states = torch.cat([state.unsqueeze(0), torch.empty_like(drive)])
            run_forward(how.unit, states, drive, matrix, asides, shared)
        else:
            function, each = how.function(shared), [state]
            for pre, *here in zip(drive, *asides, strict=True):
                each.append(function(each[-1], pre.addmm_(each[-1], matrix.mT), here))
            states = torch.stack(each)
        ctx.save_for_backward(states, drive, matrix, *others)
        ctx.how = how
        last = states[-1].clone()
        return (states[1:], last) if how.every_step else (last,)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *by_found: Tensor) -> tuple[Tensor | None, ...]:
        *by_states, by_last = by_found
        run = _steps_back if ctx.how.unit is None else _fused_back
        return None, *run(ctx.how, by_states[0] if by_states else None, by_last, *ctx.saved_tensors)


def _steps_back(
    how: How, by_states: Tensor | None, by_state: Tensor, states: Tensor, pre: Tensor, matrix: Tensor, *others: Tensor
) -> tuple[Tensor, ...]:
    """Return the gradients by what `_Sequence` is given."""
    by_pre, by_matrix = torch.empty_like(pre), torch.zeros_like(matrix)
    by_others = [torch.zeros_like(one) for one in others]
    for stop in range(len(pre), 0, -STEPS_AT_ONCE):
        some = slice(max(0, stop - STEPS_AT_ONCE), stop)
        here = [one[some] if number < how.asides else one for number, one in enumerate(others)]
        local = _Local(how, states[some], pre[some], here)
        arriving = []
        for t in reversed(range(some.start, stop)):
            if by_states is not None:
                by_state = by_state + by_states[t]
            arriving.append(by_state)
            by_state = local.back(t - some.start, by_state, by_pre[t], matrix)
        by_matrix.addmm_(by_pre[some].flatten(0, 1).T, states[some].flatten(0, 1))
        for number, part in enumerate(local.by_others(torch.stack(arriving[::-1]) if others else None)):
            total = by_others[number]
            (total[some] if number < how.asides else total).add_(part)
    return by_pre, by_state, by_matrix, *by_others


def _fused_back(
    how: How, by_states: Tensor | None, by_last: Tensor, states: Tensor, pre: Tensor, matrix: Tensor, *others: Tensor
) -> tuple[Tensor, ...]:
    """Return the same by one kernel for all steps."""
    local = _Local(how, states[:-1], pre, others)
    slope_state = None if local.by_states is None else local.by_states.view_as(pre)
    by_pre, by_first, arriving = run_backward(
        str(how.unit), by_states, by_last, local.by_pre.view_as(pre), slope_state, matrix, bool(others)
    )
    by_matrix = _summed_products(by_pre.flatten(0, 1), states[:-1].flatten(0, 1))
    return by_pre, by_first, by_matrix, *local.by_others(arriving)


def _summed_products(left: Tensor, right: Tensor) -> Tensor:
    """Return the transpose of left, shape (row, i), times right, (row, j), in parts that a GPU works on at once."""
    even = len(left) // PARTS * PARTS
    parts = [one[:even].unflatten(0, (PARTS, -1)) for one in (left, right)]
    return (parts[0].mT @ parts[1]).sum(dim=0).addmm_(left[even:].T, right[even:])


class _Local:
    """f at some steps, and its derivatives by the coordinates of the same unit."""

    def __init__(self, how: How, states: Tensor, pre: Tensor, others: Sequence[Tensor]) -> None:
        self.groups = how.form.groups
        self.units = states.shape[-1] // self.groups
        by = [states.detach().requires_grad_(), pre.detach().requires_grad_()]
        self.others = [one.detach().requires_grad_() for one in others]
        with torch.enable_grad():
            self.value = how.function(self.others[how.asides :])(*by, self.others[: how.asides])
            parts = self.value.unflatten(-1, (self.groups, self.units)).sum(dim=(0, 1, 3)).unbind()
        rows = [torch.autograd.grad(part, by, retain_graph=True, allow_unused=True) for part in parts]
        by_states, by_pre = zip(*rows, strict=True)
        self.by_pre = self._table(by_pre)  # (time, sample, of what, by what, unit)
        self.by_states = None if by_states[0] is None else self._table(by_states)

    def by_others(self, by_value: Tensor | None) -> Sequence[Tensor]:
        """Return the gradients by what else the function takes, from that by its value at all these steps."""
        return [] if by_value is None else torch.autograd.grad(self.value, self.others, by_value)

    def _table(self, rows: Sequence[Tensor]) -> Tensor:
        return torch.stack([one.unflatten(-1, (-1, self.units)) for one in rows], dim=2)

    def back(self, t: int, by_value: Tensor, by_pre: Tensor, matrix: Tensor) -> Tensor:
        """Return the gradient by the state before step `t`; writes that by its pre-activations into `by_pre`."""
        by_value = by_value.unflatten(-1, (self.groups, 1, self.units))  # (sample, of what, 1, unit)
        into = by_pre.unflatten(-1, (-1, self.units))
        if self.groups == 1:
            torch.mul(by_value.squeeze(1), self.by_pre[t].squeeze(1), out=into)
        else:
            torch.sum(by_value * self.by_pre[t], dim=1, out=into)
        if self.by_states is None:
            return by_pre @ matrix
        through = by_value * self.by_states[t]
        through = through.squeeze(1) if self.groups == 1 else through.sum(dim=1)
        return through.flatten(-2).addmm_(by_pre, matrix)
