"""A frozen copy of a system, on a device, and that copy with its input and step number held.

Fixed points and equilibria are points of a `Held` system.
"""

import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from dynlab.errors import UserError
from dynlab.systems.base import Flow, System
from dynlab.systems.embedding import Encoder
from dynlab.systems.module_copy import copied
from dynlab.systems.orthogonal import Orthogonal


def check_device(device: str) -> None:
    """Raise the error for a device that is unknown or not there: ``cpu``, ``cuda``, ``cuda:1``, ``mps``."""
    kind, _, index = device.partition(":")
    counts = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
    number = int(index or 0) if (index or "0").isdecimal() else math.inf
    if number >= counts.get(kind, 0):
        raise UserError(f"There is no device {device!r} here: choose from cpu, cuda, cuda:1 and mps (--device cpu).")


def number_type(dtype: str) -> torch.dtype:
    """The type of torch's of that name; raises the error for another than ``float32`` and ``float64``."""
    types = {"float32": torch.float32, "float64": torch.float64}
    if dtype not in types:
        raise UserError(f"The dtype must be float32 or float64, got {dtype!r}.")
    return types[dtype]


SystemType = TypeVar("SystemType", bound=System)


def frozen(system: SystemType, dtype: torch.dtype = torch.float64, device: str = "cpu") -> SystemType:
    """A copy for analysis: in eval mode, in `dtype`, on `device`, without gradients; the original is not changed.

    Raises
    ------
    UserError
        For a device that this machine lacks, and one that has no numbers of that dtype.
    """
    check_device(device)
    if device.startswith("mps") and dtype == torch.float64:
        raise UserError("mps has no float64: add --dtype float32 (dtype='float32'), or compute on cpu.")
    found = copied(system).eval().requires_grad_(False).to(device=device, dtype=dtype)
    for part in found.modules():
        if isinstance(part, Orthogonal):
            part.keep()
    return found


@dataclass(frozen=True)
class Held:
    """F(h) = step(h, x, t) of a map, f(h) = velocity(h, x, t) of a flow, with x and t held.

    Its Jacobians are `dynlab.systems.autonomous_jacobians.held_matrices` and the functions beside it.

    Attributes
    ----------
    system : Map or Flow
    input : Tensor, shape (input,)
        x, what one step is given.
    t : int
        The step's number, read only by systems whose parameters change with time.
    """

    system: System
    input: Tensor
    t: int = 0

    @property
    def is_flow(self) -> bool:
        """Tell whether a flow is held: its points at rest are equilibria, and its stability is decided at Re λ = 0."""
        return isinstance(self.system, Flow)

    def given(self, states: Tensor) -> tuple[Tensor, Tensor, int]:
        """Return what a method of the system is called with at `states` (..., n): those, the input, and t."""
        return states, self.input.expand(*states.shape[:-1], -1), self.t

    def moved(self, states: Tensor) -> Tensor:
        """F(h) of a map, f(h) of a flow, shape (..., n)."""
        return self.system.evolve(*self.given(states))

    def displacement(self, states: Tensor, rows: Tensor | None = None) -> Tensor:
        """F(h) − h of a map, f(h) of a flow, shape (..., n): 0 where the state stays.

        `rows` is what a solver passes beside the states: which of its starts they belong to.
        """
        return self.moved(states) if self.is_flow else self.moved(states) - states

    def ungated(self, states: Tensor, rows: Tensor | None = None) -> Tensor:
        """A residual that no closed gate makes small: `System.ungated_residual`, or the displacement."""
        found = self.system.ungated_residual(*self.given(states))
        return self.displacement(states) if found is None else found


def held_input(system: System, at: str | ArrayLike, driven: Tensor, given: bool) -> Tensor:
    """The input x that is held, shape (input,).

    Parameters
    ----------
    system : System
    at : "zero", "mean" or array_like, shape (input,)
    driven : Tensor, shape (sample, time, input)
        Inputs of the steps; the mean is taken over samples and time.
    given : bool
        A user gave `driven`.

    Raises
    ------
    UserError
        For another word, values of the wrong number, and a mean of nothing.
    """
    encoder = system.embedding if isinstance(system.embedding, Encoder) else None
    width = system.input_size if encoder is None else encoder.linear.in_features

    def through(values: Tensor) -> Tensor:  # the model's own input is held, as its layer before the network makes it
        return values if encoder is None else encoder(values).to(driven)

    if isinstance(at, str):
        if at == "zero":
            return through(driven.new_zeros(width))
        if at != "mean":
            raise UserError(f"The input to hold is 'zero', 'mean' or {width} values, got {at!r}.")
        if not given:
            raise UserError("The mean input needs inputs to take it of: give inputs, or the values themselves.")
        return driven.mean(dim=(0, 1))
    held = torch.as_tensor(np.asarray(at, dtype=float)).to(driven).reshape(-1)
    if held.shape != (width,) or not torch.isfinite(held).all():
        raise UserError(f"The input to hold must be {width} finite values, got {np.asarray(at).tolist()}.")
    return through(held)


def step_number(system: System, at_step: int) -> int:
    """`at_step` counted from the end where it is negative; 0 where nothing changes with time."""
    length = getattr(system, "length", None)
    if length is None:
        return max(at_step, 0)
    if not -length <= at_step < length:
        raise UserError(f"{system.name} has parameters for the steps 0 to {length - 1}, got the step {at_step}.")
    return at_step % length


def held_settings(system: System, at: str | ArrayLike, held: Held) -> dict[str, Any]:
    """Return what a Dataset's settings say of a system and of what is held."""
    words = at if isinstance(at, str) else "values"
    return {"at": words, "input": held.input.tolist(), "at_step": held.t, "config": system.json_config}
