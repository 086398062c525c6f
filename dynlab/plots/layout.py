"""The layout of a picture, and the decorator that makes a public plot of a drawing function."""

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import matplotlib.pyplot as plt
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dynlab import schema
from dynlab.plots import style
from dynlab.plots.style import EDGE, LETTER, LINE, POINTS
from dynlab.plots.titles import of_whom

MOST_BESIDE = 2  # panels in a row
MOST_LINES = 2  # of a caption

Panel = tuple[Callable[..., object], Mapping[str, Any]]  # what draws it, and its options


class Picture(Protocol):
    """A public plot."""

    def __call__(self, ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
        """Draw a Dataset on axes, without them in a figure of its own, and return the axes."""


def picture(
    title: str | Callable[[xr.Dataset], str] = "",
    size: tuple[float, float] | Callable[[xr.Dataset], tuple[float, float]] = style.SIZE,
    *,
    needs: Sequence[str],
    legend: bool = True,
    figure: Callable[..., Axes] | None = None,
) -> Callable[[Callable[..., None]], Picture]:
    """Make a public plot of a function ``draw(ds, ax, **artist)``, which gets axes always.

    The Dataset must have the variables that it `needs`. Without axes the plot makes a figure of this title and this
    size in inches, either of which may be a function of the Dataset, or the one that `figure` gives for the Dataset and
    the options; what has a label gets into a `legend` below the axes.
    """

    def decorate(draw: Callable[..., None]) -> Picture:
        @functools.wraps(draw)
        def plot(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
            schema.check(ds, needs=needs)
            if ax is None:
                words = title(ds) if callable(title) else title
                inches = size(ds) if callable(size) else size
                return figure(ds, **artist) if figure else panels(ds, [(plot, artist)], inches, words)
            draw(ds, ax, **artist)
            if legend:
                style.legend_where_needed(ax)
            return ax

        takes = inspect.signature(draw).parameters
        axes = inspect.Parameter("ax", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Axes | None)
        public = inspect.Signature([*(takes | {"ax": axes}).values()], return_annotation=Axes)
        vars(plot)["__signature__"] = public  # as it is called, with axes or without
        return plot

    return decorate


def panels(
    ds: xr.Dataset,
    drawn: Sequence[Panel],
    size: tuple[float, float],
    title: str,
    *,
    below: bool = False,
    alone: bool = False,
) -> Axes:
    """Make a figure of panels, two in a row, one `below` the other, or the last `alone`; return its first axes.

    `drawn` has what draws each panel, called as ``draw(ds, ax=ax, **options)``, and its options; `size` is that of the
    whole in inches, without the caption; `title` says what is shown, and of which system it is comes after it.
    """
    columns = 1 if below else min(len(drawn), MOST_BESIDE)
    with style.style(size):
        figure = plt.figure()
        places = [divmod(place, columns) for place in range(len(drawn))]
        if alone and places[-1][1]:
            places[-1] = places[-1][0] + 1, 0
        grid = figure.add_gridspec(places[-1][0] + 1, columns)
        for (row, column), (_, after), (draw, options) in zip(places, [*places[1:], (0, 0)], drawn, strict=True):
            ax = figure.add_subplot(grid[row, column : after or columns])  # what is left of its row
            draw(ds, ax=ax, **options)
            style.legend_where_needed(ax)
        finish(ds, figure, title)
    return figure.axes[0]


def finish(ds: xr.Dataset, figure: Figure, title: str, named: Mapping[str, Any] | None = None) -> None:
    """Set the title above a figure that is drawn, and the verdict below it; `named` is a legend for all panels."""
    caption(figure, f"{title}: {of_whom(ds)}", str(ds.attrs.get("verdict", "")).replace("$", r"\$"), named)


def caption(figure: Figure, title: str, words: str, named: Mapping[str, Any] | None = None) -> None:
    """Set a title above a figure that is drawn and whole sentences below it, in the two lines that there is room for.

    The figure becomes taller by them where no size was asked for. A figure that has a title is left as it is.
    """
    engine: Any = figure.get_layout_engine()
    if engine is None or figure.get_suptitle():
        return
    width, height = figure.get_size_inches()
    size = plt.rcParams["font.size"]
    line, letters = size * LINE / POINTS, int((width - 2 * EDGE) * POINTS / (size * LETTER))
    above, below = textwrap.fill(title, int(letters / 1.7)), _fitting(words, letters)
    legend = (
        style.fitting_legend(
            figure,
            named.values(),
            named,
            len(named),
            figure.bbox.width - 2 * EDGE * figure.dpi,
            loc="lower left",
            columnspacing=1.4,
            borderaxespad=0.0,
        )
        if named
        else None
    )
    top = 1.45 * line * (above.count("\n") + 1) + 2 * EDGE
    bottom = (line * (below.count("\n") + 1) + 2 * EDGE) * bool(below) + EDGE
    low = bottom + (legend.get_window_extent().height / figure.dpi + EDGE if legend else 0.0)
    whole = height + (top + low if style.ASKED.get()[0] is None else 0.0)
    figure.set_size_inches(width, whole)
    engine.set(rect=(0, low / whole, 1, 1 - (top + low) / whole))
    left: dict[str, Any] = {"x": EDGE / width, "ha": "left"}
    figure.suptitle(above, y=1 - EDGE / whole, va="top", in_layout=False, **left)
    figure.text(y=EDGE / whole, s=style.subscripts(below), va="bottom", linespacing=LINE / 1.2, **left)
    if legend:
        legend.set_bbox_to_anchor((EDGE / width, bottom / whole), figure.transFigure)
    engine.execute(figure)  # legends below axes of one scale make other room for these, and so for themselves


def _fitting(words: str, letters: int) -> str:
    """The first sentences, as many as fit into the lines of a caption; of one that is too long its beginning."""
    sentences = re.split(r"(?<=\.) (?=[^a-z\d])", words)
    for count in range(len(sentences), 0, -1):
        lines = textwrap.wrap(" ".join(sentences[:count]), letters)
        if len(lines) <= MOST_LINES:
            return "\n".join(lines)
    return textwrap.fill(words, letters, max_lines=MOST_LINES, placeholder=" …")
