"""The inner iteration of ERNNs: each step runs K Euler steps along an inner flow towards its equilibrium."""

import abc
import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.errors import UserError, unknown
from dynlab.program.differentiation import jacobian
from dynlab.program.jacobian import Operator
from dynlab.systems.activations import activation_named
from dynlab.systems.base import Flow, Map

STARTS = ("previous", "zero")


class InnerIteration(Map):
    """h_k = g_K after K inner Euler steps g ← g + η_{i,k} (f(z) − z), z = g + s h_{k−1}, where f reads W x_k + b.

    The Jacobian is (a + s) (I + η_K ∇F_K) ⋯ (I + η_1 ∇F_1) − s I with ∇F = ∂f/∂z − I, where a is 1 where g starts at
    h_{k−1} and 0 where it starts at 0. A class says what f is.

    Parameters
    ----------
    input_size, state_size : int
    start : {"previous", "zero"}
        The start of g: at h_{k−1} or at 0.
    sign : {1, -1}
        s.
    activation : {"relu", "tanh", "sigmoid", "identity"}
        φ.

    Attributes
    ----------
    eta : Parameter, shape (K, T)
        Every learned η.
    """

    eta: nn.Parameter

    def __init__(self, input_size: int, state_size: int, start: str, sign: int, activation: str) -> None:
        super().__init__(state_size, input_size)
        if start not in STARTS:
            raise unknown("start of the inner iteration", start, STARTS)
        if sign not in (1, -1):
            raise UserError(f"The sign of h_{{k−1}} in ERNN must be 1 or -1, got {sign!r}.")
        self.activation = activation_named(activation)
        self.start, self.sign = start, sign
        self._inner: list[InnerFlow] = []
        self.reach = 1 / math.sqrt(state_size)
        self.W = nn.Parameter(torch.empty(state_size, input_size).uniform_(-self.reach, self.reach))
        self.b = nn.Parameter(torch.empty(state_size).uniform_(-self.reach, self.reach))

    @property
    def inner_steps(self) -> int:
        """K."""
        return self.eta.shape[0]

    @property
    def length(self) -> int:
        """T: how many steps have an η."""
        return self.eta.shape[1]

    @abc.abstractmethod
    def transition(self, z: Tensor, drive: Tensor) -> Tensor:
        """f(z), shape (..., state), where `drive` is W x + b."""

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        g = self.inner_start(state)
        for eta in self.step_etas(t):
            g = g + eta.unsqueeze(-1) * self.inner_velocity(g, state, input)
        return g

    def inner_start(self, state: Tensor) -> Tensor:
        """Return where the inner iteration starts, for h_{k−1} = `state`."""
        return state if self.start == "previous" else torch.zeros_like(state)

    def inner_velocity(self, g: Tensor, state: Tensor, input: Tensor) -> Tensor:
        """F(g) of the inner flow g' = F(g), shape (..., state), for h_{k−1} = `state` and x_k = `input`."""
        z = g + self.sign * state
        return self.transition(z, linear(input, self.W, self.b)) - z

    def inner_jacobian(self, g: Tensor, state: Tensor, input: Tensor) -> Operator:
        """Return ∇F = ∂f/∂z − I of the inner flow."""
        batch = np.broadcast_shapes(state.shape[:-1], input.shape[:-1])
        held = [each.expand(*batch, each.shape[-1]) for each in (state, input)]
        return jacobian(self.inner_flow(), g, torch.cat(held, dim=-1))

    def inner_flow(self) -> "InnerFlow":
        """Return the inner flow as a system of its own, made once."""
        if not self._inner:
            self._inner.append(InnerFlow(self))  # in a list: a module's part must not hold the module
        return self._inner[0]

    def step_etas(self, t: int | Tensor) -> Tensor:
        """The K learned η of step `t`, shape (K,) for an int and (K, ...) for a tensor of step numbers.

        Raises
        ------
        UserError
            For a step beyond the T that were learned.
        """
        numbers = torch.as_tensor(t, device=self.eta.device)
        try:
            return self.eta.index_select(1, numbers.reshape(-1)).reshape(-1, *numbers.shape)
        except (IndexError, RuntimeError) as error:  # torch has raised either
            raise UserError(
                f"ERNN learned its η for T = {self.length} steps, and this step is not one of them: "
                f"give sequences of at most {self.length} steps."
            ) from error


class InnerFlow(Flow):
    """g' = F(g) of an ERNN's inner iteration, whose input is (h_{k−1}, x_k)."""

    def __init__(self, cell: InnerIteration) -> None:
        super().__init__(cell.state_size, cell.state_size + cell.input_size)
        self.cell = cell

    def velocity(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        n = self.state_size
        return self.cell.inner_velocity(state, input[..., :n], input[..., n:])
