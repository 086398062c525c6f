"""Layers of torch's cells above one another: as one joint state, or one layer driven by those below it."""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from dynlab.systems.base import Map
from dynlab.systems.torch_cells import Cell


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


class DrivenLayer(Map):
    """One layer and direction of a network, driven by the complete output of the layers below in its own time order.

    Parameters
    ----------
    cell : Cell
        The layer itself.
    below : sequence of sequence of Cell
        The layers below from the lowest up, each as its forward cell or as (forward, reverse).
    reverse : bool
        Whether the layer runs from the last input to the first. Its step t then belongs to input T + 1 − t.
    """

    def __init__(self, cell: Cell, below: Sequence[Sequence[Cell]], reverse: bool) -> None:
        super().__init__(cell.state_size, cell.input_size)
        self.cell = cell
        self.below = nn.ModuleList(nn.ModuleList(layer) for layer in below)
        self.reverse = reverse
        self.network_input_size = below[0][0].input_size if below else cell.input_size
        self.name = cell.name

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        return self.cell.step(state, input, t)

    def state_bound(self) -> Tensor | None:
        return self.cell.state_bound()

    def ungated_residual(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor | None:
        return self.cell.ungated_residual(state, input, t)

    def output(self, state: Tensor) -> Tensor:
        return self.cell.output(state)

    def drive(self, inputs: Tensor) -> Tensor:
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
