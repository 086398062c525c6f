"""What arithmetic adds to the rounding errors of its arguments: sums, products, quotients and norms.

The rules are those of `dynlab.numerics.rounding_rules`.

References
----------
Higham, "Accuracy and Stability of Numerical Algorithms", SIAM 2002, section 3.1 (γ_n = n u/(1 − n u)).
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from dynlab.numerics.sliced_product import product

Error = Tensor | None
Argument = tuple[Any, Error]
Rule = Callable[..., Error | tuple[Tensor, Tensor]]

MATRIX = 2  # dimensions


def unit(value: Tensor) -> float:
    """The rounding unit u of its kind of numbers."""
    return torch.finfo(value.dtype).eps / 2


def tiny(value: Tensor) -> float:
    """Numbers below this are rounded to fewer digits, or to 0."""
    return torch.finfo(value.dtype).tiny


def rounding(value: Tensor) -> Tensor:
    """What one rounding of each entry leaves at most."""
    return unit(value) * value.abs()


def total(*terms: Error) -> Error:
    """The sum of those errors that there are."""
    found = [term for term in terms if term is not None]
    return sum(found[1:], found[0]) if found else None


def _add(value: Tensor, a: Argument, b: Argument) -> Error:
    (x, dx), (y, dy) = a, b
    if not value.is_floating_point():
        return None
    virtual = value - x
    lost = ((x - (value - virtual)) + (y - virtual)).abs()  # what the sum has lost, without rounding (Knuth's TwoSum)
    return total(lost, dx, dy)


def _negative(a: Argument) -> Argument:
    return -a[0], a[1]


def _multiply(value: Tensor, a: Argument, b: Argument) -> Error:
    (x, dx), (y, dy) = a, b
    if not value.is_floating_point():
        return None
    moved = [None if dx is None else dx * abs(y), None if dy is None else dy * abs(x)]
    both = None if dx is None or dy is None else dx * dy
    return total(_lost(value, x, y), *moved, both, underflow(value, (x != 0) & (y != 0)))


def _lost(value: Tensor, x: Any, y: Any) -> Tensor:
    """What a product has lost, without rounding (Dekker's TwoProduct); of very large numbers its rounding."""
    digits = 1 + round(-math.log2(unit(value)) + 1) // 2
    upper = [(2.0**digits + 1) * each - ((2.0**digits + 1) * each - each) for each in (x, y)]
    lower = [x - upper[0], y - upper[1]]
    sums = ((upper[0] * upper[1] - value) + upper[0] * lower[1] + lower[0] * upper[1]) + lower[0] * lower[1]
    return torch.where(torch.isfinite(sums), sums.abs(), rounding(value))


def underflow(value: Tensor, nonzero: Any) -> Error:
    """What a product loses that is too small for its digits."""
    small = value.abs() < tiny(value)
    return (small & nonzero).to(value.dtype) * tiny(value) if small.any() else None


def _divide(value: Tensor, a: Argument, b: Argument) -> Error:
    (x, dx), (y, dy) = a, b
    moved = total(dx, None if dy is None else value.abs() * dy)
    least = torch.as_tensor(abs(y) if dy is None else abs(y) - dy, dtype=value.dtype)
    share = None if moved is None else torch.where(least > 0, moved / least, torch.inf)
    product = value * y
    lost = ((x - product).abs() + _lost(product, value, y)) / abs(y)
    return total(torch.where(torch.isfinite(lost), lost, rounding(value)), share, underflow(value, x != 0))


def _matmul(value: Tensor, a: Argument, b: Argument) -> Error | tuple[Tensor, Tensor]:
    (x, dx), (y, dy) = a, b
    if dx is None and dy is None and x.ndim == y.ndim == MATRIX:  # of weights, once for all states
        return _linear(value, a, (y.mT, None))
    terms, size_x, size_y = x.shape[-1], x.abs(), y.abs()
    rounded = terms * unit(value) / (1 - terms * unit(value)) * size_y
    error = size_x @ (rounded if dy is None else rounded + dy)
    if dx is not None:
        error = error + dx @ (size_y if dy is None else size_y + dy)
    if _smallest(size_x) * _smallest(size_y) < tiny(value):
        error = error + tiny(value) * ((x != 0).to(value.dtype) @ (y != 0).to(value.dtype))
    return error


def _smallest(sizes: Tensor) -> float:
    return float(torch.where(sizes > 0, sizes, torch.inf).min()) if sizes.numel() else torch.inf


def _linear(value: Tensor, x: Argument, matrix: Argument, bias: Argument | None = None) -> tuple[Tensor, Tensor]:
    """Its products to twice the digits: a pre-activation's error is the share by which a saturated slope is wrong."""
    (a, da), (b, db) = x, matrix
    found, error = (part.to(value.dtype) for part in product(a, b))
    if value.dtype != torch.float64:
        error = error + rounding(found)
    if da is not None:
        error = error + da @ (b.abs() if db is None else b.abs() + db).mT
    if db is not None:
        error = error + a.abs() @ db.mT
    if bias is None or bias[0] is None:
        return found, error
    found = found + bias[0]
    return found, error + rounding(found) + (0 if bias[1] is None else bias[1])


def _sum(value: Tensor, a: Argument, *args: Argument, **kwargs: Any) -> Error:
    if not value.is_floating_point():
        return None
    x, dx = a
    terms = max(1, x.numel() // max(1, value.numel()))
    sizes = terms * unit(value) / (1 - terms * unit(value)) * x.abs()
    return torch.sum(sizes if dx is None else sizes + dx, *(value for value, _ in args), **kwargs)


def _mean(value: Tensor, a: Argument, *args: Argument, **kwargs: Any) -> Error:
    if not value.is_floating_point():
        return None
    terms = max(1, a[0].numel() // max(1, value.numel()))
    summed = _sum(value, a, *args, **kwargs)
    return total(rounding(value), None if summed is None else summed / terms)


def _norm(value: Tensor, a: Argument, *args: Argument, **kwargs: Any) -> Error:
    """Of the Euclidean norm, along one dimension or of all entries; of others nothing is known."""
    x, dx = a
    order = kwargs.pop("p", kwargs.pop("ord", None))
    dim, keepdim = kwargs.get("dim"), bool(kwargs.get("keepdim", False))
    if args or order not in (None, "fro", 2) or isinstance(dim, tuple | list):
        return torch.full_like(value, torch.inf)
    terms = max(1, x.numel() // max(1, value.numel()))
    moved = None if dx is None else torch.linalg.vector_norm(dx, dim=dim, keepdim=keepdim)
    small = (value <= (tiny(value) / unit(value)) ** 0.5).to(value.dtype)  # whose squares lose digits, or all
    return total((terms + 2) * rounding(value), small * (terms * tiny(value)) ** 0.5, moved)


ARITHMETIC: dict[str, Rule] = {
    **dict.fromkeys(("add", "radd"), _add),
    **dict.fromkeys(("sub", "subtract"), lambda value, a, b: _add(value, a, _negative(b))),
    "rsub": lambda value, a, b: _add(value, _negative(a), b),
    **dict.fromkeys(("mul", "rmul", "multiply"), _multiply),
    **dict.fromkeys(("div", "divide", "true_divide", "truediv"), _divide),
    **dict.fromkeys(("rdiv", "rtruediv"), lambda value, a, b: _divide(value, b, a)),
    "reciprocal": lambda value, a: _divide(value, (1.0, None), a),
    "square": lambda value, a: _multiply(value, a, a),
    **dict.fromkeys(("matmul", "mm", "bmm"), _matmul),
    "rmatmul": lambda value, a, b: _matmul(value, b, a),
    "linear": _linear,
    "sum": _sum,
    "mean": _mean,
    **dict.fromkeys(("norm", "linalg_norm", "linalg_vector_norm"), _norm),
}
