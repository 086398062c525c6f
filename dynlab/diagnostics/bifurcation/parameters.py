"""A frozen system with some parameters free: its numbers, its weights, and the input that is held."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from dynlab.errors import UserError, lookup, unknown
from dynlab.program.differentiation import STATED
from dynlab.systems import SYSTEMS, Euler, Flow, Map, System, frozen
from dynlab.systems.autonomous import Held, held_input, step_number
from dynlab.systems.module_copy import copied
from dynlab.trajectories import simulation

INPUT = "input"
FORM = re.compile(r"(?P<name>[\w.]+)(?P<part>\*|\[[\d,\s]+\])?")
LARGEST = 1e100  # of a parameter: squares are still numbers
NARROWEST = 1e-7  # times the ends of a range, where it is at least so wide

Changed = tuple[dict[str, Tensor], Tensor]  # the weights that differ by their full names, and the held input


class Parameter(NamedTuple):
    """One parameter of a system, as `named` found it.

    Attributes
    ----------
    name : str
        As it was asked for.
    places : tuple of str
        Full names of the numbers or of the weight that it is; none of the held input.
    entry : tuple of int or None
        The entry of the weight or input that it is; None for all of them.
    scale : bool
        Whether it is a factor on the weight or input.
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
    numbers = {place: value for place, value in _numbers(system) if f".{place}".endswith(f".{path}")}
    tensors = {full: one for full, one in _tensors(system) if f".{_shown(full)}".endswith(f".{path}")}
    several = list(numbers) if len(set(numbers.values())) > 1 else [*map(_shown, tensors)] * (len(tensors) > 1)
    if numbers and not part and not several:
        return Parameter(name, tuple(numbers))
    places: tuple[str, ...] = ()
    shape: tuple[int, ...] = (system.input_size,)
    if several and path != INPUT:
        what = "numbers" if numbers else "weights"
        raise UserError(f"{path} means several {what} of {system.name}: {', '.join(several)}; name one in full.")
    if tensors and path != INPUT:
        places, shape = tuple(tensors), tuple(next(iter(tensors.values())).shape)
    elif path != INPUT:
        raise unknown("parameter", name, _all_names(system))
    inside = index is None or (len(index) == len(shape) and all(i < size for i, size in zip(index, shape, strict=True)))
    if not inside or (path == INPUT and not (part and system.input_size)):
        entries = " × ".join(map(str, shape))
        raise UserError(f"{name} of {system.name} has {entries} entries, counted from 0: write W[0,1], W* or input[0].")
    return Parameter(name, places, index, part == "*")


class Varied(nn.Module):
    """A system whose methods are called with some parameters at other values, differentiably in those.

    Parameters
    ----------
    held : Held
        Of a system that is frozen.
    parameters : tuple of Parameter
    """

    def __init__(self, held: Held, parameters: tuple[Parameter, ...]) -> None:
        super().__init__()
        self.parameters_varied, self.original = parameters, held
        self.system = copied(held.system)
        self.held = replace(held, system=self.system)
        for place in (place for one in parameters for place in one.places):
            module, attribute = _owner(self.system, place)
            value = getattr(module, attribute)
            if not isinstance(value, Tensor):  # a number, which becomes a buffer
                delattr(module, attribute)
                module.register_buffer(attribute, torch.tensor(float(value), dtype=held.input.dtype))
        self.weights = dict(_tensors(self.system))

    @property
    def method(self) -> str:
        """What moves a state: ``step`` of a map, ``velocity`` of a flow."""
        return "velocity" if self.held.is_flow else "step"

    def forward(self, method: str, states: Tensor, input: Tensor) -> Tensor:
        """Call `method` of the system at `states` (..., n); for `functional_call`."""
        held = replace(self.held, input=input)
        if method != "jacobian":
            return held.moved(states)
        stated = getattr(self.system, STATED, None)
        if stated is not None:
            found: Tensor = stated(*held.given(states), "state")
            return found
        matrices = torch.func.jacrev(held.moved)  # not of the program, in which numbers are constants
        for _ in states.shape[:-1]:
            matrices = torch.func.vmap(matrices)
        jacobian: Tensor = matrices(states)
        return jacobian

    def at(self, values: Tensor, method: str, states: Tensor) -> Tensor:
        """Return ``step``, ``velocity`` or ``jacobian`` at `states` (..., n) and parameters `values` (parameter,)."""
        return self.using(self.changed(values), method, states)

    def batched(self, values: Tensor, method: str, states: Tensor) -> Tensor:
        """Do as `at` for each of `values` (k, parameter) and `states` (k, ..., n)."""
        return torch.func.vmap(lambda one, h: self.at(one, method, h))(values, states)

    def changed(self, values: Tensor) -> Changed:
        """Return what is different at `values` (parameter,)."""
        weights: dict[str, Tensor] = {}
        input = self.held.input
        for parameter, value in zip(self.parameters_varied, values.unbind(), strict=True):
            for full in parameter.places:
                weights[full] = parameter.put(weights.get(full, self.weights[full]), value)
            input = input if parameter.places else parameter.put(input, value)
        return weights, input

    def using(self, changed: Changed, method: str, states: Tensor) -> Tensor:
        """Do as `at` with what `changed` returned: for many steps at the same values."""
        weights, input = changed
        given = {f"system.{name}": value for name, value in weights.items()}
        found: Tensor = torch.func.functional_call(self, given, (method, states, input))
        return found

    def fixed(self, *values: float) -> Held:
        """Return a copy of what is held, with the parameters at `values` for good."""
        system = copied(self.original.system)
        weights, input = self.changed(torch.tensor(values, dtype=self.held.input.dtype))
        for full, value in weights.items():
            module, attribute = _owner(system, full)
            if isinstance(getattr(module, attribute), Tensor):
                with torch.no_grad():
                    getattr(module, attribute).copy_(value)
            else:
                setattr(module, attribute, float(value))
        return replace(self.original, system=system, input=input)


