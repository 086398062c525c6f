"""One layer of torch's RNN, GRU and LSTM as a map, with torch's parameters and closed-form Jacobians.

The equations are those of the documentation of `torch.nn.RNN`, `torch.nn.GRU` and `torch.nn.LSTM`.
"""

import abc
import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.operators import Blocks, Diagonal, Fed, Identity, Leading, Operator, RowScaled, Shared
from dynlab.old_program import Program
from dynlab.systems.activations import Activated, activation_named, operation_of, sigmoid_slope, tanh_slope
from dynlab.systems.base import Map

PARAMETERS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")


class Cell(Map):
    """What the three share: parameters under torch's names, copied, and a closed form by the input, for stacks.

    Parameters
    ----------
    weights : mapping of str to Tensor
        Some of `PARAMETERS`; the biases, and all but an LSTM's projection `weight_hr`, may be left out.
    state_size, output_size : int
        The output is the first part of the state.
    """

    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Tensor | None
    bias_hh: Tensor | None
    weight_hr: Tensor | None

    def __init__(self, weights: Mapping[str, Tensor], state_size: int, output_size: int) -> None:
        super().__init__(state_size, weights["weight_ih"].shape[1])
        self.output_size = output_size
        for name in PARAMETERS:
            given = weights.get(name)
            self.register_parameter(name, None if given is None else nn.Parameter(given.detach().clone()))

    @abc.abstractmethod
    def closed_form_jacobian(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator:
        """∂step/∂state."""

    @abc.abstractmethod
    def closed_form_input_jacobian(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator:
        """∂step/∂input."""

    def closed_form_ungated_input_jacobian(self, state: Tensor, input: Tensor) -> Operator | None:
        """The derivative of `ungated_residual` by the input, where that has a closed form by the state."""
        return None

    def resting(self) -> Map:
        """The map whose fixed points are those of the cell but for what `at_rest` gives: the cell itself."""
        return self

    def at_rest(self, resting: Tensor, input: Tensor) -> Tensor:
        """The cell's state, shape (..., state), at a fixed point of `resting`."""
        return resting

    def output(self, state: Tensor) -> Tensor:
        return state[..., : self.output_size]


class RNNCell(Activated, Cell):
    """h' = φ(W_ih x + b_ih + W_hh h + b_hh), φ = tanh or ReLU."""

    def __init__(self, weights: Mapping[str, Tensor], nonlinearity: str) -> None:
        n = weights["weight_hh"].shape[1]
        super().__init__(weights, n, n)
        self.name = "rnn"
        self.activation = activation_named(nonlinearity)

    step = Activated.value
    state_bound = Activated.value_bound
    unitwise = Map.unitwise  # torch's own kernels are as fast

    def formula(self, p: Program, h: int, x: int, t: int = 0) -> int:
        pre = p.add(p.linear(self.weight_ih, x, self.bias_ih), p.linear(self.weight_hh, h, self.bias_hh))
        return p.activation(operation_of(self.activation), pre)

    def weights(self) -> tuple[Tensor, Tensor]:
        return self.weight_hh, self.weight_ih

    def preactivation(self, state: Tensor, input: Tensor) -> Tensor:
        return linear(input, self.weight_ih, self.bias_ih) + linear(state, self.weight_hh, self.bias_hh)


class GRUCell(Cell):
    """h' = (1 − z) n + z h, where n = tanh(W_in x + b_in + r q), q = W_hn h + b_hn, and r, z are the gates."""

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        n = weights["weight_hh"].shape[1]
        super().__init__(weights, n, n)
        self.name = "gru"

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        _, p_z, p_n, _, _ = self._parts(state, input)
        z = torch.sigmoid(p_z)
        return (1 - z) * torch.tanh(p_n) + z * state

    def formula(self, p: Program, h: int, x: int, t: int = 0) -> int:
        n = self.state_size
        from_x, from_h = p.linear(self.weight_ih, x, self.bias_ih), p.linear(self.weight_hh, h, self.bias_hh)
        gates = p.sigmoid(p.add(p.part(from_x, 0, 2 * n), p.part(from_h, 0, 2 * n)))
        r, z = p.part(gates, 0, n), p.part(gates, n, 2 * n)
        candidate = p.tanh(p.add(p.part(from_x, 2 * n, 3 * n), p.multiply(r, p.part(from_h, 2 * n, 3 * n))))
        return p.add(candidate, p.multiply(z, p.subtract(h, candidate)))

    def closed_form_jacobian(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator:
        _, p_z, _, r, _ = parts = self._parts(state, input)
        into_reset, into_update, into_candidate = self._slopes(state, parts)
        recurrent = self._weighted(self.weight_hh, into_reset, into_update, into_candidate * r)
        return Diagonal(torch.sigmoid(p_z)) + recurrent

    def closed_form_input_jacobian(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator:
        return self._weighted(self.weight_ih, *self._slopes(state, self._parts(state, input)))

    def state_bound(self) -> Tensor:
        return self.weight_hh.new_ones(self.state_size)

    def ungated_residual(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        return state - torch.tanh(self._parts(state, input)[2])

    def closed_form_ungated_jacobian(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator:
        r = self._parts(state, input)[3]
        return Identity(self.state_size, state) + self._ungated_by(self.weight_hh, r, state, input)

    def closed_form_ungated_input_jacobian(self, state: Tensor, input: Tensor) -> Operator:
        return self._ungated_by(self.weight_ih, torch.ones_like(state), state, input)

    def _ungated_by(self, weight: Tensor, into_q: Tensor, state: Tensor, input: Tensor) -> Operator:
        """−∂n through pre-activations with this `weight`, of which the candidate's counts `into_q` times."""
        p_r, _, p_n, _, q = self._parts(state, input)
        reset, _, candidate = weight.chunk(3)
        slope = -tanh_slope(p_n)
        return RowScaled((slope * into_q, candidate), (slope * q * sigmoid_slope(p_r), reset))

    def _parts(self, state: Tensor, input: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """The pre-activations of r, of z and of the candidate n, with r and q."""
        x_r, x_z, x_n = linear(input, self.weight_ih, self.bias_ih).chunk(3, dim=-1)
        h_r, h_z, q = linear(state, self.weight_hh, self.bias_hh).chunk(3, dim=-1)
        p_r = x_r + h_r
        r = torch.sigmoid(p_r)
        return p_r, x_z + h_z, x_n + r * q, r, q

    @staticmethod
    def _slopes(state: Tensor, parts: tuple[Tensor, Tensor, Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """∂h' by the pre-activations of r, of z, and of the candidate; 1 − z = σ(−p_z) does not cancel."""
        p_r, p_z, p_n, _, q = parts
        into_candidate = torch.sigmoid(-p_z) * tanh_slope(p_n)
        return into_candidate * q * sigmoid_slope(p_r), (state - torch.tanh(p_n)) * sigmoid_slope(p_z), into_candidate

    @staticmethod
    def _weighted(weight: Tensor, *slopes: Tensor) -> Operator:
        reset, update, candidate = weight.chunk(3)
        into_reset, into_update, into_candidate = slopes
        gates = Diagonal(into_reset) @ Shared(reset) + Diagonal(into_update) @ Shared(update)
        return gates + Diagonal(into_candidate) @ Shared(candidate)


class LSTMCell(Cell):
    """c' = f c + i g and h' = o tanh(c'), in the state (h, c); with a projection h' = W_hr (o tanh(c'))."""

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        self._sizes = [weights["weight_hh"].shape[1], weights["weight_hh"].shape[0] // 4]
        super().__init__(weights, sum(self._sizes), self._sizes[0])
        self.name = "lstm"

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        i, f, g, o, c = self._parts(state, self._preactivations(state, input))
        c = f * c + i * g
        return torch.cat([self._project(o * torch.tanh(c)), c], dim=-1)

    def formula(self, p: Program, h: int, x: int, t: int = 0) -> int:
        size, m = self._sizes
        hidden, c = p.part(h, 0, size), p.part(h, size, size + m)
        joint = p.add(p.linear(self.weight_ih, x, self.bias_ih), p.linear(self.weight_hh, hidden, self.bias_hh))
        i, f, g, o = (p.part(joint, k * m, (k + 1) * m) for k in range(4))
        c = p.add(p.multiply(p.sigmoid(f), c), p.multiply(p.sigmoid(i), p.tanh(g)))
        hidden = p.multiply(p.sigmoid(o), p.tanh(c))
        return p.join([hidden if self.weight_hr is None else p.linear(self.weight_hr, hidden), c])

    def closed_form_jacobian(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator:
        preactivations = self._preactivations(state, input)
        h_by_c, h_by_h, c_by_h = self._by(self.weight_hh, state, preactivations)
        h_by_h = h_by_h @ Leading(self._sizes[0], self.state_size, state)
        return Fed(
            self._projected(h_by_h),
            self._projected(h_by_c),
            Blocks([[c_by_h, Diagonal(torch.sigmoid(preactivations[1]))]]),
        )

    def closed_form_input_jacobian(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator:
        h_by_c, h_by_x, c_by_x = self._by(self.weight_ih, state, self._preactivations(state, input))
        return Fed(self._projected(h_by_x), self._projected(h_by_c), c_by_x)

    def state_bound(self) -> Tensor:
        hidden, memory = self._sizes
        h = self.weight_hh.new_ones(hidden) if self.weight_hr is None else self.weight_hr.abs().sum(dim=1)
        return torch.cat([h, self.weight_hh.new_full((memory,), math.inf)])

    def resting(self) -> Map:
        return RestingLSTM(self)

    def at_rest(self, resting: Tensor, input: Tensor) -> Tensor:
        memory = self._memory(self._preactivations(resting, input))
        return torch.cat([resting.expand(*memory.shape[:-1], self._sizes[0]), memory], dim=-1)

    def ungated_residual(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        preactivations = self._preactivations(state, input)
        i, _, g, o, c = self._parts(state, preactivations)
        h = state[..., : self._sizes[0]]
        # 1 − f from the pre-activation: the difference is rounding, or 0, where f is close to 1
        forgotten = torch.sigmoid(-preactivations[1])
        return torch.cat([h - self._project(o * torch.tanh(c)), c - i * g / forgotten], dim=-1)

    def closed_form_ungated_jacobian(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator:
        preactivations = self._preactivations(state, input)
        h_by_gates, h_by_c, c_by = self._ungated_by(self.weight_hh, preactivations, state[..., self._sizes[0] :])
        hidden, memory = self._sizes
        h_by = Identity(hidden, state) + self._projected(h_by_gates)
        return Blocks([[h_by, self._projected(h_by_c)], [c_by, Identity(memory, state)]])

    def closed_form_ungated_input_jacobian(self, state: Tensor, input: Tensor) -> Operator:
        preactivations = self._preactivations(state, input)
        h_by, _, c_by = self._ungated_by(self.weight_ih, preactivations, state[..., self._sizes[0] :])
        return Blocks([[self._projected(h_by)], [c_by]])

    @staticmethod
    def _ungated_by(
        weight: Tensor, preactivations: Sequence[Tensor], c: Tensor
    ) -> tuple[RowScaled, Diagonal, RowScaled]:
        """−∂(o tanh c) and −∂(i g/(1 − f)) through the gates, whose pre-activations have `weight`; −∂(o tanh c)/∂c."""
        p_i, p_f, p_g, p_o = preactivations
        i, g, o = torch.sigmoid(p_i), torch.tanh(p_g), torch.sigmoid(p_o)
        kept = 1 / torch.sigmoid(-p_f)  # 1/(1 − f) = 1 + exp p_f
        into_i, into_f, into_g, into_o = weight.chunk(4)
        by_i, by_g = -kept * g * sigmoid_slope(p_i), -kept * i * tanh_slope(p_g)
        c_by = RowScaled((by_i, into_i), (-i * g * torch.exp(p_f), into_f), (by_g, into_g))
        return RowScaled((-torch.tanh(c) * sigmoid_slope(p_o), into_o)), Diagonal(-o * tanh_slope(c)), c_by

    def _preactivations(self, state: Tensor, input: Tensor) -> tuple[Tensor, ...]:
        """Of i, f, g and o, in torch's order."""
        h = state[..., : self._sizes[0]]
        joint = linear(input, self.weight_ih, self.bias_ih) + linear(h, self.weight_hh, self.bias_hh)
        return joint.chunk(4, dim=-1)

    @staticmethod
    def _memory(preactivations: Sequence[Tensor]) -> Tensor:
        """c* = i g/(1 − f), which stays."""
        i, f, g, _ = preactivations
        return torch.sigmoid(i) * torch.tanh(g) / torch.sigmoid(-f)

    def _parts(self, state: Tensor, preactivations: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """The gates i, f, o with g, in torch's order, and c."""
        i, f, g, o = preactivations
        c = state[..., self._sizes[0] :]
        return torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o), c

    def _by(
        self, weight: Tensor, state: Tensor, preactivations: Sequence[Tensor]
    ) -> tuple[Operator, Operator, Operator]:
        """∂h'/∂c', and the derivatives through the gates of h' at this c' and of c', their weights being `weight`."""
        p_i, p_f, p_g, p_o = preactivations
        i, f, g, o, c = self._parts(state, preactivations)
        into_i, into_f, into_g, into_o = weight.chunk(4)
        following = f * c + i * g
        c_by = Diagonal(c * sigmoid_slope(p_f)) @ Shared(into_f) + Diagonal(g * sigmoid_slope(p_i)) @ Shared(into_i)
        c_by = c_by + Diagonal(i * tanh_slope(p_g)) @ Shared(into_g)
        h_by_c = Diagonal(o * tanh_slope(following))
        h_by = Diagonal(torch.tanh(following) * sigmoid_slope(p_o)) @ Shared(into_o)
        return h_by_c, h_by, c_by

    def _project(self, h: Tensor) -> Tensor:
        return h if self.weight_hr is None else linear(h, self.weight_hr)

    def _projected(self, h_by: Operator) -> Operator:
        return h_by if self.weight_hr is None else Shared(self.weight_hr) @ h_by


class RestingLSTM(Map):
    """h ↦ o tanh(c*) with the memory c* = i g/(1 − f) that stays: an LSTM's fixed points are (h, c*) of this map's h.

    Parameters
    ----------
    cell : LSTMCell
    """

    def __init__(self, cell: LSTMCell) -> None:
        super().__init__(cell.output_size, cell.input_size)
        self.cell = cell
        self.name = cell.name

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        preactivations = self._preactivations(state, input)
        return self.cell._project(torch.sigmoid(preactivations[3]) * torch.tanh(self.cell._memory(preactivations)))

    def closed_form_jacobian(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator:
        preactivations = self._preactivations(state, input)
        memory = self.cell._memory(preactivations)
        h_by, h_by_c, c_by = self.cell._ungated_by(self.cell.weight_hh, preactivations, memory)
        through = [(h_by_c.diagonal * scale, weight) for scale, weight in c_by.terms]
        return self.cell._projected(RowScaled(*through, *((-scale, weight) for scale, weight in h_by.terms)))

    def state_bound(self) -> Tensor:
        return self.cell.state_bound()[: self.state_size]

    def _preactivations(self, state: Tensor, input: Tensor) -> tuple[Tensor, ...]:
        """The cell's; an input that a whole batch shares, expanded, is multiplied once."""
        batch = input.shape[:-1]
        if batch == state.shape[:-1] and input.numel() and not any(input.stride()[:-1]):
            input = input[(0,) * len(batch)]
        return self.cell._preactivations(state, input)
