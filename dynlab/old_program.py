"""One step of a network written out as a list of elementary operations with the stored numbers, each exact.

What a proof is about: ball arithmetic, and whoever checks a certificate, evaluate the same short list. A system states
its own beside its step (`dynlab.systems.base.System.formula`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from dynlab.numerics.arrays import Real


class NoProgram(Exception):
    """A step that is not written out; the sentence says whose."""


@dataclass(frozen=True, eq=False)
class Operation:
    """One operation on vectors.

    Attributes
    ----------
    name : str
        That of a method of `Program`, or ``"relu"``.
    reads : tuple of int
        The numbers of the operations whose results it reads.
    size : int
        How many numbers its result has.
    values : ndarray or None
        A constant's vector, the matrix of ``linear``, the b of ``modrelu``.
    span : tuple of int
        Of ``part``: the first coordinate and the one after the last.
    """

    name: str
    reads: tuple[int, ...]
    size: int
    values: Real | None = None
    span: tuple[int, int] = (0, 0)


@dataclass
class Program:
    """The operations in order; the last one is the step's result.

    The methods append operations and return the number of the last, so that a formula reads as it is written.

    Attributes
    ----------
    size : int
        How many numbers a state has.
    operations : list of Operation
    rounded : bool
        Whether a stored matrix is itself the result of rounded arithmetic, as an orthogonal one is. A proof then holds
        for all matrices that near: what rounding decides, such as on which side of 1 a modulus is, is not proved.

    Examples
    --------
    >>> p = Program(1)
    >>> p.tanh(p.linear(torch.tensor([[2.0]]), p.state()))
    2
    >>> p.evaluate(np.array([1.0])).round(4).tolist()
    [0.964]
    """

    size: int
    operations: list[Operation] = field(default_factory=list)
    rounded: bool = False

    def state(self) -> int:
        return self._append("state", size=self.size)

    def constant(self, values: Tensor | float, size: int | None = None) -> int:
        """A vector, or one number `size` times."""
        vector = torch.as_tensor(values, dtype=torch.float64).reshape(-1)
        stored = _array(vector if size is None else vector.expand(size))
        return self._append("constant", size=len(stored), values=stored)

    def linear(self, matrix: Tensor, a: int, bias: Tensor | None = None) -> int:
        """``matrix`` · a + ``bias``."""
        found = self._append("linear", a, size=len(matrix), values=_array(matrix))
        return found if bias is None else self.add(found, self.constant(bias))

    def chain(self, factors: Iterable[Tensor], a: int) -> int:
        """The product of the matrices, of which the last acts first, on a."""
        for factor in reversed(list(factors)):
            a = self.linear(factor, a)
        return a

    def add(self, a: int, b: int) -> int:
        return self._append("add", a, b)

    def subtract(self, a: int, b: int) -> int:
        return self._append("subtract", a, b)

    def multiply(self, a: int, b: int) -> int:
        """Entry by entry."""
        return self._append("multiply", a, b)

    def scaled(self, factor: Tensor | float, a: int) -> int:
        """One number times a."""
        return self.multiply(self.constant(factor, self.operations[a].size), a)

    def reciprocal(self, a: int) -> int:
        """1/a, entry by entry."""
        return self._append("reciprocal", a)

    def sqrt(self, a: int) -> int:
        return self._append("sqrt", a)

    def tanh(self, a: int) -> int:
        return self._append("tanh", a)

    def sigmoid(self, a: int) -> int:
        return self._append("sigmoid", a)

    def modrelu(self, a: int, b: Tensor) -> int:
        """sign(a) max(abs(a) + b, 0), and 0 at a = 0."""
        return self._append("modrelu", a, values=_array(b))

    def activation(self, name: str, a: int) -> int:
        """The activation of that name of `dynlab.systems.activations`."""
        return a if name == "identity" else self._append(name, a)

    def part(self, a: int, start: int, stop: int) -> int:
        self.operations.append(Operation("part", (a,), stop - start, span=(start, stop)))
        return len(self.operations) - 1

    def parts(self, a: int) -> list[int]:
        """The entries of a, one by one."""
        return [self.part(a, i, i + 1) for i in range(self.operations[a].size)]

    def join(self, parts: Sequence[int]) -> int:
        if len(parts) == 1:
            return parts[0]
        return self._append("join", *parts, size=sum(self.operations[part].size for part in parts))

    def _append(self, name: str, *reads: int, size: int | None = None, values: Real | None = None) -> int:
        size = self.operations[reads[0]].size if size is None else size
        self.operations.append(Operation(name, reads, size, values))
        return len(self.operations) - 1

    def evaluate(self, state: Real) -> Real:
        """The step in floating point, for comparison with the system's own."""
        results: list[Real] = []
        for operation in self.operations:
            results.append(_floating(operation, [results[i] for i in operation.reads], state))
        return results[-1]


# What the operations do that need no stored numbers, by name.
PLAIN: dict[str, Callable[..., Real]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "reciprocal": np.reciprocal,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sigmoid": lambda p: 0.5 * (1 + np.tanh(0.5 * p)),
    "relu": lambda p: np.maximum(p, 0),
    "join": lambda *parts: np.concatenate(parts),
}


def _floating(operation: Operation, read: list[Real], state: Real) -> Real:
    values = np.asarray(operation.values)
    match operation.name:
        case "state":
            return state
        case "constant":
            return values
        case "linear":
            return np.asarray(values @ read[0])
        case "modrelu":
            return np.asarray(np.sign(read[0]) * np.maximum(np.abs(read[0]) + values, 0))
        case "part":
            return read[0][slice(*operation.span)]
        case name:
            return PLAIN[name](*read)


def _array(values: Tensor) -> Real:
    """In float64, which holds every float32 and float16 exactly."""
    return values.detach().cpu().double().numpy().copy()
