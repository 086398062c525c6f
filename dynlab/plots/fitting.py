"""Text that can be read and stays in its place: its size, where lines break, legends below, titles, and captions."""

import itertools
import re
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, ScalarFormatter
from matplotlib.transforms import Bbox, ScaledTranslation

from dynlab.letters import shown
from dynlab.plots.shrinking import shrink

PAGE = 800.0  # pixels
# The size of the smallest text where a picture is that wide: its capitals are 9 pixels high. In a size that was asked
# for, where the picture cannot grow, all of a letter is.
PIXELS, IN_LITTLE_ROOM = 12.4, 9.8
POINTS = 72.0  # of an inch
LETTER = 0.55  # of the height of text: the mean width of its letters, a little more than they are
LINE = 1.35  # of the height of text: from one line to the next
EDGE = 0.012  # of the figure's width: what stays free at its sides
HINTED = 1.05  # how much wider text may be at the resolution of a file than where it is measured: letters are hinted
FEWEST = 12  # letters: no line is broken to fewer
UNDER = 3.4  # lines below the axes: their numbers and their label, until these are measured
PAD = 0.5  # lines between what is below the axes and the legend
MOST_TICKS = 6  # to begin with, where they touch
TOUCH = 0.4  # of the height of text: numbers so near to each other are not told apart
SQUEEZED, TALLER, GROWTHS = 0.4, 1.25, 4  # of a panel's own height; times; and how often a figure becomes taller
ROUNDS = 3  # what is broken makes other room for the axes, and so for other text

TIED = re.compile(
    r" (?=I(?:\W|$))| (?=[=±−≤≥<>×≈%] |% |[=±−≤≥<>×≈] |%[.,;)]|[\d.,]+[).][.,;]?(?:\s|$))|(?<= [=±−≤≥<>×≈]) "
)
FORMULA, SET = "\x01", "\x02"  # stand for the letters of a formula while lines are broken
MARKUP = re.compile(r"\\[a-z]+|[${}_^]")
Options = dict[str, Any]
_WHOLE: WeakKeyDictionary[Text, str] = WeakKeyDictionary()  # texts as they were before they were broken
_FITTED: WeakSet[Figure] = WeakSet()  # a figure has one title
_BELOW: WeakKeyDictionary[Axes, tuple[int, Options]] = WeakKeyDictionary()  # columns and options of legends


def points(width: float, grows: bool = True) -> float:
    """The size of the smallest text of a figure of `width` inches, in points; `grows` as for `fit`."""
    return (PIXELS if grows else IN_LITTLE_ROOM) / PAGE * POINTS * width


def broken(text: str, letters: float) -> str:
    """The text in lines of so many letters; formulas, signs and a number that ends a phrase stay with their words."""
    formulas: list[str] = re.findall(r"\$[^$]*\$", text)  # as long as they are when set, not as they are written
    kept = re.sub(r"\$[^$]*\$", lambda found: FORMULA + SET * (len(MARKUP.sub("", found.group())) - 1), text)
    kept = TIED.sub("\x00", kept)
    lines = (_filled(line, max(FEWEST, int(letters))) for line in kept.split("\n"))
    whole = "\n".join(lines).replace("\x00", " ")
    return re.sub(f"{FORMULA}{SET}*", lambda _: formulas.pop(0), whole)


def _filled(line: str, letters: int) -> str:
    """In lines that end between words: lstm-har2 is one."""
    return textwrap.fill(line, letters, break_long_words=False, break_on_hyphens=False)


def literal(text: str) -> str:
    """Text that is set as it stands, whatever name a file has: a dollar is no mathematics, and escapes are shown."""
    return shown(text).replace("$", r"\$")


def legend_below(ax: Axes, columns: int, **options: Any) -> Legend:
    """The legend under the axes; `fit` moves it below their label, and takes fewer columns where it is too wide."""
    _BELOW[ax] = columns, options
    return _place(ax, columns, UNDER * _size(ax.xaxis.label) / POINTS, options)


