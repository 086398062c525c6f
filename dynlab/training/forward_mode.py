"""Real-time recurrent learning: the gradient forward in time, all sensitivities, of any system.

A state and its derivative by every parameter, S_t = ∂h_t/∂θ, are carried forward together: S_t = J_t S_{t−1} +
∂step/∂θ with J_t = ∂h_t/∂h_{t−1}. They are n numbers for each parameter and sample, n³ for an RNN's recurrent matrix,
and no more however long the sequence is. Backpropagation through time has the same gradient at the cost of the whole
trajectory's memory.

References
----------
Williams and Zipser, "A learning algorithm for continually running fully recurrent neural networks", Neural Computation
1 (1989), equations 6 to 9.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from dynlab.errors import UserError
from dynlab.program.differentiation import jacobian
from dynlab.systems import Map
from dynlab.training.settings import refuse

# (what the system shows, shape (sample, output); the step's number, from 1) -> a scalar
Loss = Callable[[Tensor, int], Tensor]
ByName = dict[str, Tensor]  # for each of the trainable parameters


def real_time_recurrent_learning(
    system: Map, inputs: Tensor, loss: Loss, *, every_step: bool = False
) -> tuple[Tensor, ByName]:
    """A loss of what a system shows, and its gradient by the system's parameters, computed forward in time.

    Parameters
    ----------
    system : Map
    inputs : Tensor, shape (sample, time, input)
        Inputs of the network; what its steps are given is `system.drive(inputs)`.
    loss : callable
        Function of what the system shows, shape (sample, output), and the step's number from 1 to a scalar.
    every_step : bool
        The loss is the sum of that of every step; otherwise that of the last one.

    Returns
    -------
    loss : Tensor, a scalar
    gradient : dict of str to Tensor
        By the names of `system.named_parameters()`; that of backpropagation through time, up to rounding. What of the
        loss does not go through the state, such as a read-out's own weights, is the caller's to differentiate.

    Raises
    ------
    UserError
        For a flow, a system without trainable parameters, and inputs that are no batch of sequences. For a system whose
        steps' inputs are made by parameters of its own (an embedding, layers below).

    Examples
    --------
    >>> from dynlab.systems import create
    >>> system = create("vanilla", input_size=2, state_size=3)
    >>> value, gradient = real_time_recurrent_learning(system, torch.ones(5, 10, 2), lambda h, t: h.square().mean())
    >>> sorted(gradient)
    ['V', 'W', 'b']
    """
    parameters: ByName = {name: one for name, one in system.named_parameters() if one.requires_grad}
    refuse(
        [
            (
                not isinstance(system, Map),
                f"Learning forward in time is of a map, got the flow {system.name!r}: "
                "take the step dynlab.Euler(flow, step_size).",
            ),
            (
                inputs.ndim != 3 or 0 in inputs.shape[1:2],
                f"The inputs must have shape (sample, time, input) with a time, got {tuple(inputs.shape)}.",
            ),
            (
                not parameters,
                f"System {system.name!r} has no trainable parameters, so that there is nothing to learn.",
            ),
        ]
    )
    driven = system.drive(inputs)
    if driven.requires_grad and not inputs.requires_grad:
        raise UserError(
            f"What the steps of {system.name!r} are given is made by parameters of its own, whose gradient this is "
            "not: give a system that reads its inputs as they are."
        )
    state, sensitivity = _start(system, parameters, len(inputs))
    total = inputs.new_zeros(())
    gradient = {key: torch.zeros_like(one) for key, one in parameters.items()}
    for t, input in enumerate(driven.detach().unbind(dim=1)):
        state, sensitivity = _advanced(system, parameters, state, sensitivity, input, t)
        if every_step or t + 1 == driven.shape[1]:
            value = loss(system.output(state.requires_grad_()), t + 1)
            (by_state,) = torch.autograd.grad(value, state)
            total = total + value.detach()
            for key, one in sensitivity.items():
                gradient[key] += torch.einsum("sn,sn...->...", by_state, one)
    return total, gradient


def _start(system: Map, parameters: ByName, samples: int) -> tuple[Tensor, ByName]:
    """Return h_0, shape (sample, state), and S_0, shape (sample, state, *parameter), of a learned start not 0."""
    every, n, learned = list(parameters.values()), system.state_size, system.initial_state()
    if learned is None:
        learned = every[0].new_zeros(n)
    if learned.requires_grad:
        each = torch.eye(n).to(learned)
        rows = torch.autograd.grad(learned, every, each, is_grads_batched=True, materialize_grads=True)
    else:
        rows = (learned.new_zeros(()),) * len(every)
    start = [row.expand(samples, n, *one.shape) for row, one in zip(rows, every, strict=True)]
    return learned.detach().expand(samples, -1), dict(zip(parameters, start, strict=True))


@torch.no_grad()
def _advanced(
    system: Map, parameters: ByName, state: Tensor, sensitivity: ByName, input: Tensor, t: int
) -> tuple[Tensor, ByName]:
    """Return the state and the sensitivities after one step of every sequence; input of shape (sample, input)."""

    def step(parameters: ByName, state: Tensor, input: Tensor) -> Tensor:
        return torch.func.functional_call(system, parameters, (state, input, t))

    held = {key: one.detach() for key, one in parameters.items()}
    direct = torch.func.vmap(torch.func.jacrev(step), in_dims=(None, 0, 0))(held, state.detach(), input)
    J = jacobian(system, state, input, t).dense().expand(*state.shape, state.shape[1])
    carried = {key: torch.einsum("sij,sj...->si...", J, one) + direct[key] for key, one in sensitivity.items()}
    return system.step(state, input, t), carried
