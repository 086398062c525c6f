"""ERNN: each step runs K Euler steps towards the equilibrium of an inner flow that the input and the old state set.

Beside it ERNN with a deep transition: several layers within one step, the same equilibrium between steps.

References
----------
Kag, Zhang and Saligrama, "RNNs evolving on an equilibrium manifold", arXiv 1908.08574, equations 5, 6 and 13 and
section 6 (P = U = I + V H, η, sizes). The text starts the inner iteration at h_{k−1} (equation 5) and at 0 (equations
6 and 13); `start` chooses, and the default is h_{k−1}, as public ports have it. The deep transition is that paper's
"Multi-Layer RNN Blocks", after Pascanu, Gulcehre, Cho and Bengio, "How to construct deep recurrent neural networks",
ICLR 2014.
"""

import abc
import functools
import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.arguments import check_at_least
from dynlab.errors import UserError, unknown
from dynlab.program.differentiation import jacobian
from dynlab.program.jacobian import Operator
from dynlab.systems.activations import activation_named
from dynlab.systems.base import Flow, Map

STARTS = ("previous", "zero")


class ERNNCell(Map):
    """The common part of all ERNNs: φ, the sign s of h_{k−1}, and the drive W x_k + b.

    Parameters
    ----------
    input_size, state_size : int
    sign : {1, -1}
    activation : {"relu", "tanh", "sigmoid", "identity"}
    """

    def __init__(self, input_size: int, state_size: int, sign: int, activation: str) -> None:
        super().__init__(state_size, input_size)
        if sign not in (1, -1):
            raise UserError(f"The sign of h_{{k−1}} in ERNN must be 1 or -1, got {sign!r}.")
        self.sign, self.activation, self.reach = sign, activation_named(activation), 1 / math.sqrt(state_size)
        self.W = nn.Parameter(torch.empty(state_size, input_size).uniform_(-self.reach, self.reach))
        self.b = nn.Parameter(torch.empty(state_size).uniform_(-self.reach, self.reach))


class InnerIteration(ERNNCell):
    """h_k = g_K after K inner Euler steps g ← g + η_{i,k} (f(z) − z), z = g + s h_{k−1}, where f reads W x_k + b.

    A class says what f is, and with it ∇F = ∂f/∂z − I of the Jacobian that `ERNN` states.

    Parameters
    ----------
    input_size, state_size : int
    sign, activation
        As in `ERNNCell`.
    length, inner_steps : int
        T and K.
    start : {"previous", "zero"}
        The start of g: at h_{k−1} or at 0.
    eta : float
        The initial value of every η, learned from there; shape (K, T).
    """

    def __init__(
        self,
        input_size: int,
        state_size: int,
        sign: int,
        activation: str,
        length: int,
        inner_steps: int,
        start: str,
        eta: float,
    ) -> None:
        super().__init__(input_size, state_size, sign, activation)
        check_at_least(1, length=length, inner_steps=inner_steps)
        if start not in STARTS:
            raise unknown("start of the inner iteration", start, STARTS)
        self.start = start
        self.eta = nn.Parameter(torch.full((inner_steps, length), float(eta)))

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
        return jacobian(self.inner_flow, g, torch.cat(held, dim=-1))

    @functools.cached_property
    def inner_flow(self) -> "InnerFlow":
        """The inner flow as a system of its own, made once; no part of the module, which it holds."""
        return InnerFlow(self)

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


class ERNN(InnerIteration):
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
        The start of g: at h_{k−1} or at 0.
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
        super().__init__(input_size, state_size, sign, activation, length, inner_steps, start, eta)
        self.projection = projection
        self.U = square(state_size, rank, self.reach)
        if deviation is not None:
            for parameter in (self.W, self.b, *self.U.parameters()):
                nn.init.normal_(parameter, std=deviation)
            nn.init.zeros_(self.b)

    def transition(self, z: Tensor, drive: Tensor) -> Tensor:
        inner = self.U(z) + drive
        return self.activation.function(self.U(inner) if self.projection else inner)

    def recurrent_matrix(self) -> Tensor:
        """P U, shape (state, state)."""
        U = matrix_of(self.U)
        return U @ U if self.projection else U


class IdentityPlusLowRank(nn.Module):
    """U = I + V H, with V (state, d) and H (d, state) uniform in ±reach."""

    def __init__(self, size: int, rank: int, reach: float) -> None:
        super().__init__()
        self.V = nn.Parameter(torch.empty(size, rank).uniform_(-reach, reach))
        self.H = nn.Parameter(torch.empty(rank, size).uniform_(-reach, reach))

    def forward(self, z: Tensor) -> Tensor:
        return z + linear(linear(z, self.H), self.V)


def square(size: int, rank: int | None, reach: float) -> nn.Module:
    """U of an ERNN: full where `rank` is None, uniform in ±1/√size; else I + V H of that rank."""
    check_at_least(1, rank=rank)
    return nn.Linear(size, size, bias=False) if rank is None else IdentityPlusLowRank(size, rank, reach)


def matrix_of(U: nn.Module) -> Tensor:
    """Return U itself, shape (state, state)."""
    like = next(U.parameters())
    return U(torch.eye(len(like), dtype=like.dtype, device=like.device)).mT


class DeepERNN(InnerIteration):
    """K Euler steps of g' = f(g + s h_{k−1}, x_k) − (g + s h_{k−1}), f(z, x) = φ(W_L φ(… W_1 φ(U z + W x + b) …)).

    The Jacobian is that of `dynlab.systems.ernn.ERNN` with diag(φ') P U replaced by diag(φ'_L) W_L … diag(φ'_0) U. As
    f sees h_{k−1} in g + s h_{k−1} alone, the equilibrium is z*(x_k) − s h_{k−1} at any depth, where there is one.

    Parameters
    ----------
    input_size, state_size : int
    length : int
        T: how many steps have their own η.
    layers : int
        L ≥ 0 layers above the first; 0 is an ERNN with a full U and no projection.
    inner_steps, start, sign, activation, eta
        As of `ERNN`.

    Examples
    --------
    >>> cell = DeepERNN(input_size=9, state_size=20, length=128, layers=2)
    >>> sum(parameter.numel() for parameter in cell.parameters())  # 20 (9 + 1) + 3 · 20² + 128
    1528
    """

    def __init__(
        self,
        input_size: int,
        state_size: int,
        length: int,
        layers: int = 1,
        inner_steps: int = 1,
        start: str = "previous",
        sign: int = 1,
        activation: str = "tanh",
        eta: float = 0.01,
    ) -> None:
        super().__init__(input_size, state_size, sign, activation, length, inner_steps, start, eta)
        check_at_least(0, layers=layers)
        U, *above = (torch.empty(state_size, state_size).uniform_(-self.reach, self.reach) for _ in range(1 + layers))
        self.U = nn.Parameter(U)
        self.above = nn.ParameterList(above)

    def transition(self, z: Tensor, drive: Tensor) -> Tensor:
        found = self.activation.function(linear(z, self.U) + drive)
        for weight in self.above:
            found = self.activation.function(linear(found, weight))
        return found
