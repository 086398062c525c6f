"""Results of a command: verdict and table on standard output, figure and data in files, progress on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import dynlab as dl
from dynlab.errors import UserError, one_line, require_extra, shown
from dynlab.files import check_place, write_text
from dynlab.progress import working

from .options import OUTPUT
from .pictures import Movie, save_figure, save_movie

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

FIGURES = Path("figures")
FIGURE_SUFFIXES, PAGE_SUFFIXES, DATA_SUFFIXES = (".png", ".svg", ".pdf"), (".html",), (".nc", ".zarr", ".csv")
OWN_ERROR = 3  # the exit code of what went wrong in dynlab itself
ROWS = 12  # of a table on the terminal
FEW = 16  # values that a summary lists


class CommandResult(NamedTuple):
    """Result of a command.

    Attributes
    ----------
    dataset : xarray.Dataset
        Empty where nothing is computed.
    picture : callable, Movie, str or None
        Draws the Dataset and returns its axes or figure; or a movie, or a page of HTML.
    name : str
        Name of the subject, for the default file name.
    table : pandas.DataFrame or None
        Printed below the verdict, and saved as CSV.
    code : int
        The exit code.
    """

    dataset: xr.Dataset
    picture: Callable[[xr.Dataset], Any] | Movie | str | None
    name: str
    table: pd.DataFrame | None = None
    code: int = 0


def echo(text: str = "", *, err: bool = False) -> None:
    """Print a line; escape control characters, which a file's names may hold. A closed pipe ends nothing."""
    try:
        click.echo(shown(text), err=err)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), (sys.stderr if err else sys.stdout).fileno())


def print_json(document: Any) -> None:
    """Print one strict JSON document."""
    echo(json.dumps(document, allow_nan=False).replace("\x7f", "\\u007f"))


def print_table(frame: pd.DataFrame, rows: int | None = None) -> None:
    """Print a table: its first `rows`, and how many more there are."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for place, (name, column) in enumerate(frame.items()):  # a name to type, which stands first, is never cut
        table.add_column(str(name), justify="right" if column.dtype.kind in "iuf" else "left", no_wrap=place == 0)
    for row in frame[:rows].itertuples(index=False):
        table.add_row(*map(_cell, row))
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 10_000
    Console(width=width, markup=False, highlight=False).print(table)
    if left := len(frame[rows:]) if rows else 0:
        echo(f"… and {left} more: --save FILE.csv has all.")


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "–" if value != value else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else one_line(value)


def check_file(path: Path | None, option: str, suffixes: Iterable[str], *, overwrite: bool) -> None:
    """Refuse a file that cannot be written, or may not be replaced, before anything is computed."""
    if path is None:
        return
    if path.suffix not in (allowed := tuple(suffixes)):
        raise UserError(f"{option} takes a file that ends in {', '.join(allowed)}, got {str(path)!r}.")
    check_place(path, overwrite=overwrite)


def free_path(name: str, suffix: str) -> Path:
    """Return a file below figures/ that does not exist yet, with a number where its name is taken."""
    plain = "".join(letter if letter.isalnum() or letter in "-_.,+" else "_" for letter in name)[:100]
    FIGURES.mkdir(exist_ok=True)
    numbered = (FIGURES / f"{plain}{'' if k == 1 else f'-{k}'}{suffix}" for k in range(1, 10**6))
    return next(path for path in numbered if not path.exists())


class Output(SimpleNamespace):
    """Values of the options of `dynlab.cli.options.OUTPUT`, by their names; `suffixes` are those of --output."""

    def __init__(self, command: str, suffixes: tuple[str, ...] = FIGURE_SUFFIXES, **said: Any) -> None:
        """Refuse what cannot be written before anything is computed."""
        super().__init__(**(dict.fromkeys(OUTPUT) | {"theme": "light"} | said), command=command, suffixes=suffixes)
        check_file(self.output, "--output", self.suffixes, overwrite=self.overwrite)
        check_file(self.save, "--save", DATA_SUFFIXES, overwrite=self.overwrite)
        if self.output is not None and self.no_figure:
            raise UserError("--output names a figure and --no-figure asks for none: leave one of the two out.")
        if self.save and self.save.suffix == ".zarr":
            require_extra("zarr", "zarr")

    def check_not_read(self, read: Iterable[str | Path]) -> None:
        """Refuse to write over a file that the command reads."""
        written = [path for path in (self.output, self.save) if path is not None and path.exists()]
        if same := [path for path in written for one in read if os.path.exists(one) and path.samefile(one)]:
            raise UserError(f"{same[0]} is read by this command: choose another name to write to.")

    def emit(self, result: CommandResult) -> int:
        """Draw the figure, save the data, print the verdict and the table or a JSON document; return the exit code."""
        files = {"figure": self._draw(result), "data": self._save(result)}
        told = {name: str(path) for name, path in files.items() if path is not None}
        verdict = result.dataset.attrs.get("verdict", "")
        if self.as_json or self.arrays:
            from dynlab.io import as_document

            document = {"command": self.command, "verdict": verdict, "files": told}
            longest = None if self.arrays else FEW
            print_json(document | (as_document(result.dataset, longest) if result.dataset else {}))
        elif verdict:
            echo(verdict)
            if result.table is not None and len(result.table):
                echo()
                print_table(result.table, ROWS)
        for name, path in told.items():
            self.log(f"{name.capitalize()}: {path}")
        return result.code

    def log(self, text: str) -> None:
        """Print a line on standard error, unless --quiet."""
        if not self.quiet:
            echo(text, err=True)

    def _save(self, result: CommandResult) -> Path | None:
        if self.save is None:
            return None
        if result.table is not None and self.save.suffix == ".csv":
            write_text(self.save, result.table.to_csv(index=False))
            return self.save
        if self.save.suffix == ".csv" or not result.dataset:
            raise UserError(
                f"--save {self.save}: {self.command} has no such numbers; .nc has all that it computes, .csv its table."
            )
        return dl.save(result.dataset, self.save, overwrite=self.overwrite)

    def _draw(self, result: CommandResult) -> Path | None:
        if self.no_figure or result.picture is None:
            return None
        path = self.output or free_path(f"{self.command}-{result.name}", self.suffixes[0])
        if isinstance(result.picture, str):
            write_text(path, result.picture)
            return path
        from dynlab.plots.style import asked

        with working("Drawing", quiet=self.quiet), asked(self.size, self.theme):
            if isinstance(result.picture, Movie):
                save_movie(result.picture, path, self.dpi, self.theme)
            else:
                save_figure(result.picture(result.dataset).figure, path, self.dpi, self.theme)
        return path
