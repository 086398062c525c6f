"""Lowerings of the elementary ATen calls: functions of each entry, sums and products of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dynlab.program.program import NoProgram
from dynlab.program.trace import Node, Recorder

Lowering = Callable[..., int]


def spread(r: Recorder, node: Node, shape: tuple[int, ...]) -> int:
    """The node's numbers broadcast to `shape`; one number stays one."""
    if node.shape == shape or r.program.operations[node.number].size == 1:
        return node.number
    places = np.arange(math.prod(node.shape)).reshape(node.shape)
    return r.program.take(node.number, np.broadcast_to(places, shape).ravel())


def full(r: Recorder, node: Node) -> int:
    """A number that stands for a whole tensor, repeated."""
    size = math.prod(node.shape)
    if r.program.operations[node.number].size == size:
        return node.number
    return r.program.append("take", node.number, size=size, index=(0,) * size)


def _binary(name: str) -> Lowering:
    def lowering(r: Recorder, a: Any, b: Any, *, alpha: float = 1, **_: Any) -> int:
        x, y = r.node(a), r.node(b)
        shape = np.broadcast_shapes(x.shape, y.shape)
        second = r.program.multiply(r.program.constant(alpha), spread(r, y, shape))
        found: int = getattr(r.program, name)(spread(r, x, shape), second)
        return found

    return lowering


def _unary(name: str) -> Lowering:
    return lambda r, a, *_, **__: r.program.unary(name, r.node(a).number)


def _power(r: Recorder, a: Any, k: Any) -> int:
    if isinstance(k, Tensor):
        raise NoProgram("it takes a power that is not a fixed number")
    p, number = r.program, r.node(a).number
    if abs(k) == 0.5:
        root = p.unary("sqrt", number)
        return root if k > 0 else p.divide(p.constant(1.0), root)
    if k == 2:
        return p.multiply(number, number)
    if k == -1:
        return p.divide(p.constant(1.0), number)
    return p.unary("power", number, number=float(k)) if k != 1 else number


def _softplus(r: Recorder, a: Tensor, beta: float = 1, threshold: float = 20) -> int:
    p, by = r.program, r.program.constant(beta)
    return p.divide(p.unary("softplus", p.multiply(by, r.node(a).number)), by)


def _sum(r: Recorder, a: Tensor, dim: Any = None, keepdim: bool = False, **_: Any) -> int:
    axes = [dim] if isinstance(dim, int) else list(dim or range(a.ndim))
    places = np.arange(a.numel()).reshape(tuple(a.shape))
    grouped = np.moveaxis(places, axes, range(-len(axes), 0)) if a.ndim else places
    length = math.prod(a.shape[axis] for axis in axes) if a.ndim else 1
    return r.program.sum(r.program.take(full(r, r.node(a)), grouped.ravel()), length)


def _products(r: Recorder, a: Tensor, b: Tensor) -> int:
    """The product of two stacks of matrices (k, n, m) and (k, m, l), of which parameters make a stored matrix."""
    (k, n, m), length, p = a.shape, b.shape[-1], r.program
    if not r.is_traced(a):
        return r.node(torch.bmm(b.mT, a.mT).mT).number
    if not r.is_traced(b):
        matrices = [part.t() for part in b.unbind() for _ in range(n)]
        matrix = matrices[0] if len(matrices) == 1 else torch.block_diag(*matrices)
        return p.linear(r.slot(matrix), full(r, r.node(a)))
    rows, columns = np.arange(k * n * m).reshape(k, n, 1, m), np.arange(k * m * length).reshape(k, m, length)
    first, second = (
        p.take(full(r, r.node(each)), np.broadcast_to(places, (k, n, length, m)).ravel())
        for each, places in ((a, rows), (b, columns.swapaxes(1, 2)[:, None]))
    )
    return p.sum(p.multiply(first, second), m)


UNARY = ["tanh", "sigmoid", "relu", "exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "atan", "erf", "abs", "sign"]
ELEMENTARY: dict[str, Lowering] = {
    "add": _binary("add"),
    "sub": _binary("subtract"),
    "rsub": lambda r, a, b, alpha=1: _binary("subtract")(r, b, a, alpha=alpha),
    "mul": _binary("multiply"),
    "div": _binary("divide"),
    **{name: _unary(name) for name in UNARY},
    "sgn": _unary("sign"),
    "neg": lambda r, a: r.program.negate(r.node(a).number),
    "pow": _power,
    "reciprocal": lambda r, a: _power(r, a, -1),
    "softplus": _softplus,
    "sum": _sum,
    "bmm": _products,
}
