"""Sequences on a GPU as CUDA graphs: the thousands of small kernels of a sequence are launched by one call."""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor


class Recorded:
    """Calls functions of tensors, and where a gradient is taken on a GPU, replays what it recorded of them.

    What a function launches must depend on the shapes of its tensors alone. Its results are the recording's: the next
    call with tensors of these shapes overwrites them, so that they are to be used before.
    """

    def __init__(self) -> None:
        self._calls: dict[Any, Callable[..., Any]] = {}

    def __deepcopy__(self, memo: Any) -> "Recorded":
        return Recorded()

    def __call__(self, function: Callable[..., tuple[Tensor, ...]], *tensors: Tensor) -> tuple[Tensor, ...]:
        """Return what the function gives for the tensors."""
        if not (tensors[0].is_cuda and torch.is_grad_enabled()):
            return function(*tensors)
        key = tuple((one.shape, one.dtype, one.requires_grad) for one in tensors)
        if key not in self._calls:
            samples = tuple(one.detach().clone().requires_grad_(one.requires_grad) for one in tensors)
            self._calls[key] = torch.cuda.make_graphed_callables(function, samples, allow_unused_input=True)
        return cast(tuple[Tensor, ...], self._calls[key](*tensors))
