"""`dynlab table`: a table of the sources, with what was claimed and what was measured."""

from pathlib import Path

import click

from dynlab.errors import lookup

from .columns import print_table
from .output import DATA_SUFFIXES, check_file, print_json
from .streams import echo


@click.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of the table.")
@click.option("--data", type=click.Path(path_type=Path), metavar="FILE", help="Save the numbers: .nc or .zarr.")
@click.option("--overwrite", is_flag=True, help="Replace the file that --data names.")
def table(name: str, as_json: bool, data: Path | None, overwrite: bool) -> None:
    """Print the table NAME of the sources: published numbers beside what was measured.

    \b
    har2   HAR-2 (ERNN, Table 3): is each accuracy reached without choosing the epoch on the test split?
    """
    from dynlab import io
    from dynlab.gallery import TABLES

    check_file(data, "--data", DATA_SUFFIXES, overwrite=overwrite)
    made = lookup(TABLES, name, "table")()
    if data:
        io.save(made.dataset, data, overwrite=overwrite)
    if as_json:
        print_json(io.as_document(made.dataset))
        return
    echo(f"{made.title}. Claimed: {made.claim}")
    print_table(made.headings, made.rows, made.numeric)
    echo(made.measured)
