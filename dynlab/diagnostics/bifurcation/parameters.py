"""A frozen system with some parameters free: its numbers, its weights, and the input that is held."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from threading import get_ident
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from dynlab.arguments import takes
from dynlab.errors import UserError, unknown
from dynlab.systems import SYSTEMS, Flow, Map, System
from dynlab.systems.autonomous import Held
from dynlab.systems.embedding import Encoder
from dynlab.systems.module_copy import copied
from dynlab.trajectories.constant_input import under_constant_input

INPUT = "input"
FORM = re.compile(r"(?P<name>[\w.]+)(?P<part>\*|\[[\d,\s]+\])?")
LARGEST = 1e100  # of a parameter: squares are still numbers
NARROWEST = 1e-7  # times the ends of a range, where it is at least so wide


class Parameter(NamedTuple):
    """One parameter of a system, as `named` found it.

    Attributes
    ----------
    name : str
        Name as it was asked for.
    places : tuple of str
        Full names of the numbers or of the weight that it is; none of the held input.
    entry : tuple of int or None
        The entry of the weight or input that it is; None for all of them.
    scale : bool
        True of a factor on the weight or input.
    """

    name: str
    places: tuple[str, ...]
    entry: tuple[int, ...] | None = None
    scale: bool = False

    def put(self, whole: Tensor, value: Tensor) -> Tensor:
        """Return the weight or input with the parameter at `value`."""
        if self.scale:
            return whole * value
        if self.entry is None:
            return torch.ones_like(whole) * value
        marked = torch.zeros_like(whole)
        marked[self.entry] = 1
        return whole * (1 - marked) + marked * value


def described(name: str) -> str:
    """Return the label of a parameter's axis: "W*, the factor on W"."""
    return f"{name}, the factor on {name[:-1]}" if name.endswith("*") else name


def named(system: System, name: str) -> Parameter:
    """Return the parameter that a name means.

    Parameters
    ----------
    system : System
    name : str
        A number of the system (``r``, ``step_size``, ``gamma``); an entry ``W[0,1]`` of a weight, a factor ``W*`` on
        one, or ``eta`` for all entries alike; ``input[0]`` or ``input*`` of the held input. A path in front, as in
        ``flow.W[0,1]``, tells apart what has the same name.

    Raises
    ------
    UserError
        For a name that the system lacks, one that means several, and an entry outside its weight.
    """
    form = FORM.fullmatch(name)
    if form is None:
        raise UserError(
            f"A parameter is written as a number's name (r, step_size), W[0,1], W* or input[0]; got {name!r}."
        )
    path, part = form["name"], form["part"] or ""
    index = tuple(int(number) for number in re.findall(r"\d+", part)) or None
    every = dict(_tensors(system)) | {place: torch.tensor(value) for place, value in _numbers(system)}
    found = {full: value for full, value in every.items() if f".{_shown(full)}".endswith(f".{path}")}
    if path == INPUT and isinstance(system.embedding, Encoder):
        raise UserError(f"{name} is what each step of {system.name} is given, not the model's input: vary a weight.")
    found = {"": torch.empty(system.input_size)} if path == INPUT else found
    if not found:
        numbers = dict.fromkeys(place.rpartition(".")[2] for place, _ in _numbers(system))
        weights = [_shown(full) + "*" for full, _ in _tensors(system)]
        inputs = [f"{INPUT}[0]", f"{INPUT}*"] if system.input_size else []
        raise unknown("parameter", name, [*numbers, *weights, *inputs])
    shape = next(iter(found.values())).shape
    if len(found) > 1 and (len(shape) or len({float(value) for value in found.values()}) > 1):
        places = ", ".join(map(_shown, found))
        raise UserError(f"{path} means several weights of {system.name}: {places}; name one in full.")
    inside = index is None or (len(index) == len(shape) and all(i < size for i, size in zip(index, shape, strict=True)))
    if not inside or (path == INPUT and not (part and system.input_size)):
        entries = " × ".join(map(str, shape))
        raise UserError(f"{name} of {system.name} has {entries} entries, counted from 0: write W[0,1], W* or input[0].")
    return Parameter(name, () if path == INPUT else tuple(found), index, part == "*")


