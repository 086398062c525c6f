"""What functions of a number add to the rounding errors of their arguments: tanh, exp, powers, the larger of two.

The rules are those of `dynlab.numerics.rounding_rules`.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from dynlab.numerics.rounding_of_arithmetic import Argument, Error, Rule, rounding, tiny, total, underflow, unit

# Times the rounding unit u. Measured against multi-precision arithmetic, with and without vector instructions, torch's
# exp, expm1, tanh, sin, cos, arctan, log and log1p are within 1.3 u, its powers, sinh, cosh and σ within 1.9 u.
FUNCTION = 4.0


def _softmax(value: Tensor, a: Argument, dim: Argument | None = None, **kwargs: Any) -> Error:
    """Every entry is divided by a sum of exponentials, each wrong by a factor of e^{dp} at most."""
    p, dp = a
    along = int(kwargs["dim"] if dim is None else dim[0])
    rounded = (p.shape[along] + 2 * FUNCTION) * rounding(value)
    spread = 2 * unit(value) * (p.amax(dim=along, keepdim=True) - p)  # the argument of each exponential is rounded
    moved = spread if dp is None else spread + 2 * dp.amax(dim=along, keepdim=True)
    return total(rounded, underflow(value, True), (value + tiny(value)) * torch.expm1(moved))


def same(value: Tensor, a: Argument, *_: Argument) -> Error:
    """Of a function that rounds nothing and has no slope above 1."""
    return a[1]


def _clamped(value: Tensor, *arguments: Argument, **kwargs: Any) -> Error:
    if not all(bound is None or isinstance(bound, int | float) for bound in kwargs.values()):
        return torch.full_like(value, torch.inf)
    return total(*(error for _, error in arguments))


def _larger(value: Tensor, a: Argument, b: Argument) -> Error:
    """Of the larger or the smaller of two numbers."""
    (_, dx), (_, dy) = a, b
    return torch.maximum(*torch.broadcast_tensors(dx, dy)) if dx is not None and dy is not None else total(dx, dy)


def _power(value: Tensor, a: Argument, b: Argument) -> Error:
    """Of a constant power: no farther than the steepest slope n |p|^(n − 1) within dp of p leads."""
    (p, dp), (n, dn) = a, b
    if dn is not None or isinstance(n, Tensor):
        return torch.full_like(value, torch.inf)
    rounded = total(FUNCTION * rounding(value), underflow(value, p != 0))
    if dp is None:
        return rounded
    steepest = p.abs() + dp if n >= 1 else (p.abs() - dp).clamp(min=0)
    return total(rounded, torch.where(dp > 0, abs(n) * steepest ** (n - 1) * dp, 0.0))


def _exponential(value: Tensor, a: Argument, base: Argument) -> Error:
    """Of a constant's power."""
    (_, dp), (c, dc) = a, base
    if dc is not None or isinstance(c, Tensor) or c <= 0:
        return torch.full_like(value, torch.inf)
    moved = None if dp is None else value * torch.expm1(abs(math.log(c)) * dp)
    return total(FUNCTION * rounding(value), underflow(value, True), moved)


def _log(value: Tensor, a: Argument) -> Error:
    p, dp = a
    moved = None if dp is None else torch.where(dp < p, -torch.log1p(-dp / p), torch.inf)
    return total(FUNCTION * rounding(value), moved)


def _log1p(value: Tensor, a: Argument) -> Error:
    p, dp = a
    moved = None if dp is None else torch.where(dp < 1 + p, -torch.log1p(-dp / (1 + p)), torch.inf)
    return total(FUNCTION * rounding(value), moved)


def _hyperbolic(steepest: Callable[[Tensor], Tensor]) -> Rule:
    """Of sinh and cosh, whose slopes are steepest where |p| is largest."""

    def rule(value: Tensor, a: Argument) -> Error:
        p, dp = a
        return total(FUNCTION * rounding(value), None if dp is None else steepest(p.abs() + dp) * dp)

    return rule


def _relu(value: Tensor, a: Argument) -> Error:
    p, dp = a
    return None if dp is None else torch.where(p <= -dp, 0, dp)


def _sqrt(value: Tensor, a: Argument) -> Error:
    dp = a[1]
    moved = None if dp is None else torch.minimum(dp.sqrt(), torch.where(value > 0, dp / value, torch.inf))
    return total(rounding(value), moved)


def _exp(value: Tensor, a: Argument) -> Error:
    """Of e^p, and of e^p − 1."""
    p, dp = a
    moved = None if dp is None else torch.exp(p + dp) * -torch.expm1(-dp)
    return total(FUNCTION * rounding(value), underflow(value, True), moved)


def _turning(value: Tensor, a: Argument) -> Error:
    """Of sin, cos and arctan, which have no slope above 1."""
    return total(FUNCTION * rounding(value), a[1])


def _tanh(value: Tensor, a: Argument) -> Error:
    p, dp = a  # tanh(p) = 2 σ(2p) − 1
    return total(FUNCTION * rounding(value), None if dp is None else 2 * _sigmoid_moved(2 * p, 2 * dp))


def _sigmoid(value: Tensor, a: Argument) -> Error:
    p, dp = a
    return total(FUNCTION * rounding(value), underflow(value, True), None if dp is None else _sigmoid_moved(p, dp))


def _sigmoid_moved(p: Tensor, dp: Tensor) -> Tensor:
    """How far σ moves within dp of p, most towards 0: sinh(dp/2) / (2 cosh(p/2) cosh((|p| − dp)/2)), at most 1."""
    size, near = p.abs(), p.abs() - dp
    both = torch.sigmoid(size) * torch.sigmoid(near.abs())
    return -torch.expm1(-dp) * torch.exp(-near.clamp(min=0)) * both


FUNCTIONS: dict[str, Rule] = {
    "softmax": _softmax,
    **dict.fromkeys(("neg", "negative", "positive", "abs", "absolute"), same),
    **dict.fromkeys(("clamp", "clip"), _clamped),
    **dict.fromkeys(("maximum", "minimum"), _larger),
    "pow": _power,
    "rpow": _exponential,
    "relu": _relu,
    "sqrt": _sqrt,
    **dict.fromkeys(("exp", "expm1"), _exp),
    "log": _log,
    "log1p": _log1p,
    "sinh": _hyperbolic(torch.cosh),
    "cosh": _hyperbolic(torch.sinh),
    **dict.fromkeys(("sin", "cos", "atan", "arctan"), _turning),
    "tanh": _tanh,
    "sigmoid": _sigmoid,
}
