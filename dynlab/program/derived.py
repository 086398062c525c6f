"""A system's program, and Jacobians with bounds on their rounding, made once for each system."""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from dynlab.program.jacobian import Blocks, Operator, Term
from dynlab.program.linearise import ONE, Linearisation, linearise
from dynlab.program.program import NoProgram
from dynlab.program.torch_code import TorchCode, bounded_values
from dynlab.program.trace import traced, verify

PLAIN = (int, float, str, bool, type(None))
Matrices = list[Tensor | None]  # some rows of stored matrices; None of `ONE`
LARGE_ERROR = 0.65  # the power of the largest number that stands for inf in products: inf · 0 would be no number


class Derived:
    """The program of a system, and functions made of it.

    Parameters
    ----------
    system : System
    method : str
        A method of (state, input, t): ``evolve``, or ``ungated_residual``.
    stretches : bool
        Make a matrix of a stretch of complex calls.

    Raises
    ------
    NoProgram
        If the step cannot be traced, or the trace is not the step.
    """

    def __init__(self, system: Any, method: str = "evolve", stretches: bool = True) -> None:
        self.program, recorder = traced(system, method, stretches)
        self.preamble = recorder.preamble
        made = {id(result) for call in self.preamble.calls for result in call.results}
        given = [leaf for call in self.preamble.calls for leaf in tree_leaves((call.args, call.kwargs))]
        leaves = [leaf for leaf in (*given, *self.preamble.stored) if isinstance(leaf, Tensor) and id(leaf) not in made]
        self.watched = [(leaf, leaf._version) for leaf in {id(leaf): leaf for leaf in leaves}.values()]
        self.attributes = [
            (vars(part), name, value)
            for part in system.modules()
            for name, value in vars(part).items()
            if isinstance(value, (*PLAIN, Tensor)) and name != "training"
        ]
        self.places = [
            (table, name, tensor)
            for part in system.modules()
            for table in (part._parameters, part._buffers)
            for name, tensor in table.items()
        ]
        self.constants = list(self.program.constants)
        self.parts = {by: Linear(linearise(self.program, by), self.constants) for by in ("state", "input")}
        verify(system, method, self.program, self.parts["state"])

    def is_current(self) -> bool:
        """Tell whether the parameters' numbers and the attributes are still those that were traced."""
        return self.has_settings() and all(leaf._version == version for leaf, version in self.watched)

    def has_settings(self) -> bool:
        """Tell whether the attributes are still those that were traced."""
        return all(_same(table.get(name), value) for table, name, value in self.attributes)

    def moved(self) -> dict[int, Tensor]:
        """Parameters that stand in the place of those that were traced, as inside `torch.func.functional_call`."""
        found = {id(tensor): table[name] for table, name, tensor in self.places if table.get(name) is not tensor}
        return {key: tensor for key, tensor in found.items() if tensor is not None}

    def at(self, by: str) -> "Linear":
        """The linearised program with the parameters as they are now."""
        moved = self.moved()
        return Linear(self.parts[by].linear, self.preamble.run(moved), self.parts[by].code) if moved else self.parts[by]


class Linear:
    """A linearised program with stored numbers, ready to be evaluated.

    Parameters
    ----------
    linear : Linearisation
    constants : list of Tensor
        Values of the program's constants.
    code : TorchCode, optional
        Code of the operations that scale; made where it is not given.
    """

    def __init__(self, linear: Linearisation, constants: list[Tensor], code: TorchCode | None = None) -> None:
        self.linear, self.constants = linear, constants
        self.scales = linear.scales()
        self.code = TorchCode(linear.program, self.scales) if code is None else code
        self.folded = self.code.fold(constants)
        rows, self.places = linear.rows, list(dict(linear.terms()))
        self.columns, number = rows[0], {place: k for k, place in enumerate(self.places)}
        self.entries = [_selection(p.entries, rows[p.knot]) for p in self.places]
        self.matrices = [None if p.matrix == ONE else constants[p.matrix][_selection(p.rows)] for p in self.places]
        self.blocks = [
            [(size, [(number[place], place.knot, d) for place, d in terms.items()]) for size, terms in knot]
            for knot in linear.knots[1:]
        ]

    def operator(self, state: Tensor, input: Tensor, t: Any) -> Operator:
        values = self.code.values(state, input, t, self.constants, self.folded)
        return self._made(values, self.matrices, state, input, t)

    def _made(self, values: Any, matrices: Matrices, state: Tensor, input: Tensor, t: Any) -> Operator:
        batch = batch_shape(state, input, t)
        scales: dict[int, Tensor | None] = {ONE: None}
        for d, value in zip(self.scales, values, strict=True):
            made = torch.as_tensor(value, dtype=state.dtype, device=state.device)
            shared = made.ndim < 2 and (made.ndim == 0 or bool(batch))
            scales[d] = made.reshape(-1) if shared else made.expand(*batch, made.shape[-1])
        typed = [None if matrix is None else matrix.to(state.dtype) for matrix in matrices]
        knots: list[Blocks] = [
            [
                (size, [Term(scales[d], typed[k], knot, self.entries[k]) for k, knot, d in terms])
                for size, terms in blocks
            ]
            for blocks in self.blocks
        ]
        return Operator(knots, self.columns, state)

    def bounded(self, state: Tensor, input: Tensor, t: Any) -> tuple[Operator, Operator, Operator]:
        """The operator, that of its moduli, and that of moduli enlarged by their errors."""
        found = bounded_values(self.linear.program, self.scales, self.constants, state, input, t)
        largest = torch.finfo(state.dtype).max ** LARGE_ERROR
        larger = [v.abs() + torch.as_tensor(error, dtype=state.dtype).clamp(max=largest) for v, error in found]
        errors = self.linear.program.errors
        matrices = [
            m if m is None else m.abs() + errors[p.matrix] * self.constants[p.matrix].abs().max()
            for p, m in zip(self.places, self.matrices, strict=True)
        ]
        operator = self._made([value for value, _ in found], self.matrices, state, input, t)
        return operator, operator.absolute(), self._made(larger, matrices, state, input, t)

    @property
    def terms(self) -> int:
        """Number of times that an entry of the dense matrix is rounded: terms, and lengths of products of knots."""
        total = 2
        for blocks in self.blocks:
            total += max((len(terms) for _, terms in blocks), default=0) + 1
            inner = [self.matrices[k] for _, terms in blocks for k, knot, _ in terms if knot]
            total += max((matrix.shape[1] for matrix in inner if matrix is not None), default=0)
        return total


def _same(now: Any, then: Any) -> bool:
    return now is then or (isinstance(now, PLAIN) and isinstance(then, PLAIN) and now == then)


def batch_shape(state: Tensor, input: Tensor, t: Any) -> torch.Size:
    """The leading dimensions of states, inputs and step numbers together."""
    shapes = [state.shape[:-1], input.shape[:-1]]
    if isinstance(t, Tensor):
        shapes.append(t.shape)
    return torch.Size(np.broadcast_shapes(*shapes))


def _selection(index: tuple[int, ...] | None, size: int | None = None) -> Any:
    """Return some of `size` rows or entries, all of them where `index` is None; neighbours as a slice."""
    if index is None:
        return slice(0, size)
    if index and index == tuple(range(index[0], index[0] + len(index))):
        return slice(index[0], index[0] + len(index))
    return torch.tensor(index)


_DERIVED: WeakKeyDictionary[Any, dict[str, Derived | str]] = WeakKeyDictionary()


def derived(system: Any, method: str = "evolve") -> Derived:
    """Return what is derived of a system's method (state, input, t), made anew once parameters or settings change.

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
