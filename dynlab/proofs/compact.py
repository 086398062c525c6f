"""A shorter certificate of the same fixed point: what only helps the proof is rounded, and what is shown stays a proof.

C, V and V⁻¹ may be any matrices for which the inequalities hold. In single precision they are a quarter as long; the
discs of the eigenvalues become wider, and must still be on the same sides of the unit circle.
"""

import math
from typing import Any

import numpy as np
from flint import arb, ctx

from dynlab.numerics.arrays import Real
from dynlab.old_program import Operation, Program
from dynlab.proofs.balls import NonSmooth, exact_matrix
from dynlab.proofs.certify import Certificate, above
from dynlab.proofs.discs import Counts, count, discs_of, real_basis
from dynlab.proofs.document import document
from dynlab.proofs.krawczyk import NotProved, proved_ball

BITS = 128  # of the arithmetic that finds the shorter proof
CHECKED_BITS = 64  # the precision that the document names: its checker takes twice as many bits, and 64 more
KINDS = (np.float32, np.float64)  # of the rounded matrices, tried in turn


def compact(written: dict[str, Any]) -> dict[str, Any]:
    """A shorter document that claims as much, or this one where none was found.

    Parameters
    ----------
    written : dict
        As `dynlab.proofs.document.document` gives it.

    Returns
    -------
    dict
        Of the same program, digest, ball's centre and claims.
    """
    program = _program(written)
    claimed = Counts(*(written["claims"][key] for key in ("outside", "inside", "undecided")))
    center = [arb(float(_number(text))) for text in written["ball"]["center"]]
    inverse = _matrix(written["ball"]["inverse"])
    vectors, turned = (_complex(written[key]) for key in ("vectors", "inverse"))
    for kind in KINDS:
        with ctx.workprec(BITS):
            try:
                ball = proved_ball(program, center, exact_matrix(_rounded(inverse, kind)))
            except (NotProved, NonSmooth):
                continue
            discs = discs_of(ball.jacobian, real_basis(_rounded(vectors, kind), _rounded(turned, kind)))
            if discs is None or count(discs) != claimed:
                continue
            radius = above(ball.radius)
            found = Certificate(True, radius, claimed, "", CHECKED_BITS, ball, ball, discs)
            return document(program, found, written["system"], written["source"])
    return written


def _rounded(values: Any, kind: type[np.floating[Any]]) -> Any:
    """The numbers in that precision, as doubles; of complex ones both parts."""
    if np.iscomplexobj(values):
        return _rounded(values.real, kind) + 1j * _rounded(values.imag, kind)
    return values.astype(kind).astype(np.float64)


def _program(written: dict[str, Any]) -> Program:
    """The step that the document holds, of which each number is a double."""
    program = Program(written["size"])
    for entry in written["program"]:
        values = None
        if "values" in entry:
            values = np.array([_numbers(row) for row in entry["values"]], dtype=np.float64)
        reads, span = tuple(entry["reads"]), tuple(entry.get("span", (0, 0)))
        size = _size(entry, [program.operations[index].size for index in reads] or [written["size"]])
        program.operations.append(Operation(entry["name"], reads, size, values, (span[0], span[1])))
    return program


def _size(entry: dict[str, Any], read: list[int]) -> int:
    if entry["name"] in ("constant", "linear"):
        return len(entry["values"])
    if entry["name"] == "part":
        start, stop = entry["span"]
        return int(stop - start)
    return sum(read) if entry["name"] == "join" else read[0]


def _numbers(row: Any) -> Any:
    return [_number(text) for text in row] if isinstance(row, list) else _number(row)


def _matrix(rows: list[list[str]]) -> Real:
    return np.array([_numbers(row) for row in rows], dtype=np.float64)


def _complex(parts: dict[str, list[list[str]]]) -> Any:
    return _matrix(parts["real"]) + 1j * _matrix(parts["imag"])


def _number(text: str) -> float:
    """The double nearest to a number of a document."""
    mantissa, exponent = text.split("p")
    digits = int(mantissa, 16)
    cut = max(0, digits.bit_length() - 64)  # beyond a double's precision, so that it is not beyond its range
    return math.ldexp(digits >> cut, int(exponent) + cut)
