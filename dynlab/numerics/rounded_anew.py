"""torch's operations with another rounding, those of a derivative too, in code that has no rule for its error.

Where a derivative cancels, a change of the states and of the stored numbers may leave it as it is: of 2h/(1 + |h|) it
is a difference of two nearly equal numbers, whatever h is. Inside ``with RoundedAnew(changed):`` every number that an
operation of torch's makes is `changed`. So the digits that are lost differ from one time to the next. What torch
computes in one operation of its own, as the slope of GELU, is taken apart into those it consists of.

References
----------
Parker, "Monte Carlo Arithmetic", UCLA CSD-970002 (1997).
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._decomp import decomposition_table
from torch.utils._python_dispatch import TorchDispatchMode

# What makes, moves or repeats numbers, and rounds none.
EXACT = frozenset(
    {"zeros", "ones", "full", "empty", "eye", "arange", "scalar_tensor", "lift_fresh", "clone", "_to_copy", "copy_"}
    | {"zeros_like", "ones_like", "full_like", "empty_like", "new_zeros", "new_ones", "new_full", "new_empty"}
    | {"cat", "stack", "index", "index_select", "gather", "where", "neg", "abs", "sign", "sgn", "relu", "clamp"}
    | {"repeat", "zero_", "fill_", "fill", "masked_fill", "select_backward", "slice_backward", "diag_embed", "flip"}
    | {
        "roll",
        "threshold_backward",
        "maximum",
        "minimum",
        "amax",
        "amin",
        "_unsafe_view",
        "constant_pad_nd",
        "tril",
        "triu",
    }
)
# Their results are 0 where rounding made them so: of operands that are not 0.
PRODUCTS = frozenset({"mul", "div"})
OVERFLOWING = frozenset({"exp", "expm1", "exp2", "sinh", "cosh"})  # and 0 is what is divided by such a result
UNDERFLOWING = PRODUCTS | {"exp", "exp2", "sigmoid", "_softmax", "pow", "square", "erfc", "reciprocal"}
FUSED = ("_backward", "_backward_data", "log_sigmoid_forward")  # the ends of the names of slopes, and what one is of
WHOLE = 1e-6  # an exponent that is a whole number up to this is one
VANISHED = 0.94  # of the logarithm of the smallest number, in place of such a 0: products with it do not vanish again


class RoundedAnew(TorchDispatchMode):
    """Inside it what torch computes is rounded anew by `changed`, from a tensor to one of its shape."""

    def __init__(self, changed: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.changed = changed

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        name = func.overloadpacket.__name__
        if name == "pow" and isinstance(args[1], Tensor):  # of what is below 0 other powers than whole ones are none
            whole = args[1].round()
            args = (args[0], torch.where((args[1] - whole).abs() <= WHOLE, whole, args[1]))
        if (apart := _apart(func, name)) is not None:
            with self:
                return apart(*args, **(kwargs or {}))
        found = func(*args, **(kwargs or {}))
        if name in EXACT:
            return found
        if isinstance(found, tuple | list):
            return type(found)(self._rounded(part, name, args) for part in found)
        if name.endswith("_") and isinstance(found, Tensor) and found.is_floating_point():  # in place
            return found.copy_(self.changed(found))
        return self._rounded(found, name, args)

    def _rounded(self, found: Any, name: str, args: tuple[Any, ...]) -> Any:
        if not (isinstance(found, Tensor) and found.is_floating_point()):
            return found
        given = [each for each in args if isinstance(each, Tensor)]
        if any(found.untyped_storage().data_ptr() == each.untyped_storage().data_ptr() for each in given):
            return found  # a view
        rounded = self.changed(found)
        if name in OVERFLOWING:
            rounded = torch.where(torch.isinf(found) & torch.isfinite(args[0]), 1 / _least(found), rounded)
        if name not in UNDERFLOWING:
            return rounded
        return torch.where(_vanished(found, args[: 2 if name in PRODUCTS else 1]), _least(found), rounded)


def _apart(func: Any, name: str) -> Callable[..., Any] | None:
    """What torch takes a slope that it computes in one operation apart into; None of other operations."""
    whole = name in EXACT or not name.endswith(FUSED)
    return None if whole else decomposition_table.get(func)


def _vanished(found: Tensor, args: tuple[Any, ...]) -> Tensor:
    """Where the result is 0, and no operand is 0 or infinite, shape of `found`."""
    zero = found == 0
    for each in args:
        operand = torch.as_tensor(each, dtype=found.dtype)
        zero = zero & (operand != 0) & torch.isfinite(operand)
    return zero


def _least(found: Tensor) -> float:
    return float(torch.finfo(found.dtype).tiny ** VANISHED)