def _place(ax: Axes, columns: int, inches: float, options: Options) -> Legend:
    down = ScaledTranslation(0.0, -inches, ax.figure.dpi_scale_trans)
    place: Options = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "bbox_transform": ax.transAxes + down}
    size = _size(ax.xaxis.label)  # also where it is placed again outside of the style's block
    look: Options = {"fontsize": size, "title_fontsize": size, "frameon": False}
    return ax.legend(ncols=columns, **place | look | {"columnspacing": 1.2, "borderaxespad": 0.0} | options)


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
        _settable(figure)
        if shrunk < 1:
            shrink(figure, shrunk, (named or {}).values())
        _fit(figure, engine, title, caption, named, grows)


@contextmanager
def without_glyph_warnings() -> Iterator[None]:
    """Letters that the font lacks are drawn as boxes, and nobody is warned of each: a file may have any name."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        yield


def _settable(figure: Figure) -> None:
    """Labels that a file's names are part of, so that they can be set: as they stand where they are no mathematics."""
    for artist in figure.findobj():
        label = artist.get_label()
        if isinstance(label, str) and _as_can_be_set(label) != label:  # legends are made of them, and made anew
            artist.set_label(_as_can_be_set(label))
        if isinstance(artist, Text) and _as_can_be_set(artist.get_text()) != artist.get_text():
            artist.set_text(_as_can_be_set(artist.get_text()))


def _as_can_be_set(text: str) -> str:
    words = shown(text)
    if words.count("$") < 2:
        return words
    parser: Any = MathTextParser("path")
    try:
        for line in words.split("\n"):
            parser.parse(line)
    except ValueError:
        return literal(words)
    return words


def _fit(
    figure: Figure, engine: Any, title: str, caption: str, named: Mapping[str, Artist] | None, grows: bool
) -> None:
    size, height = points(figure.get_figwidth(), grows), figure.get_figheight()
    room = figure.get_figwidth() * POINTS * (1 - 2 * EDGE) / (LETTER * size)
    legend = _legend_of_all(figure, named) if named else None
    above, below = (figure.text(EDGE, 0, "", fontsize=each * size) for each in (1.4, 1.0))
    above.set(text=broken(title, room / 1.5), fontweight="bold", va="top")
    below.set(text=_within(figure, caption, room, size), va="bottom", linespacing=LINE / 1.2)
    for times in range(GROWTHS + 1):
        _frame(figure, above, below, legend, height * TALLER**times, grows)
        for ax in filter(_BELOW.__contains__, figure.axes):  # one that is too wide would leave its axes no width
            _set_aside(ax)
        with warnings.catch_warnings():
            if grows and times < GROWTHS:
                warnings.filterwarnings("ignore", "constrained_layout not applied")
            for _ in range(ROUNDS):
                engine.execute(figure)  # no drawing, which takes its time
                extents = {ax: _extent(ax) for ax in figure.axes}
                for ax in figure.axes:
                    if ax.axison or ax.get_legend() is not None:
                        _fit_axes(figure, ax, extents)
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


def _legend_of_all(figure: Figure, named: Mapping[str, Artist]) -> Legend:
    """In as many columns as there is room for."""
    for columns in range(len(named), 0, -1):
        options: Options = {"ncols": columns, "loc": "lower left", "columnspacing": 1.4, "borderaxespad": 0.0}
        legend = figure.legend(list(named.values()), list(named), **options)
        if HINTED * legend.get_window_extent().width <= (1 - 2 * EDGE) * figure.bbox.width or columns == 1:
            break
        legend.remove()
    return legend


def _frame(figure: Figure, title: Text, caption: Text, legend: Legend | None, height: float, grows: bool) -> None:
    """Title, caption and legend in their places, and the room that they need beside or within that height in inches."""
    width, size = figure.get_figwidth(), _size(caption)
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


def _fit_axes(figure: Figure, ax: Axes, extents: Mapping[Axes, Bbox]) -> None:
    low, high = _neighbours(figure, ax, extents)
    box = ax.get_window_extent()
    titles = [text for text in ax.get_children() if isinstance(text, Text) and text.get_text() in _titles(ax)]
    for text in filter(Text.get_text, titles):
        _break(text, high - box.x0)
    if ax.axison and getattr(ax, "name", "") != "3d":
        _part_thousands(ax)
        _thin(ax)
        middle = (box.x0 + box.x1) / 2
        _break(ax.xaxis.label, 2 * min(middle - low, high - middle))
        _break(ax.yaxis.label, box.height)
    if ax in _BELOW and ax.get_legend() is not None:
        _fit_legend(ax, low, high)


