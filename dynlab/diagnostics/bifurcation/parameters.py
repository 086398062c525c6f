"""The parameters of a system that can be varied: its numbers, its weights, and the input that is held."""

import inspect
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dynlab.errors import UserError, lookup, unknown
from dynlab.program.differentiation import STATED
from dynlab.systems import SYSTEMS, System
from dynlab.systems.copied import copied
from dynlab.systems.held import Held

INPUT = "input"
FORM = re.compile(r"(?P<name>[\w.]+)(?P<part>\*|\[[\d,\s]+\])?")


# The values of the parameters, the weights that differ by their full names, and the held input.
Changed = tuple[Tensor, dict[str, Tensor], Tensor]


class Parameter(NamedTuple):
    """One parameter of a system, as `named` found it.

    Attributes
    ----------
    name : str
        As it was asked for.
    kind : {"number", "tensor", "input"}
        A number that modules hold as an attribute, a weight, or the input.
    places : tuple of str
        Of a number: the modules' paths; of a weight: its full name.
    entry : tuple of int or None
        The entry of the weight or input that it is; None for all of them.
    scale : bool
        Whether it is a factor on the weight or input.
    """

    name: str
    kind: str
    places: tuple[str, ...]
    entry: tuple[int, ...] | None = None
    scale: bool = False


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
    index = tuple(int(number) for number in re.findall(r"\d+", part)) if part not in ("", "*") else None
    numbers = {place: value for place, value in _numbers(system) if _means(path, place)}
    if numbers and not part:
        if len(set(numbers.values())) > 1:
            raise UserError(
                f"{path} means several numbers of {system.name}: {', '.join(numbers)}; give one's full name."
            )
        return Parameter(name, "number", tuple(numbers))
    if path == INPUT:
        _check_entry(system, name, index, (system.input_size,), bool(part))
        return Parameter(name, "input", (), index, part == "*")
    tensors = {full: value for full, value in _tensors(system) if _means(path, _shown(full))}
    if not tensors:
        raise unknown("parameter", name, _all_names(system))
    if len(tensors) > 1:
        shown = ", ".join(map(_shown, tensors))
        raise UserError(f"{path} means several weights of {system.name}: {shown}; name one in full.")
    full, value = next(iter(tensors.items()))
    _check_entry(system, name, index, tuple(value.shape), True)
    return Parameter(name, "tensor", (full,), index, part == "*")


