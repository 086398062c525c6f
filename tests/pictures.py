"""What is seen of a figure's texts: which are shown, which lie over each other, which leave the canvas."""

import itertools

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.text import Text

PIXEL = 1.0  # what a text's box may be off by


def shown(figure: Figure) -> list[Text]:
    """The texts that are drawn."""
    figure.draw_without_rendering()
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    hidden = beyond(figure)
    return [text for text in texts if text not in hidden]


def beyond(figure: Figure) -> list[Text]:
    """The numbers that matplotlib keeps for ticks outside the axes, or of axes that are off, and does not draw."""
    found = []
    for ax in figure.findobj(Axes):
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not ax.axison or not low <= tick.get_loc() <= high:
                    found.append(tick.label1)
        found += [] if ax.axison else [ax.xaxis.label, ax.yaxis.label]
    return found


def spatial(figure: Figure) -> set[Text]:
    """The texts of spatial axes, which are seen at an angle."""
    return {text for ax in figure.axes if ax.name == "3d" for text in ax.findobj(Text)}


def overlapping(figure: Figure) -> list[tuple[str, str]]:
    """The pairs of texts that lie over each other, but for those of spatial axes, which are seen at an angle."""
    flat = [text for text in shown(figure) if text not in spatial(figure)]
    boxes = {text: text.get_window_extent().padded(-PIXEL) for text in flat}
    pairs = itertools.combinations(boxes, 2)
    return [(one.get_text(), other.get_text()) for one, other in pairs if boxes[one].overlaps(boxes[other])]


def outside(figure: Figure) -> list[str]:
    """The texts that leave the canvas; ticks of colour bars that have no finite place are not drawn."""
    width, height = figure.bbox.width + PIXEL, figure.bbox.height + PIXEL
    boxes = {text: text.get_window_extent() for text in shown(figure) if text not in spatial(figure)}
    return [
        text.get_text()
        for text, box in boxes.items()
        if np.isfinite(box.extents).all() and (box.x0 < -PIXEL or box.y0 < -PIXEL or box.x1 > width or box.y1 > height)
    ]


def legend_words(ax: Axes) -> list[str]:
    """The entries of the legend."""
    return [text.get_text() for text in ax.get_legend().get_texts()]


def labelled(ax: Axes) -> dict[str, Artist]:
    """The lines by their labels."""
    return {str(line.get_label()): line for line in ax.lines}


def markers(ax: Axes) -> np.ndarray:
    """Where the markers of scatters stand, in the order in which they were drawn, shape (marker, 2)."""
    return np.concatenate([each.get_offsets().data for each in ax.collections if isinstance(each, PathCollection)])


def in_order(points) -> list[tuple[float, float]]:
    """Points as sorted pairs; complex numbers as points."""
    points = np.asarray(points)
    pairs = np.stack([points.real.ravel(), points.imag.ravel()], axis=-1) if np.iscomplexobj(points) else points
    return sorted(map(tuple, pairs))
