"""A `Program` and its Jacobian in ball arithmetic: enclosures of both over a ball or a box of states.

Forward differentiation with matrices: each operation carries an enclosure of its value and of its derivative by the
state. Arithmetic is Arb's, at the precision that `flint.ctx` holds.

References
----------
Johansson, "Arb: efficient arbitrary-precision midpoint-radius interval arithmetic", IEEE Transactions on Computers 66
(2017).
"""

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

from dynlab.old_program import Operation, Program

MATRIX_ROUNDING = 2.0**-40  # how far a matrix that was computed in float64 may be from what it stands for, relatively
WIDE = 1e-6  # radius of a ball from which on monotony encloses more tightly than Arb's own functions do


class NonSmooth(Exception):
    """An operation that may be at a place without a derivative: a ReLU at 0, a modReLU at its border, a root of 0."""


class Enclosure(NamedTuple):
    """Entries `value` of a vector, and its derivative by the state; without columns where that is not asked for."""

    value: list[arb]
    derivative: arb_mat


def enclose(program: Program, state: list[arb], kinks: bool = False, slopes: bool = True) -> Enclosure:
    """The step and, where `slopes` are asked for, its Jacobian over the box `state`.

    Parameters
    ----------
    program : Program
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
    n = program.size
    box = Enclosure(state, identity(n) if slopes else arb_mat(n, 0))
    results: list[Enclosure] = []
    for operation in program.operations:
        results.append(enclosed(operation, [results[i] for i in operation.reads], box, kinks))
    value, derivative = results[-1]
    return Enclosure(value, widened(program, derivative) if slopes else derivative)


def widened(program: Program, jacobian: arb_mat) -> arb_mat:
    """The Jacobian, and those of the matrices near by where the program's are rounded."""
    if not program.rounded:
        return jacobian
    rows = jacobian.tolist()
    radius = arb(0, MATRIX_ROUNDING * max(float(entry.abs_upper()) for row in rows for entry in row))
    return arb_mat([[entry + radius for entry in row] for row in rows])


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


def stored(operation: Operation) -> arb_mat:
    """The numbers of an operation as they are, vectors as columns; made once."""
    if operation not in _STORED:
        values = np.array(operation.values)
        _STORED[operation] = exact_matrix(values.reshape(len(values), int(np.prod(values.shape[1:]))))
    return _STORED[operation]


_STORED: WeakKeyDictionary[Operation, arb_mat] = WeakKeyDictionary()


def identity(n: int) -> arb_mat:
    """I of that size."""
    found = arb_mat(n, n)
    for i in range(n):
        found[i, i] = 1
    return found


def enclosed(operation: Operation, read: list[Enclosure], box: Enclosure, kinks: bool) -> Enclosure:
    """One operation on what the operations it reads enclose."""
    match operation.name:
        case "state":
            return box
        case "constant":
            entries = stored(operation).entries()
            return Enclosure(entries, arb_mat(len(entries), box.derivative.ncols()))
        case "linear":
            matrix, (value, derivative) = stored(operation), read[0]
            return Enclosure((matrix * arb_mat(len(value), 1, value)).entries(), matrix * derivative)
        case "add" | "subtract":
            sign, (a, by_a), (b, by_b) = 1 if operation.name == "add" else -1, *read
            return Enclosure([p + sign * q for p, q in zip(a, b, strict=True)], by_a + sign * by_b)
        case "multiply":
            (a, by_a), (b, by_b) = read
            return Enclosure([p * q for p, q in zip(a, b, strict=True)], _scaled(b, by_a) + _scaled(a, by_b))
        case "part":
            start, stop = operation.span
            value, derivative = read[0]
            columns = derivative.ncols()
            rows = derivative.entries()[start * columns : stop * columns]
            return Enclosure(value[start:stop], arb_mat(stop - start, columns, rows))
        case "join":
            joint = [entry for part in read for entry in part.value]
            rows = [entry for part in read for entry in part.derivative.entries()]
            return Enclosure(joint, arb_mat(len(joint), box.derivative.ncols(), rows))
        case _:
            value, slope = activated(operation, read[0].value, kinks)
            return Enclosure(value, _scaled(slope, read[0].derivative))


