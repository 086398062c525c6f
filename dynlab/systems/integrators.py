"""Steps of a flow other than Euler's: explicit midpoint, Runge–Kutta 4, implicit midpoint, exponential Euler.

Each wraps a flow as `Euler` does, holds the input over its step, and has its Jacobian from the flow's. The table is
`INTEGRATORS`.

References
----------
Hairer, Nørsett and Wanner, "Solving Ordinary Differential Equations I", Springer 1993, section II.1 (explicit
methods); Hairer, Lubich and Wanner, "Geometric Numerical Integration", Springer 2006, section II.1 (implicit midpoint);
Hochbruck and Ostermann, "Exponential integrators", Acta Numerica 19 (2010), section 2.1 (exponential Euler).
"""

import torch
from torch import Tensor
from torch.nn.functional import pad

from dynlab.numerics.roots import newton_roots
from dynlab.program.derived import batch_shape
from dynlab.program.differentiation import jacobian
from dynlab.systems.base import Euler, Flow, Integrator


class ExplicitMidpoint(Integrator):
    """One step of the explicit midpoint method, h + ε f(h + (ε/2) f(h)): order 2, R(z) = 1 + z + z²/2."""

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        middle = state + 0.5 * self.step_size * self.flow.velocity(state, input, t)
        return state + self.step_size * self.flow.velocity(middle, input, t)


class RungeKutta4(Integrator):
    """One step of the classical Runge–Kutta method: order 4, R(z) = 1 + z + z²/2 + z³/6 + z⁴/24."""

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        rates = [self.flow.velocity(state, input, t)]
        for reach in (0.5, 0.5, 1.0):
            rates.append(self.flow.velocity(state + reach * self.step_size * rates[-1], input, t))
        k1, k2, k3, k4 = rates
        return state + self.step_size / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


class ImplicitMidpoint(Integrator):
    """One step of the implicit midpoint rule, h' = h + ε f((h + h')/2): order 2, R(z) = (1 + z/2)/(1 − z/2).

    Its Jacobian is (I − (ε/2) A)⁻¹ (I + (ε/2) A) with the flow's A at the midpoint, orthogonal where A is
    antisymmetric: what turns neither grows nor decays, at any step. Where no midpoint is found, the next state is NaN.
    """

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        return 2 * self.midpoint(state, input) - state

    def stated_jacobian(self, state: Tensor, input: Tensor, t: int | Tensor = 0, by: str = "state") -> Tensor:
        """Return the derivative of the step, shape (..., state, state); by the input ε (I − (ε/2) A)⁻¹ B, B = ∂f/∂x."""
        middle = self.midpoint(state, input)
        half = 0.5 * self.step_size * _rate(self.flow, middle, input, t)
        identity = torch.eye(self.state_size).to(state)
        if by == "state":
            return torch.linalg.solve_ex(identity - half, identity + half)[0]
        moved = self.step_size * jacobian(self.flow, middle, input, t, by="input").dense()
        return torch.linalg.solve_ex(identity - half, moved)[0]

    def midpoint(self, state: Tensor, input: Tensor) -> Tensor:
        """Return the midpoint between `state` (..., state) and the next one, NaN where none was found."""
        half, identity = 0.5 * self.step_size, torch.eye(self.state_size).to(state)
        batch = batch_shape(state, input, 0)
        states, inputs = (
            each.expand(*batch, each.shape[-1]).reshape(batch.numel(), each.shape[-1]) for each in (state, input)
        )
        found = newton_roots(
            lambda m, rows: states[rows] - m + half * self.flow.velocity(m, inputs[rows]),
            lambda m, rows: half * _rate(self.flow, m, inputs[rows]) - identity,
            states,
        )
        return found.reshape(*batch, -1)


class ExponentialEuler(Integrator):
    """One step of the exponential Euler method, h + ε φ₁(ε L) f(h), φ₁(z) = (e^z − 1)/z: order 1, R(z) = e^z.

    L is the flow's Jacobian at rest, with state and input 0, so that a linear flow is solved exactly at any step. Off
    rest the rest of the velocity, f(h) − L h, is held over the step as in Euler's method.
    """

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        return state + self.flow.velocity(state, input, t) @ self._weights(state, t).mT

    def _weights(self, like: Tensor, t: int | Tensor) -> Tensor:
        """ε φ₁(ε L), shape (state, state): a block of the exponential of [[ε L, ε I], [0, 0]]."""
        n = self.state_size
        L = _rate(self.flow, like.new_zeros(n), like.new_zeros(self.input_size), t if isinstance(t, int) else 0)
        blocks = pad(torch.cat([L, torch.eye(n).to(L)], dim=1), (0, 0, 0, n))
        return torch.linalg.matrix_exp(self.step_size * blocks)[:n, n:]


# By the names that `dynlab stability --integrator` takes.
INTEGRATORS: dict[str, type[Integrator]] = {
    "euler": Euler,
    "midpoint": ExplicitMidpoint,
    "rk4": RungeKutta4,
    "implicit-midpoint": ImplicitMidpoint,
    "exponential-euler": ExponentialEuler,
}


def _rate(flow: Flow, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
    """The flow's Jacobian, shape (..., state, state)."""
    return jacobian(flow, state, input, t).dense()
