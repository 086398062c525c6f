"""What is derived of a system: its program, and Jacobians with bounds on their rounding, made once for each system."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from dynlab.program.jacobian import Blocks, Jacobian, Term
from dynlab.program.linearise import ONE, Linearisation, Place, linearise
from dynlab.program.program import NoProgram, Program
from dynlab.program.rounding import bounded_values
from dynlab.program.torch_code import TorchCode
from dynlab.program.trace import Recorder


class Steps(Protocol):
    """What has a step: a system."""

    state_size: int
    input_size: int

    def modules(self) -> Iterator[nn.Module]:
        """Its parts."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """Its parameters."""


PLAIN = (int, float, str, bool, type(None))
TRIALS = 2  # random states at which a trace is held against the step, and its Jacobian against torch's once
LARGE_ERROR = 1e200  # stands for inf in products, where inf · 0 would be no number


class Derived:
    """The program of a system, and functions made of it.

    Parameters
    ----------
    system : System
    method : str
        Of (state, input, t): ``evolve``, or ``ungated_residual``.

    Raises
    ------
    NoProgram
        Where the step cannot be traced, or the trace is not the step.
    """

    def __init__(self, system: Steps, method: str = "evolve") -> None:
        self.program, recorder = traced(system, method)
        self.preamble = recorder.preamble
        made = {id(result) for call in self.preamble.calls for result in call.results}
        given = [leaf for call in self.preamble.calls for leaf in tree_leaves((call.args, call.kwargs))]
        leaves = [leaf for leaf in (*given, *self.preamble.stored) if isinstance(leaf, Tensor) and id(leaf) not in made]
        self.watched = [(leaf, leaf._version) for leaf in {id(leaf): leaf for leaf in leaves}.values()]
        self.attributes = [
            (vars(part), name, value)
            for part in system.modules()
            for name, value in vars(part).items()
            if isinstance(value, PLAIN) and name != "training"
        ]
        self.places = [
            (table, name, tensor)
            for part in system.modules()
            for table in (part._parameters, part._buffers)
            for name, tensor in table.items()
        ]
        self.constants = list(self.program.constants)
        self.value = TorchCode(self.program, [self.program.output])
        self.parts = {by: _Linear(self, linearise(self.program, by)) for by in ("state", "input")}
        check(system, self, method)

    def is_current(self) -> bool:
        """Whether the parameters and attributes are still those that were traced."""
        return (
            all(leaf._version == version for leaf, version in self.watched)
            and all(table.get(name) is tensor for table, name, tensor in self.places)
            and all(table.get(name) == value for table, name, value in self.attributes)
        )


class _Linear:
    """A linearised program, ready to be evaluated."""

    def __init__(self, derived: Derived, linear: Linearisation) -> None:
        self.derived, self.linear = derived, linear
        self.scales = linear.scales()
        self.code = TorchCode(linear.program, self.scales)
        self.constants = derived.constants
        self.folded = self.code.fold(self.constants)
        rows = [linear.columns, *(sum(knot.sizes) for knot in linear.knots[1:])]
        self.layout = [
            [
                (size, [self._term(place, d, rows) for place, d in terms.items()])
                for size, terms in zip(knot.sizes, knot.blocks, strict=True)
            ]
            for knot in linear.knots[1:]
        ]

    def _term(self, place: Place, d: int, rows: list[int]) -> tuple[int, Tensor | None, int, Any, int]:
        matrix = None if place.matrix == ONE else _rows(self.constants[place.matrix], place.rows)
        entries = _entries(place.entries, rows[place.knot])
        return (d, matrix, place.knot, entries, place.matrix)

    def operator(self, state: Tensor, input: Tensor, t: Any) -> Jacobian:
        values = self.code.values(state, input, t, self.constants, self.folded)
        return self._made(dict(zip(self.scales, values, strict=True)), state, input, t)

    def _made(self, values: dict[int, Any], state: Tensor, input: Tensor, t: Any, inflate: bool = False) -> Jacobian:
        batch = batch_shape(state, input, t)
        errors = self.linear.program.errors

        def scale(d: int) -> Any:
            if d == ONE:
                return 1
            value = values[d]
            if not isinstance(value, Tensor):
                return float(value)
            if value.ndim > 1 or (value.ndim == 1 and not batch):
                return value.expand(*batch, value.shape[-1])
            return value

        def matrix(value: Tensor | None, number: int) -> Tensor | None:
            if value is None or not inflate or not errors[number]:
                return value
            return value.abs() + errors[number] * self.constants[number].abs().max()

        knots: list[Blocks] = [
            [
                (size, [Term(scale(d), matrix(m, number), knot, entries) for d, m, knot, entries, number in terms])
                for size, terms in blocks
            ]
            for blocks in self.layout
        ]
        return Jacobian(knots, self.linear.columns, state, len(batch))

    def bounded(self, state: Tensor, input: Tensor, t: Any) -> tuple[Jacobian, Jacobian, Jacobian]:
        """The operator, that of its moduli, and that of moduli enlarged by their errors."""
        found = bounded_values(self.linear.program, self.scales, self.constants, state, input, t)
        values = dict(zip(self.scales, (value for value, _ in found), strict=True))
        larger = {
            d: value.abs() + torch.as_tensor(error, dtype=value.dtype).clamp(max=LARGE_ERROR)
            for d, (value, error) in zip(self.scales, found, strict=True)
        }
        operator = self._made(values, state, input, t)
        enlarged = self._made(larger, state, input, t, inflate=True)
        return operator, operator.mapped(abs, abs), enlarged.mapped(abs, abs)

    @property
    def terms(self) -> int:
        """How often an entry of the dense matrix is rounded: terms, and lengths of products of knots."""
        total = 2
        for blocks in self.layout:
            total += max((len(terms) for _, terms in blocks), default=0) + 1
            total += max(
                (m.shape[1] for _, terms in blocks for _, m, knot, *_ in terms if knot and m is not None), default=0
            )
        return total


def batch_shape(state: Tensor, input: Tensor, t: Any) -> torch.Size:
    """The leading dimensions of states, inputs and step numbers together."""
    shapes = [state.shape[:-1], input.shape[:-1]]
    if isinstance(t, Tensor):
        shapes.append(t.shape)
    return np.broadcast_shapes(*shapes)


def traced(system: Steps, method: str = "evolve") -> tuple[Program, Recorder]:
    """The program of a system's step or velocity, and what recorded it.

    Raises
    ------
    NoProgram
    """
    program = Program(system.state_size, system.input_size)
    recorder = Recorder(program)
    h, x, t = _point(system, 0)
    try:
        with torch.no_grad(), warnings.catch_warnings(), recorder:
            warnings.simplefilter("ignore")
            recorder.mark(h, program.state())
            recorder.mark(x, program.input())
            recorder.mark(t, program.time())
            found = getattr(system, method)(h, x, t)
    except (RuntimeError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise NoProgram(f"its step cannot be traced ({str(error).splitlines()[0]})") from error
    node = recorder.node(found)
    size = program.operations[node.number].size
    program.output = node.number if size == found.numel() else program.take(node.number, (0,) * found.numel())
    for i in program.needed(program.output):
        if program.operations[i].name == "sign":
            raise NoProgram("it uses the sign of a number, which jumps")
    return program, recorder


def _point(system: Steps, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    like = next((p for p in system.parameters() if p.is_floating_point()), torch.zeros((), dtype=torch.float64))
    drawn = [
        torch.randn(n, generator=generator, dtype=torch.float64).to(like)
        for n in (system.state_size, system.input_size)
    ]
    return drawn[0], drawn[1], torch.tensor(min(seed, 1), device=like.device)


def check(system: Steps, derived: Derived, method: str) -> None:
    """Hold the program against the step at random points, and its Jacobian against torch's once.

    Raises
    ------
    NoProgram
        Where they differ: numbers left the tensors on the way, or a rule of its own says what the derivative is.
    """
    folded = derived.value.fold(derived.constants)
    evolve = getattr(system, method)
    for seed in range(1, 1 + TRIALS):
        h, x, t = _point(system, seed)
        tables = [o.constant for o in derived.program.operations if o.name == "lookup"]
        t = t.clamp(max=min((len(derived.constants[c]) for c in tables), default=2) - 1)
        with torch.no_grad():
            asked = evolve(h, x, t)
        (found,) = derived.value.values(h, x, t, derived.constants, folded)
        if not _close(found, asked):
            raise NoProgram("its step computes something else than the operations that torch sees")
    told = derived.parts["state"].operator(h, x, t).dense()
    with torch.enable_grad():
        own = h.clone().requires_grad_()
        value = evolve(own, x, t)
        along = torch.randn_like(value)
        (pulled,) = torch.autograd.grad(value, own, along, allow_unused=True) if value.requires_grad else (None,)
    expected = torch.zeros_like(h) if pulled is None else pulled
    if not _close(along.detach() @ told, expected, least=1.0):  # torch's 1 − tanh² is rounding where a unit saturates
        raise NoProgram("its derivative by torch is not that of the operations it consists of")


def _close(found: Any, asked: Tensor, least: float = 0.0) -> bool:
    """Whether two results agree to half of the digits of the largest entry, or of `least` where that is larger."""
    value = torch.as_tensor(found, dtype=asked.dtype).expand(asked.shape)
    reach = float(torch.finfo(asked.dtype).eps ** 0.5)
    largest = float(asked.abs().max()) if asked.numel() else 0.0
    return torch.allclose(value, asked, rtol=reach, atol=reach * max(largest, least), equal_nan=True)


def _rows(matrix: Tensor, rows: tuple[int, ...] | None) -> Tensor:
    if rows is None:
        return matrix
    if rows and rows == tuple(range(rows[0], rows[0] + len(rows))):
        return matrix[rows[0] : rows[0] + len(rows)]
    return matrix[torch.tensor(rows, device=matrix.device)]


def _entries(index: tuple[int, ...] | None, size: int) -> Any:
    if index is None:
        return slice(0, size)
    if index and index == tuple(range(index[0], index[0] + len(index))):
        return slice(index[0], index[0] + len(index))
    return torch.tensor(index)


_DERIVED: WeakKeyDictionary[Any, dict[str, Derived | str]] = WeakKeyDictionary()


def derived(system: Steps, method: str = "evolve") -> Derived:
    """What is derived of a method (state, input, t) of a system, made again when its parameters or settings have changed.

    Raises
    ------
    NoProgram
        With the sentence that says why it has no program.
    """
    of_system = _DERIVED.setdefault(system, {})
    found = of_system.get(method)
    if isinstance(found, Derived) and found.is_current():
        return found
    if isinstance(found, str):
        raise NoProgram(found)
    try:
        made = of_system[method] = Derived(system, method)
    except NoProgram as error:
        of_system[method] = str(error)
        raise
    return made
