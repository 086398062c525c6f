"""Proofs about fixed points: one certificate each, as variables, as a sentence, and as files."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.fixed_points.distinct_roots import AT_KINK, FIXED, SLOW
from dynlab.diagnostics.fixed_points.verification import MODES, POINT, Record
from dynlab.errors import UserError, require_extra
from dynlab.files import make_folder, write_text
from dynlab.numerics.kinds import Kind, kind_of
from dynlab.program import NoProgram, Program
from dynlab.systems.autonomous import Held
from dynlab.words import agree, at_most, joined

NEARBY = 1e-6  # times max(1, ‖h‖): the box about a point at a kink over which a step may contract
PRECISION = 64  # bits of that proof
PROVED = "proved"  # the reason that stands where there is nothing left to give a reason for
METHOD = (
    "  Proofs: Krawczyk's test in ball arithmetic (Arb) on the step with the stored numbers, from 128 bits on. The "
    "Jacobian's eigenvalues over the proved ball lie in Gershgorin discs after an approximate diagonalisation; "
    "connected discs are counted together. A point at a kink is stable where one norm of all Jacobians about it is "
    "proved to be below 1. A matrix that is computed from parameters, as an orthogonal one, is taken "
    "as computed in float64, and what its rounding decides is undecided."
)
KINDS = {1: "stable", 0: "unstable", -1: "of undecided stability"}


def proved(exact: Held, rows: list[Record]) -> list[Record]:
    """Return the rows with a certificate each; a point that is proved to be alone in a ball is a "fixed point".

    The proof is about the step with the numbers as stored: it tells a point from a line where rounding does not. Its
    eigenvalue discs replace the estimated errors where they are smaller. A point at a kink is stable where the step is
    proved to contract about it.

    Raises
    ------
    UserError
        If python-flint is not installed.
    """
    require_extra("flint", "certify")
    from dynlab.proofs.certify import certify, eigenvalue_radii, refused

    reason = "proofs are about maps, and this is a flow" if exact.is_flow else ""
    try:
        program = exact.system.program(exact.input, exact.t)
    except NoProgram as error:
        reason = reason or str(error)
    found = []
    for row in rows:
        why = reason or ("a slow point is no fixed point" if row.status == SLOW else "")
        certificate = refused(len(row.state), why) if why else certify(program, row.state)
        if certificate.certified:
            errors = np.fmin(row.errors, eigenvalue_radii(certificate, row.eigenvalues))
            row = row._replace(
                status=FIXED, errors=errors, kind=kind_of(row.eigenvalues, errors, is_flow=False), dimension=0
            )
        elif row.status == AT_KINK and not why and _contracts_about(program, row):
            row = row._replace(status=FIXED, kind=Kind("stable, at a kink", 1, 0, 0))
        found.append(row._replace(certificate=certificate))
    return found


def _contracts_about(program: Program, row: Record) -> bool:
    """Return whether the step is proved to contract in one norm over a box about a point, which then holds its root."""
    from flint import arb, ctx

    from dynlab.program.enclosure import NonSmooth, jacobian_over_box
    from dynlab.proofs.common_norm import best_weights, proved_bound

    radius = NEARBY * max(1.0, float(np.linalg.norm(row.state)))
    with ctx.workprec(PRECISION):
        try:
            over = jacobian_over_box(program, [arb(float(entry), radius) for entry in row.state])[1]
        except NonSmooth:
            return False
        weights = best_weights(over, logarithmic=False)
        factor = proved_bound(over, weights, logarithmic=False)
    return bool(factor < 1 and np.linalg.cond(weights) * row.residual <= (1 - factor) * radius)


def write_certificates(exact: Held, rows: list[Record], folder: str | Path) -> None:
    """Write ``fixed-point-<number>.json`` into a folder, which is made if missing, for each row that is proved."""
    from dynlab.proofs.document import document

    for number, certificate in enumerate(row.certificate for row in rows):
        if certificate.certified:
            make_folder(Path(folder))
            program = exact.system.program(exact.input, exact.t)
            # of a rounded matrix as it is, a file would show what is not proved of the matrix that it stands for
            if program.is_exact or not certificate.counts.undecided:
                text = json.dumps(document(program, certificate, exact.system.name, exact.system.source))
                write_text(Path(folder) / f"fixed-point-{number}.json", text)


def of_certificates(rows: list[Record], size: int) -> dict[str, xr.Variable]:
    """Return the variables of what is proved."""
    from dynlab.proofs.certify import eigenvalue_radii

    proofs = [row.certificate for row in rows]
    radii = [eigenvalue_radii(row.certificate, row.eigenvalues) for row in rows]
    outside, inside = ([getattr(c.counts, side) for c in proofs] for side in ("outside", "inside"))
    table: dict[str, tuple[Any, ...]] = {
        "certified": (POINT, np.int8, [c.certified for c in proofs], "1: exists and is alone in its ball, 0: unproved"),
        "certificate_radius": (POINT, float, [c.radius for c in proofs], "radius of the ball about h*, maximum norm"),
        "proved_stable": (POINT, np.int8, [_stable(row) for row in rows], "proved: 1 stable, 0 unstable, −1 undecided"),
        "proved_unstable_directions": (POINT, np.int64, outside, "directions proved to grow"),
        "proved_stable_directions": (POINT, np.int64, inside, "directions proved to decay"),
        "certificate_precision": (POINT, np.int64, [c.precision for c in proofs], "bits of the proof, 0 without"),
        "certificate_reason": (POINT, str, [c.reason or PROVED for c in proofs], "proved, or why it is not"),
        "eigenvalue_radius": (MODES, float, radii, "radius of a disc about μ that surely holds it"),
    }
    return schema.columns(table, size)


def verdict(rows: list[Record]) -> str:
    """Return the sentence on what is proved, after a space; nothing where there are no points."""
    proved_rows = [row for row in rows if row.certificate.certified]
    missing = [row.certificate.reason for row in rows if not row.certificate.certified]
    if not proved_rows:
        return f" Nothing is proved: {missing[0]}." if missing else ""
    codes = [_stable(row) for row in proved_rows]
    told = [f"{codes.count(code)} {kind}" for code, kind in KINDS.items() if code in codes]
    rest = f"; {len(missing)} {agree(len(missing))} not proved ({missing[0]})" if missing else ""
    radius = at_most(max(row.certificate.radius for row in proved_rows), 1)
    return (
        f" Ball arithmetic proves {len(proved_rows)} of {len(rows)} ({joined(told)}), each alone in a ball of radius "
        f"{radius}{rest}."
    )


def _stable(row: Record) -> int:
    counts = row.certificate.counts
    return 0 if counts.outside else 1 if row.certificate.certified and not counts.undecided else -1


def check_folder(folder: str | Path) -> None:
    """Raise where a folder for certificates is a file or a link, holds some, or cannot be made or written to.

    Raises
    ------
    UserError
    """
    place = Path(folder)
    above = next(each for each in (place, *place.absolute().parents) if each.exists())
    writable = above.is_dir() and os.access(above, os.W_OK | os.X_OK)
    if place.is_symlink() or not writable or any(place.glob("fixed-point-*.json")):
        raise UserError(
            f"The folder for certificates {str(place)!r} is a symbolic link, cannot be made or written to, or has some "
            f"already: name another one."
        )
