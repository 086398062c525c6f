"""A figure with its title and caption: text that can be read and stays in its place."""

import warnings
from collections.abc import Mapping
from typing import Any
from weakref import WeakSet

from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text

from dynlab.plots.axes_text import extent, fit_axes
from dynlab.plots.breaking import broken
from dynlab.plots.legends import legend_of_all, set_aside
from dynlab.plots.settable import make_settable, without_glyph_warnings
from dynlab.plots.shrinking import shrink
from dynlab.plots.text_size import EDGE, LETTER, LINE, POINTS, points, size_of

SQUEEZED, TALLER, GROWTHS = 0.4, 1.25, 4  # of a panel's own height; times; and how often a figure becomes taller
ROUNDS = 3  # what is broken makes other room for the axes, and so for other text

_FITTED: WeakSet[Figure] = WeakSet()  # a figure has one title


def fit(
    figure: Figure,
    title: str,
    caption: str,
    *,
    named: Mapping[str, Artist] | None = None,
    grows: bool = True,
    shrunk: float = 1.0,
) -> None:
    """Set a title above and a caption below a figure, and break titles, labels and legends that leave their panels.

    A figure that has a title, or whose axes lie where they were put, is left as it is.

    Parameters
    ----------
    figure : Figure
        With all that it shows.
    title, caption : str
    named : mapping of str to Artist, optional
        The entries of one legend for all panels, which lies below them.
    grows : bool
        Whether the figure becomes taller by what it says; else its panels become smaller.
    shrunk : float
        Its width in parts of the width that it was made for: where that is below 1, lines and markers are thinner too.
    """
    engine: Any = figure.get_layout_engine()
    if engine is None or figure in _FITTED:
        return
    _FITTED.add(figure)
    with without_glyph_warnings():
        make_settable(figure)
        if shrunk < 1:
            shrink(figure, shrunk, (named or {}).values())
        _fit(figure, engine, title, caption, named, grows)


def _fit(
    figure: Figure, engine: Any, title: str, caption: str, named: Mapping[str, Artist] | None, grows: bool
) -> None:
    size, height = points(figure.get_figwidth(), grows), figure.get_figheight()
    room = figure.get_figwidth() * POINTS * (1 - 2 * EDGE) / (LETTER * size)
    legend = legend_of_all(figure, named) if named else None
    above, below = (figure.text(EDGE, 0, "", fontsize=each * size) for each in (1.4, 1.0))
    above.set(text=broken(title, room / 1.5), fontweight="bold", va="top")
    below.set(text=_within(figure, caption, room, size), va="bottom", linespacing=LINE / 1.2)
    for times in range(GROWTHS + 1):
        _frame(figure, above, below, legend, height * TALLER**times, grows)
        set_aside(figure)
        with warnings.catch_warnings():
            if grows and times < GROWTHS:
                warnings.filterwarnings("ignore", "constrained_layout not applied")
            for _ in range(ROUNDS):
                engine.execute(figure)  # no drawing, which takes its time
                extents = {ax: extent(ax) for ax in figure.axes}
                for ax in figure.axes:
                    if ax.axison or ax.get_legend() is not None:
                        fit_axes(figure, ax, extents)
        if not grows or not _squeezed(figure, height * TALLER**times):
            break


def _squeezed(figure: Figure, height: float) -> bool:
    """Whether what stands around a panel leaves it little of its own part of so many inches."""
    for ax in figure.axes:
        place = ax.get_subplotspec()
        if place is not None and ax.axison:
            own = height * len(place.rowspan) / place.get_gridspec().nrows
            if ax.get_position(original=True).height * figure.get_figheight() < SQUEEZED * own:
                return True
    return False


def _within(figure: Figure, caption: str, letters: float, size: float) -> str:
    """The caption in lines of so many letters; in shorter ones where wide letters would leave the figure."""
    lines = broken(caption, letters)
    text = figure.text(0, 0, lines, fontsize=size)
    wide = float(text.get_window_extent().width) / figure.bbox.width
    text.remove()
    return broken(caption, letters * (1 - 2 * EDGE) / wide) if EDGE + wide > 1 else lines


def _frame(figure: Figure, title: Text, caption: Text, legend: Legend | None, height: float, grows: bool) -> None:
    """Title, caption and legend in their places, and the room that they need beside or within that height in inches."""
    width, size = figure.get_figwidth(), size_of(caption)
    edge = EDGE * width
    above = 1.4 * size * LINE * (title.get_text().count("\n") + 1) / POINTS + edge
    words = caption.get_text()
    below = size * LINE * (words.count("\n") + 1) / POINTS + 2 * edge if words else edge
    named = legend.get_window_extent().height / figure.dpi + edge if legend else 0.0
    taller = height + (above + below + named if grows else 0.0)
    figure.set_size_inches(width, taller)
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(EDGE / 2, (below + named) / taller, 1 - 2 * EDGE, 1 - (above + below + named) / taller))
    if legend:
        legend.set_bbox_to_anchor((EDGE, below / taller), figure.transFigure)
    title.set_y(1 - edge / taller)
    caption.set_y(edge / taller)
