"""A plain function f(state, input), or any torch module called so, as a `Map`."""

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dynlab.errors import UserError, entry, out_of_memory
from dynlab.systems.base import Map
from dynlab.systems.module_copy import copied
from dynlab.systems.urnn import to_complex, to_real

# Errors that a function of the user's own may end in.
OF_CODE = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, RuntimeError, TypeError, ValueError)
ORDERS = {"hx": "f(state, input)", "xh": "f(input, state)"}
# What authors of cells call the two: where both stand in a signature, they tell which comes first.
STATES = {"h", "hx", "h_t", "ht", "h_prev", "prev_h", "hidden", "hidden_state", "state", "states", "prev_state", "z"}
INPUTS = {"x", "x_t", "xt", "input", "inputs", "input_", "inp", "u", "u_t"}


class Function(Map):
    """h_t = f(h_{t−1}, x_t); `from_function` has the arguments."""

    def __init__(
        self, f: Callable[..., Any], state_size: int | Sequence[int], input_size: int, order: str, complex_state: bool
    ) -> None:
        given = list(state_size) if isinstance(state_size, Sequence) else [state_size]
        sizes = [2 * size if complex_state else size for size in given]
        super().__init__(sum(sizes), input_size)
        self.f, self.sizes, self.order, self.complex_state = f, sizes, order, complex_state
        self.is_tuple = isinstance(state_size, Sequence)
        self.name = _name(f)
        self.by_row = False  # whether `f` is one of one state alone

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        lead = np.broadcast_shapes(state.shape[:-1], input.shape[:-1])
        if 0 in lead:
            return state.expand(*lead, self.state_size)
        if len(lead) < 2 and len(state.shape) == len(input.shape):
            return self._next(state, input)
        rows = [value.expand(*lead, value.shape[-1]).flatten(end_dim=-2) for value in (state, input)]
        return self._next(*rows).reshape(*lead, self.state_size)

    def _next(self, state: Tensor, input: Tensor) -> Tensor:
        """The state that follows, of states (n,) or (rows, n)."""
        state = state.clone()  # `f` may write on what it is given
        whole = state.split(self.sizes, dim=-1) if self.is_tuple else [state]
        parts = tuple(to_complex(part) if self.complex_state else part for part in whole)
        f: Callable[..., Any] = torch.func.vmap(self.f) if self.by_row and state.ndim == 2 else self.f
        given = parts if self.is_tuple else parts[0]
        try:
            following = f(given, input) if self.order == "hx" else f(input, given)
        except UserError:
            raise
        except OF_CODE as error:
            if out_of_memory(error):
                raise
            raise UserError(self._why(str(error) or type(error).__name__, state, input)) from error
        found = tuple(following) if self.is_tuple and isinstance(following, tuple | list) else (following,)
        if self.sizes == [1] and isinstance(following, Tensor) and following.shape == state.shape[:-1]:
            found = (following.unsqueeze(-1),)  # a number for a state of one, as of tanh(2 h[0])
        told = [tuple(part.shape) if isinstance(part, Tensor) else type(part).__name__ for part in found]
        if [shape[-1:] for shape in told] != [tuple(part.shape[-1:]) for part in parts]:
            raise UserError(self._misfit(parts, told))
        wrong = next((p for p in found if p.dtype != parts[0].dtype), None)
        if wrong is not None:
            raise UserError(
                f"{self.name} returns {wrong.dtype} for a state of {parts[0].dtype}: compute in the type of the state, "
                f"as h @ W.to(h); for complex states say complex_state=True."
            )
        return torch.cat([to_real(part) if self.complex_state else part for part in found], dim=-1)

    def mixes_rows(self) -> bool:
        """Tell whether `f` is one of one state alone, as of h.norm() and h[0], which are others of a batch.

        Raises
        ------
        UserError
            If it fails at a random state, or gives two answers to one state.
        """
        generator = torch.Generator().manual_seed(0)
        like = next(self.parameters(), torch.zeros((), dtype=torch.float64)).detach().real
        drawn = [torch.randn(3, size, generator=generator).to(like) for size in (self.state_size, self.input_size)]
        with torch.no_grad():
            alone, again = (torch.stack([self._next(*row) for row in zip(*drawn, strict=True)]) for _ in range(2))
            if not _close(alone, again):
                raise UserError(
                    f"{self.name} gives two answers to one state and input: put modules with dropout in it in eval "
                    f"mode, module.eval(), and draw no random numbers."
                )
            try:
                beside = self._next(*drawn)
            except UserError:
                return True
        return beside.shape != alone.shape or not _close(beside, alone)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "Function":
        """Complex parameters stay complex where all others become float64: torch would drop their imaginary parts."""

        def each(value: Tensor) -> Tensor:
            return torch.complex(fn(value.real), fn(value.imag)) if value.is_complex() else fn(value)

        return super()._apply(each, recurse)

    def _why(self, reason: str, state: Tensor, input: Tensor) -> str:
        """Say what to do about an error of the function's own."""
        if "numpy" in reason:
            return f"{self.name} computes with numpy: write it with torch, as torch.tanh in place of numpy.tanh."
        other = next(order for order in ORDERS if order != self.order)
        return (
            f"{self.name} fails when it is called as {ORDERS[self.order]} with a state of shape {tuple(state.shape)} "
            f"and an input of shape {tuple(input.shape)} ({' '.join(reason.split())}). Check state_size and "
            f"input_size, or say order={other!r} where it is called as {ORDERS[other]}."
        )

    def _misfit(self, parts: tuple[Tensor, ...], got: list[Any]) -> str:
        shapes = ", ".join(f"(..., {part.shape[-1]})" for part in parts)
        return (
            f"{self.name} must return the next state, of shape {shapes}, got {', '.join(map(str, got))}: check "
            f"state_size and what it returns. Of a state of several tensors state_size is a tuple, and of outputs "
            f"beside the state nothing may be returned."
        )


