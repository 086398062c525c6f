"""The one table of elementary operations: value, slope, rounding, enclosure and source text of each.

Leaves and the operations that only move numbers (`take`, `join`) or add them up (`linear`, `lookup`, `sum`) are handled
by each interpreter itself; every function of one or two numbers is a row here.

Rounding bounds are absolute errors. Measured against multi-precision arithmetic, torch's functions are within 2 u of
the value (u the unit roundoff); `FUNCTION` u is what is stated.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dynlab.program.program import Program

FUNCTION = 4.0  # units u that a function of one number rounds by
TINY = 2.0**-1022  # below it products lose digits

Bounded = tuple[Tensor, Any]  # a value and a bound on its error, 0.0 where it is exact


@dataclass(frozen=True)
class Function:
    """A function of one or two vectors, entry by entry.

    Attributes
    ----------
    torch : str
        Source in torch of the operands ``{0}``, ``{1}`` and the held vector or number ``{c}``.
    scalar : str
        The same of single numbers, in words that Python's and JavaScript's math share; empty where there is none.
    error : callable
        ``error(u, value, *operands)`` from operands as `Bounded` (a held vector last) to a bound on the result's error.
    slopes : callable
        ``slopes(program, number)`` gives the numbers of operations that are the partial derivatives, one an operand.
    """

    torch: str
    scalar: str
    error: Callable[..., Any]
    slopes: Callable[[Program, int], Sequence[int]]


def product(x: Any, y: Any) -> Any:
    """The product of bounds in which 0 · inf is 0: an unbounded slope of what is exactly 0 does not count."""
    found = x * y
    return found.nan_to_num(nan=0.0, posinf=math.inf) if isinstance(found, Tensor) else found


def _near(p: Tensor, e: Any) -> Tensor:
    """The least modulus within e of p."""
    return (p.abs() - e).clamp(min=0)


def _round(share: float, move: Callable[[Tensor, Any, Tensor], Any]) -> Callable[..., Any]:
    """Rounding by `share` · FUNCTION u, and what the operand's own error moves the value by: move(p, e, value)."""

    def error(u: float, value: Tensor, a: Bounded) -> Any:
        return share * FUNCTION * u * value.abs() + TINY + move(*a, value)

    return error


def _multiply_error(u: float, value: Tensor, a: Bounded, b: Bounded) -> Any:
    (x, dx), (y, dy) = a, b
    return u * value.abs() + product(x.abs(), dy) + product(y.abs(), dx) + product(dx, dy)


def _divide_error(u: float, value: Tensor, a: Bounded, b: Bounded) -> Any:
    (_, dx), (y, dy) = a, b
    least = _near(y, dy)
    return u * value.abs() + torch.where(least > 0, (dx + value.abs() * dy) / least, math.inf)


def _sum_error(u: float, value: Tensor, a: Bounded, b: Bounded) -> Any:
    return u * value.abs() + a[1] + b[1]


def _step_error(u: float, value: Tensor, a: Bounded) -> Tensor:
    """ReLU's slope is anything from 0 to 1 at its kink: its error is unbounded there."""
    return torch.where(a[0].abs() <= a[1], math.inf, 0.0).to(value)


def _modrelu_error(u: float, value: Tensor, a: Bounded, b: Bounded) -> Tensor:
    (p, e), (bias, _) = a, b
    inside = torch.where(p.abs() + bias + e <= 0, 0.0, e + u * value.abs())
    return torch.where((bias > 0) & (p.abs() <= e), math.inf, inside)


def _modrelu_slope_error(u: float, value: Tensor, a: Bounded, b: Bounded) -> Tensor:
    (p, e), (bias, _) = a, b
    border = (p.abs() + bias).abs() <= e + u * bias.abs()
    return torch.where(border | ((bias > 0) & (p.abs() <= e)), math.inf, 0.0).to(value)


def _power_error(u: float, value: Tensor, a: Bounded, k: float) -> Any:
    p, e = a
    steepest = p.abs() + e if k >= 1 else _near(p, e)
    return FUNCTION * u * value.abs() + TINY + product(abs(k) * steepest ** (k - 1), e)


