"""What is held while fixed points are looked for: the input, and the step where parameters change with time."""

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from dynlab.errors import UserError
from dynlab.systems import System


def held_input(system: System, at: str | ArrayLike, driven: Tensor, given: bool) -> Tensor:
    """The input x that is held, shape (input,).

    Parameters
    ----------
    system : System
    at : "zero", "mean" or array_like, shape (input,)
    driven : Tensor, shape (sample, time, input)
        What the steps are given; the mean is taken over samples and time.
    given : bool
        Whether `driven` is what a user gave.

    Raises
    ------
    UserError
        For another word, values of the wrong number, and a mean of nothing.
    """
    if isinstance(at, str):
        if at == "zero":
            return torch.zeros_like(driven[0, 0])
        if at != "mean":
            raise UserError(f"The input to hold is 'zero', 'mean' or {system.input_size} values, got {at!r}.")
        if not given:
            raise UserError("The mean input needs inputs to take it of: give inputs, or the values themselves.")
        return driven.mean(dim=(0, 1))
    held = torch.as_tensor(np.asarray(at, dtype=float)).to(driven).reshape(-1)
    if held.shape != (system.input_size,) or not torch.isfinite(held).all():
        raise UserError(f"The input to hold must be {system.input_size} finite values, got {np.asarray(at).tolist()}.")
    return held


def step_number(system: System, at_step: int) -> int:
    """`at_step` counted from the end where it is negative; 0 where nothing changes with time."""
    length = getattr(system, "length", None)
    if length is None:
        return max(at_step, 0)
    if not -length <= at_step < length:
        raise UserError(f"{system.name} has parameters for the steps 0 to {length - 1}, got the step {at_step}.")
    return at_step % length
