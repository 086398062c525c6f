"""Jacobians by automatic differentiation, of any system that torch can differentiate."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dynlab.errors import UserError
from dynlab.operators import Dense
from dynlab.reading import out_of_memory
from dynlab.systems import Flow, Map, System
from dynlab.systems.stable_slopes import StableSlopes

NOT_BATCHED = "Batching rule not implemented"  # what torch says
# Said where a function computes anew, in the backward pass and outside of `StableSlopes`, what was not kept for it.
RECOMPUTED = "torch.utils.checkpoint keeps nothing that derivatives need: call the function without it"
FEW = 2  # components of a value: one backward pass for each takes less time than all in one batch
APART = 1e-6  # rounding makes less of a difference to a row's value than this share, and other rows more


def automatic_jacobian(
    system: System, state: Tensor, input: Tensor, t: int | Tensor = 0, *, by_input: bool = False
) -> Dense:
    """∂step/∂state of a map, ∂velocity/∂state of a flow by automatic differentiation, with a closed form or without.

    The slopes of tanh and σ are those of `dynlab.systems.stable_slopes`. Parameters are those of `jacobian`; `by_input`
    for the derivative by the input.
    """
    batch = np.broadcast_shapes(state.shape[:-1], input.shape[:-1])
    if isinstance(t, Tensor):
        batch = np.broadcast_shapes(batch, t.shape)
    states = state.expand(*batch, state.shape[-1]).reshape(math.prod(batch), state.shape[-1])
    inputs = input.expand(*batch, input.shape[-1]).reshape(math.prod(batch), input.shape[-1])
    columns = input.shape[-1] if by_input else state.shape[-1]
    if columns == 0 or len(states) == 0:  # which a function of one state cannot be asked for
        return Dense(state.new_zeros(*batch, state.shape[-1], columns))
    evolve, argument = evolution(system), int(by_input)
    try:
        with torch.autograd.graph.disable_saved_tensors_hooks(RECOMPUTED):
            if isinstance(t, Tensor) and t.ndim:
                found = _derivative(evolve, argument, states, inputs, t.expand(batch).reshape(-1))
            else:
                found = _derivative(lambda h, x: evolve(h, x, t), argument, states, inputs)
    except RuntimeError as error:
        if out_of_memory(error):
            raise
        said = str(error).split(". ")[0]
        mend = f"{said}; compute a new tensor in place of writing on one, as y = 0.5 * y for y *= 0.5"
        why = RECOMPUTED if "torch.utils.checkpoint" in said else mend
        raise UserError(f"{system.name} cannot be differentiated: {' '.join(why.split())}.") from error
    return Dense(found.reshape(*batch, state.shape[-1], columns))


def evolution(system: System) -> Callable[..., Tensor]:
    """What is differentiated: the step of a map, the velocity of a flow."""
    if isinstance(system, Map):
        return system.step
    if isinstance(system, Flow):
        return system.velocity
    raise TypeError(f"{type(system).__name__} is neither a Map nor a Flow")


def _derivative(function: Callable[..., Tensor], argument: int, *rows: Tensor) -> Tensor:
    """The Jacobian of each row's own value; entry by entry of it where torch cannot batch them, as of z.conj().imag."""
    try:
        at_once = _of_rows_at_once(function, argument, *rows)
        if at_once is not None:
            return at_once
        with StableSlopes():
            return torch.func.vmap(torch.func.jacrev(function, argument))(*rows)
    except RuntimeError as error:
        if NOT_BATCHED not in str(error):
            raise
    before, after = rows[:argument], rows[argument + 1 :]
    with StableSlopes():
        found: Any = torch.func.vjp(lambda own: function(*before, own, *after), rows[argument])
        value, pulled = found
        units = torch.eye(value.shape[-1]).to(value)
        return torch.stack([pulled(unit.expand_as(value))[0] for unit in units], dim=1)


def _of_rows_at_once(function: Callable[..., Tensor], argument: int, *rows: Tensor) -> Tensor | None:
    """The same in a fraction of the time, where nothing else is to be differentiated and rows are told to be apart.

    None elsewhere: of a function whose value in a row is another one beside other rows, as of a sum over all of them.
    """
    if torch.is_grad_enabled() or torch._C._functorch.peek_interpreter_stack() is not None:
        return None
    before, after = rows[:argument], rows[argument + 1 :]
    with StableSlopes():
        with torch.enable_grad():
            own = rows[argument].detach().requires_grad_()
            value = function(*before, own.clone(), *after)  # of its own, that it may write on
        apart = value.shape[:-1] == own.shape[:1]
        if not apart or not _apart(function, value.detach(), *before, own.detach().clone(), *after):
            return None
    if not value.requires_grad:
        return own.new_zeros(*value.shape, own.shape[-1])
    units = torch.eye(value.shape[-1]).to(value).unsqueeze(1).expand(-1, *value.shape)
    # Outside of `StableSlopes`, which would look at each operation of a backward pass that nothing differentiates.
    if len(units) > FEW:
        found: Any = torch.autograd.grad(value, own, units, is_grads_batched=True, allow_unused=True)[0]
    else:
        pulled: Any = [torch.autograd.grad(value, own, u, retain_graph=True, allow_unused=True)[0] for u in units]
        found = None if pulled[0] is None else torch.stack(pulled)
    if found is None:
        return own.new_zeros(*value.shape, own.shape[-1])
    return found.transpose(0, 1).contiguous()  # a sum's slopes are one number, which the rows would share


def _apart(function: Callable[..., Tensor], value: Tensor, *rows: Tensor) -> bool:
    """Whether half of the rows have the `value` that they have beside the other half."""
    some = len(value) // 2
    if some == 0:
        return True
    reach = APART * float(value.abs().nan_to_num(0.0, 0.0).amax())
    return torch.allclose(function(*(row[:some] for row in rows)), value[:some], APART, reach, equal_nan=True)
