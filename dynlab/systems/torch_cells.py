"""One layer of torch's RNN, GRU and LSTM as a map, with torch's parameters, and layers above one another.

The equations are those of the documentation of `torch.nn.RNN`, `torch.nn.GRU` and `torch.nn.LSTM`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.systems.activations import ActivatedMap, activation_named
from dynlab.systems.base import Map

PARAMETERS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")


class Cell(Map):
    """The common part of the three: parameters under torch's names, copied; and where in a network the layer stands.

    Attributes
    ----------
    below : ModuleList
        The layers below from the lowest up, each as its forward cell or as (forward, reverse): their complete output,
        in its own time order, drives this one.
    reverse : bool
        The layer runs from the last input to the first. Its step t then belongs to input T + 1 − t.

    Parameters
    ----------
    weights : mapping of str to Tensor
        Some of `PARAMETERS`; the biases, and all but an LSTM's projection `weight_hr`, may be left out.
    name : str
        The public name.
    memory : int
        Number of states behind the output.
    """

    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Tensor | None
    bias_hh: Tensor | None
    weight_hr: Tensor | None

    def __init__(self, weights: Mapping[str, Tensor], name: str, memory: int = 0) -> None:
        outputs = weights["weight_hh"].shape[1]
        super().__init__(outputs + memory, weights["weight_ih"].shape[1])
        self.name, self.output_size = name, outputs
        self.below, self.reverse = nn.ModuleList(), False
        for name in PARAMETERS:
            given = weights.get(name)
            self.register_parameter(name, None if given is None else nn.Parameter(given.detach().clone()))

    def resting(self) -> Map:
        """The map whose fixed points are those of the cell but for what `at_rest` gives: the cell itself."""
        return self

    def at_rest(self, resting: Tensor, input: Tensor) -> Tensor:
        """The cell's state, shape (..., state), at a fixed point of `resting`."""
        return resting

    def output(self, state: Tensor) -> Tensor:
        return state[..., : self.output_size]

    def place(self, below: Sequence[Sequence["Cell"]], reverse: bool) -> None:
        """Stand above these layers, in that direction."""
        self.below, self.reverse = nn.ModuleList(nn.ModuleList(layer) for layer in below), reverse
        self.network_input_size = below[0][0].input_size if below else self.input_size

    def drive(self, inputs: Tensor) -> Tensor:
        inputs = super().drive(inputs)
        for layer in cast(list[list[Cell]], self.below):
            forward, *backward = layer
            outputs = [_outputs(forward, inputs)]
            outputs += [_outputs(cell, inputs.flip(-2)).flip(-2) for cell in backward]
            inputs = torch.cat(outputs, dim=-1)
        return inputs.flip(-2) if self.reverse else inputs


def _outputs(cell: Cell, inputs: Tensor) -> Tensor:
    """The outputs at t = 1 … T from a zero state, shape (..., T, output)."""
    state = inputs.new_zeros(*inputs.shape[:-2], cell.state_size)
    outputs = []
    for x in inputs.unbind(dim=-2):
        state = cell.step(state, x)
        outputs.append(cell.output(state))
    return torch.stack(outputs, dim=-2)


class RNNCell(ActivatedMap, Cell):
    """h' = φ(W_ih x + b_ih + W_hh h + b_hh), φ = tanh or ReLU."""

    def __init__(self, weights: Mapping[str, Tensor], nonlinearity: str) -> None:
        super().__init__(weights, "rnn")
        self.activation = activation_named(nonlinearity)

    def weights(self) -> tuple[Tensor, Tensor]:
        return self.weight_hh, self.weight_ih

    def preactivation(self, state: Tensor, input: Tensor) -> Tensor:
        return linear(input, self.weight_ih, self.bias_ih) + linear(state, self.weight_hh, self.bias_hh)