def from_function(
    f: Callable[..., Any],
    state_size: int | Sequence[int],
    input_size: int = 0,
    order: str | None = None,
    complex_state: bool = False,
    circle: Sequence[int] = (),
) -> Map:
    """Make a system of one step given as code.

    Parameters
    ----------
    f : callable
        ``f(state, input)`` with tensors of shape (state_size,) and (input_size,), or (rows, state_size) and (rows,
        input_size), returning the next state. One that is of one state alone, with h[0] or h.norm(), is given each
        row by itself. A `torch.nn.Module` is copied, never changed.
    state_size : int or sequence of int
        Size of the state. With several sizes the state is a tuple of tensors, such as (h, c), and so is the result.
    input_size : int
    order : "hx" or "xh", optional
        ``"xh"`` calls ``f(input, state)``. Without it the state comes first. A function whose arguments are named the
        other way round, such as ``forward(self, x, h)``, is then refused: both orders may compute, and one is wrong.
    complex_state : bool
        `f` takes and returns complex states. The system's state is their real parts, then the imaginary ones.
    circle : sequence of int
        States, counted from 0, that are angles: they differ by less than π, and 2π is 0.

    Returns
    -------
    Map

    Raises
    ------
    UserError
        For another order, a function of other arguments, sizes that are not the function's, and one that gives two
        answers to one state.

    Examples
    --------
    >>> system = from_function(lambda h, x: torch.tanh(2 * h), state_size=1)
    >>> system.step(torch.zeros(1), torch.zeros(0))
    tensor([0.])
    >>> from_function(nn.LSTMCell(3, 4), state_size=(4, 4), input_size=3, order="xh").state_size
    8
    """
    entry(ORDERS, order or "hx", "order of the arguments")
    names = _arguments(f)
    if order is None and len(names) > 1 and names[0] in INPUTS and names[1] in STATES:
        raise UserError(
            f"{_name(f)} takes ({names[0]}, {names[1]}), which looks like the input before the state: say order='xh', "
            f"or order='hx' if {names[0]} is the state."
        )
    own = copied(f) if isinstance(f, nn.Module) else f
    found = Function(own, state_size, input_size, order or "hx", complex_state)
    found.period = tuple(2 * math.pi if place in circle else None for place in range(found.state_size))
    found.eval()
    found.by_row = found.mixes_rows()
    return found


def _close(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, rtol=1e-3, atol=1e-5, equal_nan=True)


def _name(f: Callable[..., Any]) -> str:
    return type(f).__name__ if isinstance(f, nn.Module) else getattr(f, "__name__", "function")


def _arguments(f: Callable[..., Any]) -> list[str]:
    """The names of the arguments by position; none where they are not known.

    Raises
    ------
    UserError
        If it cannot be called with two.
    """
    try:
        signature = inspect.signature(f.forward if isinstance(f, nn.Module) else f)
    except (TypeError, ValueError):  # of what is written in C
        return []
    try:
        signature.bind(None, None)
    except TypeError as error:
        raise UserError(f"{_name(f)}{signature} must take a state and an input, and no more ({error}).") from error
    return [name for name, one in signature.parameters.items() if one.kind != one.KEYWORD_ONLY]
