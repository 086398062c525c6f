"""What each of torch's functions adds to the rounding errors of its arguments, for `dynlab.numerics.running_error`.

A rule is given what the function returned and, for each argument, its value and a bound on its error, None where it is
exact. It returns a bound on the error of the result, or a better result with its bound.
"""

from typing import Any

import torch
from torch import Tensor

from dynlab.numerics.rounding_of_arithmetic import ARITHMETIC, Argument, Error, Rule, rounding, total, unit
from dynlab.numerics.rounding_of_functions import FUNCTIONS, same


def _comparison(value: Tensor, a: Argument, b: Argument) -> Error:
    """1 where rounding may decide it."""
    (x, dx), (y, dy) = a, b
    moved = total(dx, dy)
    return None if moved is None else ((x - y).abs() <= moved).logical_and(moved > 0).to(moved.dtype)


def _side(value: Tensor, a: Argument, b: Argument) -> Error:
    """The same, and inf at equality: a slope that is 0 on one side of a kink and 1 on the other is unknown there."""
    (x, dx), (y, dy) = a, b
    moved = total(dx, dy)
    return None if moved is None else torch.where((x - y).abs() <= moved, torch.inf, 0.0)


def _joined(settling: bool) -> Rule:
    """Of "and", which one operand that is certainly false settles, and of "or", where it is one that is true."""

    def rule(value: Tensor, a: Argument, b: Argument) -> Error:
        (x, dx), (y, dy) = a, b
        doubt = torch.maximum(dx, dy) if dx is not None and dy is not None else total(dx, dy)
        if doubt is None:
            return None
        settled = [(each == settling) & (True if wrong is None else wrong == 0) for each, wrong in ((x, dx), (y, dy))]
        return torch.where(settled[0] | settled[1], 0.0, doubt)

    return rule


def _sign(value: Tensor, a: Argument) -> Error:
    p, dp = a
    return None if dp is None else 2 * ((p.abs() <= dp) & (dp > 0)).to(value.dtype)


def _where(value: Tensor, condition: Argument, a: Argument, b: Argument) -> Error:
    (chosen, doubt), (x, dx), (y, dy) = condition, a, b
    both = total(dx, dy)
    if doubt is None:
        return None if both is None else torch.where(chosen, 0.0 if dx is None else dx, 0.0 if dy is None else dy)
    return total(both, doubt * abs(x - y))


def _converted(value: Tensor, a: Argument, *args: Argument, **kwargs: Any) -> Error:
    x, dx = a
    known = isinstance(x, Tensor) and x.is_floating_point()  # a number of Python's is not, nor a list of them
    coarser = value.is_floating_point() and known and unit(value) > unit(x)
    return total(rounding(value) if coarser else None, None if dx is None else dx.to(value.dtype))


# By the names of torch's functions and methods, those of operators without their underscores.
RULES: dict[str, Rule] = {
    **ARITHMETIC,
    **FUNCTIONS,
    "sign": _sign,
    **dict.fromkeys(("gt", "lt"), _side),
    **dict.fromkeys(("ge", "le", "eq", "ne"), _comparison),
    **dict.fromkeys(("and", "bitwise_and", "logical_and"), _joined(False)),
    **dict.fromkeys(("or", "bitwise_or", "logical_or"), _joined(True)),
    **dict.fromkeys(("invert", "bitwise_not", "logical_not"), same),
    "where": _where,
    **dict.fromkeys(("to", "double", "float", "type_as", "as_tensor"), _converted),
    **dict.fromkeys(("zeros_like", "ones_like", "empty_like", "full_like"), lambda *_, **__: None),
}
