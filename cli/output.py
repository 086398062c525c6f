"""What a command gives: a verdict or a JSON document on standard output, a figure, a data file; the rest on error."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dynlab import progress
from dynlab.errors import UserError, require_extra
from dynlab.files import check_replaceable, exists, make_folder, write_bytes, write_text

from .movie import Movie, check_movie, save_movie
from .streams import echo

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

FIGURE_FOLDER = Path("figures")
FIGURE_SUFFIXES = (".png", ".svg", ".pdf")
PAGE_SUFFIXES = (".html",)
STORE_SUFFIX = ".zarr"
DATA_SUFFIXES = (".nc", STORE_SUFFIX)
FULL_DPI, SMALL_DPI = 150, 110
MOST_PIXELS = 50_000_000
LONGEST_NAME = 200  # bytes of a made-up file name: file systems take 255


class CommandResult(NamedTuple):
    """What a command returns.

    Attributes
    ----------
    dataset : xarray.Dataset
        Empty where nothing is computed.
    plot : callable or None
        Draws the Dataset and returns its axes or figure; None beside a page.
    name : str
        What was analysed, for the default file name ``figures/<command>-<name>.png``.
    table : str
        Printed above the verdict.
    code : int
        The exit code.
    page : str
        HTML, which is written in place of a figure.
    movie : Movie or None
        What is written in place of a figure.
    """

    dataset: xr.Dataset
    plot: Callable[[xr.Dataset], Any] | None
    name: str
    table: str = ""
    code: int = 0
    page: str = ""
    movie: Movie | None = None


Analysis = Callable[..., CommandResult]


class Look(NamedTuple):
    """How a figure looks, as ``--size --dpi --theme`` say.

    Attributes
    ----------
    size : tuple of float, optional
        Width and height in inches; None leaves it to the figure.
    dpi : int, optional
        Pixels per inch; None is the default.
    theme : str
        "light" or "dark".
    """

    size: tuple[float, float] | None = None
    dpi: int | None = None
    theme: str = "light"

    def check(self) -> None:
        """Refuse what would take more memory than a picture is worth."""
        width, height = self.size or (0.0, 0.0)
        pixels = width * height * (self.dpi or FULL_DPI) ** 2
        if pixels > MOST_PIXELS:
            raise UserError(
                f"--size {width:g}x{height:g} at --dpi {self.dpi or FULL_DPI} is {pixels:.2g} pixels, more than the "
                f"{MOST_PIXELS:,} that are drawn: --size is in inches, so make one of the two smaller."
            )


def check_folder(folder: Path, otherwise: str) -> None:
    """Refuse a folder that cannot be written to, or cannot be made."""
    there = next(place for place in (folder, *folder.parents) if exists(place))
    if not there.is_dir():
        raise UserError(f"{there} is a file, where a folder for results should be: move it away, or {otherwise}.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UserError(f"The folder {there.absolute()} cannot be written to: {otherwise}.")


def check_file(path: Path | None, option: str, suffixes: tuple[str, ...], *, overwrite: bool) -> None:
    """Refuse a file that `option` names and that cannot be written, or may not be replaced."""
    if path is None:
        return
    if path == Path():
        raise UserError(f"{option} names no file: give one that ends in {', '.join(suffixes)}.")
    if path.suffix not in suffixes:
        raise UserError(f"{option} takes a file that ends in {', '.join(suffixes)}, got {str(path)!r}.")
    if not path.parent.is_dir():
        raise UserError(f"The folder {path.parent} of {option} does not exist; create it first.")
    check_folder(path.parent, f"choose another place for {option}")
    if exists(path) and not overwrite:
        raise UserError(f"{path} exists; add --overwrite to replace it, or choose another name.")
    if path.suffix == STORE_SUFFIX:
        from dynlab import stores

        stores.check_replaceable(path, overwrite=overwrite)
    else:
        check_replaceable(path)


def check_not_read(path: Path | None, read: Iterable[str | Path]) -> None:
    """Refuse to write over a file that the command reads."""
    if path is None or not os.path.exists(path):
        return
    for other in read:
        if os.path.exists(other) and os.path.samefile(path, other):
            raise UserError(f"{path} is read by this command, so it is not written to: choose another name.")


def file_name(name: str, suffix: str) -> str:
    """A file's name that says `name`, which may come from a file: never a path, and no longer than names may be."""
    plain = "".join(letter if letter.isprintable() and letter not in '/\\:*?"<>|' else "_" for letter in name)
    if len(plain.encode("utf-8", "replace")) > LONGEST_NAME:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        plain = f"{plain.encode('utf-8', 'replace')[:LONGEST_NAME].decode('utf-8', 'ignore')}-{digest}"
    return plain + suffix


