"""What ATen's functions of each entry become: operations of the table, operands broadcast."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dynlab.program.program import NoProgram
from dynlab.program.trace import Node, Recorder

Lowering = Callable[..., int | Node]


def spread(r: Recorder, node: Node, shape: tuple[int, ...]) -> int:
    """The node's numbers broadcast to `shape`; one number stays one."""
    if node.shape == shape or r.program.operations[node.number].size == 1:
        return node.number
    size = math.prod(node.shape)
    places = torch.arange(size).reshape(node.shape).expand(shape)
    return r.program.take(node.number, places.reshape(-1).tolist())


def full(r: Recorder, node: Node) -> int:
    """A number that stands for a whole tensor, repeated."""
    size = math.prod(node.shape)
    operation = r.program.operations[node.number]
    if operation.size == size:
        return node.number
    return r.program.append("take", node.number, size=size, index=(0,) * size)


def _binary(name: str) -> Lowering:
    def lowering(r: Recorder, a: Any, b: Any, *, alpha: float = 1) -> int:
        x, y = r.node(a), r.node(b)
        shape = np.broadcast_shapes(x.shape, y.shape)
        first, second = spread(r, x, shape), spread(r, y, shape)
        if alpha != 1:
            second = r.program.multiply(r.program.constant(alpha), second)
        return _arithmetic(r, name, first, second)

    return lowering


def _arithmetic(r: Recorder, name: str, a: int, b: int) -> int:
    p = r.program
    if name == "multiply":
        return _modrelu(r, a, b) or _modrelu(r, b, a) or p.multiply(a, b)
    return {"add": p.add, "subtract": p.subtract, "divide": p.divide}[name](a, b)


def _modrelu(r: Recorder, a: int, b: int) -> int | None:
    """sign(p) · relu(|p| + b) is one function: at a dead unit the slope of the product would be 0 · unbounded."""
    sign, rectified = r.program.operations[a], r.program.operations[b]
    if sign.name != "sign" or rectified.name != "relu":
        return None
    total = r.program.operations[rectified.reads[0]]
    if total.name != "add":
        return None
    for one, other in (total.reads, total.reads[::-1]):
        modulus, bias = r.program.operations[one], r.program.operations[other]
        if modulus.name == "abs" and modulus.reads == sign.reads and bias.name == "constant":
            return r.program.append("modrelu", sign.reads[0], constant=bias.constant)
    return None


def _reversed_subtract(r: Recorder, a: Any, b: Any, alpha: float = 1) -> int | Node:
    return _binary("subtract")(r, b, a, alpha=alpha)


def _unary(name: str) -> Lowering:
    def lowering(r: Recorder, a: Tensor, *_: Any, **__: Any) -> int:
        return r.program.unary(name, r.node(a).number)

    return lowering


def _composed(build: Callable[..., int]) -> Lowering:
    """A function of one tensor written in operations: build(program, a, *numbers)."""

    def lowering(r: Recorder, a: Tensor, *numbers: Any, **named: Any) -> int:
        return build(r.program, r.node(a).number, *numbers, **named)

    return lowering


def _abs(p: Any, a: int) -> int:
    return p.append("abs", a)


def _power(p: Any, a: int, k: Any) -> int:
    if isinstance(k, Tensor):
        raise NoProgram("it takes a power that is not a fixed number")
    if k == 2:
        return p.multiply(a, a)
    if k == -1:
        return p.divide(p.constant(1.0), a)
    if k in (0.5, -0.5):
        root = p.unary("sqrt", a)
        return root if k > 0 else p.divide(p.constant(1.0), root)
    return p.unary("power", a, number=float(k)) if k != 1 else a


def _clamp(p: Any, a: int, low: float | None = None, high: float | None = None, **named: Any) -> int:
    low, high = named.get("min", named.get("min_val", low)), named.get("max", named.get("max_val", high))
    if low is not None and high is not None:
        over = p.unary("relu", p.subtract(a, p.constant(high)))
        return p.subtract(p.add(p.constant(low), p.unary("relu", p.subtract(a, p.constant(low)))), over)
    if low is not None:
        return p.add(p.constant(low), p.unary("relu", p.subtract(a, p.constant(low))))
    return p.subtract(p.constant(high), p.unary("relu", p.subtract(p.constant(high), a)))


def _leaky(p: Any, a: int, slope: float = 0.01, *_: Any) -> int:
    down = p.unary("relu", p.negate(a))
    return p.subtract(p.unary("relu", a), p.multiply(p.constant(slope), down))


