"""Legends below axes and below all panels: in as many columns as there is room for."""

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.transforms import ScaledTranslation

from dynlab.plots.breaking import break_to
from dynlab.plots.text_size import EDGE, HINTED, POINTS, size_of

UNDER = 3.4  # lines below the axes: their numbers and their label, until these are measured
PAD = 0.5  # lines between what is below the axes and the legend
Options = dict[str, Any]
_BELOW: WeakKeyDictionary[Axes, tuple[int, Options]] = WeakKeyDictionary()  # columns and options of legends


def legend_below(ax: Axes, columns: int, **options: Any) -> Legend:
    """The legend under the axes; `fit` moves it below their label, and takes fewer columns where it is too wide."""
    _BELOW[ax] = columns, options
    return _place(ax, columns, UNDER * size_of(ax.xaxis.label) / POINTS, options)


def _place(ax: Axes, columns: int, inches: float, options: Options) -> Legend:
    down = ScaledTranslation(0.0, -inches, ax.figure.dpi_scale_trans)
    place: Options = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "bbox_transform": ax.transAxes + down}
    size = size_of(ax.xaxis.label)  # also where it is placed again outside of the style's block
    look: Options = {"fontsize": size, "title_fontsize": size, "frameon": False}
    return ax.legend(ncols=columns, **place | look | {"columnspacing": 1.2, "borderaxespad": 0.0} | options)


def set_aside(figure: Figure) -> None:
    """Take the legends below axes out of the layout: one that is too wide would leave its axes no width."""
    for ax in filter(_BELOW.__contains__, figure.axes):
        legend = ax.get_legend()
        if legend is not None:
            legend.set_in_layout(False)


def fit_legend(ax: Axes, low: float, high: float) -> None:
    """Place the legend below the axis' label, in as many columns as there is room for from `low` to `high` in pixels.

    Lines are broken where one column is too wide. Axes without such a legend are left as they are.
    """
    if ax not in _BELOW or ax.get_legend() is None:
        return
    columns, options = _BELOW[ax]
    box, dpi = ax.get_window_extent(), ax.figure.dpi
    under = ax.xaxis.get_tightbbox() if ax.axison else None
    inches = (box.y0 - (box.y0 if under is None else under.y0)) / dpi + PAD * size_of(ax.xaxis.label) / POINTS
    middle = (box.x0 + box.x1) / 2
    room = 2 * min(middle - low, high - middle)
    legend = _place(ax, columns, inches, options)
    while HINTED * legend.get_window_extent().width > room and columns > 1:
        columns -= 1
        legend = _place(ax, columns, inches, options)
    for text in legend.get_texts():
        break_to(text, room - (legend.get_window_extent().width - text.get_window_extent().width))


def legend_of_all(figure: Figure, named: Mapping[str, Artist]) -> Legend:
    """The legend of all panels, in as many columns as there is room for."""
    for columns in range(len(named), 0, -1):
        options: Options = {"ncols": columns, "loc": "lower left", "columnspacing": 1.4, "borderaxespad": 0.0}
        legend = figure.legend(list(named.values()), list(named), **options)
        if HINTED * legend.get_window_extent().width <= (1 - 2 * EDGE) * figure.bbox.width or columns == 1:
            break
        legend.remove()
    return legend
