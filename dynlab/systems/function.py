"""A plain function f(state, input), or any torch module called so, as a `Map`."""

import functools
import inspect
import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import type_before_parametrizations

from dynlab.errors import UserError, entry
from dynlab.numerics.running_error import Rounded
from dynlab.reading import out_of_memory
from dynlab.systems.base import Map, System
from dynlab.systems.complex_state import to_complex, to_real
from dynlab.systems.copied import copied
from dynlab.systems.foreign import ARRAYS

ROWS = 2  # dimensions
MANY_ROWS, MANY_NUMBERS = 1024, 2**16  # of states that are looked at together, as searches do
SOME, DECADES = 8, 9.0  # states that tell a function of one state from one of rows, from 1e-9 to 1e9
# Errors that a function of the user's own may end in, besides those of what it is called with.
OF_CODE = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, RuntimeError, ValueError)
ORDERS = {"hx": "f(state, input)", "xh": "f(input, state)"}
# What authors of cells call the two: where both stand in a signature, they tell which comes first.
STATES = {"h", "hx", "h_t", "ht", "h_prev", "prev_h", "hidden", "hidden_state", "state", "states", "prev_state", "z"}
INPUTS = {"x", "x_t", "xt", "input", "inputs", "input_", "inp", "u", "u_t"}


