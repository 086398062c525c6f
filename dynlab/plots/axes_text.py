"""What stands around axes: titles and labels in lines that stay in their place, and numbers that do not touch."""

import itertools
from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, ScalarFormatter
from matplotlib.transforms import Bbox

from dynlab.plots.breaking import break_to
from dynlab.plots.legends import fit_legend
from dynlab.plots.text_size import EDGE, POINTS, size_of

MOST_TICKS = 6  # to begin with, where they touch
TOUCH = 0.4  # of the height of text: numbers so near to each other are not told apart


def fit_axes(figure: Figure, ax: Axes, extents: Mapping[Axes, Bbox]) -> None:
    """Break titles and labels, thin numbers and place the legend, between the `extents` of the axes beside."""
    low, high = _neighbours(figure, ax, extents)
    box = ax.get_window_extent()
    titles = [text for text in ax.get_children() if isinstance(text, Text) and text.get_text() in _titles(ax)]
    for text in filter(Text.get_text, titles):
        break_to(text, high - box.x0)
    if ax.axison and getattr(ax, "name", "") != "3d":
        _part_thousands(ax)
        _thin(ax)
        middle = (box.x0 + box.x1) / 2
        break_to(ax.xaxis.label, 2 * min(middle - low, high - middle))
        break_to(ax.yaxis.label, box.height)
    fit_legend(ax, low, high)


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
        apart = TOUCH * size_of(ax.xaxis.label) * ax.figure.dpi / POINTS
        if all(right.x0 - left.x1 > apart for left, right in itertools.pairwise(boxes)):
            return
        if isinstance(ax.xaxis.get_major_locator(), FixedLocator | LogLocator):
            every = len(boxes) // count + 1
            ax.set_xticks(ax.get_xticks()[::every])
        else:
            ax.locator_params(axis="x", nbins=count)


def _shown(text: Text) -> bool:
    return text.get_visible() and bool(text.get_text())


def _titles(ax: Axes) -> set[str]:
    return {ax.get_title(loc="left"), ax.get_title(loc="center"), ax.get_title(loc="right")} - {""}


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


def extent(ax: Axes) -> Bbox:
    """The axes with their numbers and labels, without title and legend."""
    boxes = [ax.get_window_extent()]
    if ax.axison and getattr(ax, "name", "") != "3d":
        boxes += [box for box in (ax.yaxis.get_tightbbox(), ax.xaxis.get_tightbbox()) if box is not None]
    return Bbox.union(boxes)
