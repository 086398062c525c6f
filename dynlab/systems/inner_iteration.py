"""What ERNNs share: each step runs K Euler steps along an inner flow towards its equilibrium."""

import abc
import math

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.errors import UserError, unknown
from dynlab.operators import Diagonal, Identity, Operator
from dynlab.old_program import Program
from dynlab.systems.activations import activation_named
from dynlab.systems.base import Map

STARTS = ("previous", "zero")


class InnerIteration(Map):
    """h_k = g_K after K inner Euler steps g ← g + η_{i,k} (f(z) − z), z = g + s h_{k−1}, where f reads W x_k + b.

    The Jacobian is (a + s) (I + η_K ∇F_K) ⋯ (I + η_1 ∇F_1) − s I with ∇F = ∂f/∂z − I, where a is 1 where g starts at
    h_{k−1} and 0 where it starts at 0. A class says what f is, and ``formula = InnerIteration.steps_formula``.

    Parameters
    ----------
    input_size, state_size : int
    start : {"previous", "zero"}
        Where g starts: at h_{k−1} or at 0.
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

    @abc.abstractmethod
    def transition_formula(self, p: Program, z: int, drive: int) -> int:
        """f(z), written out as `dynlab.systems.base.System.formula` says."""

    @abc.abstractmethod
    def transition_jacobian(self, z: Tensor, drive: Tensor, eta: float | Tensor = 1.0) -> Operator:
        """η ∂f/∂z."""

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        g = self.inner_start(state)
        for eta in self.step_etas(t):
            g = g + eta.unsqueeze(-1) * self.inner_velocity(g, state, input)
        return g

    def steps_formula(self, p: Program, h: int, x: int, t: int = 0) -> int:
        """The K inner steps, written out as `dynlab.systems.base.System.formula` says."""
        drive = p.linear(self.W, x, self.b)
        signed = h if self.sign == 1 else p.scaled(-1.0, h)
        g = h if self.start == "previous" else p.constant(0.0, self.state_size)
        for eta in self.step_etas(t):
            z = p.add(g, signed)
            g = p.add(g, p.scaled(eta, p.subtract(self.transition_formula(p, z, drive), z)))
        return g

    def closed_form_jacobian(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator:
        identity = Identity(self.state_size, state)
        drive = linear(input, self.W, self.b)
        g = self.inner_start(state)
        jacobian: Operator = ((self.start == "previous") + self.sign) * identity  # of z by h
        for eta in self.step_etas(t):
            eta = eta.unsqueeze(-1)
            z = g + self.sign * state
            kept = Diagonal((1 - eta) * torch.ones_like(z + drive))
            jacobian = (kept + self.transition_jacobian(z, drive, eta)) @ jacobian
            g = g + eta * (self.transition(z, drive) - z)
        return jacobian + (-self.sign) * identity

    def inner_start(self, state: Tensor) -> Tensor:
        """Where the inner iteration starts, for h_{k−1} = `state`."""
        return state if self.start == "previous" else torch.zeros_like(state)

    def inner_velocity(self, g: Tensor, state: Tensor, input: Tensor) -> Tensor:
        """F(g) of the inner flow g' = F(g), shape (..., state), for h_{k−1} = `state` and x_k = `input`."""
        z = g + self.sign * state
        return self.transition(z, linear(input, self.W, self.b)) - z

    def inner_jacobian(self, g: Tensor, state: Tensor, input: Tensor) -> Operator:
        """∇F = ∂f/∂z − I of the inner flow."""
        found = self.transition_jacobian(g + self.sign * state, linear(input, self.W, self.b))
        return found + (-1.0) * Identity(self.state_size, state)

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
        except (IndexError, RuntimeError) as error:
            # Looking at the numbers first is impossible inside vmap, so the look-up itself tells, by either error.
            step = f"step number {t}" if isinstance(t, int) else "a step asked for"
            raise UserError(
                f"ERNN learned its η for T = {self.length} steps, so {step} has none (the first is 0): "
                f"give sequences of at most {self.length} steps."
            ) from error
