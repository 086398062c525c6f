"""The audit of the sources: each claim of ``claims.toml`` with a measurement and a verdict.

A claim says which function of ``measures_of_*.py`` measures it (its numbers are kept), which one reads what other
figures and tables keep, the sentence that both fill, and the rules of its verdict: the first one that is true.
"""

import operator
import pkgutil
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dynlab import schema
from dynlab.words import number, percent, power, share

from .accuracies import scores_of
from .scores import outcomes
from .scripts import Results, Table, kept, table_script, told

Numbers = Mapping[str, float | str]
VERDICTS = (
    "holds",
    "holds under a condition that is stated",
    "does not hold",
    "cannot be decided",
    "not run",
)
RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
}
FORMATS: dict[str, Callable[..., str]] = {
    "number": number,
    "percent": percent,
    "power": power,
    "share": share,
    "below": lambda value, bound: f"below {bound:g}" if value < bound else f"{value:.1e}",
}


class Words(string.Formatter):
    """Fills the sentence of a claim: ``{name:power}`` and ``{name:number 3}`` stand for functions of `FORMATS`."""

    def format_field(self, value: Any, format_spec: str) -> str:
        name, *given = format_spec.split() or [""]
        if name not in FORMATS:
            return str(super().format_field(value, format_spec))
        return FORMATS[name](value, *(float(one) if "e" in one else int(one) for one in given))


def claims() -> list[dict[str, Any]]:
    """Return all claims; that of a table of accuracies has the table's words, and the rules of all such tables."""
    return [
        {"command": "dynlab table audit --recompute"} | (_of_table(one["table"]) if "table" in one else {}) | one
        for one in told("claims.toml")["claim"]
    ]


def _of_table(name: str) -> dict[str, Any]:
    table = told("sources.toml")["tables"][name]
    source, _, words = table["title"].partition(": ")
    own = {"name": name, "source": source, "words": f"{words}: {table['claim']}", "command": f"dynlab table {name}"}
    return told("claims.toml")["tables"] | own


def measure(chosen: Sequence[Mapping[str, Any]]) -> Results:
    """Return the numbers of these claims, computed: each named ``claim.number``."""
    found = {
        f"{claim['name']}.{name}": value
        for claim in chosen
        if "measure" in claim
        for name, value in _call(claim["measure"]).items()
    }
    value = schema.variable(("number",), list(found.values()), "what a claim was measured by")
    return {
        "numbers": schema.dataset(
            {"value": value}, system="several", settings={"seed": 0}, coords={"number": list(found)}
        )
    }


def _call(said: str) -> Any:
    """Call a function of a ``measures_of_`` file, such as ``tables:rows`` with the words behind it."""
    place, *given = said.split()
    return pkgutil.resolve_name(f"{__package__}.measures_of_{place}")(*given)


def verdict(rules: Sequence[Sequence[str]], numbers: Numbers) -> str:
    """Return the first verdict all of whose conditions, such as ``growth > 0``, are true of the numbers."""
    for said, *conditions in rules:
        if all(_true(condition, numbers) for condition in conditions):
            return said
    raise ValueError(f"no rule of {rules} is true of {numbers}")


def _true(condition: str, numbers: Numbers) -> bool:
    left, relation, right = condition.split()
    return RELATIONS[relation](*(numbers[side] if side in numbers else float(side) for side in (left, right)))


def judged(claim: Mapping[str, Any], measured: Numbers) -> tuple[str, str]:
    """Return the verdict on a claim and the sentence with its numbers, from those that are kept of it."""
    numbers = dict(measured)
    if "read" in claim:
        numbers |= _call(claim["read"])
    if "table" in claim:
        ds = scores_of(claim["table"])
        numbers |= {"said": ds.attrs["verdict"]} | outcomes(ds)
    return verdict(claim["verdict"], numbers), Words().format(claim["found"], **numbers)


@table_script("audit", lambda fast: measure(claims()))
def table() -> Table:
    """Return every claim with its measurement, its verdict and the command that repeats it."""
    every, ds = claims(), kept("audit")["numbers"]
    numbers = dict(zip(ds["number"].values.tolist(), ds["value"].values.tolist(), strict=True))
    rows = []
    for claim in every:
        start = f"{claim['name']}."
        own = {name.removeprefix(start): value for name, value in numbers.items() if name.startswith(start)}
        said, found = judged(claim, own)
        rows.append([claim["source"], claim["words"], found, said, f"`{claim['command']}`"])
    counts = ", ".join(f"{said} ({sum(row[3] == said for row in rows)})" for said in VERDICTS)
    ds = ds.assign(verdict=schema.variable(("claim",), np.array([row[3] for row in rows]), "verdict"))
    return Table(
        "audit",
        f"Of {len(rows)} claims: {counts}.",
        ["source", "claim", "measurement", "verdict", "repeat with"],
        rows,
        [],
        ds.assign_coords(claim=[claim["name"] for claim in every]),
    )