class Varied(nn.Module):
    """A system with some parameters p = p₀ + w y free; `held` is that of the states (h, y), in which y stays.

    Everything that is derived of a system serves its dependence on parameters so: ∂F/∂p is a part of the Jacobian of
    `held`, and one compiled step serves all their values.

    Parameters
    ----------
    original : Held
        A frozen system with its input held.
    parameters : tuple of Parameter
    lowest, width : Tensor, shape (parameter,)
        p₀ and w.
    """

    def __init__(self, original: Held, parameters: tuple[Parameter, ...], lowest: Tensor, width: Tensor) -> None:
        super().__init__()
        self.parameters_varied, self.original, self.lowest, self.width = parameters, original, lowest, width
        self.system = copied(original.system)
        numbers = dict(_numbers(self.system))
        for place in (place for one in parameters for place in one.places if place in numbers):
            module, attribute = _owner(self.system, place)
            delattr(module, attribute)
            module.register_buffer(attribute, torch.tensor(numbers[place], dtype=original.input.dtype))
        self.weights = dict(_tensors(self.system))
        # one for each thread, since `functional_call` puts the weights into the module for a while
        self.copies = {get_ident(): copied(self.system)}
        extended = (VariedFlow if original.is_flow else VariedMap)(self)
        self.held = Held(extended, original.input.new_zeros(0), original.t)

    def moved(self, state: Tensor, values: Iterable[Tensor]) -> Tensor:
        """Return the step, or velocity, at one state (n,) and values of the parameters, differentiably in both."""
        weights, input = self.changed(values)
        thread = get_ident()
        if thread not in self.copies:
            self.copies[thread] = copied(self.system)
        return torch.func.functional_call(self.copies[thread], weights, (state, input, self.original.t))

    def extended(self, states: Tensor) -> Tensor:
        """Return the step of (h, y), or their velocity, at `states` (..., n + parameter)."""
        if states.ndim > 1:
            return torch.func.vmap(self.extended)(states.reshape(-1, states.shape[-1])).reshape(states.shape)
        n = self.system.state_size
        moved = self.moved(states[:n], (self.lowest + self.width * states[n:]).unbind())
        return torch.cat([moved, 0 * states[n:] if self.original.is_flow else states[n:]])

    def changed(self, values: Iterable[Tensor]) -> tuple[dict[str, Tensor], Tensor]:
        """Return the weights that differ at values of the parameters, by their full names, and the held input."""
        weights, input = dict[str, Tensor](), self.original.input
        for parameter, value in zip(self.parameters_varied, values, strict=True):
            for full in parameter.places:
                weights[full] = parameter.put(weights.get(full, self.weights[full]), value)
            input = input if parameter.places else parameter.put(input, value)
        return weights, input

    def fixed(self, *values: float) -> Held:
        """Return a copy of what is held, with the parameters at `values` for good."""
        system = copied(self.original.system)
        weights, input = self.changed(torch.tensor(values, dtype=self.original.input.dtype).unbind())
        for full, value in weights.items():
            module, attribute = _owner(system, full)
            if isinstance(getattr(module, attribute), Tensor):
                getattr(module, attribute).detach().copy_(value)
            else:
                setattr(module, attribute, float(value))
        return replace(self.original, system=system, input=input)


class VariedMap(Map):
    """The map (h, y) → (F(h, p₀ + w y), y)."""

    def __init__(self, varied: Varied) -> None:
        super().__init__(varied.system.state_size + len(varied.parameters_varied), 0)
        self.varied = varied

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        """Return the next (h, y)."""
        return self.varied.extended(state)


