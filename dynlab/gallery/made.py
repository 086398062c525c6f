"""What a script of the gallery gives, and the page that shows them all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Made:
    """A figure with what its source claims and what was measured.

    Attributes
    ----------
    title : str
        The source and the figure's number.
    claim : str
        What the source says, in its terms.
    measured : str
        What was found here, with numbers, made from the results.
    figure : matplotlib.figure.Figure
    results : mapping of str to Dataset
        What was drawn, by name.
    animation : callable, optional
        Gives the figure at each frame of the movie that ends with it.
    caption : str
        What stands below the picture where that is less than `measured`: three lines at most.
    """

    title: str
    claim: str
    measured: str
    figure: Figure
    results: Mapping[str, xr.Dataset]
    animation: Callable[[], Iterator[Figure]] | None = None
    caption: str = ""

    def __post_init__(self) -> None:
        """Set what it is above the figure, and what was measured below, where it does not say so itself."""
        from dynlab.plots import style

        if not (self.figure.legends or self.figure.get_suptitle()):
            style.caption(self.figure, self.title, self.caption or self.measured)


@dataclass(frozen=True)
class Table:
    """A table with what its source claims and what was measured.

    Attributes
    ----------
    title, claim, measured : str
        As of `Made`.
    headings : list of str
    rows : list of list of str
    numeric : list of str
        The headings whose columns are flush right.
    dataset : Dataset
        The numbers.
    """

    title: str
    claim: str
    measured: str
    headings: list[str]
    rows: list[list[str]]
    numeric: list[str]
    dataset: xr.Dataset


HEAD = """# Gallery

The sources' figures, redrawn by `dynlab figure all`. Under each: what the source claims, and what was measured here.
"""


def page(made: Mapping[str, Made]) -> str:
    """The gallery's README: each figure, named as its file, with claim and measurement."""
    entries = [
        f"## {each.title}\n\n`dynlab figure {name}`\n\n![{each.title}]({name}.{'gif' if each.animation else 'png'})\n\n"
        f"**Claimed.** {each.claim}\n\n**Measured.** {raised(each.measured)}\n"
        for name, each in made.items()
    ]
    return "\n".join([HEAD, *entries])


def raised(text: str) -> str:
    """Powers of e as a page in Markdown sets them."""
    return re.sub(r"(?<!\w)e\^([+−-]?\d[\d.,]*(?<=\d))", r"e<sup>\1</sup>", text)


TABLES_HEAD = """# Tables

The sources' tables beside what dynlab measured, written by `dynlab table all -o docs/tables.md --overwrite`. A number
that no finished training measures is "not run", or "not complete" where one has begun. Its iterations then stand as "N
of M", and so do those of other seeds that are not complete. [What holds and what does not](audit.md) judges the
sources' claims, and the [glossary](glossary.md) explains terms.
"""


def tables_page(made: Mapping[str, Table]) -> str:
    """A Markdown page of tables, each named as its command, with claim and measurement; the audit has its own."""
    entries = [
        f"## {each.title}\n\n`dynlab table {name}`\n\n**Claimed.** {each.claim}\n\n**Measured.** {each.measured}\n\n"
        f"{markdown(each.headings, each.rows, each.numeric)}\n"
        for name, each in made.items()
        if name != "audit"
    ]
    return "\n".join([TABLES_HEAD, *entries])


def markdown(headings: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[str] = ()) -> str:
    """A Markdown table, the columns named in `numeric` flush right."""
    rules = ["---:" if heading in numeric else "---" for heading in headings]
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in (headings, rules, *cells))


AUDIT_HEAD = """# What holds and what does not

Here are the theorems and claims of the sources that dynlab puts to the test. Each stands in the source's words where
these have quotation marks, and otherwise as nearly in them as a sentence can, with a measurement, a verdict and the
command that repeats it. A table is judged as a whole: what was not run, diverged or has one seed leaves it open.
`dynlab table audit -o docs/audit.md --overwrite` writes this page from the kept numbers, with `--recompute` from new
ones. The published numbers are in [Tables](tables.md), the
figures in the [gallery](../figures/gallery/README.md), terms in the [glossary](glossary.md).
"""


def audit_page(made: Table) -> str:
    """A Markdown page of the audit."""
    return f"{AUDIT_HEAD}\n{made.measured}\n\n{markdown(made.headings, made.rows)}\n"