def _erf_slope_error(u: float, value: Tensor, a: Bounded) -> Any:
    p, e = a
    return 2 * FUNCTION * u * value + TINY + value * math_expm1((2 * p.abs() + e) * e + FUNCTION * u * p * p)


def _log_error(p: Tensor, e: Any, value: Tensor) -> Any:
    least = p - e
    return torch.where(least > 0, e / least, math.inf)


def _numbers(p: Program, *values: float) -> list[int]:
    return [p.constant(value) for value in values]


def _divide_slopes(p: Program, i: int) -> list[int]:
    b = p.operations[i].reads[1]
    return [p.divide(p.constant(1.0), b), p.negate(p.divide(i, b))]


def _power_slopes(p: Program, i: int) -> list[int]:
    operation = p.operations[i]
    lower = operation.number - 1
    a = operation.reads[0]
    return [p.multiply(p.constant(operation.number), a if lower == 1 else p.append("power", a, number=lower))]


def _by(name: str) -> Callable[[Program, int], list[int]]:
    """The slope that is an operation of its own, of the same operand."""
    return lambda p, i: [p.append(name, p.operations[i].reads[0], constant=p.operations[i].constant)]


def _second(first: str, factor: Callable[[Program, int], int]) -> Callable[[Program, int], list[int]]:
    """The slope of a slope: the slope itself times a factor of the operand."""
    return lambda p, i: [p.multiply(i, factor(p, p.operations[i].reads[0]))]


def _atan_slope(p: Program, i: int) -> list[int]:
    square = p.append("power", p.operations[i].reads[0], number=2.0)
    return [p.divide(p.constant(1.0), p.add(p.constant(1.0), square))]