def varied_system(
    system: System,
    inputs: Any,
    parameters: tuple[str, ...],
    at: str | ArrayLike,
    at_step: int,
    values: tuple[float, ...],
) -> Varied:
    """Return a frozen copy with these parameters free; the other arguments are those of `dynlab.bifurcation`.

    Raises
    ------
    UserError
        For a parameter that the system lacks, that changes nothing, or that it does not compute with as a tensor at
        these `values`.
    """
    if not isinstance(system, Flow | Map):
        raise UserError(f"Branches are those of a Map or a Flow, got {type(system).__name__}.")
    analysed = frozen(system)
    step = Euler(analysed, 1.0) if isinstance(analysed, Flow) else analysed
    given = np.zeros((1, step.network_input_size)) if inputs is None else inputs
    prepared, driving, _ = simulation.prepare(step, given)
    held = Held(
        analysed, held_input(system, at, prepared.drive(driving), inputs is not None), step_number(system, at_step)
    )
    varied = Varied(held, tuple(named(analysed, name) for name in parameters))
    _check_tensors(varied, torch.tensor(values, dtype=torch.float64))
    for number, parameter in enumerate(varied.parameters_varied):
        if not _acts(varied, number, torch.tensor(values, dtype=torch.float64)):
            hint = "; the held input is zero: give another with --at (at=)." if parameter.name == "input*" else "."
            raise UserError(f"{parameter.name} changes nothing in {system.name}{hint}")
    return varied


def check_range(name: str, lowest: float, highest: float) -> None:
    """Raise where a parameter's range is empty, reversed, beyond `LARGEST`, or relatively narrower than `NARROWEST`."""
    if not (np.isfinite([lowest, highest]).all() and lowest < highest):
        raise UserError(
            f"The range of {name} must go from a number to a larger one, got {lowest:g} to {highest:g}: exchange them, "
            f"or give another end."
        )
    size = max(abs(lowest), abs(highest))
    if size > LARGEST or highest - lowest < NARROWEST * size:
        raise UserError(
            f"The range of {name} must lie within ±{LARGEST:g} and be wider than {NARROWEST:g} of its ends, got "
            f"{lowest!r} to {highest!r}: give other ends."
        )


def _check_tensors(varied: Varied, values: Tensor) -> None:
    """Raise where a system computes with a parameter as a number of Python's, and not as a tensor of several values."""
    try:
        varied.batched(torch.stack([values] * 2), varied.method, values.new_zeros(2, varied.system.state_size))
    except UserError:
        raise
    except (RuntimeError, TypeError, ValueError) as error:
        names = " and ".join(parameter.name for parameter in varied.parameters_varied)
        reason = str(error).partition("\n")[0].partition(". ")[0].rstrip(".")
        raise UserError(
            f"{varied.system.name} does not compute with {names} as a tensor ({reason}): take torch.cos in place of "
            f"math.cos or numpy.cos, torch.where in place of if, and self.w itself in place of torch.tensor(self.w)."
        ) from error


def _acts(varied: Varied, number: int, values: Tensor) -> bool:
    """Return whether a step depends on a parameter, and not only the system's making; a factor on 0 does nothing."""
    parameter = varied.parameters_varied[number]
    scaled = [varied.weights[full] for full in parameter.places] or [varied.held.input]
    if parameter.scale and not any(bool(whole.any()) for whole in scaled):
        return False
    with torch.enable_grad():
        free = values[number].clone().requires_grad_()
        each = torch.stack([free if index == number else one for index, one in enumerate(values.unbind())])
        return varied.at(each, varied.method, values.new_zeros(1, varied.system.state_size)).requires_grad


def _shown(full: str) -> str:
    """Return a weight's name as a user sees it: ``flow.M`` of ``flow.parametrizations.M.original``."""
    return full.replace("parametrizations.", "").removesuffix(".original")


def _owner(system: System, place: str) -> tuple[nn.Module, str]:
    path, _, attribute = place.rpartition(".")
    return system.get_submodule(path), attribute


def _numbers(system: System) -> Iterator[tuple[str, float]]:
    """Yield the path and value of every real number that a module holds; integers where the system says ``float``."""
    known = inspect.signature(lookup(SYSTEMS, system.name, "system")).parameters if system.name in SYSTEMS else {}
    whole = {name for name, parameter in known.items() if parameter.annotation is float}
    for path, module in system.named_modules():
        for attribute, value in vars(module).items():
            if not attribute.startswith("_") and (type(value) is float or (type(value) is int and attribute in whole)):
                yield f"{path}.{attribute}".lstrip("."), float(value)


def _tensors(system: System) -> Iterator[tuple[str, Tensor]]:
    for full, value in [*system.named_parameters(), *system.named_buffers()]:
        if value.is_floating_point() and value.numel():
            yield full, value


def _all_names(system: System) -> list[str]:
    numbers = dict.fromkeys(place.rpartition(".")[2] for place, _ in _numbers(system))
    weights = [f"{_shown(full)}[{','.join('0' * value.ndim)}]" for full, value in _tensors(system) if value.ndim]
    factors = [f"{_shown(full)}*" for full, _ in _tensors(system)]
    inputs = [f"{INPUT}[0]", f"{INPUT}*"] if system.input_size else []
    return [*numbers, *weights, *factors, *inputs]
