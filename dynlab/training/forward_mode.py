"""Real-time recurrent learning: the gradient forward in time, all sensitivities, of any system.

References
----------
Williams and Zipser, "A learning algorithm for continually running fully recurrent neural networks", Neural Computation
1 (1989), equations 6 to 9.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from dynlab.arguments import check_at_least
from dynlab.errors import UserError
from dynlab.program.differentiation import jacobian
from dynlab.systems import Map

# (what the system shows, shape (sample, output); the step's number, from 1) -> a scalar
Loss = Callable[[Tensor, int], Tensor]


class RealTimeRecurrentLearning:
    """A state and its derivative by every parameter, S_t = ∂h_t/∂θ, carried forward together.

    S_t = J_t S_{t−1} + ∂step/∂θ with J_t = ∂h_t/∂h_{t−1}: n numbers for each parameter and sample, n³ for an RNN's
    recurrent matrix, and none more however long the sequence is. Backpropagation through time has the same gradient
    at the cost of the whole trajectory's memory.

    Parameters
    ----------
    system : Map
        Its parameters must not change while it is followed, or the sensitivities are of several parameters at once.
    samples : int
        Sequences that are followed together.

    Attributes
    ----------
    state : Tensor, shape (sample, state)
    sensitivity : dict of str to Tensor, shape (sample, state, *parameter)
        For each of the system's trainable parameters by name.
    steps : int
        Number of steps made.

    Examples
    --------
    >>> from dynlab.systems import create
    >>> system = create("vanilla", input_size=2, state_size=3)
    >>> learning = RealTimeRecurrentLearning(system, samples=5)
    >>> for input in torch.ones(10, 5, 2):
    ...     learning.advance(input)
    >>> learning.gradient(by_state=torch.ones(5, 3))["W"].shape
    torch.Size([3, 3])
    """

    def __init__(self, system: Map, samples: int) -> None:
        if not isinstance(system, Map):
            raise UserError(
                f"Learning forward in time is of a map, got the flow {system.name!r}: "
                "take the step dynlab.Euler(flow, step_size)."
            )
        check_at_least(1, samples=samples)
        self.system = system
        self.steps = 0
        self._parameters = {name: one for name, one in system.named_parameters() if one.requires_grad}
        if not self._parameters:
            raise UserError(f"System {system.name!r} has no trainable parameters, so that there is nothing to learn.")
        learned = system.initial_state()
        if learned is None:
            learned = next(iter(self._parameters.values())).new_zeros(system.state_size)
        self.state = learned.detach().expand(samples, -1).clone()
        self.sensitivity = {
            key: self.state.new_zeros(*self.state.shape, *p.shape) for key, p in self._parameters.items()
        }
        if learned.requires_grad:
            for place, value in enumerate(learned.unbind()):
                rows = torch.autograd.grad(
                    value, list(self._parameters.values()), retain_graph=True, materialize_grads=True
                )
                for one, row in zip(self.sensitivity.values(), rows, strict=True):
                    one[:, place] = row

    def advance(self, input: Tensor) -> None:
        """One step of every sequence, and the sensitivities with it; input of shape (sample, input)."""
        with torch.no_grad():
            transition = jacobian(self.system, self.state, input, self.steps).dense()
            transition = transition.expand(len(self.state), *transition.shape[-2:])
        direct = self._direct(input)
        with torch.no_grad():
            for key, one in self.sensitivity.items():
                carried = torch.bmm(transition, one.reshape(*one.shape[:2], -1))
                self.sensitivity[key] = carried.reshape(one.shape) + direct[key]
            self.state = self.system.step(self.state, input, self.steps).detach()
        self.steps += 1

    def gradient(self, by_state: Tensor) -> dict[str, Tensor]:
        """Σ over samples of ∂L/∂h_t · ∂h_t/∂θ for every parameter; `by_state` = ∂L/∂h_t, shape (sample, state)."""
        return {key: torch.einsum("sn,sn...->...", by_state, one) for key, one in self.sensitivity.items()}

    def _direct(self, input: Tensor) -> dict[str, Tensor]:
        """∂step/∂θ with the state held, shape (sample, state, *parameter)."""
        held = {key: one.detach() for key, one in self._parameters.items()}

        def step(parameters: dict[str, Tensor], state: Tensor, input: Tensor) -> Tensor:
            return torch.func.functional_call(self.system, parameters, (state, input, self.steps))

        found: dict[str, Tensor] = torch.func.vmap(torch.func.jacrev(step), in_dims=(None, 0, 0))(
            held, self.state, input
        )
        return found


def real_time_recurrent_learning(
    system: Map, inputs: Tensor, loss: Loss, *, every_step: bool = False
) -> tuple[Tensor, dict[str, Tensor]]:
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
    if inputs.ndim != 3 or not inputs.shape[1]:
        raise UserError(f"The inputs must have shape (sample, time, input) with a time, got {tuple(inputs.shape)}.")
    driven = system.drive(inputs)
    if driven.requires_grad and not inputs.requires_grad:
        raise UserError(
            f"What the steps of {system.name!r} are given is made by parameters of its own, whose gradient this is "
            "not: give a system that reads its inputs as they are."
        )
    driven = driven.detach()
    learning = RealTimeRecurrentLearning(system, len(inputs))
    total = inputs.new_zeros(())
    gradient = {key: torch.zeros_like(one) for key, one in system.named_parameters() if one.requires_grad}
    for t, input in enumerate(driven.unbind(dim=1), start=1):
        learning.advance(input)
        if every_step or t == driven.shape[1]:
            state = learning.state.requires_grad_()
            value = loss(system.output(state), t)
            (by_state,) = torch.autograd.grad(value, state)
            learning.state = state.detach()
            total = total + value.detach()
            for key, part in learning.gradient(by_state).items():
                gradient[key] += part
    return total, gradient
