"""What ATen's sums, norms, normalisations and softmax become."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from dynlab.program.entrywise import Lowering, full, spread
from dynlab.program.program import NoProgram
from dynlab.program.trace import Recorder


def _grouped(r: Recorder, a: Tensor, dims: Any) -> tuple[int, int]:
    """The numbers with those of `dims` behind one another, and how many those are."""
    axes = list(range(a.ndim)) if dims is None or dims == [] else [dims] if isinstance(dims, int) else list(dims)
    axes = [axis % max(a.ndim, 1) for axis in axes]
    others = [axis for axis in range(a.ndim) if axis not in axes]
    places = torch.arange(a.numel()).reshape(a.shape).permute(*others, *axes).reshape(-1)
    length = math.prod(a.shape[axis] for axis in axes)
    return r.program.take(full(r, r.node(a)), places.tolist()), length


def _sum(r: Recorder, a: Tensor, dim: Any = None, keepdim: bool = False, **_: Any) -> int:
    return r.program.sum(*_grouped(r, a, dim))


def _mean(r: Recorder, a: Tensor, dim: Any = None, keepdim: bool = False, **_: Any) -> int:
    number, length = _grouped(r, a, dim)
    return r.program.divide(r.program.sum(number, length), r.program.constant(float(length)))


def _norm(r: Recorder, a: Tensor, ord: float = 2, dim: Any = None, keepdim: bool = False, **_: Any) -> int:
    if ord != 2:
        raise NoProgram("it uses a norm that is not Euclidean")
    number, length = _grouped(r, a, dim)
    return r.program.unary("sqrt", r.program.sum(r.program.multiply(number, number), length))


def _deviations(r: Recorder, a: Tensor, dim: Any) -> tuple[int, int, int]:
    """Numbers less their mean, in groups; the variance of each group; the groups' length."""
    p = r.program
    number, length = _grouped(r, a, dim)
    mean = p.divide(p.sum(number, length), p.constant(float(length)))
    count = a.numel() // length
    apart = p.subtract(number, mean if count == 1 else p.take(mean, [i for i in range(count) for _ in range(length)]))
    return apart, p.divide(p.sum(p.multiply(apart, apart), length), p.constant(float(length))), length


def _variance(
    r: Recorder, a: Tensor, dim: Any = None, *, correction: float | None = None, keepdim: bool = False
) -> int:
    _, variance, length = _deviations(r, a, dim)
    lost = 1.0 if correction is None else float(correction)
    return r.program.multiply(r.program.constant(length / (length - lost)), variance)


def _layer_norm(r: Recorder, a: Tensor, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> int:
    p = r.program
    apart, variance, length = _deviations(r, a, list(range(a.ndim - len(shape), a.ndim)))
    root = p.unary("sqrt", p.add(variance, p.constant(eps)))
    count = a.numel() // length
    found = p.divide(apart, root if count == 1 else p.take(root, [i for i in range(count) for _ in range(length)]))
    if weight is not None:
        found = p.multiply(found, spread(r, r.node(weight), tuple(a.shape)))
    return found if bias is None else p.add(found, spread(r, r.node(bias), tuple(a.shape)))


def _softmax(r: Recorder, a: Tensor, dim: int, *_: Any) -> int:
    """1/Σ_j exp(a_j − a_i), which no maximum has to be taken out of."""
    n = a.shape[dim]
    places = torch.arange(a.numel()).reshape(a.shape).movedim(dim, -1)
    number, p = full(r, r.node(a)), r.program
    shape = (*places.shape, n)
    others = p.take(number, places.unsqueeze(-2).expand(shape).reshape(-1).tolist())
    own = p.take(number, places.unsqueeze(-1).expand(shape).reshape(-1).tolist())
    found = p.divide(p.constant(1.0), p.sum(p.unary("exp", p.subtract(others, own)), n))
    back = torch.arange(a.numel()).reshape(places.shape).movedim(-1, dim)
    return p.take(found, back.reshape(-1).tolist())


REDUCTIONS: dict[str, Lowering] = {
    "sum": _sum,
    "mean": _mean,
    "var": _variance,
    "linalg_vector_norm": _norm,
    "norm": lambda r, a, *rest, **named: _norm(r, a, *rest, **named),
    "native_layer_norm": _layer_norm,
    "_softmax": _softmax,
}
