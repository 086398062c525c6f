"""Functions written for NumPy or for JAX, made into functions of torch's tensors with exact derivatives.

NumPy hands the call of its own functions to whatever array asks for it, so a function of NumPy's computes on tensors
in disguise and torch differentiates it. A function of JAX's is differentiated by `jax.jacfwd`.
"""

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dynlab.errors import UserError

Step = Callable[[Any, Any], Any]
# The functions of NumPy's that mean the same in torch; its ufuncs do by name, but for the few that are renamed.
ALIKE = (
    "sum mean prod where concatenate stack hstack vstack clip outer einsum zeros_like ones_like full_like cumsum ravel"
)
RENAMED = {"max": "amax", "amax": "amax", "min": "amin", "amin": "amin", "dot": "matmul", "norm": "linalg.norm"}
METHODS = {"reshape": "reshape", "ravel": "ravel", "flatten": "ravel", "copy": "clone"}  # of an array, and of a tensor
UFUNCS = {"power": "pow", "equal": "eq", "conjugate": "conj", "invert": "bitwise_not", "fabs": "abs"}
FUNCTIONS = {name: name for name in ALIKE.split()} | RENAMED


class NotThere(AttributeError):
    """An attribute of NumPy's arrays that no tensor in disguise has."""


class Disguised(np.lib.mixins.NDArrayOperatorsMixin):
    """A tensor that functions of NumPy's take for an array."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __getattr__(self, name: str) -> Any:
        if name in ("shape", "ndim", "size", "dtype"):
            return self.tensor.numel() if name == "size" else getattr(self.tensor, name)
        if name == "T":
            return Disguised(self.tensor.mT if self.tensor.ndim > 1 else self.tensor)
        if name in ("sum", "mean", "prod", "max", "min", "dot", "clip"):
            return lambda *args, **kwargs: self.__array_function__(getattr(np, name), (), (self, *args), kwargs)
        if name in METHODS:
            return lambda *args: Disguised(getattr(self.tensor, METHODS[name])(*args))
        ufunc = getattr(np, name, None)
        if isinstance(ufunc, np.ufunc):  # called so by NumPy, of each entry of what W.dot(h) makes: an array of objects
            return lambda: ufunc(self)
        raise NotThere(f"an array of the state has no {name} here")

    def __bool__(self) -> bool:
        raise TypeError("it decides by the state's values: write numpy.where in place of if, and W @ h for W.dot(h)")

    def __float__(self) -> float:
        raise TypeError("it makes a number of Python's of the state: write h[0] for float(h[0]), and numpy for math")

    def __getitem__(self, index: Any) -> "Disguised":
        return Disguised(self.tensor[index])

    def __len__(self) -> int:
        if not self.tensor.ndim:
            raise TypeError("len() of an array without dimensions")
        return int(self.tensor.shape[0])

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        name = UFUNCS.get(ufunc.__name__, ufunc.__name__)
        into = kwargs.pop("out", ())
        if method != "__call__" or ufunc.nout > 1 or kwargs or not hasattr(torch, name):
            raise TypeError(f"numpy.{ufunc.__name__} has no counterpart in torch here")
        found = getattr(torch, name)(*(self._tensor(each) for each in inputs))
        if not into:
            return Disguised(found)
        if not isinstance(into[0], Disguised):
            raise TypeError(f"numpy.{ufunc.__name__} of the state does not go into an array of numbers")
        into[0].tensor.copy_(found)  # as of y += 1, which views of y see too
        return into[0]

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name = func.__name__
        if name not in FUNCTIONS:
            raise TypeError(f"numpy.{name} has no counterpart in torch here")
        axes = {"dim" if key == "axis" else key: value for key, value in kwargs.items()}
        counterpart = operator.attrgetter(FUNCTIONS[name])(torch)
        return Disguised(counterpart(*(self._tensor(each) for each in args), **axes))

    def _tensor(self, value: Any) -> Any:
        """What torch is given in place of an argument: a tensor for an array or a number that is not whole."""
        if isinstance(value, Disguised):
            return value.tensor
        if isinstance(value, list | tuple):
            return [self._tensor(each) for each in value]
        if isinstance(value, np.ndarray) and value.dtype == object:
            return together(value, self.tensor)
        if isinstance(value, np.ndarray | np.generic | float | int) and not isinstance(value, bool):
            return torch.as_tensor(value, dtype=self.tensor.dtype, device=self.tensor.device)
        return value


def together(found: Any, like: Tensor) -> Any:
    """What a function of NumPy's returned as a tensor like `like`; an array of disguised numbers is stacked."""
    if isinstance(found, Disguised):
        return found.tensor
    if isinstance(found, tuple):
        return tuple(together(part, like) for part in found)
    if isinstance(found, list) or (isinstance(found, np.ndarray) and found.dtype == object):
        return torch.stack([together(part, like) for part in found])
    if isinstance(found, np.ndarray | np.generic | float | int):  # which does not depend on the state
        return torch.as_tensor(found).to(like)
    return found


