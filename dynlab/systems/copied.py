"""A copy of a module, whatever its last call has left in it."""

import copy
from collections.abc import Callable
from typing import Any, TypeVar

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

M = TypeVar("M", bound=nn.Module)


def copied(module: M) -> M:
    """The module's deep copy; results that it keeps, as of ``self.last = h``, lose their history."""
    with _Detached():
        return copy.deepcopy(module)


class _Detached(TorchFunctionMode):
    """Inside it, what is no leaf of a graph is copied as well, as a number; torch refuses it."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is not Tensor.__deepcopy__:
            return func(*args, **(kwargs or {}))
        tensor, memo = args
        if isinstance(tensor, Tensor) and tensor.is_leaf:
            return func(tensor, memo)
        made = tensor.detach().clone()
        memo[id(tensor)] = made
        return made
