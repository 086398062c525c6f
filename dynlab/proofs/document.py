"""A certificate as a document that a short program without dynlab or Arb checks again: `dynlab.certificate_check`.

Numbers are exact: text ``"<hexadecimal integer>p<exponent of 2>"``.
"""

import hashlib
import json
from typing import Any

import numpy as np
from flint import acb_mat, arb, arb_mat, ctx

from dynlab.program import Program
from dynlab.program.enclosure import exact_matrix
from dynlab.proofs.certify import Ball, Certificate
from dynlab.proofs.discs import Basis, Counts, ProvedDiscs, count, discs_of

FORMAT = "dynlab certificate 2"
CLAIMED = 4  # times the radius of a disc: the checker differentiates one operation after the other, which spreads more


def document(program: Program, certificate: Certificate, system: str, source: Any) -> dict[str, Any]:
    """Return what is claimed and all that shows it, JSON-able.

    Parameters
    ----------
    program : Program
    certificate : Certificate
        With a proved ball and discs.
    system : str
        The network's name.
    source : dict or None
        The file that it is from.

    Returns
    -------
    dict
        ``program`` holds every stored number; ``digest`` is its SHA-256, the same for every certificate of one
        network, held input and step.
    """
    ball, tight = certificate.ball, certificate.tight
    if ball is None or tight is None or certificate.discs is None:
        raise ValueError("a certificate that proves nothing has no document")
    operations = written(program)
    with ctx.workprec(certificate.precision):
        discs = _shorter(tight, certificate.discs, certificate.counts)
        vectors, inverse = discs.basis
        floor, least = arb(2) ** -(ctx.prec // 2), arb(2) ** -(ctx.prec // 4)
        radii = [_number((CLAIMED * radius + floor * radius.max(least)).upper()) for radius in discs.radii]
    return {
        "format": FORMAT,
        "system": system,
        "source": source,
        "digest": hashlib.sha256(json.dumps(operations).encode()).hexdigest(),
        "precision": certificate.precision,
        "size": program.size,
        "program": operations,
        "ball": _ball(ball),
        "tight_ball": _ball(tight),
        "vectors": _complex(vectors),
        "inverse": _complex(inverse),
        "eigenvalues": [
            {"real": _number(center.real), "imag": _number(center.imag), "radius": radius}
            for center, radius in zip(discs.centers, radii, strict=True)
        ],
        "claims": {
            "outside": certificate.counts.outside,
            "inside": certificate.counts.inside,
            "undecided": certificate.counts.undecided,
        },
    }


def written(program: Program) -> list[dict[str, Any]]:
    """The operations that the step needs, as a document holds them; what one reads are places in this list."""
    places: dict[int, int] = {}
    found = []
    for place, number in enumerate(program.needed(program.output)):
        places[number] = place
        found.append(_operation(program, number, places))
    return found


def _shorter(ball: Ball, discs: ProvedDiscs, counts: Counts) -> ProvedDiscs:
    """The discs of eigenvectors in double precision, which take half as many digits, where they decide as much."""
    n = len(ball.center)
    basis = Basis(*(acb_mat(n, n, [complex(entry) for entry in matrix.entries()]) for matrix in discs.basis))
    found = discs_of(ball.jacobian, basis)
    return found if found is not None and count(found) == counts else discs


def _operation(program: Program, number: int, places: dict[int, int]) -> dict[str, Any]:
    operation = program.operations[number]
    found: dict[str, Any] = {"name": operation.name, "reads": [places[i] for i in operation.reads]}
    if operation.constant is not None:
        values = program.constants[operation.constant].detach().cpu().double().numpy()
        rows = _rows(exact_matrix(np.atleast_2d(values)))
        found["values"] = rows if operation.name == "linear" else [entry for row in rows for entry in row]
        share = program.errors[operation.constant]
        if share and values.size:  # how far each number may be from what it stands for
            found["radius"] = _number(arb(share * float(abs(values).max())))
    if operation.name == "take":
        found["index"] = list(operation.index)
    if operation.name in ("number", "power"):
        found["number"] = _number(arb(operation.number))
    if operation.name == "sum":
        found["length"] = int(operation.number)
    return found


def _ball(ball: Ball) -> dict[str, Any]:
    return {
        "center": [_number(entry) for entry in ball.center],
        "radius": _number(ball.radius),
        "inverse": _rows(ball.inverse),
    }


def _rows(matrix: arb_mat) -> list[list[str]]:
    return [[_number(entry) for entry in row] for row in matrix.tolist()]


def _complex(matrix: acb_mat) -> dict[str, list[list[str]]]:
    return {"real": _rows(matrix.real), "imag": _rows(matrix.imag)}


def _number(value: arb) -> str:
    """An exact number as text."""
    mantissa, exponent = value.man_exp()
    return f"{int(mantissa):x}p{int(exponent)}"
