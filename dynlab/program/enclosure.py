"""A `Program` and its Jacobian in ball arithmetic: enclosures of both over a ball or a box of states.

Arithmetic is Arb's, at the precision that `flint.ctx` holds. The ends of a wide ball enclose a monotone function of it.

References
----------
Johansson, "Arb: efficient arbitrary-precision midpoint-radius interval arithmetic", IEEE Transactions on Computers 66
(2017).
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

from dynlab.program.balls import BALLS, NonSmooth
from dynlab.program.linearise import ONE, Terms, linearise
from dynlab.program.program import Program

__all__ = ["NonSmooth", "enclose", "jacobian_over_box"]


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
        Take the slope of a ReLU, or of a modReLU that is continuous, as the interval from 0 to 1 where it may be at
        a kink (Clarke's derivative), rather than refused.
    slopes : bool

    Raises
    ------
    NonSmooth
        At such a place, unless `kinks`.
    """
    if not slopes:
        return Enclosure(enclosed_values(program, [program.output], state, kinks)[0], arb_mat(program.size, 0))
    value, found = _enclosed(program, state, kinks, _scaled)
    return Enclosure(value, found.matrix)


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
                found[i] = (stored(program, operation.slot) * arb_mat(len(reads[0]), 1, reads[0])).entries()
            case "take":
                found[i] = [reads[0][k] for k in operation.index]
            case "join":
                found[i] = [entry for part in reads for entry in part]
            case "sum":
                length = int(operation.number)
                found[i] = [sum(reads[0][k : k + length], arb(0)) for k in range(0, len(reads[0]), length)]
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
    if ("balls", number) not in program.made:
        array = program.constants[number].detach().cpu().double().numpy()
        matrix = exact_matrix(array.reshape(len(array) if array.ndim else 1, -1))
        share = program.errors[number]
        if share and array.size:
            radius = arb(0, share * float(np.abs(array).max()))
            matrix = arb_mat([[entry + radius for entry in row] for row in matrix.tolist()])
        program.made["balls", number] = matrix
    return program.made["balls", number]


def exact_matrix(values: Any) -> arb_mat:
    """A matrix of doubles as it is."""
    return arb_mat(values.shape[0], values.shape[1], values.ravel().tolist())


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
    return arb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])


# The derivative from its terms


class Structured(NamedTuple):
    """M, a matrix of balls, and pairs (A_k, B_k): the matrices M + Σ_k A_k S_k B_k, S_k diagonal within [−1, 1].

    Ball arithmetic alone forgets that all entries of a row of diag(d) W move together with one d_i, and pays with ‖|W|‖
    for ‖W‖. Here every slope adds one pair, its radius and the derivative's middle; only what is of second order goes
    into the radii of M.
    """

    matrix: arb_mat
    terms: list[tuple[arb_mat, arb_mat]]


def jacobian_over_box(program: Program, box: list[arb]) -> tuple[list[arb], Structured]:
    """Return the step's values and its Jacobian over `box`; a ReLU's slope at its kink is in [0, 1] (Clarke)."""
    return _enclosed(program, box, True, _spread)


def _enclosed(
    program: Program, box: list[arb], kinks: bool, scaled: Callable[[list[arb], Structured], Structured]
) -> tuple[list[arb], Structured]:
    """The step and its derivative over a box; `scaled` multiplies rows with the diagonal that scales them."""
    linear = linearise(program)
    value, *diagonals = enclosed_values(program, [program.output, *linear.scales()], box, kinks)
    scales = dict(zip(linear.scales(), diagonals, strict=True))
    knots = [Structured(identity(program.size), [])]

    def block(size: int, terms: Terms) -> Structured:
        total = None
        for place, d in terms.items():
            part = knots[place.knot]
            if place.entries is not None:
                part = _turned(functools.partial(_rows, index=place.entries), part)
            if place.matrix != ONE:
                matrix = stored(program, place.matrix)
                part = _turned((matrix if place.rows is None else _rows(matrix, place.rows)).__mul__, part)
            if d != ONE:
                part = scaled(scales[d] * (size if len(scales[d]) == 1 else 1), part)
            total = part if total is None else Structured(total.matrix + part.matrix, total.terms + part.terms)
        return Structured(arb_mat(size, program.size), []) if total is None else total

    for knot in linear.knots[1:]:
        parts = [block(size, terms) for size, terms in knot]
        knots.append(parts[0] if len(parts) == 1 else _stacked(parts))
    return value, knots[-1]


def _turned(function: Callable[[arb_mat], arb_mat], a: Structured) -> Structured:
    """Return what a linear function of columns makes of M and of every A_k."""
    return Structured(function(a.matrix), [(function(left), right) for left, right in a.terms])


def _rows(a: arb_mat, index: Sequence[int]) -> arb_mat:
    table = a.tolist()
    return arb_mat(len(index), a.ncols(), [entry for i in index for entry in table[i]])


def _times(diagonal: list[arb], a: arb_mat) -> arb_mat:
    return arb_mat([[d * entry for entry in row] for d, row in zip(diagonal, a.tolist(), strict=True)])


def _scaled(diagonal: list[arb], a: Structured) -> Structured:
    """The rows of balls alone, each times an entry of the diagonal."""
    return Structured(_times(diagonal, a.matrix), [])


def _spread(diagonal: list[arb], a: Structured) -> Structured:
    """The rows, each times an entry of the diagonal, whose radii become a pair of their own."""
    radii = [slope.rad() for slope in diagonal]
    centred = _turned(functools.partial(_times, [slope.mid() for slope in diagonal]), a)
    if not any(radius > 0 for radius in radii):
        return centred
    rest = radii_of(a.matrix)  # of second order: the slope's radius times all else that is uncertain
    for left, right in a.terms:
        rest += sizes_of(left) * sizes_of(right)
    pairs = zip(centred.matrix.entries(), _times(radii, rest).entries(), strict=True)
    matrix = arb_mat(len(diagonal), rest.ncols(), [entry + arb(0, other.upper()) for entry, other in pairs])
    return Structured(matrix, [*centred.terms, (_times(radii, identity(len(diagonal))), a.matrix.mid())])


def _stacked(parts: Sequence[Structured]) -> Structured:
    def above(matrices: Sequence[arb_mat]) -> arb_mat:
        return arb_mat([row for matrix in matrices for row in matrix.tolist()])

    terms = []
    for number, part in enumerate(parts):
        for left, right in part.terms:
            zeros = [arb_mat(each.matrix.nrows(), left.ncols()) for each in parts]
            terms.append((above([*zeros[:number], left, *zeros[number + 1 :]]), right))
    return Structured(above([part.matrix for part in parts]), terms)
