"""What holds of the sources' claims and what does not: every claim with a measurement, a verdict and a command."""

from collections.abc import Sequence

import numpy as np

from dynlab import schema
from dynlab.gallery.audit import antisymmetric, asrnn, ernn, ernn_tables
from dynlab.gallery.audit.claim import VERDICTS, Claim
from dynlab.gallery.kept import Results, kept
from dynlab.gallery.made import Table

__all__ = ["CLAIMS", "VERDICTS", "Claim", "measure", "table"]

CLAIMS: tuple[Claim, ...] = (*antisymmetric.CLAIMS, *ernn.CLAIMS, *ernn_tables.CLAIMS, *asrnn.CLAIMS)


def measure(claims: Sequence[Claim] = CLAIMS) -> Results:
    """The numbers of these claims, computed: each named ``claim.number``."""
    found = {f"{claim.name}.{name}": value for claim in claims for name, value in claim.measure().items()}
    ds = schema.dataset(
        {"value": schema.variable(("number",), list(found.values()), "what a claim was measured by")},
        system="several",
        settings={"seed": 0},
        coords={"number": list(found)},
    )
    return {"numbers": ds}


def table(recompute: bool = False) -> Table:
    """Every claim, with what was measured and the verdict."""
    ds = kept("audit", measure, recompute)["numbers"]
    numbers = dict(zip(ds["number"].values.tolist(), ds["value"].values.tolist(), strict=True))
    rows = []
    for claim in CLAIMS:
        start = f"{claim.name}."
        own = {name.removeprefix(start): value for name, value in numbers.items() if name.startswith(start)}
        verdict, found = claim.judge(own)
        rows.append([claim.source, claim.words, found, verdict, f"`{claim.command}`"])
    counts = {verdict: sum(row[3] == verdict for row in rows) for verdict in VERDICTS}
    said = ", ".join(f"{verdict} ({count})" for verdict, count in counts.items())
    ds = ds.assign(verdict=schema.variable(("claim",), np.array([row[3] for row in rows]), "verdict"))
    return Table(
        "What holds and what does not",
        "Each row is a theorem, a statement or a table of a source, in its words.",
        f"Of {len(rows)} claims: {said}.",
        ["source", "claim", "measurement", "verdict", "repeat with"],
        rows,
        [],
        ds.assign_coords(claim=[claim.name for claim in CLAIMS]),
    )
