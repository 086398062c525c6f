"""A table on standard output, as wide as its words."""

from collections.abc import Sequence

from dynlab.letters import one_line

# Wider than any table: a pipe gets whole lines, and a narrow terminal wraps them, but nothing is ever cut off.
NO_LIMIT = 10_000


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[str] = ()) -> None:
    """Print rows below headings, the columns named in `numeric` flush right."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for heading in headings:
        table.add_column(heading, justify="right" if heading in numeric else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    Console(width=NO_LIMIT).print(table)
