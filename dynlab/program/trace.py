"""Run a step once under torch's dispatcher and write down what it computes, as a `Program`.

The step is called with one state, one input and one step number, without batch dimensions. Each ATen call on a tensor
that depends on them is lowered to operations (`dynlab.program.lowering`); each other call is kept in a list, the
preamble, so that the stored numbers can be computed again when the parameters change. The program is held against the
step and its derivative at random points.
"""

import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from dynlab.program.program import NoProgram, Program
from dynlab.program.torch_code import TorchCode

TRIALS = 2  # random states at which a trace is held against the step, and its Jacobian against torch's once
FOLDED = 8.0  # times roundoff and the length of sums: the relative error stated of what is computed from parameters
# fmt: off
# Calls that only move numbers.
MOVING = frozenset([
    "_reshape_alias", "_to_copy", "_unsafe_view", "alias", "cat", "chunk", "clone", "constant_pad_nd", "contiguous",
    "copy", "detach", "diagonal", "expand", "flip", "gather", "index", "index_select", "lift_fresh", "movedim",
    "narrow", "permute", "repeat", "reshape", "roll", "select", "slice", "split", "split_with_sizes", "squeeze",
    "squeeze_", "stack", "t", "t_", "transpose", "transpose_", "tril", "triu", "unbind", "unfold", "unsafe_chunk",
    "unsafe_split", "unsqueeze", "unsqueeze_", "view",
])
# Calls that round nothing, and those that round each entry once or a few times.
EXACT = MOVING | frozenset([
    "abs", "arange", "block_diag", "copy_", "diag_embed", "empty", "eye", "fill_", "full", "gt", "index_put", "lt",
    "neg", "new_zeros", "ones", "relu", "scalar_tensor", "triu_indices", "where", "zero_", "zeros", "zeros_like",
])
ENTRYWISE = frozenset([
    "add", "cos", "div", "exp", "mul", "reciprocal", "rsub", "sigmoid", "sin", "softplus", "sqrt", "sub", "tanh",
])
# fmt: on


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
        # complex tensors that depend on the state: the calls that made them, and the real tensors these began with
        self.complex: dict[int, tuple[dict[int, Call], dict[int, Tensor]]] = {}
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
                self.errors[id(result)] = error + rounds * FOLDED * terms * torch.finfo(result.dtype).eps
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
    one_is_0 = (a == 0) | (b == 0)
    return bool((one_is_0 | (a.abs() == 1) | (b.abs() == 1) if name == "mul" else one_is_0).all())


def traced(system: Any, method: str = "evolve", stretches: bool = True) -> tuple[Program, Recorder]:
    """The program of a system's step or velocity, and what recorded it.

    Raises
    ------
    NoProgram
    """
    program = Program(system.state_size, system.input_size)
    recorder = Recorder(program, stretches)
    recorder.errors |= {id(buffer): 0.0 for buffer in system.buffers()}  # a constant of its own, which may be moved
    h, x, t = _point(system, 0)
    try:
        with torch.no_grad(), warnings.catch_warnings(), recorder:
            warnings.simplefilter("ignore")
            for leaf, name in ((h, "state"), (x, "input"), (t, "time")):
                recorder.mark(leaf, program.append(name, size=leaf.numel()))
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


def _point(system: Any, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    numbers = itertools.chain(system.parameters(), system.buffers())
    like = next((each for each in numbers if each.is_floating_point()), torch.zeros((), dtype=torch.float64))
    drawn = [
        torch.randn(n, generator=generator, dtype=torch.float64).to(like)
        for n in (system.state_size, system.input_size)
    ]
    return drawn[0], drawn[1], torch.tensor(min(seed, 1), device=like.device)


def verify(system: Any, method: str, program: Program, linear: Any) -> None:
    """Hold the program against the step at random points, and its Jacobian against torch's once.

    Parameters
    ----------
    system : System
    method : str
    program : Program
    linear : Linear
        The program's derivative by the state.

    Raises
    ------
    NoProgram
        If they differ: numbers left the tensors on the way, or a rule of its own says what the derivative is.
    """
    code, evolve = TorchCode(program, [program.output]), getattr(system, method)
    folded = code.fold(program.constants)
    tables = [len(program.constants[o.slot]) for o in program.operations if o.name == "lookup"]
    for seed in range(1, 1 + TRIALS):
        h, x, t = _point(system, seed)
        t = t.clamp(max=min(tables, default=2) - 1)
        with torch.no_grad():
            asked = evolve(h, x, t)
        (found,) = code.values(h, x, t, program.constants, folded)
        if not _close(found, asked):
            raise NoProgram("its step computes something else than the operations that torch sees")
    with torch.enable_grad():
        own = h.clone().requires_grad_()
        value = evolve(own, x, t)
        along = torch.randn(value.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(value)
        total = (value * along).sum()  # with a gradient given for its values torch would import sympy, for a second
        (pulled,) = torch.autograd.grad(total, own, allow_unused=True) if total.requires_grad else (None,)
    expected = torch.zeros_like(h) if pulled is None else pulled
    told = linear.operator(h, x, t).apply_transpose(along.unsqueeze(-1)).squeeze(-1)
    if not _close(told, expected, least=1.0):  # torch's 1 − tanh² is rounding where a unit saturates
        raise NoProgram("its derivative by torch is not that of the operations it consists of")


def _close(found: Any, asked: Tensor, least: float = 0.0) -> bool:
    """Tell whether two results agree to half of the digits of the largest entry, or of `least` where that is larger."""
    value = torch.as_tensor(found, dtype=asked.dtype).expand(asked.shape)
    reach = float(torch.finfo(asked.dtype).eps ** 0.5)
    largest = float(asked.nan_to_num().abs().max()) if asked.numel() else 0.0
    return torch.allclose(value, asked, rtol=reach, atol=reach * max(largest, least), equal_nan=True)
