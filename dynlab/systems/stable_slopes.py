"""Automatic differentiation with the slopes of tanh and σ from the pre-activation, in code that dynlab did not write.

torch differentiates tanh as 1 − y² and σ as y (1 − y), which lose all their digits where y is close to ±1, and GELU by
1 + erf or 1 + tanh of what may be far below 0. Inside ``with StableSlopes():`` these, and the cells RNNCell, GRUCell
and LSTMCell that have them within, are differentiated without such a difference; their values are torch's own.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch.nn.functional import gelu, linear
from torch.overrides import TorchFunctionMode

from dynlab.systems.activations import sigmoid_slope, tanh_slope

CUBIC = 0.044715  # of the approximation of GELU by tanh


def _with_slope(function: Callable[[Tensor], Tensor], slope: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """`function`, differentiated by `slope` of its argument."""

    class Sloped(torch.autograd.Function):
        generate_vmap_rule = False

        @staticmethod
        def vmap(info: Any, in_dims: Any, p: Tensor) -> Any:
            return Sloped.apply(p), in_dims[0]

        @staticmethod
        def forward(p: Tensor) -> Tensor:
            return function(p)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Tensor:
            return gradient * slope(*ctx.saved_tensors)

    return lambda p, **_: Sloped.apply(p.clone())  # the function may write on its argument afterwards


_tanh = _with_slope(torch.tanh, tanh_slope)
_sigmoid = _with_slope(torch.sigmoid, sigmoid_slope)


def _gelu_slope(p: Tensor) -> Tensor:
    """Φ(p) + p φ(p) of the normal distribution, Φ by erfc."""
    density = torch.exp(-p.square() / 2) / math.sqrt(2 * math.pi)
    return torch.special.erfc(-p * math.sqrt(0.5)) / 2 + p * density


def _tanh_gelu_slope(p: Tensor) -> Tensor:
    """That of p σ(2u) = p (1 + tanh u)/2, with u = √(2/π) (p + 0.044715 p³)."""
    size = 2 * math.sqrt(2 / math.pi)
    twice, slope = size * (p + CUBIC * p**3), size * (1 + 3 * CUBIC * p.square())
    return torch.sigmoid(twice) + p * slope * sigmoid_slope(twice)


_normal_gelu = _with_slope(gelu, _gelu_slope)
_tanh_gelu = _with_slope(lambda p: gelu(p, approximate="tanh"), _tanh_gelu_slope)


def _gelu(p: Tensor, approximate: str = "none") -> Tensor:
    return (_tanh_gelu if approximate == "tanh" else _normal_gelu)(p)


def _rnn_cell(x: Tensor, h: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any = None, b_hh: Any = None) -> Tensor:
    return _tanh(linear(x, w_ih, b_ih) + linear(h, w_hh, b_hh))


def _gru_cell(x: Tensor, h: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any = None, b_hh: Any = None) -> Tensor:
    x_r, x_z, x_n = linear(x, w_ih, b_ih).chunk(3, dim=-1)
    h_r, h_z, q = linear(h, w_hh, b_hh).chunk(3, dim=-1)
    p_z = x_z + h_z
    # 1 − z as σ(−p_z), so that its derivative and its value keep their digits where z is close to 1
    return _sigmoid(-p_z) * _tanh(x_n + _sigmoid(x_r + h_r) * q) + _sigmoid(p_z) * h


def _lstm_cell(
    x: Tensor, state: tuple[Tensor, Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Any = None, b_hh: Any = None
) -> tuple[Tensor, Tensor]:
    h, c = state
    i, f, g, o = (linear(x, w_ih, b_ih) + linear(h, w_hh, b_hh)).chunk(4, dim=-1)
    c = _sigmoid(f) * c + _sigmoid(i) * _tanh(g)
    return _sigmoid(o) * _tanh(c), c


# By the names that torch gives its functions and methods.
REPLACED: dict[str, Callable[..., Any]] = {
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "special_expit": _sigmoid,
    "gelu": _gelu,
    "rnn_tanh_cell": _rnn_cell,
    "gru_cell": _gru_cell,
    "lstm_cell": _lstm_cell,
}

# What makes an array of a tensor. Inside of torch's transforms it fails, also for a constant that none of them changes.
READ = ("numpy", "__array__")


class StableSlopes(TorchFunctionMode):
    """Inside it, tanh, σ and torch's cells are differentiated without cancellation, and constants can be arrays."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = getattr(func, "__name__", "")
        if name in READ and not torch._C._functorch.is_functorch_wrapped_tensor(args[0]):
            with temporarily_clear_interpreter_stack():
                return func(*args, **(kwargs or {}))
        return REPLACED.get(name, func)(*args, **(kwargs or {}))
