"""Tensors that carry a bound on their own rounding error: running error analysis of what is written for torch.

Inside ``with RunningErrors():`` what torch's functions return is a `Rounded`: a value, and a bound on how far it is
from what real arithmetic gives from the numbers stored. So a formula needs no second version for its error. The values
are those that torch computes without it, but for products with weights, which are computed to twice the digits. Where a
function has no rule in `dynlab.numerics.rounding_rules`, nothing is known of a `Rounded`, and `Untracked` is raised.

References
----------
Higham, "Accuracy and Stability of Numerical Algorithms", SIAM 2002, section 3.3 (running error analysis).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode, handle_torch_function

from dynlab.numerics.rounding_rules import RULES, Argument

# The bounds are computed in the same arithmetic: each of their sums of n terms is wrong by a share n u at most.
OF_THE_BOUND = 1 + 1e-9
# What moves entries about, or repeats them, and computes nothing.
STRUCTURAL = frozenset(
    {"unsqueeze", "squeeze", "reshape", "view", "expand", "expand_as", "broadcast_to", "chunk", "split", "unbind"}
    | {"flatten", "unflatten", "transpose", "permute", "movedim", "getitem", "index_select", "index_put", "gather"}
    | {"clone", "contiguous", "detach", "diag", "diag_embed", "block_diag", "diagonal", "flip", "roll", "cat", "concat"}
    | {"concatenate", "stack", "hstack", "vstack", "pad", "triu", "tril", "repeat", "narrow", "select"}
)
# What a value says of itself, with which constants are made; and views that are attributes.
OF_THE_VALUE = frozenset(
    {"shape", "dtype", "device", "ndim", "dim", "size", "stride", "numel", "is_floating_point", "is_complex"}
    | {"new_zeros", "new_ones", "new_empty", "new_full"}
)
TRANSPOSES = ("mT", "T")
OPERATORS = frozenset(
    {"add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "matmul", "rmatmul", "neg", "getitem"}
    | {"pow", "rpow", "abs", "pos"}
    | {"gt", "lt", "ge", "le", "eq", "ne", "and", "or", "invert"}
)

_meant: ContextVar[bool] = ContextVar("meant", default=False)


class Untracked(Exception):
    """A function without a rule was asked of a `Rounded`."""


@contextlib.contextmanager
def as_meant() -> Iterator[None]:
    """Take what is computed inside as exact: the matrix that an exponential or a solver makes is the one meant."""
    token = _meant.set(True)
    try:
        yield
    finally:
        _meant.reset(token)


class RunningErrors(TorchFunctionMode):
    """Inside it what torch computes carries its rounding error."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return func(*args, **(kwargs or {})) if _meant.get() else _evaluated(func, args, kwargs or {})


class Rounded:
    """A computed tensor with a bound on the modulus of its error, entry by entry; it is used as a tensor is.

    Attributes
    ----------
    value : Tensor, shape (...)
        Of a comparison, booleans.
    error : Tensor, shape (...)
        Of a comparison, 1 where it may be the other way round and 0 elsewhere.
    """

    def __init__(self, value: Tensor, error: Tensor) -> None:
        self.value = value
        self.error = error

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return _evaluated(func, args, kwargs or {})

    def __getattr__(self, name: str) -> Any:
        if name in OF_THE_VALUE:
            return getattr(self.value, name)
        if name in TRANSPOSES:
            return Rounded(getattr(self.value, name), getattr(self.error, name))
        method = getattr(Tensor, name)
        return lambda *args, **kwargs: handle_torch_function(method, (self,), self, *args, **kwargs)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.unbind(0))


def bounded(x: Tensor | Rounded) -> tuple[Tensor, Tensor]:
    """The value of `x` and the bound on its error: 0 where it is exact, inf where nothing is known."""
    if not isinstance(x, Rounded):
        return x, torch.zeros_like(x)
    return x.value, torch.where(x.error.isnan(), torch.inf, x.error) * OF_THE_BOUND


def _operator(name: str) -> Callable[..., Any]:
    method = getattr(Tensor, name)
    return lambda self, *args: handle_torch_function(method, (self,), self, *args)


for _name in OPERATORS:  # Python looks them up on the class
    setattr(Rounded, f"__{_name}__", _operator(f"__{_name}__"))


def _evaluated(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `func` returns, with its error where there is one."""
    name = func.__name__.removeprefix("__").removesuffix("__")
    rule = RULES.get(name)
    tracked = _holds_rounded((*args, *kwargs.values()))
    if rule is None and tracked and name not in STRUCTURAL:
        raise Untracked(f"torch's {name!r} has no rule for the error of what it computes")
    value = func(*_values(args), **{key: _values(each) for key, each in kwargs.items()})
    if rule is not None and isinstance(value, Tensor) and not value.is_complex():
        found = rule(value, *map(_argument, args), **kwargs)
        return value if found is None else Rounded(*found) if isinstance(found, tuple) else Rounded(value, found)
    if not tracked:
        return value
    errors = func(*_errors(args), **{key: _errors(each) for key, each in kwargs.items()})
    return tuple(map(Rounded, value, errors)) if isinstance(value, tuple | list) else Rounded(value, errors)


def _argument(x: Any) -> Argument:
    return (x.value, x.error) if isinstance(x, Rounded) else (x, None)


def _holds_rounded(x: Any) -> bool:
    return any(map(_holds_rounded, x)) if isinstance(x, list | tuple) else isinstance(x, Rounded)


def _values(x: Any) -> Any:
    return type(x)(map(_values, x)) if isinstance(x, list | tuple) else x.value if isinstance(x, Rounded) else x


def _errors(x: Any) -> Any:
    """What moves entries moves their errors; an exact tensor among them has none, and what is no number stays."""
    if isinstance(x, list | tuple):
        return type(x)(map(_errors, x))
    if isinstance(x, Rounded):
        return x.error
    return torch.zeros_like(x) if isinstance(x, Tensor) and x.is_floating_point() else x