class Function(Map):
    """h_t = f(h_{t−1}, x_t), with its Jacobian by automatic differentiation; `from_function` has the arguments."""

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
        if max(len(state.shape), len(input.shape)) > ROWS:  # which cells of torch's do not take
            lead = np.broadcast_shapes(state.shape[:-1], input.shape[:-1])  # of torch's a tenth of the time
            rows = [value.expand(*lead, value.shape[-1]).flatten(end_dim=-2) for value in (state, input)]
            return self._next(*rows).reshape(*lead, self.state_size)
        return self._next(state, input)

    def _next(self, state: Tensor, input: Tensor) -> Tensor:
        """The state that follows, of states (n,) or (rows, n)."""
        if tuple(state.shape[:-1]) == (0,):  # of which a function of one state makes nothing
            return state
        whole = state.split(self.sizes, dim=-1) if self.is_tuple else [state]
        parts = tuple(to_complex(part) if self.complex_state else part for part in whole)
        given = parts if self.is_tuple else parts[0]
        f: Callable[..., Any] = torch.func.vmap(self.f) if self.by_row and state.ndim == ROWS else self.f
        try:
            following = f(given, input) if self.order == "hx" else f(input, given)
        except UserError:
            raise
        except OF_CODE as error:
            tracked = isinstance(state, Rounded) and not isinstance(error, RuntimeError | IndexError)
            if tracked or out_of_memory(error):
                raise
            raise UserError(self._why(str(error) or type(error).__name__, state, input)) from error
        except TypeError as error:
            if not isinstance(state, Tensor):
                raise
            if _arguments(self.f):  # what a signature names was told to take two
                raise UserError(self._why(str(error), state, input)) from error
            raise UserError(
                f"{self.name} cannot be called as {ORDERS[self.order]} ({' '.join(str(error).split())}): give a "
                f"function of both, as lambda state, input: {self.name}(state)."
            ) from error
        if type(following) is Tensor and type(given) is Tensor and not self.complex_state:
            alike = following.shape == given.shape and following.dtype == given.dtype
            if alike:  # as it nearly always is, and what is below takes as long as the function
                return following
        found = tuple(following) if self.is_tuple and isinstance(following, tuple | list) else (following,)
        if self.sizes == [1] and isinstance(following, Tensor) and following.shape == state.shape[:-1]:
            found = (following.unsqueeze(-1),)  # a number for a state of one, as of tanh(2 h[0])
        told = [tuple(part.shape) if isinstance(part, Tensor | Rounded) else type(part).__name__ for part in found]
        if [shape[-1:] for shape in told] != [tuple(part.shape[-1:]) for part in parts]:
            raise UserError(self._misfit(parts, told))
        wrong = next((p for p in found if isinstance(p, Tensor) and not self._is_state(p)), None)
        if wrong is not None:
            raise UserError(
                f"{self.name} returns {wrong.dtype} where states are {'complex' if self.complex_state else 'real'} "
                f"floating-point numbers: {'say complex_state=True' if wrong.is_complex() else 'return such ones'}."
            )
        coarser = next((p for p in found if isinstance(p, Tensor) and p.dtype.itemsize < parts[0].dtype.itemsize), None)
        if coarser is not None:
            raise UserError(
                f"{self.name} returns {coarser.dtype} for a state of {parts[0].dtype}, whose other digits are lost: "
                f"compute in the precision of the state, as h @ W.to(h) for h.float() @ W."
            )
        found = tuple(part.to(parts[0].dtype) if isinstance(part, Tensor) else part for part in found)
        real = [to_real(part) if self.complex_state else part for part in found]
        return torch.cat(real, dim=-1) if self.is_tuple else real[0]

    def _is_state(self, value: Tensor) -> bool:
        return value.is_complex() == self.complex_state and (value.is_complex() or value.is_floating_point())

    def mixes_rows(self) -> bool:
        """Whether `f` is one of one state alone: h.norm() and h[0] are others of a batch.

        States of one size are looked at, and after them some of many sizes: what `f` does may depend on the largest.
        """
        generator, analysed = torch.Generator().manual_seed(0), copied(self).eval()
        sizes = self.state_size, self.input_size
        for dtype in (torch.float64, torch.float32):  # of the weights, which may be in a closure
            drawn = [torch.randn(SOME, size, generator=generator, dtype=dtype) for size in sizes]
            for scale in (torch.ones(SOME, 1), 10.0 ** torch.linspace(-DECADES, DECADES, SOME).unsqueeze(-1)):
                mixes = _mixes_rows(analysed, *(scale.to(dtype) * each for each in drawn))
                if mixes:
                    return True
                if mixes is None:
                    break
            else:
                return False
        return False

    def check_sizes(self) -> None:
        """Raise what `f` says to states and inputs of these sizes, where it takes none of several.

        Raises
        ------
        UserError
            The first of them, but for one of the numbers' precision or the device, which a diagnostic may change.
        """
        generator, analysed = torch.Generator().manual_seed(0), copied(self).eval()
        errors = []
        for dtype, scale, lead in itertools.product((torch.float64, torch.float32), (0.0, 1.0), ((), (ROWS,))):
            drawn = [torch.randn(*lead, size, generator=generator) for size in (self.state_size, self.input_size)]
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    analysed.step(*(scale * each.to(dtype) for each in drawn))
                except UserError as error:
                    errors.append(error)
                except (TypeError, AttributeError):  # which a diagnostic tells as they are
                    return
                else:
                    return
        telling = [error for error in errors if not any(word in str(error) for word in ("float", "device", "cuda"))]
        if telling:
            raise telling[0]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "Function":
        """Complex parameters stay complex where all others become float64: torch would drop their imaginary parts."""

        def each(value: Tensor) -> Tensor:
            return torch.complex(fn(value.real), fn(value.imag)) if value.is_complex() else fn(value)

        made: Function = super()._apply(each, recurse)
        return made

    def _why(self, reason: str, state: Tensor, input: Tensor) -> str:
        """What to do about an error of the function's own."""
        if "numpy" in reason:
            return (
                f"{self.name} computes with numpy, and dynlab needs derivatives: say arrays='numpy', or write it with "
                f"torch, as torch.tanh in place of numpy.tanh."
            )
        own = next(self.parameters(), None)
        if "dtype" in reason and own is not None and own.dtype != state.dtype:
            kind = str(own.dtype).removeprefix("torch.")
            return (
                f"{self.name} computes in {kind} and got a state in {state.dtype}: give it states and inputs in {kind}."
            )
        if "dtype" in reason:
            return (
                f"{self.name} cannot compute in {state.dtype} ({reason}): give a module itself rather than a function "
                f"around it, so that its parameters are converted, or write .to(state) behind what it takes."
            )
        if ".item()" in reason or "data-dependent control flow" in reason:
            return (
                f"{self.name} makes a Python number or a decision of a tensor, through which torch does not "
                f"differentiate: compute with tensors, as h[0] in place of float(h[0]) and torch.where in place of if."
            )
        if "torch.utils.checkpoint" in reason:
            return f"{self.name} cannot be differentiated: {' '.join(reason.split())}."
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
    arrays: str = "torch",
) -> Map:
    """Make a system of one step given as code.

    Parameters
    ----------
    f : callable
        ``f(state, input)`` with tensors of shape (state_size,) and (input_size,), or (rows, state_size) and (rows,
        input_size), returning the next state. One that is of one state alone, with h[0] or h.norm(), is given each
        row by itself. A `torch.nn.Module` is copied, never changed.
    state_size : int or sequence of int
        Of several, the state is a tuple of tensors of these sizes, such as (h, c), and so is what `f` returns.
    input_size : int
    order : "hx" or "xh", optional
        ``"xh"`` calls ``f(input, state)``. Without it the state comes first. A function whose arguments are named the
        other way round, such as ``forward(self, x, h)``, is then refused: both orders may compute, and one is wrong.
    complex_state : bool
        Whether `f` takes and returns complex states. The system's state is their real parts, then the imaginary ones.
    arrays : "torch", "numpy" or "jax"
        Whose arrays `f` computes with. Of NumPy's and JAX's it is given one state and one input at a time, and its
        derivatives are as exact as torch's.

    Returns
    -------
    Map

    Raises
    ------
    UserError
        For another order, other arrays, a function of other arguments, and sizes that are not the function's.

    Examples
    --------
    >>> system = from_function(lambda h, x: torch.tanh(2 * h), state_size=1)
    >>> system.step(torch.zeros(1), torch.zeros(0))
    tensor([0.])
    >>> from_function(nn.LSTMCell(3, 4), state_size=(4, 4), input_size=3, order="xh").state_size
    8
    >>> import numpy as np
    >>> from_function(lambda h, x: np.tanh(2 * h), state_size=1, arrays="numpy").step(torch.ones(1), torch.zeros(0))
    tensor([0.9640])
    """
    entry(ORDERS, order or "hx", "order of the arguments")
    if hasattr(state_size, "join"):  # a text is a sequence too
        raise UserError(f"state_size must be a number, or several of them, got {state_size!r}.")
    names = _arguments(f)
    if order is None and len(names) > 1 and names[0] in INPUTS and names[1] in STATES:
        raise UserError(
            f"{_name(f)} takes ({names[0]}, {names[1]}), which looks like the input before the state: say order='xh', "
            f"or order='hx' if {names[0]} is the state."
        )
    made_of = entry(ARRAYS, arrays, "kind of arrays")
    if arrays != "torch":
        first = f if order != "xh" else lambda state, input: f(input, state)
        return Function(functools.wraps(f)(made_of(first)), state_size, input_size, "hx", complex_state)
    if isinstance(f, torch.jit.ScriptFunction):
        script = f  # no copy can be made of it, and one of a function that calls it can
        f = functools.wraps(script)(lambda *given: script(*given))
    own = copied(f) if isinstance(f, nn.Module) else f
    found = Function(own, state_size, input_size, order or "hx", complex_state)
    found.by_row = found.mixes_rows()
    found.check_sizes()
    return found


