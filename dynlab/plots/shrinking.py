"""Lines and markers of a picture that is smaller than its own size, in proportion to its text."""

from collections.abc import Iterable, Iterator

import numpy as np
from matplotlib.artist import Artist
from matplotlib.collections import Collection, PathCollection
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Patch
from matplotlib.quiver import Quiver
from matplotlib.text import Annotation


def shrink(figure: Figure, factor: float, others: Iterable[Artist] = ()) -> None:
    """Multiply the sizes of all lines, markers and arrows, of legends too; `others` are entries of a legend to come."""
    for artist in {id(each): each for each in (*_drawn(figure), *others)}.values():
        if isinstance(artist, Line2D):
            artist.set_markersize(artist.get_markersize() * factor)
            artist.set_markeredgewidth(artist.get_markeredgewidth() * factor)
            artist.set_linewidth(artist.get_linewidth() * factor)
        elif isinstance(artist, Quiver):
            if artist.units == "inches" and artist.width is not None:  # else it goes with the axes
                artist.width *= factor
        elif isinstance(artist, Collection):
            artist.set_linewidth(np.multiply(artist.get_linewidth(), factor).tolist())
            if isinstance(artist, PathCollection):
                artist.set_sizes(artist.get_sizes() * factor**2)
        elif isinstance(artist, Patch):
            artist.set_linewidth(artist.get_linewidth() * factor)
            if isinstance(artist, FancyArrowPatch):
                artist.set_mutation_scale(artist.get_mutation_scale() * factor)


def _drawn(figure: Figure) -> Iterator[Artist | None]:
    """What axes hold, and the entries of legends; not their ticks, which are thin."""
    legends: list[Legend] = [*figure.legends]
    for ax in figure.axes:
        yield from ax.get_children()
        yield from (child.arrow_patch for child in ax.get_children() if isinstance(child, Annotation))
        legends += [child for child in ax.get_children() if isinstance(child, Legend)]
    for legend in legends:
        yield from legend.legend_handles