def save_figure(
    figure: Figure, path: Path, look: Look | None = None, *, small: bool = False, overwrite: bool = True
) -> None:
    """Write a figure whole or not at all; the suffix of `path` decides the format.

    Parameters
    ----------
    figure : Figure
    path : Path
    look : Look, optional
        How many pixels per inch, and on which ground.
    small : bool
        For a PNG in a repository: fewer points per inch, and 256 colours.
    overwrite : bool
        Replace what exists.
    """
    from dynlab.plots.style import rendered

    look = look or Look()
    dpi = look.dpi or (SMALL_DPI if small else FULL_DPI)
    drawn = rendered(figure, path.suffix[1:], dpi, look.theme)
    if small and path.suffix == ".png":
        from PIL import Image  # matplotlib's own way to write PNG

        with Image.open(BytesIO(drawn)) as image:
            reduced = _reduced(image.convert("RGB"))
        file = BytesIO()
        reduced.save(file, format="png", optimize=True)
        drawn = file.getvalue()
    write_bytes(path, drawn, overwrite=overwrite)


def _reduced(whole: Any) -> Any:
    """The picture in 256 colours: what has one of them keeps it, and colours that run into each other make no bands."""
    import numpy as np
    from PIL import Image

    # maximum coverage keeps the rare colours of small markers, which the median cut loses
    nearest = whole.quantize(256, Image.Quantize.MAXCOVERAGE, 3, dither=Image.Dither.NONE)
    spread = whole.quantize(palette=nearest, dither=Image.Dither.FLOYDSTEINBERG)
    exact = (np.asarray(nearest.convert("RGB")) == np.asarray(whole)).all(axis=-1)
    found = Image.fromarray(np.where(exact, nearest, spread).astype(np.uint8))
    found.putpalette(nearest.getpalette())
    return found


@contextmanager
def working(what: str, *, quiet: bool, at_once: bool = False) -> Iterator[None]:
    """Say on standard error what is being done, on a terminal with a clock, else once it takes longer than a moment."""
    if quiet:
        yield
        return
    say = None if sys.stderr.isatty() else functools.partial(echo, err=True)
    with progress.working(what if say is None else f"{what} …", say, at_once):
        yield


def print_json(document: Any) -> None:
    """One strict JSON document on standard output."""
    echo(json.dumps(document, allow_nan=False).replace("\x7f", "\\u007f"))


@dataclass(frozen=True)
class Output:
    """Where a command's results go, as its options said."""

    command: str
    figure: Path | None
    data: Path | None
    as_json: bool
    overwrite: bool
    quiet: bool
    suffixes: tuple[str, ...] = FIGURE_SUFFIXES
    look: Look = field(default_factory=Look)

    def __post_init__(self) -> None:
        """Refuse what cannot be written before anything is computed."""
        self.look.check()
        check_file(self.figure, "--output", self.suffixes, overwrite=self.overwrite)
        check_movie(self.figure)
        check_file(self.data, "--data", DATA_SUFFIXES, overwrite=self.overwrite)
        if self.data and self.data.suffix == STORE_SUFFIX:
            require_extra("zarr", "zarr")
        if self.figure is None:
            check_folder(FIGURE_FOLDER, "go elsewhere, or name a file with --output")

    def working(self, what: str) -> AbstractContextManager[None]:
        """Say on standard error what is being done, with a clock where somebody watches a terminal."""
        return working(what, quiet=self.quiet, at_once=True)

    def emit(self, result: CommandResult) -> int:
        """Draw the figure, save the data, print the verdict or the JSON document, and return the exit code."""
        ds, what = result.dataset, "page" if result.page else "movie" if result.movie else "figure"
        if self.data and not ds:
            raise UserError("--data saves what is computed of a checkpoint: name one, or leave it out.")
        with working("Drawing", quiet=self.quiet):
            figure = self._draw(result)
        if self.data:
            from dynlab.io import save

            with working(f"Writing {self.data}", quiet=self.quiet):
                save(ds, self.data, overwrite=self.overwrite)
        verdict = ds.attrs.get("verdict", "")
        if self.as_json:
            files = {what: str(figure), "data": str(self.data) if self.data else None}
            document = {"command": self.command, "verdict": verdict, "files": files}
            if ds:
                from dynlab.io import as_document

                document |= as_document(ds)
            print_json(document)
        elif verdict:
            echo((f"{result.table}\n\n" if result.table else "") + verdict)
        self.log(f"{what.capitalize()}: {figure}")
        if self.data:
            self.log(f"Data: {self.data}")
        return result.code

    def log(self, text: str) -> None:
        """A line on standard error, unless --quiet."""
        if not self.quiet:
            echo(text, err=True)

    def _draw(self, result: CommandResult) -> Path:
        path = self.figure or FIGURE_FOLDER / file_name(f"{self.command}-{result.name}", self.suffixes[0])
        if self.figure is None:
            make_folder(path.parent)
        overwrite = self.overwrite or self.figure is None
        if result.page:
            write_text(path, result.page, overwrite=overwrite)
            return path
        from dynlab.plots.style import asked

        with asked(self.look.size, self.look.theme):
            if result.movie is not None:
                save_movie(result.movie, path, self.look.dpi, self.look.theme, overwrite=overwrite)
            elif result.plot is not None:
                save_figure(result.plot(result.dataset).figure, path, look=self.look, overwrite=overwrite)
        return path
