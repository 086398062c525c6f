"""Layers of torch's cells above one another, as one joint state."""

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
