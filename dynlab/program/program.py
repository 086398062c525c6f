"""A step as a short list of elementary operations on vectors, read from the step itself (`dynlab.program.trace`)."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Index = tuple[int, ...]


class NoProgram(Exception):
    """A step that cannot be written as operations of the table; the sentence says why."""


@dataclass(frozen=True)
class Operation:
    """One operation on vectors; its name is a key of `dynlab.program.operations.OPERATIONS` or a leaf's.

    Attributes
    ----------
    name : str
        Leaves are ``state``, ``input``, ``time`` and ``constant``.
    reads : tuple of int
        Numbers of the operations whose results it takes; operands of size 1 broadcast.
    size : int
        Length of its result.
    constant : int or None
        Number of the stored vector or matrix it holds.
    index : tuple of int
        Entries that ``take`` takes.
    number : float
        Exponent of ``power``; length of the groups that ``sum`` adds up.
    """

    name: str
    reads: tuple[int, ...] = ()
    size: int = 0
    constant: int | None = None
    index: Index = ()
    number: float = 0.0

    @property
    def slot(self) -> int:
        """The number of the stored vector or matrix, of an operation that holds one."""
        return cast(int, self.constant)


@dataclass
class Program:
    """Operations in order, and the stored numbers that they hold; `output` is the step's result.

    Methods named after operations append one and return its number; equal operations are appended once.

    Attributes
    ----------
    size, input_size : int
        Lengths of the state and of the input.
    operations : list of Operation
    constants : list of Tensor
        Vectors and matrices.
    errors : list of float
        Bound on the relative error of each constant, as a share of its largest entry; 0 where it is exact.
    output : int
    """

    size: int
    input_size: int = 0
    operations: list[Operation] = field(default_factory=list)
    constants: list[Tensor] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    output: int = -1
    made: dict[Any, Any] = field(default_factory=dict, repr=False)  # derivatives, code and balls, when asked for
    _numbers: dict[Operation, int] = field(default_factory=dict, repr=False)

    def append(self, name: str, *reads: int, size: int | None = None, **held: Any) -> int:
        """Append an operation unless it is there, and return its number."""
        if size is None:
            size = max(self.operations[i].size for i in reads)
        return self._number(Operation(name, reads, size, **held))

    def _number(self, operation: Operation) -> int:
        if operation not in self._numbers:
            self._numbers[operation] = len(self.operations)
            self.operations.append(operation)
        return self._numbers[operation]

    def store(self, values: Tensor, error: float = 0.0) -> int:
        """Keep a vector or matrix, and return its number."""
        self.constants.append(values)
        self.errors.append(error)
        return len(self.constants) - 1

    def constant(self, values: Tensor | float, error: float = 0.0) -> int:
        if not isinstance(values, Tensor):
            return self.append("number", size=1, number=float(values))
        return self.append("constant", size=values.numel(), constant=self.store(values.reshape(-1), error))

    def linear(self, matrix: int, a: int) -> int:
        """The product of the stored matrix of that number with a."""
        if self.constants[matrix].shape[1] == 0:
            return self.constant(0.0)
        return self.append("linear", a, size=len(self.constants[matrix]), constant=matrix)

    def take(self, a: int, index: Sequence[int] | NDArray[np.int64]) -> int:
        chosen = tuple(int(i) for i in index)
        inner = self.operations[a]
        if chosen == tuple(range(inner.size)):
            return a
        if inner.name == "take":
            return self.take(inner.reads[0], [inner.index[i] for i in chosen])
        if inner.size == 1 and inner.name == "number":
            return a  # broadcasts
        return self.append("take", a, size=len(chosen), index=chosen)

    def join(self, parts: Sequence[int]) -> int:
        return parts[0] if len(parts) == 1 else self.append("join", *parts, size=sum(self.sizes(parts)))

    def sum(self, a: int, length: int) -> int:
        """Sums of groups of `length` neighbours."""
        return a if length == 1 else self.append("sum", a, size=self.operations[a].size // length, number=length)

    def sizes(self, numbers: Sequence[int]) -> list[int]:
        return [self.operations[i].size for i in numbers]

    def add(self, a: int, b: int) -> int:
        """A sum; c + z (h − c) with a gate z = σ(p) is σ(−p) c + z h, so that 1 − z does not cancel in its slope."""
        if self.is_number(a, 0.0) and self.operations[b].size > 0:
            return b
        if self.is_number(b, 0.0):
            return a
        for base, product in ((a, b), (b, a)):
            if self.operations[product].name == "multiply":
                gate, apart = self._by_name(self.operations[product].reads)
                inner = self.operations[apart]
                if (self.operations[gate].name, inner.name, inner.reads[1:]) == ("sigmoid", "subtract", (base,)):
                    closed = self.subtract(self.constant(1.0), gate)
                    return self.add(self.multiply(closed, base), self.multiply(gate, inner.reads[0]))
        return self.append("add", a, b)

    def subtract(self, a: int, b: int) -> int:
        if self.is_number(b, 0.0):
            return a
        if self.is_number(a, 1.0) and self.operations[b].name == "sigmoid":  # 1 − σ(p) = σ(−p) does not cancel
            return self.append("sigmoid", self.negate(self.operations[b].reads[0]))
        return self.append("subtract", a, b)

    def multiply(self, a: int, b: int) -> int:
        """A product; sign(p) · relu(|p| + b) is one function, whose slope at a dead unit would be 0 · unbounded."""
        if self.is_number(a, 1.0):
            return b
        if self.is_number(b, 1.0):
            return a
        rectified, sign = (self.operations[i] for i in self._by_name((a, b)))
        if (rectified.name, sign.name) == ("relu", "sign") and self.operations[rectified.reads[0]].name == "add":
            terms = self._by_name(self.operations[rectified.reads[0]].reads)
            modulus, bias = (self.operations[i] for i in terms)
            if (modulus.name, modulus.reads, bias.name) == ("abs", sign.reads, "constant"):
                return self.append("modrelu", sign.reads[0], constant=bias.constant)
        return self.append("multiply", a, b)

    def _by_name(self, numbers: Sequence[int]) -> list[int]:
        return sorted(numbers, key=lambda i: self.operations[i].name)

    def divide(self, a: int, b: int) -> int:
        return a if self.is_number(b, 1.0) else self.append("divide", a, b)

    def negate(self, a: int) -> int:
        inner = self.operations[a]
        return inner.reads[0] if inner.name == "negate" else self.append("negate", a)

    def is_number(self, a: int, value: float) -> bool:
        operation = self.operations[a]
        return operation.name == "number" and operation.number == value

    @property
    def is_exact(self) -> bool:
        """Tell whether every stored number is exact, none the result of rounded arithmetic."""
        used = {o.constant for o in (self.operations[i] for i in self.needed(self.output)) if o.constant is not None}
        return not any(self.errors[number] for number in used)

    def needed(self, *outputs: int, given: Sequence[int] = ()) -> list[int]:
        """Return the numbers of the operations that `outputs` depend on, in order; of those `given` no others."""
        wanted = set(outputs)
        for i in range(max(outputs, default=-1), -1, -1):
            if i in wanted and i not in given:
                wanted.update(self.operations[i].reads)
        return sorted(wanted)

    def depends_on(self, leaf: str) -> list[bool]:
        """Tell whether each operation depends on that leaf."""
        found: list[bool] = []
        for operation in self.operations:
            found.append(operation.name == leaf or any(found[i] for i in operation.reads))
        return found

    def held(self, input: Tensor | None, t: int = 0) -> "Program":
        """The program of a fixed step number and, unless it is None, a held input: without ``time`` and ``input``."""
        found = Program(
            self.size, self.input_size if input is None else 0, constants=list(self.constants), errors=list(self.errors)
        )
        moved: list[int] = []
        for operation in self.operations:
            match operation.name:
                case "input" if input is not None:
                    moved.append(found.constant(input.detach().double().cpu()))
                case "time":
                    moved.append(found.constant(float(t)))
                case "lookup":
                    table = self.constants[operation.slot]
                    row = table[min(int(t), len(table) - 1)]
                    share = self.errors[operation.slot]
                    if share and row.any():  # the share of the table's largest entry as one of the row's
                        share *= float(table.abs().max() / row.abs().max())
                    moved.append(found.constant(row, share))
                case _:
                    reads = tuple(moved[i] for i in operation.reads)
                    moved.append(found._number(dataclasses.replace(operation, reads=reads)))
        found.output = moved[self.output]
        return found
