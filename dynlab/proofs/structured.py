"""The Jacobian over a whole box of states, its uncertainty kept with its structure.

Ball arithmetic alone forgets that all entries of a row of diag(d) W move together with one d_i, and pays with ‖|W|‖ for
‖W‖. Here a derivative is

    M + Σ_k A_k S_k B_k,    S_k diagonal with entries in [−1, 1],

where every activation and every product adds one term, its slope's radius times the derivative's middle; only what is
of second order goes into the radii of M.
"""

import functools
import itertools
from typing import NamedTuple

from flint import arb, arb_mat

from dynlab.program import Operation, Program
from dynlab.proofs.balls import Enclosure, activated, enclosed, identity, radii_of, sizes_of, stored, widened


class Structured(NamedTuple):
    """M, a matrix of balls, and the pairs (A_k, B_k)."""

    matrix: arb_mat
    terms: list[tuple[arb_mat, arb_mat]]


def jacobian_over_box(program: Program, box: list[arb]) -> tuple[list[arb], Structured]:
    """The step's values and its Jacobian over `box`; a ReLU's slope at its kink is anything from 0 to 1 (Clarke)."""
    values: list[Enclosure] = []
    slopes: list[Structured] = []
    for operation in program.operations:
        read = [values[i] for i in operation.reads]
        # without derivatives: those are propagated below, with their structure
        values.append(enclosed(operation, read, Enclosure(box, arb_mat(len(box), 0)), True))
        slopes.append(_derivative(operation, read, [slopes[i] for i in operation.reads], len(box)))
    matrix, terms = slopes[-1]
    return values[-1].value, Structured(widened(program, matrix), terms)


def _derivative(operation: Operation, read: list[Enclosure], by: list[Structured], size: int) -> Structured:
    match operation.name:
        case "state":
            return Structured(identity(size), [])
        case "constant":
            return Structured(arb_mat(stored(operation).nrows(), size), [])
        case "linear":
            return _times(stored(operation), by[0])
        case "add":
            return _sum(*by)
        case "subtract":
            return _sum(by[0], _times(-identity(by[1].matrix.nrows()), by[1]))
        case "multiply":
            return _sum(_scaled(read[1].value, by[0]), _scaled(read[0].value, by[1]))
        case "part":
            return _times(arb_mat(identity(len(read[0].value)).tolist()[slice(*operation.span)]), by[0])
        case "join":
            columns = identity(sum(len(part.value) for part in read)).transpose().tolist()
            ends = list(itertools.accumulate((len(part.value) for part in read), initial=0))
            places = [arb_mat(columns[start:stop]).transpose() for start, stop in itertools.pairwise(ends)]
            return functools.reduce(_sum, map(_times, places, by))
        case _:
            return _scaled(activated(operation, read[0].value, True)[1], by[0])


def _times(matrix: arb_mat, a: Structured) -> Structured:
    return Structured(matrix * a.matrix, [(matrix * left, right) for left, right in a.terms])


def _sum(a: Structured, b: Structured) -> Structured:
    return Structured(a.matrix + b.matrix, a.terms + b.terms)


def _scaled(slopes: list[arb], a: Structured) -> Structured:
    """diag(slopes) a."""
    middles, radii = [slope.mid() for slope in slopes], [slope.rad() for slope in slopes]
    centred = _times(_diagonal(middles), a)
    if not any(radius > 0 for radius in radii):
        return centred
    # of second order: the slope's radius times all else that is uncertain
    rest = radii_of(a.matrix)
    for left, right in a.terms:
        rest += sizes_of(left) * sizes_of(right)
    spread = (_diagonal(radii) * rest).entries()
    entries = [entry + arb(0, other.upper()) for entry, other in zip(centred.matrix.entries(), spread, strict=True)]
    matrix = arb_mat(len(slopes), rest.ncols(), entries)
    return Structured(matrix, [*centred.terms, (_diagonal(radii), a.matrix.mid())])


def _diagonal(entries: list[arb]) -> arb_mat:
    n = len(entries)
    return arb_mat(n, n, [entries[i] if i == j else 0 for i in range(n) for j in range(n)])