class VariedFlow(Flow):
    """The flow h' = f(h, p₀ + w y), y' = 0."""

    def __init__(self, varied: Varied) -> None:
        super().__init__(varied.system.state_size + len(varied.parameters_varied), 0)
        self.varied = varied

    def velocity(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        """Return the velocity of (h, y)."""
        return self.varied.extended(state)


def varied_system(
    system: System,
    inputs: Any,
    parameters: tuple[str, ...],
    at: str | ArrayLike,
    at_step: int,
    lowest: Sequence[float],
    highest: Sequence[float] | None = None,
) -> Varied:
    """Return a frozen copy with these parameters free from `lowest` on; the others are those of `dynlab.bifurcation`.

    Raises
    ------
    UserError
        For a parameter that the system lacks, that changes nothing, or that it does not compute with as a tensor.
    """
    original, _ = under_constant_input(system, inputs, at, at_step)
    low = torch.tensor(lowest, dtype=torch.float64)
    width = torch.ones_like(low) if highest is None else torch.tensor(highest, dtype=torch.float64) - low
    found = tuple(named(original.system, name) for name in parameters)
    varied = Varied(original, found, low, width)
    for number, parameter in enumerate(found):
        if not _acts(varied, number):
            raise UserError(
                f"{parameter.name} changes nothing in {system.name}, which may compute with it as a number of Python's "
                f"(take torch.cos in place of math.cos, torch.where in place of if), or scales what is zero (give "
                f"another held input with --at, at=)."
            )
    return varied


def check_range(name: str, lowest: float, highest: float) -> None:
    """Raise where a parameter's range is empty, reversed, beyond `LARGEST`, or relatively narrower than `NARROWEST`."""
    size = max(abs(lowest), abs(highest))
    if not (size <= LARGEST and highest - lowest >= max(NARROWEST * size, np.finfo(float).tiny)):
        raise UserError(
            f"The range of {name} must go from a number to a larger one, within ±{LARGEST:g} and wider than "
            f"{NARROWEST:g} of its ends, got {lowest!r} to {highest!r}: exchange them, or give other ends."
        )


def _acts(varied: Varied, number: int) -> bool:
    """Return whether a step depends on a parameter, as a tensor; a factor on 0 does nothing."""
    parameter = varied.parameters_varied[number]
    scaled = [varied.weights[full] for full in parameter.places] or [varied.original.input]
    if parameter.scale and not any(bool(whole.any()) for whole in scaled):
        return False
    values, state = list((varied.lowest + varied.width / 2).unbind()), varied.lowest.new_zeros(varied.system.state_size)
    try:
        varied.held.moved(torch.zeros(2, varied.held.system.state_size, dtype=torch.float64))
        with torch.enable_grad():
            values[number] = values[number].clone().requires_grad_()
            return varied.moved(state, values).requires_grad
    except (RuntimeError, TypeError, ValueError):  # what computes with a number takes no tensor of several values
        return False


def _shown(full: str) -> str:
    """Return a weight's name as a user sees it: ``flow.M`` of ``flow.parametrizations.M.original``."""
    return full.replace("parametrizations.", "").removesuffix(".original")


def _owner(system: System, place: str) -> tuple[nn.Module, str]:
    path, _, attribute = place.rpartition(".")
    return system.get_submodule(path), attribute


def _numbers(system: System) -> Iterator[tuple[str, float]]:
    """Yield the path and value of every real number that a module holds; integers where the system says ``float``."""
    known = takes(SYSTEMS, system.name, "system") if system.name in SYSTEMS else {}
    whole = {name for name, parameter in known.items() if parameter.annotation is float}
    for path, module in system.named_modules():
        for attribute, value in vars(module).items():
            if not attribute.startswith("_") and (type(value) is float or (type(value) is int and attribute in whole)):
                yield f"{path}.{attribute}".lstrip("."), float(value)


def _tensors(system: System) -> Iterator[tuple[str, Tensor]]:
    for full, value in [*system.named_parameters(), *system.named_buffers()]:
        if value.is_floating_point() and value.numel():
            yield full, value
