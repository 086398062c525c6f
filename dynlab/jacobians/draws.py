"""Random changes of numbers by the last digits, the same ones every time."""

import torch
from torch import Tensor


class Draws:
    """Random changes of numbers by a share `reach`, the same ones every time."""

    def __init__(self, device: torch.device, reach: float) -> None:
        self.generator, self.reach = torch.Generator(device).manual_seed(0), reach

    def changed(self, values: Tensor) -> Tensor:
        return values * (1 + self.reach * self._drawn(values).sign())

    def rounded(self, values: Tensor) -> Tensor:
        """By shares of all sizes: equal ones might cancel."""
        return values * (1 + 2 * self.reach * self._drawn(values))

    def _drawn(self, values: Tensor) -> Tensor:
        return torch.rand(values.shape, generator=self.generator, device=values.device, dtype=values.dtype) - 0.5
