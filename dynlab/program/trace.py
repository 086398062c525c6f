"""Run a step once under torch's dispatcher and write down what it computes, as a `Program`.

The step is called with one state, one input and one step number, without batch dimensions. Each ATen call on a tensor
that depends on them is lowered to operations (`dynlab.program.lowering`); each other call is kept in a list, the
preamble, so that the stored numbers can be computed again when the parameters change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from dynlab.program.program import NoProgram, Program

FOLDED = 8.0  # times roundoff and the length of sums: the relative error stated of what is computed from parameters
# Calls that round nothing, and those that round each entry once or a few times.
EXACT = frozenset(
    [
        "_to_copy",
        "_unsafe_view",
        "abs",
        "alias",
        "arange",
        "block_diag",
        "cat",
        "clone",
        "constant_pad_nd",
        "copy_",
        "detach",
        "diag_embed",
        "diagonal",
        "empty",
        "expand",
        "eye",
        "fill_",
        "flip",
        "full",
        "gt",
        "index",
        "index_put",
        "index_select",
        "lift_fresh",
        "lt",
        "narrow",
        "neg",
        "new_zeros",
        "ones",
        "permute",
        "relu",
        "repeat",
        "reshape",
        "roll",
        "scalar_tensor",
        "select",
        "slice",
        "split",
        "squeeze",
        "squeeze_",
        "stack",
        "t",
        "transpose",
        "tril",
        "triu",
        "triu_indices",
        "unbind",
        "unsqueeze",
        "unsqueeze_",
        "view",
        "where",
        "zero_",
        "zeros",
        "zeros_like",
    ]
)
ENTRYWISE = frozenset(
    ["add", "cos", "div", "exp", "mul", "reciprocal", "rsub", "sigmoid", "sin", "softplus", "sqrt", "sub", "tanh"]
)


@dataclass(frozen=True)
class Node:
    """A traced tensor's meaning: an operation's result, row by row, in that shape."""

    number: int
    shape: tuple[int, ...]


@dataclass(eq=False)
class Call:
    """A call whose result does not depend on state, input or step number: a part of the preamble."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: list[Tensor]


@dataclass
class Preamble:
    """Calls that make the stored numbers of the parameters, and which tensors those are."""

    calls: list[Call] = field(default_factory=list)
    stored: list[Tensor] = field(default_factory=list)

    def run(self, moved: dict[int, Tensor]) -> list[Tensor]:
        """The stored numbers for other values of the parameters, given by the identity of those that were traced."""
        values = dict(moved)

        def current(leaf: Any) -> Any:
            return values.get(id(leaf), leaf) if isinstance(leaf, Tensor) else leaf

        for call in self.calls:
            args, kwargs = tree_map(current, (call.args, call.kwargs))
            found = [leaf for leaf in tree_leaves(call.function(*args, **kwargs)) if isinstance(leaf, Tensor)]
            values.update((id(old), new) for old, new in zip(call.results, found, strict=True))
        return [values.get(id(tensor), tensor) for tensor in self.stored]


class Recorder(TorchDispatchMode):
    """Records calls; its `program` grows. `nodes` maps a tensor's identity to what it stands for."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here: torch would else import its compiler, which takes seconds, at the first call."""
        return False

    def __init__(self, program: Program, stretches: bool = True) -> None:
        super().__init__()
        self.program, self.preamble, self.stretches = program, Preamble(), stretches
        self.nodes: dict[int, Node] = {}
        self.complex: dict[int, Call] = {}  # complex tensors that depend on the state, and how they came about
        self.errors: dict[int, float] = {}  # of tensors computed from parameters
        self.kept: list[Tensor] = []  # alive, so that no identity is used twice
        self.slots: dict[int, int] = {}

    def mark(self, tensor: Tensor, number: int) -> None:
        """Let the tensor stand for the operation's result."""
        self.kept.append(tensor)
        self.nodes[id(tensor)] = Node(number, tuple(tensor.shape))

    def is_traced(self, leaf: Any) -> bool:
        return isinstance(leaf, Tensor) and (id(leaf) in self.nodes or id(leaf) in self.complex)

    def fixed(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function of parameters alone, and keep the call."""
        found = function(*args, **kwargs)
        results = [leaf for leaf in tree_leaves(found) if isinstance(leaf, Tensor)]
        given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        self.preamble.calls.append(Call(function, args, kwargs, results))
        error = max((self.errors.get(id(leaf), 0.0) for leaf in given), default=0.0)
        name = getattr(function, "overloadpacket", function).__name__
        for result in results:
            self.kept.append(result)
            if result.is_floating_point() or result.is_complex():
                rounds = name not in EXACT and not _is_exact(name, given, args)
                terms = 1.0 if name in ENTRYWISE else max(result.numel(), 1) ** 0.5
                own = FOLDED * terms * torch.finfo(result.dtype).eps if rounds else 0.0
                self.errors[id(result)] = error + own
        return found

    def slot(self, tensor: Tensor) -> int:
        """The number of a stored vector or matrix."""
        if id(tensor) not in self.slots:
            self.kept.append(tensor)
            self.preamble.stored.append(tensor)
            self.slots[id(tensor)] = self.program.store(tensor.detach(), self.errors.get(id(tensor), 0.0))
        return self.slots[id(tensor)]

    def node(self, value: Any) -> Node:
        """Return what a tensor or number stands for; one that is not traced becomes a constant."""
        if not isinstance(value, Tensor):
            return Node(self.program.constant(float(value)), ())
        if id(value) in self.complex:
            raise NoProgram("it computes with complex numbers in a way that is not linear in the state")
        if id(value) not in self.nodes:
            if value.is_complex():
                raise NoProgram("it mixes real and complex numbers")
            self.kept.append(value)
            if value.numel() == 1 and id(value) not in self.errors and not isinstance(value, torch.nn.Parameter):
                self.nodes[id(value)] = Node(self.program.constant(float(value)), tuple(value.shape))
            else:
                number = self.program.append("constant", size=value.numel(), constant=self.slot(value))
                self.nodes[id(value)] = Node(number, tuple(value.shape))
        return self.nodes[id(value)]

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        from dynlab.program.lowering import lower

        kwargs = kwargs or {}
        if torch.Tag.nondeterministic_seeded in function.tags:
            raise NoProgram("it draws random numbers")
        if not any(self.is_traced(leaf) for leaf in tree_leaves((args, kwargs))):
            return self.fixed(function, *args, **kwargs)
        return lower(self, function, args, kwargs)


def _is_exact(name: str, given: list[Tensor], args: tuple[Any, ...]) -> bool:
    """Tell whether an entrywise sum or product of parameters rounds nothing: all terms of an entry but one are 0."""
    numbers = [each for each in args if isinstance(each, Tensor | int | float)]
    if name not in ("add", "sub", "mul") or len(numbers) != 2 or any(each.is_complex() for each in given):
        return False
    a, b = torch.broadcast_tensors(*(torch.as_tensor(each).double() for each in numbers))
    if name == "mul":
        return bool(((a == 0) | (a.abs() == 1) | (b == 0) | (b.abs() == 1)).all())
    b = b if name == "add" else -b
    value = a + b
    part = value - a
    lost = (a - (value - part)) + (b - part)  # Knuth's TwoSum
    return not lost.any()