class GRUCell(Cell):
    """h' = (1 − z) n + z h, where n = tanh(W_in x + b_in + r q), q = W_hn h + b_hn, and r, z are the gates."""

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        super().__init__(weights, "gru")

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        p_z, p_n = self._preactivations(state, input)
        z = torch.sigmoid(p_z)
        return (1 - z) * torch.tanh(p_n) + z * state

    def state_bound(self) -> Tensor:
        return self.weight_hh.new_ones(self.state_size)

    def ungated_residual(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        return state - torch.tanh(self._preactivations(state, input)[1])

    def _preactivations(self, state: Tensor, input: Tensor) -> tuple[Tensor, Tensor]:
        """The pre-activations of z and of the candidate n."""
        x_r, x_z, x_n = linear(input, self.weight_ih, self.bias_ih).chunk(3, dim=-1)
        h_r, h_z, q = linear(state, self.weight_hh, self.bias_hh).chunk(3, dim=-1)
        return x_z + h_z, x_n + torch.sigmoid(x_r + h_r) * q


class LSTMCell(Cell):
    """c' = f c + i g and h' = o tanh(c'), in the state (h, c); with a projection h' = W_hr (o tanh(c'))."""

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        memory = weights["weight_hh"].shape[0] // 4
        super().__init__(weights, "lstm", memory)
        self._sizes = [self.output_size, memory]

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        i, f, g, o = self._preactivations(state, input)
        c = torch.sigmoid(f) * state[..., self._sizes[0] :] + torch.sigmoid(i) * torch.tanh(g)
        return torch.cat([self.hidden(o, c), c], dim=-1)

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
        h, c = state.split(self._sizes, dim=-1)
        return torch.cat([h - self.hidden(preactivations[3], c), c - self._memory(preactivations)], dim=-1)

    def _preactivations(self, state: Tensor, input: Tensor) -> tuple[Tensor, ...]:
        """Return the pre-activations of i, f, g and o, in torch's order."""
        h = state[..., : self._sizes[0]]
        return (linear(input, self.weight_ih, self.bias_ih) + linear(h, self.weight_hh, self.bias_hh)).chunk(4, dim=-1)

    @staticmethod
    def _memory(preactivations: Sequence[Tensor]) -> Tensor:
        """c* = i g/(1 − f), which stays; 1 − f from the pre-activation, as it is rounding where f is close to 1."""
        i, f, g, _ = preactivations
        return torch.sigmoid(i) * torch.tanh(g) / torch.sigmoid(-f)

    def hidden(self, o: Tensor, c: Tensor) -> Tensor:
        """H' of the output gate's pre-activation and the memory."""
        h = torch.sigmoid(o) * torch.tanh(c)
        return h if self.weight_hr is None else linear(h, self.weight_hr)


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
        preactivations = self.cell._preactivations(state, input)
        return self.cell.hidden(preactivations[3], self.cell._memory(preactivations))

    def state_bound(self) -> Tensor:
        return self.cell.state_bound()[: self.state_size]


class Stack(Map):
    """Layers above one another as one joint state (h₁, h₂, …), upper layers seeing the new lower state.

    With J_l = ∂h_l'/∂h_l and B_l the derivative by the layer's input, the Jacobian of two layers is
    ((J₁, 0), (B₂ J₁, J₂)), where B₂ acts on layer 1's output alone: of an LSTM's (h, c) on h.

    Parameters
    ----------
    cells : sequence of Cell
        From the lowest to the top.
    """

    def __init__(self, cells: Sequence[Cell]) -> None:
        super().__init__(sum(cell.state_size for cell in cells), cells[0].input_size)
        self.cells = nn.ModuleList(cells)
        self.name = cells[0].name

    @property
    def blocks(self) -> tuple[int, ...]:
        return tuple(cell.state_size for cell in self.layers())

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        found = []
        for cell, part in self._parts(state):
            found.append(cell.step(part, input))
            input = cell.output(found[-1])
        return torch.cat(found, dim=-1)

    def state_bound(self) -> Tensor | None:
        bounds = [bound for cell in self.layers() if (bound := cell.state_bound()) is not None]
        return torch.cat(bounds) if bounds else None

    def ungated_residual(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor | None:
        found = []
        for cell, part in self._parts(state):
            residual = cell.ungated_residual(part, input)
            if residual is None:
                return None
            found.append(residual)
            input = cell.output(cell.step(part, input))
        return torch.cat(found, dim=-1)

    def output(self, state: Tensor) -> Tensor:
        cell, part = self._parts(state)[-1]
        return cell.output(part)

    def layers(self) -> list[Cell]:
        """The cells from the lowest to the top."""
        return cast(list[Cell], list(self.cells))

    def _parts(self, state: Tensor) -> list[tuple[Cell, Tensor]]:
        cells = self.layers()
        return list(zip(cells, state.split([cell.state_size for cell in cells], dim=-1), strict=True))
