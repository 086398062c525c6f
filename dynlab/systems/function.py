"""A plain function f(state, input), or any torch module called so, as a `Map`."""

import copy
from collections.abc import Callable

from torch import Tensor, nn

from dynlab.errors import UserError
from dynlab.systems.base import Map


class Function(Map):
    """h_t = f(h_{t−1}, x_t), with its Jacobian by automatic differentiation."""

    def __init__(self, f: Callable[[Tensor, Tensor], Tensor], state_size: int, input_size: int) -> None:
        super().__init__(state_size, input_size)
        self.f = f
        self.name = type(f).__name__ if isinstance(f, nn.Module) else getattr(f, "__name__", "function")

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        try:
            following = self.f(state, input)
        except RuntimeError as error:
            if "numpy" in str(error):
                raise UserError(
                    f"{self.name} computes with numpy, and dynlab needs torch's derivatives: write it with torch, "
                    f"as torch.tanh in place of numpy.tanh."
                ) from error
            if "dtype" not in str(error):
                shapes = tuple(state.shape), tuple(input.shape)
                error.add_note(f"{self.name} was called as f(state, input), of shapes {shapes[0]} and {shapes[1]}.")
                raise
            raise UserError(
                f"{self.name} cannot compute in {state.dtype} ({error}): give a module itself rather than a function "
                f"around it, so that its parameters are converted, or analyse with dtype='float32'."
            ) from error
        if following.shape[-1:] != (self.state_size,):
            raise UserError(
                f"{self.name} must return the next state, of shape (..., {self.state_size}), got "
                f"{tuple(following.shape)}: check state_size and what it returns."
            )
        return following


def from_function(f: Callable[[Tensor, Tensor], Tensor], state_size: int, input_size: int = 0) -> Map:
    """Make a system of one step given as code.

    Parameters
    ----------
    f : callable
        ``f(state, input)`` with tensors of shape (..., state_size) and (..., input_size), returning the next state. A
        `torch.nn.Module` is copied, never changed.
    state_size, input_size : int

    Returns
    -------
    Map

    Examples
    --------
    >>> import torch
    >>> system = from_function(lambda h, x: torch.tanh(2 * h), state_size=1)
    >>> system.step(torch.zeros(1), torch.zeros(0))
    tensor([0.])
    """
    return Function(copy.deepcopy(f) if isinstance(f, nn.Module) else f, state_size, input_size)