def from_numpy(f: Step) -> Step:
    """The same function of tensors: of one state and input at a time, as NumPy's functions are written."""

    def one(state: Any, input: Any) -> Any:
        def disguised(part: Tensor) -> Disguised:
            return Disguised(part.clone())  # which the function may change in place

        given = tuple(map(disguised, state)) if isinstance(state, tuple) else disguised(state)
        try:
            return together(f(given, disguised(input)), state[0] if isinstance(state, tuple) else state)
        except UserError:
            raise
        except (TypeError, ValueError, NotThere) as error:
            name = getattr(f, "__name__", "function")
            raise UserError(
                f"{name} does to NumPy's arrays what dynlab cannot differentiate ({error}): write that part with "
                f"functions such as numpy.where, numpy.stack and numpy.tanh, and without assignment to entries."
            ) from error

    return _each(one)


def from_jax(f: Step) -> Step:
    """The same function of tensors, with the derivatives of `jax.jacfwd` in float64."""
    try:
        import jax
    except ModuleNotFoundError as error:
        raise UserError("arrays='jax' needs JAX, which is not installed: pip install jax.") from error

    def told(state: Any, input: Any) -> tuple[Any, Any]:
        following = f(state, input)
        return following, following

    both = jax.jit(jax.vmap(jax.jacfwd(told, argnums=(0, 1), has_aux=True)))

    def call(state: Tensor, input: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        with jax.enable_x64(True):
            slopes, following = both(*(np.asarray(each.detach().cpu()) for each in (state, input)))
            return tuple(torch.from_numpy(np.array(each)).to(state) for each in (following, *slopes))  # type: ignore[return-value]

    def step(state: Any, input: Any) -> Any:
        if isinstance(state, tuple):
            raise UserError("A function of JAX's takes one state: give its whole size, and split it in the function.")
        return _Called.apply(state, input, call)[0]

    return step


class _Called(torch.autograd.Function):
    """f(state, input) and its Jacobians, of any leading dimensions."""

    generate_vmap_rule = False

    @staticmethod
    def forward(state: Tensor, input: Tensor, call: Callable[..., Any]) -> Any:
        lead = torch.broadcast_shapes(state.shape[:-1], input.shape[:-1])
        rows = [each.expand(*lead, each.shape[-1]).reshape(math.prod(lead), each.shape[-1]) for each in (state, input)]
        return tuple(each.reshape(*lead, *each.shape[1:]) for each in call(*rows))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(*output[1:])

    @staticmethod
    def backward(ctx: Any, slope: Tensor, *_: Any) -> Any:
        return *((slope.unsqueeze(-2) @ each).squeeze(-2) for each in ctx.saved_tensors), None

    @staticmethod
    def vmap(info: Any, in_dims: Any, state: Tensor, input: Tensor, call: Callable[..., Any]) -> Any:
        given = [
            each.expand(info.batch_size, *each.shape) if dim is None else each.movedim(dim, 0)
            for each, dim in zip((state, input), in_dims, strict=False)
        ]
        return _Called.apply(*given, call), (0, 0, 0)


def _each(one: Step) -> Step:
    """The function of one state and one input, for rows of them too."""

    def rows(state: Any, input: Any) -> Any:
        parts = state if isinstance(state, tuple) else (state,)
        if parts[0].ndim == 1 and input.ndim == 1:
            return one(state, input)
        count = next(len(each) for each in (*parts, input) if each.ndim > 1)
        many = [each.expand(count, each.shape[-1]) for each in (*parts, input)]
        return torch.vmap(lambda *of: one(of[:-1] if isinstance(state, tuple) else of[0], of[-1]))(*many)

    return rows


ARRAYS: dict[str, Callable[[Step], Step]] = {"torch": lambda f: f, "numpy": from_numpy, "jax": from_jax}