def activated(operation: Operation, values: list[arb], kinks: bool) -> tuple[list[arb], list[arb]]:
    """A function of each ball, and its slope there; `kinks` as in `enclose`."""
    match operation.name:
        case "tanh":
            return [_tanh(entry) for entry in values], [_tanh_slope(entry) for entry in values]
        case "sigmoid":
            halves = [entry / 2 for entry in values]
            return [(1 + _tanh(half)) / 2 for half in halves], [_tanh_slope(half) / 4 for half in halves]
        case "relu":
            pairs = [_relu(index, entry, kinks) for index, entry in enumerate(values)]
        case "modrelu":
            places = enumerate(zip(values, stored(operation).entries(), strict=True))
            pairs = [_modrelu(index, entry, b, kinks) for index, (entry, b) in places]
        case "sqrt":
            pairs = [_sqrt(entry) for entry in values]
        case "reciprocal":
            pairs = [_reciprocal(entry) for entry in values]
        case _:
            raise ValueError(f"no operation of a program is called {operation.name!r}")
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _tanh(p: arb) -> arb:
    """Monotone, so that the ends of a wide ball enclose it."""
    if float(p.rad()) < WIDE:
        return p.tanh()
    return p.lower().tanh().union(p.upper().tanh())


def _tanh_slope(p: arb) -> arb:
    """1/cosh², decreasing in abs(p); 1 − tanh² would cancel."""
    if float(p.rad()) < WIDE:
        return 1 / p.cosh() ** 2
    return (1 / p.abs_lower().cosh() ** 2).union(1 / p.abs_upper().cosh() ** 2)


def _relu(index: int, p: arb, kinks: bool) -> tuple[arb, arb]:
    if p > 0:
        return p, arb(1)
    if p < 0:
        return arb(0), arb(0)
    if not kinks:
        raise NonSmooth(f"non-smooth point: the argument of ReLU {index} may be 0")
    return arb(0).union(p.upper()), arb(0).union(arb(1))


def _modrelu(index: int, p: arb, b: arb, kinks: bool) -> tuple[arb, arb]:
    if p.abs_upper() + b < 0:
        return arb(0), arb(0)
    sided = p > 0 or p < 0
    if sided and p.abs_lower() + b > 0:
        return (p + b if p > 0 else p - b), arb(1)
    if not kinks or b > 0:
        raise NonSmooth(f"non-smooth point: the argument of modReLU {index} may be at its border")
    # continuous and increasing
    low, high = (-_beyond(-p.lower(), b), _beyond(p.upper(), b))
    return low.union(high), arb(0).union(arb(1))


def _beyond(p: arb, b: arb) -> arb:
    """An upper bound on modReLU at the exact number p, for b ≤ 0."""
    return (p - b).min(arb(0)).upper() if p < 0 else (p + b).max(arb(0)).upper()


def _sqrt(p: arb) -> tuple[arb, arb]:
    if not p > 0:
        raise NonSmooth("non-smooth point: a root of 0 may be taken")
    root = p.lower().sqrt().union(p.upper().sqrt())
    return root, 1 / (2 * root)


def _reciprocal(p: arb) -> tuple[arb, arb]:
    if not (p > 0 or p < 0):
        raise NonSmooth("non-smooth point: a quotient by 0 may be taken")
    found = (1 / p.lower()).union(1 / p.upper())
    return found, -found * found


def _scaled(diagonal: list[arb], matrix: arb_mat) -> arb_mat:
    columns = matrix.ncols()
    entries = matrix.entries()
    scaled = [d * entries[i * columns + j] for i, d in enumerate(diagonal) for j in range(columns)]
    return arb_mat(matrix.nrows(), columns, scaled)
