"""A table on standard output, as wide as its words; in a narrower terminal row by row."""

import shutil
from collections.abc import Sequence

from dynlab.errors import one_line

from .streams import echo

NO_LIMIT = 10_000  # wider than any table: a pipe gets whole lines, in which nothing is ever cut off


def terminal_width() -> int:
    """In letters, as the terminal or COLUMNS says."""
    return shutil.get_terminal_size((NO_LIMIT, 0)).columns


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[str] = ()) -> None:
    """Print rows below headings, the columns named in `numeric` flush right.

    Where the terminal, or COLUMNS, is narrower than that, each row is a list of its own: a heading and its cell a line.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for heading in headings:
        table.add_column(heading, justify="right" if heading in numeric else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    console = Console(width=NO_LIMIT)
    if console.measure(table).maximum <= terminal_width():
        console.print(table)
        return
    widest = max(map(len, headings))
    lists = [
        "\n".join(f"{heading:{widest}}  {one_line(cell)}" for heading, cell in zip(headings, row, strict=True))
        for row in rows
    ]
    echo("\n\n".join(lists))