class Varied(nn.Module):
    """A system whose methods are called with some parameters at other values, differentiably in those.

    Parameters
    ----------
    held : Held
        Of a system that is frozen, and not used elsewhere: numbers are set on it during a call.
    parameters : tuple of Parameter
    """

    def __init__(self, held: Held, parameters: tuple[Parameter, ...]) -> None:
        super().__init__()
        system = held.system
        self.system = system
        self.parameters_varied = parameters
        self.held = held
        self._weights = dict(_tensors(system))
        self._owners = {
            place: _owner(system, place) for one in parameters if one.kind == "number" for place in one.places
        }

    @property
    def method(self) -> str:
        """What moves a state: ``step`` of a map, ``velocity`` of a flow."""
        return "velocity" if self.held.is_flow else "step"

    def is_factor_on_zero(self, number: int) -> bool:
        """Return whether a parameter is a factor on a weight or an input that is 0."""
        one = self.parameters_varied[number]
        if not one.scale:
            return False
        whole = self.held.input if one.kind == "input" else self._weights[one.places[0]]
        return not bool(whole.any())

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

    def changed(self, values: Tensor) -> Changed:
        """Return what is different at `values` (parameter,)."""
        weights: dict[str, Tensor] = {}
        held = self.held.input
        for parameter, value in zip(self.parameters_varied, values.unbind(), strict=True):
            if parameter.kind == "input":
                held = _changed(parameter, held, value)
            elif parameter.kind == "tensor":
                full = parameter.places[0]
                weights[full] = _changed(parameter, weights.get(full, self._weights[full]), value)
        return values, weights, held

    def using(self, changed: Changed, method: str, states: Tensor) -> Tensor:
        """Do as `at` with what `changed` returned: for many steps at the same values."""
        values, weights, held = changed
        numbers = [
            (place, value)
            for parameter, value in zip(self.parameters_varied, values.unbind(), strict=True)
            if parameter.kind == "number"
            for place in parameter.places
        ]
        with self._with(numbers):
            if not weights:
                return self.forward(method, states, held)
            named_weights = {f"system.{name}": value for name, value in weights.items()}
            found: Tensor = torch.func.functional_call(self, named_weights, (method, states, held))
        return found

    def fixed(self, value: float) -> Held:
        """Return a copy of what is held, with the first parameter at `value` for good."""
        parameter, system = self.parameters_varied[0], copied(self.system)
        number = torch.tensor(value, dtype=self.held.input.dtype)
        if parameter.kind == "input":
            return replace(self.held, system=system, input=_changed(parameter, self.held.input, number))
        if parameter.kind == "number":
            for place in parameter.places:
                setattr(*_owner(system, place), float(value))
        else:
            weight = dict(_tensors(system))[parameter.places[0]]
            with torch.no_grad():
                weight.copy_(_changed(parameter, weight.clone(), number))
        return replace(self.held, system=system)

    @contextmanager
    def _with(self, numbers: list[tuple[str, Tensor]]) -> Iterator[None]:
        owners = [(*self._owners[place], value) for place, value in numbers]
        before = [getattr(module, attribute) for module, attribute, _ in owners]
        for module, attribute, value in owners:
            setattr(module, attribute, value)
        try:
            yield
        finally:
            for (module, attribute, _), value in zip(owners, before, strict=True):
                setattr(module, attribute, value)


def _changed(parameter: Parameter, whole: Tensor, value: Tensor) -> Tensor:
    if parameter.scale:
        return whole * value
    if parameter.entry is None:
        return torch.ones_like(whole) * value
    marked = torch.zeros_like(whole)
    marked[parameter.entry] = 1
    return whole * (1 - marked) + marked * value


def _means(asked: str, place: str) -> bool:
    return place == asked or place.endswith(f".{asked}")


def _shown(full: str) -> str:
    """Return a weight's name as a user sees it: ``flow.M`` of ``flow.parametrizations.M.original``."""
    return full.replace("parametrizations.", "").removesuffix(".original")


def _owner(system: System, place: str) -> tuple[nn.Module, str]:
    path, _, attribute = place.rpartition(".")
    return system.get_submodule(path), attribute


def _numbers(system: System) -> Iterator[tuple[str, float]]:
    """Yield the path and value of every real number that a module holds."""
    whole = _annotated_float(system)
    for path, module in system.named_modules():
        for attribute, value in vars(module).items():
            real = isinstance(value, float) or (isinstance(value, int) and attribute in whole)
            if real and not isinstance(value, bool) and not attribute.startswith("_"):
                yield f"{path}.{attribute}" if path else attribute, float(value)


def _annotated_float(system: System) -> set[str]:
    """Return the names of config entries that are real by their annotation, though given as an integer."""
    if system.name not in SYSTEMS:
        return set()
    taken = inspect.signature(lookup(SYSTEMS, system.name, "system")).parameters
    return {name for name, parameter in taken.items() if parameter.annotation is float}


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


def _check_entry(
    system: System, name: str, index: tuple[int, ...] | None, shape: tuple[int, ...], is_part: bool
) -> None:
    inside = index is None or (len(index) == len(shape) and all(i < size for i, size in zip(index, shape, strict=True)))
    if not inside or not is_part or shape == (0,):
        entries = " × ".join(map(str, shape))
        raise UserError(f"{name} of {system.name} has {entries} entries, counted from 0: write W[0,1], W* or input[0].")
