"""ERNN: each step runs K Euler steps towards the equilibrium of an inner flow that the input and the old state set.

References
----------
Kag, Zhang and Saligrama, "RNNs evolving on an equilibrium manifold", arXiv 1908.08574, equations 5, 6 and 13 and
section 6 (P = U = I + V H, η, sizes). The text starts the inner iteration at h_{k−1} (equation 5) and at 0 (equations
6 and 13); `start` chooses, and the default is h_{k−1}, as public ports have it.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.errors import UserError, unknown
from dynlab.operators import Diagonal, Identity, Operator, Shared
from dynlab.program import Program
from dynlab.systems.activations import activation_named, operation_of
from dynlab.systems.base import Map

STARTS = ("previous", "zero")


class ERNN(Map):
    """h_k = g_K after K inner Euler steps g ← g + η_{i,k} F(g).

    The inner flow is F(g) = φ(P (U (g + s h_{k−1}) + W x_k + b)) − (g + s h_{k−1}). At its equilibrium
    h_k = z*(x_k) − s h_{k−1}, where z* = φ(P (U z* + W x + b)), and ∂h_k/∂h_{k−1} = −s I. After K steps it is

        ∂h_k/∂h_{k−1} = (a + s) (I + η_K ∇F_K) ⋯ (I + η_1 ∇F_1) − s I,   ∇F_i = diag(φ'_i) P U − I,

    where a is 1 where g starts at h_{k−1} and 0 where it starts at 0.

    Parameters
    ----------
    input_size, state_size : int
    length : int
        T: how many steps have their own learned η; a sequence cannot be longer.
    inner_steps : int
        K.
    rank : int or None
        d of U = I + V H with V (state, d) and H (d, state); None for a full matrix U.
    start : {"previous", "zero"}
        Where g starts: at h_{k−1} or at 0.
    sign : {1, -1}
        s; 1 is the source's model, −1 its variant with ∂h_k/∂h_{k−1} = +I at equilibrium.
    activation : {"relu", "tanh", "sigmoid", "identity"}
        φ.
    projection : bool
        P = U, or left out.
    eta : float
        The initial value of every η, learned from there; shape (K, T).
    deviation : float or None
        Weights start at N(0, deviation²) and b at 0, as in the authors' TARNN (0.1); None: uniform in ±1/√state_size.

    Examples
    --------
    >>> cell = ERNN(input_size=9, state_size=80, length=128, inner_steps=3)
    >>> sum(parameter.numel() for name, parameter in cell.named_parameters() if name != "eta")
    4000
    """

    def __init__(
        self,
        input_size: int,
        state_size: int,
        length: int,
        inner_steps: int = 1,
        rank: int | None = 20,
        start: str = "previous",
        sign: int = 1,
        activation: str = "relu",
        projection: bool = True,
        eta: float = 0.01,
        deviation: float | None = None,
    ) -> None:
        super().__init__(state_size, input_size)
        check_inner(start, sign)
        if length < 1 or inner_steps < 1 or (rank is not None and rank < 1):
            raise UserError(
                f"ERNN needs a length, inner steps and a rank of at least 1 (rank None for a full matrix), "
                f"got {length}, {inner_steps} and {rank}."
            )
        self.activation = activation_named(activation)
        self.start, self.sign, self.projection = start, sign, projection
        reach = 1 / math.sqrt(state_size)
        self.W = nn.Parameter(torch.empty(state_size, input_size).uniform_(-reach, reach))
        self.b = nn.Parameter(torch.empty(state_size).uniform_(-reach, reach))
        self.U = Full(state_size, reach) if rank is None else IdentityPlusLowRank(state_size, rank, reach)
        if deviation is not None:
            for parameter in self.parameters():
                nn.init.normal_(parameter, std=deviation)
            nn.init.zeros_(self.b)
        self.eta = nn.Parameter(torch.full((inner_steps, length), float(eta)))

    @property
    def inner_steps(self) -> int:
        """K."""
        return self.eta.shape[0]

    @property
    def length(self) -> int:
        """T: how many steps have an η."""
        return self.eta.shape[1]

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        g = self.inner_start(state)
        for eta in self.step_etas(t):
            g = g + eta.unsqueeze(-1) * self.inner_velocity(g, state, input)
        return g

    def formula(self, p: Program, h: int, x: int, t: int = 0) -> int:
        driven = p.linear(self.W, x, self.b)
        signed = h if self.sign == 1 else p.scaled(-1.0, h)
        g = h if self.start == "previous" else p.constant(0.0, self.state_size)
        for eta in self.step_etas(t):
            inner = p.add(g, signed)
            preactivation = p.add(self.U.formula(p, inner), driven)
            preactivation = self.U.formula(p, preactivation) if self.projection else preactivation
            rate = p.subtract(p.activation(operation_of(self.activation), preactivation), inner)
            g = p.add(g, p.scaled(eta, rate))
        return g

    def closed_form_jacobian(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator:
        identity = Identity(self.state_size, state)
        recurrent = Shared(self.recurrent_matrix())
        g = self.inner_start(state)
        jacobian: Operator = ((self.start == "previous") + self.sign) * identity
        for eta in self.step_etas(t):
            eta = eta.unsqueeze(-1)
            slope = self.activation.slope(self._preactivation(g, state, input))
            kept = Diagonal((1 - eta) * torch.ones_like(slope))
            jacobian = (kept + Diagonal(eta * slope) @ recurrent) @ jacobian
            g = g + eta * self.inner_velocity(g, state, input)
        return jacobian + (-self.sign) * identity

    def inner_start(self, state: Tensor) -> Tensor:
        """Where the inner iteration starts, for h_{k−1} = `state`."""
        return state if self.start == "previous" else torch.zeros_like(state)

    def inner_velocity(self, g: Tensor, state: Tensor, input: Tensor) -> Tensor:
        """F(g) of the inner flow g' = F(g), shape (..., state), for h_{k−1} = `state` and x_k = `input`."""
        return self.activation.function(self._preactivation(g, state, input)) - (g + self.sign * state)

    def inner_jacobian(self, g: Tensor, state: Tensor, input: Tensor) -> Operator:
        """∇F = diag(φ') P U − I of the inner flow."""
        slope = self.activation.slope(self._preactivation(g, state, input))
        return Diagonal(slope) @ Shared(self.recurrent_matrix()) + (-1.0) * Identity(self.state_size, state)

    def recurrent_matrix(self) -> Tensor:
        """P U, shape (state, state)."""
        U = self.U.matrix()
        return U @ U if self.projection else U

    def step_etas(self, t: int | Tensor) -> Tensor:
        """The K learned η of step `t`, shape (K,) for an int and (K, ...) for a tensor of step numbers.

        Raises
        ------
        UserError
            For a step beyond the T that were learned.
        """
        return etas_at(self.eta, t)

    def _preactivation(self, g: Tensor, state: Tensor, input: Tensor) -> Tensor:
        inner = self.U(g + self.sign * state) + linear(input, self.W, self.b)
        return self.U(inner) if self.projection else inner


def check_inner(start: str, sign: int) -> None:
    """Raise where an inner iteration is to start somewhere else, or the sign of h_{k−1} is none."""
    if start not in STARTS:
        raise unknown("start of the inner iteration", start, STARTS)
    if sign not in (1, -1):
        raise UserError(f"The sign of h_{{k−1}} in ERNN must be 1 or -1, got {sign!r}.")


def etas_at(eta: Tensor, t: int | Tensor) -> Tensor:
    """The columns of the learned η (K, T) that are of step `t`: of shape (K,) for an int, (K, ...) for a tensor.

    Raises
    ------
    UserError
        For a step beyond the T that were learned.
    """
    numbers = torch.as_tensor(t, device=eta.device)
    try:
        return eta.index_select(1, numbers.reshape(-1)).reshape(-1, *numbers.shape)
    except (IndexError, RuntimeError) as error:
        # Looking at the numbers first is impossible inside vmap, so the look-up itself tells, by either error.
        step = f"step number {t}" if isinstance(t, int) else "a step asked for"
        raise UserError(
            f"ERNN learned its η for T = {eta.shape[1]} steps, so {step} has none (the first is 0): "
            f"give sequences of at most {eta.shape[1]} steps."
        ) from error


class IdentityPlusLowRank(nn.Module):
    """U = I + V H, with V (state, d) and H (d, state) uniform in ±reach."""

    def __init__(self, size: int, rank: int, reach: float) -> None:
        super().__init__()
        self.V = nn.Parameter(torch.empty(size, rank).uniform_(-reach, reach))
        self.H = nn.Parameter(torch.empty(rank, size).uniform_(-reach, reach))

    def forward(self, z: Tensor) -> Tensor:
        return z + linear(linear(z, self.H), self.V)

    def formula(self, p: Program, z: int) -> int:
        """U z, written out as `dynlab.systems.base.System.formula` says."""
        return p.add(z, p.linear(self.V, p.linear(self.H, z)))

    def matrix(self) -> Tensor:
        """U itself."""
        return torch.eye(self.V.shape[0], dtype=self.V.dtype, device=self.V.device) + self.V @ self.H


class Full(nn.Module):
    """A full matrix U, uniform in ±reach."""

    def __init__(self, size: int, reach: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(size, size).uniform_(-reach, reach))

    def forward(self, z: Tensor) -> Tensor:
        return linear(z, self.weight)

    def formula(self, p: Program, z: int) -> int:
        """U z, written out as `dynlab.systems.base.System.formula` says."""
        return p.linear(self.weight, z)

    def matrix(self) -> Tensor:
        """U itself."""
        return self.weight
