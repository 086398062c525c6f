"""Proofs about fixed points: one certificate each, as variables, as a sentence, and as files."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.fixed_points.distinct_roots import FIXED, SLOW
from dynlab.diagnostics.fixed_points.verification import Record
from dynlab.errors import UserError, require_extra
from dynlab.files import make_folder, write_text
from dynlab.numerics.kinds import kind_of_map
from dynlab.program import NoProgram
from dynlab.systems.autonomous import Held
from dynlab.wording import agree, at_most, joined

if TYPE_CHECKING:
    from dynlab.proofs.certify import Certificate

PROVED = "proved"  # the reason that stands where there is nothing left to give a reason for
METHOD = (
    "  Proofs: Krawczyk's test in ball arithmetic (Arb) on the step with the stored numbers, from 128 bits on. The "
    "Jacobian's eigenvalues over the proved ball lie in Gershgorin discs after an approximate diagonalisation; "
    "connected discs are counted together. A matrix that is computed from parameters, as an orthogonal one, is taken "
    "as computed in float64, and what its rounding decides is undecided."
)
FLAGS = dict.fromkeys(("certificate_radius", "eigenvalue_radius"), "not proved: certificate_reason says why")


def proved(exact: Held, rows: list[Record]) -> list[Record]:
    """Return the rows with a certificate each; a point that is proved to be alone in a ball is a "fixed point".

    The proof is about the step with the numbers as stored: it tells a point from a line where rounding does not. Its
    eigenvalue discs replace the estimated errors where they are smaller.

    Raises
    ------
    UserError
        Where python-flint is not installed.
    """
    require_extra("flint", "certify")
    from dynlab.proofs.certify import certify, eigenvalue_radii, refused

    size = exact.system.state_size
    reason = "proofs are about maps, and this is a flow" if exact.is_flow else ""
    try:
        program = exact.system.program(exact.input, exact.t)
    except NoProgram as error:
        reason = reason or str(error)
    found = []
    for row in rows:
        slow = "a slow point is no fixed point" if row.status == SLOW else ""
        certificate = refused(size, reason or slow) if reason or slow else certify(program, row.state)
        if certificate.certified:
            errors = np.fmin(row.errors, eigenvalue_radii(certificate, row.eigenvalues))
            kind = kind_of_map(row.eigenvalues, errors)
            row = row._replace(status=FIXED, errors=errors, kind=kind, dimension=0)
        found.append(row._replace(certificate=certificate))
    return found


def with_proofs(ds: xr.Dataset, exact: Held, rows: list[Record], folder: str | Path | None) -> xr.Dataset:
    """Add what is proved about each row to the Dataset of `fixed_points`.

    Parameters
    ----------
    ds : Dataset
    exact : Held
    rows : list of Record
        As `proved` returns them, in the order of the Dataset.
    folder : str or Path, optional
        Where ``fixed-point-<number>.json`` are written, numbered as the rows; made if missing.

    Raises
    ------
    UserError
        For a folder with certificates in it.
    """
    certificates = [row.certificate for row in rows if row.certificate is not None]
    if folder is not None and any(certificate.certified for certificate in certificates):
        _write(certificates, exact, place_for(folder))
    ds = ds.assign(_variables(certificates, rows, exact.system.state_size))
    ds.attrs["verdict"] += _verdict(certificates)
    ds.attrs["method"] += METHOD
    if not all(certificate.certified for certificate in certificates):
        ds.attrs["flags"] = json.dumps(schema.flags(ds) | FLAGS)
    return ds


def _write(certificates: list["Certificate"], exact: Held, place: Path) -> None:
    from dynlab.proofs.document import document

    make_folder(place)
    program = exact.system.program(exact.input, exact.t)
    for number, certificate in enumerate(certificates):
        # of a rounded matrix as it is, a file would show what is not proved of the matrix that it stands for
        if certificate.certified and not (not program.is_exact and certificate.counts.undecided):
            text = json.dumps(document(program, certificate, exact.system.name, exact.system.source))
            write_text(place / f"fixed-point-{number}.json", text)


def _variables(certificates: list["Certificate"], rows: list[Record], size: int) -> dict[str, xr.Variable]:
    from dynlab.proofs.certify import eigenvalue_radii

    pairs = zip(certificates, rows, strict=True)
    radii = np.array([eigenvalue_radii(c, row.eigenvalues) for c, row in pairs]).reshape(len(rows), size)
    stable = [_stable(c) for c in certificates]
    table: dict[str, tuple[list[Any], Any, str]] = {
        "certified": ([c.certified for c in certificates], np.int8, "1: exists and is alone in its ball, 0: unproved"),
        "certificate_radius": ([c.radius for c in certificates], float, "radius of the ball about h*, maximum norm"),
        "proved_stable": (stable, np.int8, "proved: 1 stable, 0 unstable, −1 undecided"),
        "proved_unstable_directions": (
            [c.counts.outside for c in certificates],
            np.int64,
            "directions proved to grow",
        ),
        "proved_stable_directions": (
            [c.counts.inside for c in certificates],
            np.int64,
            "directions proved to decay",
        ),
        "certificate_precision": ([c.precision for c in certificates], np.int64, "bits of the proof, 0 without"),
        "certificate_reason": ([c.reason or PROVED for c in certificates], str, "proved, or why it is not"),
    }
    variables = {
        name: schema.variable((schema.FIXED_POINT,), np.array(values, dtype=dtype), long_name)
        for name, (values, dtype, long_name) in table.items()
    }
    disc = schema.variable((schema.FIXED_POINT, schema.MODE), radii, "radius of a disc about μ that surely holds it")
    return variables | {"eigenvalue_radius": disc}


def _verdict(certificates: list["Certificate"]) -> str:
    if not certificates:
        return ""
    proved = [c for c in certificates if c.certified]
    missing = [c.reason for c in certificates if not c.certified]
    if not proved:
        return f" Nothing is proved: {missing[0]}."
    codes = [_stable(c) for c in proved]
    kinds = {1: "stable", 0: "unstable", -1: "of undecided stability"}
    told = [f"{codes.count(code)} {kind}" for code, kind in kinds.items() if code in codes]
    rest = f"; {len(missing)} {agree(len(missing))} not proved ({missing[0]})" if missing else ""
    return (
        f" Ball arithmetic proves {len(proved)} of {len(certificates)} ({joined(told)}), each alone in a ball of "
        f"radius {at_most(max(c.radius for c in proved), 1)}{rest}."
    )


def _stable(certificate: "Certificate") -> int:
    counts = certificate.counts
    return 0 if counts.outside else 1 if certificate.certified and not counts.undecided else -1


def place_for(folder: str | Path) -> Path:
    """Return the folder for certificates, which can be made or written to and holds none; nothing is made.

    Raises
    ------
    UserError
        Where it is a file or a symbolic link, holds certificates, or cannot be made or written to.
    """
    place = Path(folder)
    if place.is_symlink():
        raise UserError(f"{place} is a symbolic link, and nothing is written through one: name the folder itself.")
    above = next(each for each in (place, *place.absolute().parents) if each.exists())
    if not (above.is_dir() and os.access(above, os.W_OK | os.X_OK)):
        raise UserError(f"The folder for certificates {str(place)!r} cannot be made or written to: name another one.")
    if any(place.glob("fixed-point-*.json")):
        raise UserError(f"The folder for certificates {str(place)!r} has some: name another one.")
    return place
