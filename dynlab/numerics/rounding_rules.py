"""What each of torch's functions adds to the rounding errors of its arguments, for `dynlab.numerics.running_error`.

A rule is given what the function returned and, for each argument, its value and a bound on its error, None where it is
exact. It returns a bound on the error of the result, or a better result with its bound.

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

# Times the rounding unit u. Measured against multi-precision arithmetic, with and without vector instructions, torch's
# exp, expm1, tanh, sin, cos, arctan, log and log1p are within 1.3 u, its powers, sinh, cosh and σ within 1.9 u.
FUNCTION = 4.0
MATRIX = 2  # dimensions


def _unit(value: Tensor) -> float:
    return torch.finfo(value.dtype).eps / 2


def _tiny(value: Tensor) -> float:
    """Numbers below this are rounded to fewer digits, or to 0."""
    return torch.finfo(value.dtype).tiny


def _rounding(value: Tensor) -> Tensor:
    return _unit(value) * value.abs()


def _total(*terms: Error) -> Error:
    found = [term for term in terms if term is not None]
    return sum(found[1:], found[0]) if found else None


def _add(value: Tensor, a: Argument, b: Argument) -> Error:
    (x, dx), (y, dy) = a, b
    if not value.is_floating_point():
        return None
    virtual = value - x
    lost = ((x - (value - virtual)) + (y - virtual)).abs()  # what the sum has lost, without rounding (Knuth's TwoSum)
    return _total(lost, dx, dy)


def _negative(a: Argument) -> Argument:
    return -a[0], a[1]


def _multiply(value: Tensor, a: Argument, b: Argument) -> Error:
    (x, dx), (y, dy) = a, b
    if not value.is_floating_point():
        return None
    moved = [None if dx is None else dx * abs(y), None if dy is None else dy * abs(x)]
    both = None if dx is None or dy is None else dx * dy
    return _total(_lost(value, x, y), *moved, both, _underflow(value, (x != 0) & (y != 0)))


def _lost(value: Tensor, x: Any, y: Any) -> Tensor:
    """What a product has lost, without rounding (Dekker's TwoProduct); of very large numbers its rounding."""
    digits = 1 + round(-math.log2(_unit(value)) + 1) // 2
    upper = [(2.0**digits + 1) * each - ((2.0**digits + 1) * each - each) for each in (x, y)]
    lower = [x - upper[0], y - upper[1]]
    sums = ((upper[0] * upper[1] - value) + upper[0] * lower[1] + lower[0] * upper[1]) + lower[0] * lower[1]
    return torch.where(torch.isfinite(sums), sums.abs(), _rounding(value))


def _underflow(value: Tensor, nonzero: Any) -> Error:
    """What a product loses that is too small for its digits."""
    small = value.abs() < _tiny(value)
    return (small & nonzero).to(value.dtype) * _tiny(value) if small.any() else None


def _divide(value: Tensor, a: Argument, b: Argument) -> Error:
    (x, dx), (y, dy) = a, b
    moved = _total(dx, None if dy is None else value.abs() * dy)
    least = torch.as_tensor(abs(y) if dy is None else abs(y) - dy, dtype=value.dtype)
    share = None if moved is None else torch.where(least > 0, moved / least, torch.inf)
    product = value * y
    lost = ((x - product).abs() + _lost(product, value, y)) / abs(y)
    return _total(torch.where(torch.isfinite(lost), lost, _rounding(value)), share, _underflow(value, x != 0))


def _matmul(value: Tensor, a: Argument, b: Argument) -> Error | tuple[Tensor, Tensor]:
    (x, dx), (y, dy) = a, b
    if dx is None and dy is None and x.ndim == y.ndim == MATRIX:  # of weights, once for all states
        return _linear(value, a, (y.mT, None))
    terms, size_x, size_y = x.shape[-1], x.abs(), y.abs()
    rounded = terms * _unit(value) / (1 - terms * _unit(value)) * size_y
    error = size_x @ (rounded if dy is None else rounded + dy)
    if dx is not None:
        error = error + dx @ (size_y if dy is None else size_y + dy)
    if _smallest(size_x) * _smallest(size_y) < _tiny(value):
        error = error + _tiny(value) * ((x != 0).to(value.dtype) @ (y != 0).to(value.dtype))
    return error


def _smallest(sizes: Tensor) -> float:
    return float(torch.where(sizes > 0, sizes, torch.inf).min()) if sizes.numel() else torch.inf


def _linear(value: Tensor, x: Argument, matrix: Argument, bias: Argument | None = None) -> tuple[Tensor, Tensor]:
    """Its products to twice the digits: a pre-activation's error is the share by which a saturated slope is wrong."""
    (a, da), (b, db) = x, matrix
    found, error = (part.to(value.dtype) for part in product(a, b))
    if value.dtype != torch.float64:
        error = error + _rounding(found)
    if da is not None:
        error = error + da @ (b.abs() if db is None else b.abs() + db).mT
    if db is not None:
        error = error + a.abs() @ db.mT
    if bias is None or bias[0] is None:
        return found, error
    found = found + bias[0]
    return found, error + _rounding(found) + (0 if bias[1] is None else bias[1])


def _sum(value: Tensor, a: Argument, *args: Argument, **kwargs: Any) -> Error:
    if not value.is_floating_point():
        return None
    x, dx = a
    terms = max(1, x.numel() // max(1, value.numel()))
    sizes = terms * _unit(value) / (1 - terms * _unit(value)) * x.abs()
    return torch.sum(sizes if dx is None else sizes + dx, *(value for value, _ in args), **kwargs)


def _mean(value: Tensor, a: Argument, *args: Argument, **kwargs: Any) -> Error:
    if not value.is_floating_point():
        return None
    terms = max(1, a[0].numel() // max(1, value.numel()))
    summed = _sum(value, a, *args, **kwargs)
    return _total(_rounding(value), None if summed is None else summed / terms)


def _norm(value: Tensor, a: Argument, *args: Argument, **kwargs: Any) -> Error:
    """Of the Euclidean norm, along one dimension or of all entries; of others nothing is known."""
    x, dx = a
    order = kwargs.pop("p", kwargs.pop("ord", None))
    dim, keepdim = kwargs.get("dim"), bool(kwargs.get("keepdim", False))
    if args or order not in (None, "fro", 2) or isinstance(dim, tuple | list):
        return torch.full_like(value, torch.inf)
    terms = max(1, x.numel() // max(1, value.numel()))
    moved = None if dx is None else torch.linalg.vector_norm(dx, dim=dim, keepdim=keepdim)
    small = (value <= (_tiny(value) / _unit(value)) ** 0.5).to(value.dtype)  # whose squares lose digits, or all
    return _total((terms + FUNCTION) * _rounding(value), small * (terms * _tiny(value)) ** 0.5, moved)


def _softmax(value: Tensor, a: Argument, dim: Argument | None = None, **kwargs: Any) -> Error:
    """Every entry is divided by a sum of exponentials, each wrong by a factor of e^{dp} at most."""
    p, dp = a
    along = int(kwargs["dim"] if dim is None else dim[0])
    rounded = (p.shape[along] + 2 * FUNCTION) * _rounding(value)
    spread = 2 * _unit(value) * (p.amax(dim=along, keepdim=True) - p)  # the argument of each exponential is rounded
    moved = spread if dp is None else spread + 2 * dp.amax(dim=along, keepdim=True)
    return _total(rounded, _underflow(value, True), (value + _tiny(value)) * torch.expm1(moved))


def _same(value: Tensor, a: Argument, *_: Argument) -> Error:
    """Of a function that rounds nothing and has no slope above 1."""
    return a[1]


def _clamped(value: Tensor, *arguments: Argument, **kwargs: Any) -> Error:
    if not all(bound is None or isinstance(bound, int | float) for bound in kwargs.values()):
        return torch.full_like(value, torch.inf)
    return _total(*(error for _, error in arguments))


def _larger(value: Tensor, a: Argument, b: Argument) -> Error:
    """Of the larger or the smaller of two numbers."""
    (_, dx), (_, dy) = a, b
    return torch.maximum(*torch.broadcast_tensors(dx, dy)) if dx is not None and dy is not None else _total(dx, dy)


def _power(value: Tensor, a: Argument, b: Argument) -> Error:
    """Of a constant power: no farther than the steepest slope n |p|^(n − 1) within dp of p leads."""
    (p, dp), (n, dn) = a, b
    if dn is not None or isinstance(n, Tensor):
        return torch.full_like(value, torch.inf)
    rounded = _total(FUNCTION * _rounding(value), _underflow(value, p != 0))
    if dp is None:
        return rounded
    steepest = p.abs() + dp if n >= 1 else (p.abs() - dp).clamp(min=0)
    return _total(rounded, torch.where(dp > 0, abs(n) * steepest ** (n - 1) * dp, 0.0))


def _exponential(value: Tensor, a: Argument, base: Argument) -> Error:
    """Of a constant's power."""
    (_, dp), (c, dc) = a, base
    if dc is not None or isinstance(c, Tensor) or c <= 0:
        return torch.full_like(value, torch.inf)
    moved = None if dp is None else value * torch.expm1(abs(math.log(c)) * dp)
    return _total(FUNCTION * _rounding(value), _underflow(value, True), moved)


def _log(value: Tensor, a: Argument) -> Error:
    p, dp = a
    moved = None if dp is None else torch.where(dp < p, -torch.log1p(-dp / p), torch.inf)
    return _total(FUNCTION * _rounding(value), moved)


def _log1p(value: Tensor, a: Argument) -> Error:
    p, dp = a
    moved = None if dp is None else torch.where(dp < 1 + p, -torch.log1p(-dp / (1 + p)), torch.inf)
    return _total(FUNCTION * _rounding(value), moved)


def _hyperbolic(steepest: Callable[[Tensor], Tensor]) -> "Rule":
    """Of sinh and cosh, whose slopes are steepest where |p| is largest."""

    def rule(value: Tensor, a: Argument) -> Error:
        p, dp = a
        return _total(FUNCTION * _rounding(value), None if dp is None else steepest(p.abs() + dp) * dp)

    return rule


def _relu(value: Tensor, a: Argument) -> Error:
    p, dp = a
    return None if dp is None else torch.where(p <= -dp, 0, dp)


def _sqrt(value: Tensor, a: Argument) -> Error:
    dp = a[1]
    moved = None if dp is None else torch.minimum(dp.sqrt(), torch.where(value > 0, dp / value, torch.inf))
    return _total(_rounding(value), moved)


def _exp(value: Tensor, a: Argument) -> Error:
    """Of e^p, and of e^p − 1."""
    p, dp = a
    moved = None if dp is None else torch.exp(p + dp) * -torch.expm1(-dp)
    return _total(FUNCTION * _rounding(value), _underflow(value, True), moved)


def _turning(value: Tensor, a: Argument) -> Error:
    """Of sin, cos and arctan, which have no slope above 1."""
    return _total(FUNCTION * _rounding(value), a[1])


def _tanh(value: Tensor, a: Argument) -> Error:
    p, dp = a  # tanh(p) = 2 σ(2p) − 1
    return _total(FUNCTION * _rounding(value), None if dp is None else 2 * _sigmoid_moved(2 * p, 2 * dp))


def _sigmoid(value: Tensor, a: Argument) -> Error:
    p, dp = a
    return _total(FUNCTION * _rounding(value), _underflow(value, True), None if dp is None else _sigmoid_moved(p, dp))


def _sigmoid_moved(p: Tensor, dp: Tensor) -> Tensor:
    """How far σ moves within dp of p, most towards 0: sinh(dp/2) / (2 cosh(p/2) cosh((|p| − dp)/2)), at most 1."""
    size, near = p.abs(), p.abs() - dp
    both = torch.sigmoid(size) * torch.sigmoid(near.abs())
    return -torch.expm1(-dp) * torch.exp(-near.clamp(min=0)) * both


def _comparison(value: Tensor, a: Argument, b: Argument) -> Error:
    """1 where rounding may decide it."""
    (x, dx), (y, dy) = a, b
    moved = _total(dx, dy)
    return None if moved is None else ((x - y).abs() <= moved).logical_and(moved > 0).to(moved.dtype)


def _side(value: Tensor, a: Argument, b: Argument) -> Error:
    """The same, and 1 at equality: a slope that is 0 on one side of a kink and 1 on the other is neither there."""
    (x, dx), (y, dy) = a, b
    moved = _total(dx, dy)
    return None if moved is None else ((x - y).abs() <= moved).to(moved.dtype)


def _joined(settling: bool) -> "Rule":
    """Of "and", which one operand that is certainly false settles, and of "or", where it is one that is true."""

    def rule(value: Tensor, a: Argument, b: Argument) -> Error:
        (x, dx), (y, dy) = a, b
        doubt = torch.maximum(dx, dy) if dx is not None and dy is not None else _total(dx, dy)
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
    both = _total(dx, dy)
    if doubt is None:
        return None if both is None else torch.where(chosen, 0.0 if dx is None else dx, 0.0 if dy is None else dy)
    return _total(both, doubt * abs(x - y))


def _converted(value: Tensor, a: Argument, *args: Argument, **kwargs: Any) -> Error:
    x, dx = a
    coarser = value.is_floating_point() and x.is_floating_point() and _unit(value) > _unit(x)
    return _total(_rounding(value) if coarser else None, None if dx is None else dx.to(value.dtype))


Rule = Callable[..., Error | tuple[Tensor, Tensor]]

# By the names of torch's functions and methods, those of operators without their underscores.
RULES: dict[str, Rule] = {
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
    "softmax": _softmax,
    **dict.fromkeys(("neg", "negative", "positive", "abs", "absolute"), _same),
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
    "sign": _sign,
    **dict.fromkeys(("gt", "lt"), _side),
    **dict.fromkeys(("ge", "le", "eq", "ne"), _comparison),
    **dict.fromkeys(("and", "bitwise_and", "logical_and"), _joined(False)),
    **dict.fromkeys(("or", "bitwise_or", "logical_or"), _joined(True)),
    **dict.fromkeys(("invert", "bitwise_not", "logical_not"), _same),
    "where": _where,
    **dict.fromkeys(("to", "double", "float", "type_as"), _converted),
    **dict.fromkeys(("zeros_like", "ones_like", "empty_like", "full_like"), lambda *_, **__: None),
}