def _elu(p: Any, a: int, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> int:
    negative = p.negate(p.unary("relu", p.negate(a)))
    inner = negative if input_scale == 1 else p.multiply(p.constant(input_scale), negative)
    down = p.multiply(p.constant(alpha * scale), p.unary("expm1", inner))
    return p.add(p.multiply(p.constant(scale), p.unary("relu", a)), down)


def _gelu(p: Any, a: int, approximate: str = "none") -> int:
    half = p.multiply(p.constant(0.5), a)
    if approximate == "tanh":
        inner = p.add(a, p.multiply(p.constant(0.044715), p.unary("power", a, number=3.0)))
        bent = p.unary("tanh", p.multiply(p.constant(math.sqrt(2 / math.pi)), inner))
    else:
        bent = p.unary("erf", p.multiply(p.constant(math.sqrt(0.5)), a))
    return p.multiply(half, p.add(p.constant(1.0), bent))


def _softplus(p: Any, a: int, beta: float = 1, threshold: float = 20) -> int:
    if beta == 1:
        return p.unary("softplus", a)
    return p.divide(p.unary("softplus", p.multiply(p.constant(beta), a)), p.constant(beta))


def _hard_sigmoid(p: Any, a: int) -> int:
    return _clamp(p, p.add(p.divide(a, p.constant(6.0)), p.constant(0.5)), 0.0, 1.0)


def _of_exponentials(sign: float) -> Callable[[Any, int], int]:
    def build(p: Any, a: int) -> int:
        back = p.unary("exp", p.negate(a))
        both = p.add if sign > 0 else p.subtract
        return p.multiply(p.constant(0.5), both(p.unary("exp", a), back))

    return build


def _larger(sign: int) -> Lowering:
    """max(a, b) = b + relu(a − b), min(a, b) = b − relu(b − a)."""

    def lowering(r: Recorder, a: Any, b: Any) -> int:
        x, y = r.node(a), r.node(b)
        shape = np.broadcast_shapes(x.shape, y.shape)
        first, second = spread(r, x, shape), spread(r, y, shape)
        p = r.program
        if sign > 0:
            return p.add(second, p.unary("relu", p.subtract(first, second)))
        return p.subtract(second, p.unary("relu", p.subtract(second, first)))

    return lowering


def _lerp(r: Recorder, a: Tensor, b: Tensor, weight: Any) -> int:
    """A + w (b − a), which is a σ(−p) + b σ(p) for a gate w = σ(p): nothing cancels where the gate is closed."""
    shape = np.broadcast_shapes(*(r.node(each).shape for each in (a, b, weight)))
    first, second, share = (spread(r, r.node(each), shape) for each in (a, b, weight))
    p = r.program
    rest = p.subtract(p.constant(1.0), share)
    return p.add(p.multiply(rest, first), p.multiply(share, second))


def _add(r: Recorder, a: Any, b: Any, *, alpha: float = 1) -> int | Node:
    """A sum; c + z (h − c) with a gate z = σ(p) becomes σ(−p) c + z h, so that 1 − z does not cancel in its slope."""
    p, x, y = r.program, r.node(a), r.node(b)
    if alpha == 1 and x.shape == y.shape:
        for base, product in ((x.number, y.number), (y.number, x.number)):
            if p.operations[product].name != "multiply":
                continue
            for gate, apart in (p.operations[product].reads, p.operations[product].reads[::-1]):
                inner = p.operations[apart]
                if p.operations[gate].name == "sigmoid" and inner.name == "subtract" and inner.reads[1] == base:
                    closed = p.subtract(p.constant(1.0), gate)
                    return p.add(p.multiply(closed, base), p.multiply(gate, inner.reads[0]))
    return _binary("add")(r, a, b, alpha=alpha)


def _addcmul(r: Recorder, a: Tensor, b: Tensor, c: Tensor, *, value: float = 1) -> int:
    shape = np.broadcast_shapes(*(r.node(each).shape for each in (a, b, c)))
    first, second, third = (spread(r, r.node(each), shape) for each in (a, b, c))
    both = r.program.multiply(second, third)
    return r.program.add(first, both if value == 1 else r.program.multiply(r.program.constant(value), both))


ENTRYWISE: dict[str, Lowering] = {
    "add": _add,
    "sub": _binary("subtract"),
    "rsub": _reversed_subtract,
    "mul": _binary("multiply"),
    "div": lambda r, a, b, **_: _binary("divide")(r, a, b),
    **{
        name: _unary(name)
        for name in ["tanh", "sigmoid", "relu", "exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "atan", "erf"]
    },
    "neg": _composed(lambda p, a: p.negate(a)),
    "abs": _composed(_abs),
    "sign": _composed(lambda p, a: p.append("sign", a)),
    "sgn": _composed(lambda p, a: p.append("sign", a)),
    "pow": _composed(_power),
    "square": _composed(lambda p, a: p.multiply(a, a)),
    "rsqrt": _composed(lambda p, a: _power(p, a, -0.5)),
    "reciprocal": _composed(lambda p, a: _power(p, a, -1)),
    "sinh": _composed(_of_exponentials(-1)),
    "cosh": _composed(_of_exponentials(1)),
    "silu": _composed(lambda p, a: p.multiply(a, p.unary("sigmoid", a))),
    "mish": _composed(lambda p, a: p.multiply(a, p.unary("tanh", p.unary("softplus", a)))),
    "log_sigmoid_forward": _composed(lambda p, a: p.negate(p.unary("softplus", p.negate(a)))),
    "gelu": _composed(_gelu),
    "softplus": _composed(_softplus),
    "elu": _composed(_elu),
    "leaky_relu": _composed(_leaky),
    "hardtanh": _composed(lambda p, a, low=-1.0, high=1.0: _clamp(p, a, low, high)),
    "hardsigmoid": _composed(_hard_sigmoid),
    "hardswish": _composed(lambda p, a: p.multiply(a, _hard_sigmoid(p, a))),
    "clamp": _composed(_clamp),
    "clamp_min": _composed(lambda p, a, low: _clamp(p, a, low)),
    "clamp_max": _composed(lambda p, a, high: _clamp(p, a, None, high)),
    "maximum": _larger(1),
    "minimum": _larger(-1),
    "lerp": _lerp,
    "addcmul": _addcmul,
}