def _mixes_rows(analysed: Function, state: Tensor, input: Tensor) -> bool | None:
    """Whether the step makes something else of several rows than of each alone; None where it fails."""

    def alone() -> Tensor:
        return torch.stack([analysed.step(*row) for row in zip(state.clone(), input.clone(), strict=True)])

    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            first, again = alone(), alone()
        except (UserError, TypeError, AttributeError):
            return None
        if not torch.allclose(first, again, 0.0, 0.0, equal_nan=True):
            return False
        try:
            beside, again = (analysed.step(state.clone(), input.clone()) for _ in range(2))
        except (UserError, TypeError):  # as h[0], h[1] of three rows, or W @ h
            return True
    if beside.shape != first.shape or not torch.allclose(beside, again, 0.0, 0.0, equal_nan=True):
        return beside.shape != first.shape
    if _differ(beside, first, state):
        return True
    times = max(1, min(MANY_ROWS, MANY_NUMBERS // state.shape[-1]) // len(state))
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        many = analysed.step(state.repeat(times, 1), input.repeat(times, 1))
    return many.shape[0] != times * len(state) or _differ(many[-len(state) :], first, state)


def _differ(found: Tensor, alone: Tensor, state: Tensor) -> bool:
    """Whether rows are not what each is alone, by more than half of the digits."""
    sizes = torch.maximum(alone.abs(), state.abs()).amax(dim=-1, keepdim=True).nan_to_num()
    reach = torch.finfo(state.dtype).eps ** 0.5 * sizes
    return bool((((found - alone).abs() > reach) | (found.isfinite() != alone.isfinite())).any())


def is_users(part: nn.Module) -> bool:
    """Whether a system's step or velocity is code of a user's: a function, or a class of their own."""
    # a cell with constrained matrices has a class that torch made of its own
    return isinstance(part, Function) or not type_before_parametrizations(part).__module__.startswith("dynlab.")


def has_users_code(system: System) -> bool:
    """Whether a system, or one that it is made of, as Euler's step of a flow, `is_users`."""
    return any(is_users(part) for part in system.modules() if isinstance(part, System))


def _name(f: Callable[..., Any]) -> str:
    return type(f).__name__ if isinstance(f, nn.Module) else getattr(f, "__name__", "function")


def _arguments(f: Callable[..., Any]) -> list[str]:
    """The names of the arguments by position; none where they are not known.

    Raises
    ------
    UserError
        Where it cannot be called with two.
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