OPERATIONS: dict[str, Function] = {
    "add": Function("({0} + {1})", "({0} + {1})", _sum_error, lambda p, i: _numbers(p, 1.0, 1.0)),
    "subtract": Function("({0} - {1})", "({0} - {1})", _sum_error, lambda p, i: _numbers(p, 1.0, -1.0)),
    "multiply": Function("({0} * {1})", "({0} * {1})", _multiply_error, lambda p, i: p.operations[i].reads[::-1]),
    "divide": Function("({0} / {1})", "({0} / {1})", _divide_error, _divide_slopes),
    "negate": Function("(-{0})", "(-{0})", lambda u, value, a: a[1], lambda p, i: _numbers(p, -1.0)),
    "tanh": Function(
        "torch.tanh({0})",
        "tanh({0})",
        _round(1, lambda p, e, value: 4 * _sigmoid_slope(2 * _near(p, e)) * e),
        _by("tanh_slope"),
    ),
    "sigmoid": Function(
        "torch.sigmoid({0})",
        "(1 / (1 + exp(-{0})))",
        _round(1, lambda p, e, value: _sigmoid_slope(_near(p, e)) * e),
        _by("sigmoid_slope"),
    ),
    # 1/cosh² = 4 σ(2p) σ(−2p), which does not cancel where tanh is close to ±1 as 1 − tanh² does; likewise σ(p) σ(−p)
    "tanh_slope": Function(
        "tanh_slope({0})",
        "(4 / ((1 + exp(2 * {0})) * (1 + exp(-2 * {0}))))",
        _round(3, lambda p, e, value: value * math_expm1(2 * e)),
        _second("tanh_slope", lambda p, a: p.multiply(p.constant(-2.0), p.append("tanh", a))),
    ),
    "sigmoid_slope": Function(
        "sigmoid_slope({0})",
        "(1 / ((1 + exp({0})) * (1 + exp(-{0}))))",
        _round(3, lambda p, e, value: value * math_expm1(e)),
        _second("sigmoid_slope", lambda p, a: p.negate(p.append("tanh", p.multiply(p.constant(0.5), a)))),
    ),
    "relu": Function(
        "torch.relu({0})", "max({0}, 0)", lambda u, value, a: torch.where(a[0] <= -a[1], 0.0, a[1]), _by("step")
    ),
    "abs": Function("({0}).abs()", "abs({0})", lambda u, value, a: a[1], _by("sign")),
    "sign": Function("torch.sign({0})", "(({0} > 0) - 1.0 * ({0} < 0))", _step_error, lambda p, i: _numbers(p, 0.0)),
    "step": Function("step({0})", "(1.0 * ({0} > 0))", _step_error, lambda p, i: _numbers(p, 0.0)),
    "modrelu": Function(
        "modrelu({0}, {c})",
        "((({0} > 0) - 1.0 * ({0} < 0)) * max(abs({0}) + {c}, 0))",
        _modrelu_error,
        _by("modrelu_slope"),
    ),
    "modrelu_slope": Function(
        "modrelu_slope({0}, {c})",
        "(1.0 * (abs({0}) + {c} > 0))",
        _modrelu_slope_error,
        lambda p, i: _numbers(p, 0.0),
    ),
    "exp": Function(
        "torch.exp({0})", "exp({0})", _round(1, lambda p, e, value: value * math_expm1(e)), lambda p, i: [i]
    ),
    "expm1": Function(
        "torch.expm1({0})", "expm1({0})", _round(1, lambda p, e, value: (value + 1) * math_expm1(e)), _by("exp")
    ),
    "log": Function(
        "torch.log({0})",
        "log({0})",
        _round(1, _log_error),
        lambda p, i: [p.divide(p.constant(1.0), p.operations[i].reads[0])],
    ),
    "log1p": Function(
        "torch.log1p({0})",
        "log1p({0})",
        _round(1, lambda p, e, value: _log_error(1 + p, e, value)),
        lambda p, i: [p.divide(p.constant(1.0), p.add(p.constant(1.0), p.operations[i].reads[0]))],
    ),
    "sqrt": Function(
        "torch.sqrt({0})",
        "sqrt({0})",
        _round(
            1, lambda p, e, value: torch.where(p > e, e / value.clamp(min=TINY), torch.where(p == 0, 0.0, math.inf))
        ),
        lambda p, i: [p.divide(p.constant(0.5), i)],
    ),
    "sin": Function("torch.sin({0})", "sin({0})", _round(1, lambda p, e, value: e), _by("cos")),
    "cos": Function(
        "torch.cos({0})",
        "cos({0})",
        _round(1, lambda p, e, value: e),
        lambda p, i: [p.negate(p.append("sin", p.operations[i].reads[0]))],
    ),
    "atan": Function("torch.atan({0})", "atan({0})", _round(1, lambda p, e, value: e), _atan_slope),
    "erf": Function("torch.erf({0})", "", _round(1, lambda p, e, value: 1.13 * e), _by("erf_slope")),
    # 2/√π e^(−p²): one operation, since the factor is no number that can be stored
    "erf_slope": Function(
        "erf_slope({0})",
        "",
        _erf_slope_error,
        _second("erf_slope", lambda p, a: p.multiply(p.constant(-2.0), a)),
    ),
    "softplus": Function(
        "softplus({0})",
        "(max({0}, 0) + log1p(exp(-abs({0}))))",
        _round(2, lambda p, e, value: e),
        _by("sigmoid"),
    ),
    "power": Function("({0} ** {c})", "pow({0}, {c})", _power_error, _power_slopes),
}
LINEAR = ("linear", "take", "join", "sum", "add", "subtract", "negate")


def math_expm1(e: Any) -> Any:
    """expm1 of a bound, which may be the number 0."""
    return torch.expm1(e) if isinstance(e, Tensor) else math.expm1(e)


def _sigmoid_slope(p: Tensor) -> Tensor:
    return torch.sigmoid(p) * torch.sigmoid(-p)


# What the sources in torch call by name.
NAMES: dict[str, Any] = {
    "torch": torch,
    "sigmoid_slope": _sigmoid_slope,
    "tanh_slope": lambda p: 4 * _sigmoid_slope(2 * p),
    "erf_slope": lambda p: 2 / math.sqrt(math.pi) * torch.exp(-p * p),
    "step": lambda p: (p > 0).to(p.dtype),
    "modrelu": lambda p, b: torch.sign(p).detach() * torch.relu(p.abs() + b),  # whose sign has no derivative
    "modrelu_slope": lambda p, b: (p.abs() + b > 0).to(p.dtype),
    "softplus": lambda p: torch.relu(p) + torch.log1p(torch.exp(-p.abs())),
}
