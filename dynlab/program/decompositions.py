"""ATen's other functions by the elementary ones, written in torch: what they call is recorded in their place."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from dynlab.program.program import NoProgram


def _clamp(a: Tensor, min: Any = None, max: Any = None) -> Tensor:
    if min is None:
        return max - torch.relu(max - a)
    raised = min + torch.relu(a - min)
    return raised if max is None else raised - torch.relu(a - max)


def _gelu(a: Tensor, approximate: str = "none") -> Tensor:
    if approximate == "tanh":
        return 0.5 * a * (1 + torch.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3)))
    return 0.5 * a * (1 + torch.erf(math.sqrt(0.5) * a))


def _elu(a: Tensor, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Tensor:
    return scale * torch.relu(a) + alpha * scale * torch.expm1(input_scale * -torch.relu(-a))


def _mean(a: Tensor, dim: Any = None, keepdim: bool = False, **_: Any) -> Tensor:
    total = torch.sum(a, dim, keepdim)
    return total / (a.numel() / total.numel())


def _variance(a: Tensor, dim: Any = None, *, correction: float | None = None, keepdim: bool = False) -> Tensor:
    apart = a - torch.mean(a, dim, True)
    total = torch.sum(apart * apart, dim, keepdim)
    return total / (a.numel() / total.numel() - (1 if correction is None else correction))


def _norm(a: Tensor, ord: float = 2, dim: Any = None, keepdim: bool = False, **_: Any) -> Tensor:
    if ord != 2:
        raise NoProgram("it uses a norm that is not Euclidean")
    return torch.sqrt(torch.sum(a * a, dim, keepdim))


def _layer_norm(a: Tensor, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    dims = tuple(range(-len(shape), 0))
    found = (a - torch.mean(a, dims, True)) / torch.sqrt(torch.var(a, dims, correction=0, keepdim=True) + eps)
    scaled = found if weight is None else found * weight
    return scaled if bias is None else scaled + bias


def _softmax(a: Tensor, dim: int, *_: Any) -> Tensor:
    """1/Σ_j exp(a_j − a_i), which no maximum has to be taken out of."""
    last = a.movedim(dim, -1)
    apart = last.unsqueeze(-2) - last.unsqueeze(-1)
    return torch.reciprocal(torch.sum(torch.exp(apart), -1)).movedim(-1, dim)


def _linear(a: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    found = torch.mm(a.reshape(-1, a.shape[-1]), weight.t()).reshape(*a.shape[:-1], weight.shape[0])
    return found if bias is None else found + bias


def _added(product: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return c + a b by one of torch's own products; torch.matmul would import its compiler's decompositions."""

    def added(c: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
        return torch.add(alpha * product(a, b), c, alpha=beta)

    return added


DECOMPOSITIONS: dict[str, Callable[..., Tensor]] = {
    "square": lambda a: a * a,
    "rsqrt": lambda a: torch.reciprocal(torch.sqrt(a)),
    "sinh": lambda a: 0.5 * (torch.exp(a) - torch.exp(-a)),
    "cosh": lambda a: 0.5 * (torch.exp(a) + torch.exp(-a)),
    "silu": lambda a: a * torch.sigmoid(a),
    "mish": lambda a: a * torch.tanh(functional.softplus(a)),
    "log_sigmoid_forward": lambda a: -functional.softplus(-a),
    "gelu": _gelu,
    "elu": _elu,
    "leaky_relu": lambda a, slope=0.01: torch.relu(a) - slope * torch.relu(-a),
    "clamp": _clamp,
    "clamp_min": lambda a, low: _clamp(a, low),
    "clamp_max": lambda a, high: _clamp(a, None, high),
    "hardtanh": lambda a, low=-1.0, high=1.0: _clamp(a, low, high),
    "hardsigmoid": lambda a: _clamp(a / 6 + 0.5, 0.0, 1.0),
    "hardswish": lambda a: a * functional.hardsigmoid(a),
    "maximum": lambda a, b: b + torch.relu(a - b),
    "minimum": lambda a, b: b - torch.relu(b - a),
    # a σ(−p) + b σ(p) for a gate w = σ(p): nothing cancels where the gate is closed
    "lerp": lambda a, b, w: (1 - w) * a + w * b,
    "addcmul": lambda a, b, c, *, value=1: a + value * (b * c),
    "mean": _mean,
    "var": _variance,
    "linalg_vector_norm": _norm,
    "norm": _norm,
    "native_layer_norm": _layer_norm,
    "_softmax": _softmax,
    "mm": lambda a, b: torch.bmm(a.unsqueeze(0), b.unsqueeze(0)).squeeze(0),
    "mv": lambda a, b: torch.mm(a, b.unsqueeze(1)).squeeze(1),
    "dot": lambda a, b: torch.mm(a.unsqueeze(0), b.unsqueeze(1)).reshape(()),
    "linear": _linear,
    "addmm": _added(torch.mm),
    "addmv": _added(torch.mv),
    "baddbmm": _added(torch.bmm),
}
