"""A `Program` and its Jacobian in ball arithmetic: enclosures of both over a ball or a box of states.

Arithmetic is Arb's, at the precision that `flint.ctx` holds. The ends of a wide ball enclose a monotone function of it.

References
----------
Johansson, "Arb: efficient arbitrary-precision midpoint-radius interval arithmetic", IEEE Transactions on Computers 66
(2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

from dynlab.program.balls import BALLS, NonSmooth
from dynlab.program.linearise import ONE, Linearisation, Terms, linearise
from dynlab.program.program import Program

__all__ = [
    "Balls",
    "Enclosure",
    "NonSmooth",
    "assembled",
    "doubles",
    "enclose",
    "enclosed_scales",
    "exact_matrix",
    "identity",
    "radii_of",
    "sizes_of",
]


class Enclosure(NamedTuple):
    """Entries `value` of a vector, and its derivative by the state; without columns where that is not asked for."""

    value: list[arb]
    derivative: arb_mat


def enclose(program: Program, state: list[arb], kinks: bool = False, slopes: bool = True) -> Enclosure:
    """Enclose the step and, where `slopes` are asked for, its Jacobian over the box `state`.

    Parameters
    ----------
    program : Program
        With the input held (`Program.held`).
    state : list of arb
        One ball a coordinate.
    kinks : bool
        Whether the slope of a ReLU, or of a modReLU that is continuous, is the interval from 0 to 1 where it may be at
        a kink (Clarke's derivative), rather than refused.
    slopes : bool

    Raises
    ------
    NonSmooth
        At such a place, unless `kinks`.
    """
    if not slopes:
        return Enclosure(enclosed_values(program, [program.output], state, kinks)[0], arb_mat(program.size, 0))
    value, scales = enclosed_scales(program, state, kinks)
    return Enclosure(value, assembled(linearise(program), scales, Balls()))


def enclosed_scales(program: Program, state: list[arb], kinks: bool) -> tuple[list[arb], dict[int, list[arb]]]:
    """Enclose the step, and what scales the rows of its derivative, over the box `state`."""
    scales = linearise(program).scales()
    value, *found = enclosed_values(program, [program.output, *scales], state, kinks)
    return value, dict(zip(scales, found, strict=True))


def enclosed_values(program: Program, outputs: Sequence[int], state: list[arb], kinks: bool) -> list[list[arb]]:
    """Enclose the results of some operations over the box `state`."""
    found: dict[int, list[arb]] = {}
    for i in program.needed(*outputs):
        operation = program.operations[i]
        reads = [found[k] for k in operation.reads]
        match operation.name:
            case "state":
                found[i] = state
            case "number":
                found[i] = [arb(operation.number)]
            case "constant":
                found[i] = stored(program, operation.slot).entries()
            case "linear":
                vector = arb_mat(len(reads[0]), 1, reads[0])
                found[i] = (stored(program, operation.slot) * vector).entries()
            case "take":
                found[i] = [reads[0][k] for k in operation.index]
            case "join":
                found[i] = [entry for part in reads for entry in part]
            case "sum":
                length = int(operation.number)
                groups = (reads[0][k : k + length] for k in range(0, len(reads[0]), length))
                found[i] = [sum(group, arb(0)) for group in groups]
            case name:
                held = [arb(operation.number)] if name == "power" else None
                if operation.constant is not None:
                    held = stored(program, operation.slot).entries()
                columns = [
                    part * (operation.size if len(part) == 1 else 1) for part in (*reads, *([held] if held else []))
                ]
                found[i] = [BALLS[name](*entries, kinks) for entries in zip(*columns, strict=True)]
    return [found[i] for i in outputs]


def stored(program: Program, number: int) -> arb_mat:
    """A stored vector, as a column, or matrix, with its error as a radius; made once."""
    if number not in program.balls:
        values = program.constants[number]
        array = values.detach().cpu().double().numpy()
        matrix = exact_matrix(array.reshape(len(array) if array.ndim else 1, -1))
        share = program.errors[number]
        if share and array.size:
            radius = arb(0, share * float(np.abs(array).max()))
            matrix = arb_mat([[entry + radius for entry in row] for row in matrix.tolist()])
        program.balls[number] = matrix
    return program.balls[number]


def exact_matrix(values: Any) -> arb_mat:
    """A matrix of doubles as it is."""
    rows, columns = values.shape
    return arb_mat(rows, columns, [arb(float(entry)) for entry in values.ravel()])


def doubles(matrix: arb_mat) -> NDArray[np.float64]:
    """The middles of the entries, rounded."""
    return np.array([float(entry) for entry in matrix.entries()]).reshape(matrix.nrows(), matrix.ncols())


def radii_of(matrix: arb_mat) -> arb_mat:
    """The radii of the entries, exact."""
    return arb_mat(matrix.nrows(), matrix.ncols(), [entry.rad() for entry in matrix.entries()])


def sizes_of(matrix: arb_mat) -> arb_mat:
    """Upper bounds on the moduli of the entries, exact."""
    return arb_mat(matrix.nrows(), matrix.ncols(), [entry.abs_upper() for entry in matrix.entries()])


def identity(n: int) -> arb_mat:
    """I of that size."""
    found = arb_mat(n, n)
    for i in range(n):
        found[i, i] = 1
    return found


# The derivative from its terms


class Balls:
    """What `assembled` does with matrices of balls."""

    def identity(self, n: int) -> arb_mat:
        return identity(n)

    def times(self, matrix: arb_mat, a: arb_mat) -> arb_mat:
        return matrix * a

    def scaled(self, diagonal: list[arb], a: arb_mat) -> arb_mat:
        columns, entries = a.ncols(), a.entries()
        return arb_mat(
            a.nrows(), columns, [d * entries[i * columns + j] for i, d in enumerate(diagonal) for j in range(columns)]
        )

    def add(self, a: arb_mat, b: arb_mat) -> arb_mat:
        return a + b

    def rows(self, a: arb_mat, index: Sequence[int]) -> arb_mat:
        table = a.tolist()
        return arb_mat(len(index), a.ncols(), [entry for i in index for entry in table[i]])

    def stacked(self, parts: Sequence[arb_mat]) -> arb_mat:
        return arb_mat(sum(p.nrows() for p in parts), parts[0].ncols(), [entry for p in parts for entry in p.entries()])

    def zeros(self, rows: int, columns: int) -> arb_mat:
        return arb_mat(rows, columns)


def assembled(linear: Linearisation, scales: dict[int, list[arb]], algebra: Any) -> Any:
    """The derivative over a box, from enclosures of what scales its rows, in the matrices of `Balls` or another."""
    knots = [algebra.identity(linear.columns)]

    def block(size: int, terms: Terms) -> Any:
        total = None
        for place, d in terms.items():
            part = knots[place.knot]
            if place.entries is not None:
                part = algebra.rows(part, place.entries)
            if place.matrix != ONE:
                matrix = stored(linear.program, place.matrix)
                part = algebra.times(matrix if place.rows is None else Balls().rows(matrix, place.rows), part)
            if d != ONE:
                diagonal = scales[d] * (size if len(scales[d]) == 1 else 1)
                part = algebra.scaled(diagonal, part)
            total = part if total is None else algebra.add(total, part)
        return algebra.zeros(size, linear.columns) if total is None else total

    for knot in linear.knots[1:]:
        parts = [block(size, terms) for size, terms in zip(knot.sizes, knot.blocks, strict=True)]
        knots.append(parts[0] if len(parts) == 1 else algebra.stacked(parts))
    return knots[-1]