def _part_thousands(ax: Axes) -> None:
    """10,000 and not 10000 along a linear axis, as in the sentences below it."""
    for axis in (ax.xaxis, ax.yaxis):
        if type(axis.get_major_formatter()) is ScalarFormatter and 1e3 <= max(map(abs, axis.get_view_interval())) < 1e6:
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}".replace("-", "−")))


def _thin(ax: Axes) -> None:
    """Fewer numbers along the horizontal axis, where they touch each other."""
    for count in range(MOST_TICKS, 1, -1):
        boxes = [label.get_window_extent() for label in ax.get_xticklabels() if _shown(label)]
        boxes = sorted((box for box in boxes if box.width), key=lambda box: float(box.x0))
        apart = TOUCH * _size(ax.xaxis.label) * ax.figure.dpi / POINTS
        if all(right.x0 - left.x1 > apart for left, right in itertools.pairwise(boxes)):
            return
        if isinstance(ax.xaxis.get_major_locator(), FixedLocator | LogLocator):
            every = len(boxes) // count + 1
            ax.set_xticks(ax.get_xticks()[::every])
        else:
            ax.locator_params(axis="x", nbins=count)


def _shown(text: Text) -> bool:
    return text.get_visible() and bool(text.get_text())


def _set_aside(ax: Axes) -> None:
    legend = ax.get_legend()
    if legend is not None:
        legend.set_in_layout(False)


def _titles(ax: Axes) -> set[str]:
    return {ax.get_title(loc="left"), ax.get_title(loc="center"), ax.get_title(loc="right")} - {""}


def _size(text: Text) -> float:
    return float(text.get_fontsize())


def _break(text: Text, pixels: float) -> None:
    """Break a text that is longer than so many pixels."""
    if not text.get_text():
        return
    whole = _WHOLE.setdefault(text, text.get_text())
    text.set_text(whole)
    box = text.get_window_extent()
    longest = max(box.width, box.height)  # one that is turned runs upwards
    if longest > pixels:
        letters = max(map(len, whole.split("\n")))
        text.set_text(broken(whole, letters * pixels / longest))


def _neighbours(figure: Figure, ax: Axes, extents: Mapping[Axes, Bbox]) -> tuple[float, float]:
    """How far a text of the axes may reach to the left and to the right, in pixels."""
    box, pad = ax.get_window_extent(), EDGE * figure.bbox.width
    low, high = pad, figure.bbox.width - pad
    for other, beside in extents.items():
        if other is ax or beside.y1 <= box.y0 or beside.y0 >= box.y1 or other.get_label() == "<colorbar>":
            continue
        where = other.get_window_extent()  # its numbers may reach into these axes before anything is fitted
        if where.x0 >= box.x1:
            high = min(high, beside.x0 - pad)
        elif where.x1 <= box.x0:
            low = max(low, beside.x1 + pad)
    return low, high


def _extent(ax: Axes) -> Bbox:
    """The axes with their numbers and labels, without title and legend."""
    boxes = [ax.get_window_extent()]
    if ax.axison and getattr(ax, "name", "") != "3d":
        boxes += [box for box in (ax.yaxis.get_tightbbox(), ax.xaxis.get_tightbbox()) if box is not None]
    return Bbox.union(boxes)


def _fit_legend(ax: Axes, low: float, high: float) -> None:
    """Below the axis' label, in as many columns as there is room for, and with broken lines where one is too wide."""
    columns, options = _BELOW[ax]
    box, dpi = ax.get_window_extent(), ax.figure.dpi
    under = ax.xaxis.get_tightbbox() if ax.axison else None
    inches = (box.y0 - (box.y0 if under is None else under.y0)) / dpi + PAD * _size(ax.xaxis.label) / POINTS
    middle = (box.x0 + box.x1) / 2
    room = 2 * min(middle - low, high - middle)
    legend = _place(ax, columns, inches, options)
    while HINTED * legend.get_window_extent().width > room and columns > 1:
        columns -= 1
        legend = _place(ax, columns, inches, options)
    for text in legend.get_texts():
        _break(text, room - (legend.get_window_extent().width - text.get_window_extent().width))
