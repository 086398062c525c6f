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

from dynlab.errors import UserError, entry
from dynlab.systems.base import Flow, System
from dynlab.systems.embedding import Embedding, Encoder
from dynlab.systems.module_copy import copied
from dynlab.systems.orthogonal import Orthogonal

REST_STEPS = 512  # of a layer that others below it drive, until these are at rest
EDGE = 1e-6  # of a turn: −π is π, and what rounding leaves beside it


def check_device(device: str) -> None:
    """Raise the error for a device that is unknown or not there: ``cpu``, ``cuda``, ``cuda:1``, ``mps``."""
    kind, _, index = device.partition(":")
    counts = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
    number = int(index or 0) if (index or "0").isdecimal() else math.inf
    if number >= counts.get(kind, 0):
        raise UserError(f"There is no device {device!r} here: choose from cpu, cuda, cuda:1 and mps (--device cpu).")


def number_type(dtype: str) -> torch.dtype:
    """The type of torch's of that name; raises the error for another than ``float32`` and ``float64``."""
    return entry({"float32": torch.float32, "float64": torch.float64}, str(dtype), "dtype")


SystemType = TypeVar("SystemType", bound=System)
Array = TypeVar("Array", Tensor, np.ndarray)


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

    @property
    def angles(self) -> list[tuple[int, float]]:
        """Return the number of each state that is an angle, and what it repeats after."""
        return [(place, period) for place, period in enumerate(self.system.period or ()) if period]

    def difference(self, states: Array, others: Array | float = 0.0) -> Array:
        """Return states − others (..., n), of angles the shortest way around; states themselves in one turn."""
        found = states - others
        for place, period in self.angles:
            found[..., place] -= period * (found[..., place] / period - EDGE).round()
        return found

    def placed(self, states: np.ndarray) -> np.ndarray:
        """Return states (..., n) at distances that go around circles: of angles the cosine and sine, times a radius."""
        parts = [np.delete(states, [place for place, _ in self.angles], axis=-1)]
        for place, period in self.angles:
            turned = period / (2 * np.pi) * np.exp(2j * np.pi / period * states[..., place, None])
            parts += [turned.real, turned.imag]
        return np.concatenate(parts, axis=-1)

    def outward(self, states: Tensor) -> Tensor:
        """Return the displacement (..., n) without that of angles, which leads nowhere."""
        found = self.displacement(states)
        for place, _ in self.angles:
            found[..., place] = 0.0
        return found

    def displacement(self, states: Tensor, rows: Tensor | None = None) -> Tensor:
        """F(h) − h of a map, f(h) of a flow, shape (..., n): 0 where the state stays.

        `rows` is what a solver passes beside the states: which of its starts they belong to.
        """
        return self.moved(states) if self.is_flow else self.difference(self.moved(states), states)

    def ungated(self, states: Tensor, rows: Tensor | None = None) -> Tensor:
        """A residual that no closed gate makes small: `System.ungated_residual`, or the displacement."""
        found = self.system.ungated_residual(*self.given(states))
        return self.displacement(states) if found is None else found


def held_input(system: System, at: str | ArrayLike, driven: Tensor, given: bool) -> Tensor:
    """Return the input x that is held, shape (input,).

    Parameters
    ----------
    system : System
    at : "zero", "rest", "mean" or array_like, shape (input,)
        Zero; what the whole model makes of a zero input; the mean of what drives the steps; or these values.
    driven : Tensor, shape (sample, time, input)
        The inputs of the steps, whose type and device x has; the mean is taken over samples and time.
    given : bool
        Tell whether `driven` was given; otherwise the mean is that of the inputs recorded with the system.

    Raises
    ------
    UserError
        For another word, values of the wrong number, a mean of nothing, and tokens, of which none is zero.
    """
    encoder = system.embedding if isinstance(system.embedding, Encoder) else None
    width = system.input_size if encoder is None else encoder.linear.in_features
    if not isinstance(at, str):
        at = at.detach().cpu() if isinstance(at, Tensor) else at
        values = torch.as_tensor(np.asarray(at, dtype=float)).to(driven).reshape(-1)
        if values.shape != (width,) or not torch.isfinite(values).all():
            raise UserError(f"The input to hold must be {width} finite values, got {np.asarray(at).tolist()}.")
    elif at == "zero":
        values = driven.new_zeros(width)
    elif at == "rest":
        return rest_input(system).to(driven)
    elif at != "mean":
        raise UserError(f"The input to hold is 'zero', 'rest', 'mean' or {width} values, got {at!r}.")
    elif given:
        return driven.mean(dim=(0, 1))
    elif system.recorded_inputs is None:
        raise UserError("The mean input needs inputs to take it of: give inputs, or the values themselves.")
    else:
        return system.drive(torch.as_tensor(system.recorded_inputs)).mean(dim=(0, 1)).to(driven)
    # the model's own input is held, as its layer before the network makes it
    return values if encoder is None else encoder(values).to(driven)


def rest_input(system: System) -> Tensor:
    """Return what a step is given after `REST_STEPS` zero inputs of the whole model, or what was recorded of them."""
    if isinstance(system.embedding, Embedding) or (system.recorded_inputs is not None and system.rest_input is None):
        raise UserError(f"{system.name} has no input at rest: none was recorded of a zero input, or it reads tokens.")
    if system.part_of and system.rest_input is None and system.embedding is None:
        raise UserError(
            f"What {system.part_of} feeds its {system.name} at rest is not known: give batch= to dynlab.from_module, "
            f"or beside --system --inputs FILE, inputs of the whole model."
        )
    if system.rest_input is not None:
        return torch.as_tensor(system.rest_input)
    with torch.no_grad():
        return frozen(system).drive(torch.zeros(1, REST_STEPS, system.network_input_size, dtype=torch.float64))[0, -1]


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
    return {
        "at": at if isinstance(at, str) else "values",
        "input": held.input.tolist(),
        "at_step": held.t,
        "config": system.json_config,
    }
