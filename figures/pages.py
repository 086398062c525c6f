"""The pages that show all figures, all tables and all claims."""

import re
from collections.abc import Mapping, Sequence

from .scripts import Made, Table

GALLERY = """# Gallery

The sources' figures, redrawn by `dynlab figure all`. Under each: what the source claims, and what was measured here.
"""
TABLES_HEAD = """# Tables

The sources' tables beside what dynlab measured, written by `dynlab table all -o docs/tables.md --overwrite`. A number
that no finished training measures is "not run". [What holds and what does not](audit.md) judges the sources' claims,
and the [glossary](glossary.md) explains terms.
"""
AUDIT = """# What holds and what does not

Here are the theorems and claims of the sources that dynlab puts to the test. Each stands in the source's words where
these have quotation marks, and otherwise as nearly in them as a sentence can, with a measurement, a verdict and the
command that repeats it. A table is judged as a whole: what was not run, diverged or has one seed leaves it open.
`dynlab table audit -o docs/audit.md --overwrite` writes this page from the kept numbers, with `--recompute` from new
ones. The published numbers are in [Tables](tables.md), the
figures in the [gallery](../figures/gallery/README.md), terms in the [glossary](glossary.md).
"""


def gallery_page(made: Mapping[str, Made]) -> str:
    """Return the gallery's page: each figure, named as its file, with claim and measurement."""
    entries = [
        f"## {each.title}\n\n`dynlab figure {name}`\n\n![{each.title}]({name}.{'gif' if each.animation else 'png'})\n\n"
        f"**Claimed.** {each.claim}\n\n**Measured.** {_raised(each.measured)}\n"
        for name, each in made.items()
    ]
    return "\n".join([GALLERY, *entries])


def _raised(text: str) -> str:
    """Set powers of e as a page in Markdown does."""
    return re.sub(r"(?<!\w)e\^([+−-]?\d[\d.,]*(?<=\d))", r"e<sup>\1</sup>", text)


def tables_page(made: Mapping[str, Table]) -> str:
    """Return a Markdown page of tables, each named as its command, with claim and measurement; not of the audit."""
    entries = [
        f"## {each.title}\n\n`dynlab table {name}`\n\n**Claimed.** {each.claim}\n\n**Measured.** {each.measured}\n\n"
        f"{_markdown(each.headings, each.rows, each.numeric)}\n"
        for name, each in made.items()
        if name != "audit"
    ]
    return "\n".join([TABLES_HEAD, *entries])


def audit_page(made: Table) -> str:
    """Return a Markdown page of the audit."""
    return f"{AUDIT}\n{made.measured}\n\n{_markdown(made.headings, made.rows)}\n"


def _markdown(headings: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[str] = ()) -> str:
    """Return a Markdown table, the columns named in `numeric` flush right."""
    rules = ["---:" if heading in numeric else "---" for heading in headings]
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in (headings, rules, *cells))
