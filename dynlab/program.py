"""One step of a network written out as a list of elementary operations with the stored numbers, each exact.

What a proof is about: ball arithmetic here, and whoever checks a certificate, evaluate the same short list.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Vector = NDArray[np.float64]

# What an operation may be, with the number of earlier results it reads; `join` reads any number.
ARGUMENTS = {
    "state": 0,
    "constant": 0,
    "linear": 1,
    "add": 2,
    "subtract": 2,
    "multiply": 2,
    "tanh": 1,
    "sigmoid": 1,
    "relu": 1,
    "part": 1,
}


@dataclass(frozen=True)
class Operation:
    """One operation on vectors: its name, the numbers of the operations it reads, and its stored numbers.

    Attributes
    ----------
    name : str
        A key of `ARGUMENTS`, or ``"join"``.
    reads : tuple of int
    values : ndarray or None
        A constant's vector; the matrix of ``linear``.
    span : tuple of int
        Of ``part``: the first coordinate and the one after the last.
    """

    name: str
    reads: tuple[int, ...]
    values: Vector | None = None
    span: tuple[int, int] = (0, 0)


@dataclass
class Program:
    """The operations in order; the last one is the step's result.

    The methods append an operation and return its number, so that a formula reads as it is written.

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

    def state(self) -> int:
        return self._append("state")

    def constant(self, values: Tensor | float, size: int | None = None) -> int:
        """A vector, or one number `size` times."""
        vector = torch.as_tensor(values, dtype=torch.float64).reshape(-1)
        return self._append("constant", values=_array(vector if size is None else vector.expand(size)))

    def linear(self, matrix: Tensor, a: int, bias: Tensor | None = None) -> int:
        """``matrix`` · a + ``bias``."""
        found = self._append("linear", a, values=_array(matrix))
        return found if bias is None else self.add(found, self.constant(bias))

    def add(self, a: int, b: int) -> int:
        return self._append("add", a, b)

    def subtract(self, a: int, b: int) -> int:
        return self._append("subtract", a, b)

    def multiply(self, a: int, b: int) -> int:
        """Entry by entry."""
        return self._append("multiply", a, b)

    def tanh(self, a: int) -> int:
        return self._append("tanh", a)

    def sigmoid(self, a: int) -> int:
        return self._append("sigmoid", a)

    def activation(self, name: str, a: int) -> int:
        """The activation of that name of `dynlab.systems.activations`."""
        return a if name == "identity" else self._append(name, a)

    def part(self, a: int, start: int, stop: int) -> int:
        self.operations.append(Operation("part", (a,), span=(start, stop)))
        return len(self.operations) - 1

    def join(self, parts: Sequence[int]) -> int:
        return parts[0] if len(parts) == 1 else self._append("join", *parts)

    def _append(self, name: str, *reads: int, values: Vector | None = None) -> int:
        self.operations.append(Operation(name, reads, values))
        return len(self.operations) - 1

    def evaluate(self, state: Vector) -> Vector:
        """The step in floating point, for comparison with the system's own."""
        results: list[Any] = []
        for operation in self.operations:
            read = [results[i] for i in operation.reads]
            results.append(_floating(operation, read, state))
        return np.asarray(results[-1])


def _floating(operation: Operation, read: list[Vector], state: Vector) -> Vector:
    match operation.name:
        case "state":
            return state
        case "constant":
            return np.asarray(operation.values)
        case "linear":
            return np.asarray(operation.values) @ read[0]
        case "add":
            return read[0] + read[1]
        case "subtract":
            return read[0] - read[1]
        case "multiply":
            return read[0] * read[1]
        case "tanh":
            return np.tanh(read[0])
        case "sigmoid":
            return 0.5 * (1 + np.tanh(0.5 * read[0]))
        case "relu":
            return np.maximum(read[0], 0)
        case "part":
            return read[0][slice(*operation.span)]
        case _:
            return np.concatenate(read)


def _array(values: Tensor) -> Vector:
    """In float64, which holds every float32 and float16 exactly."""
    return values.detach().cpu().double().numpy().copy()
