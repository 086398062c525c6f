"""Several phase portraits in one figure of the gallery, with what each shows in its title."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import xarray as xr
from matplotlib.figure import Figure

from dynlab.matrices import planar_matrix
from dynlab.plots import style
from dynlab.plots.phase_panels import draw_panel, legend_entries, panel
from dynlab.plots.phase_plane import time_bar
from dynlab.wording import number

COLUMNS = 3
SIZE = (11.0, 3.4)  # inches, of a row of panels
BAR = 0.9  # inches, for the scale of time


def draw_portraits(ds: xr.Dataset, named: Mapping[str, str], title: str, words: str, beside: str = "") -> Figure:
    """Portraits under titles that tell what becomes of each, one scale of time and one legend for all.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.diagnostics.phase_plane.panels.phase_panels`.
    named : mapping of str to str
        The panels' letters, and what stands behind each.
    title, words : str
        What stands above and below all of them.
    beside : str
        What stands in the place behind the last panel.
    """
    rows = -(-(len(named) + bool(beside)) // COLUMNS)
    with style.style((SIZE[0], SIZE[1] * rows + BAR)) as size:
        figure = plt.figure(figsize=size)
        grid = figure.add_gridspec(rows, COLUMNS)
        places = [grid[divmod(place, COLUMNS)] for place in range(len(named) + bool(beside))]
        drawn = [
            draw_panel(panel(ds, letter), figure.add_subplot(place), f"({letter}) {name}")
            for (letter, name), place in zip(named.items(), places, strict=False)
        ]
        if beside:
            ax = figure.add_subplot(places[-1])
            ax.axis("off")
            ax.text(0, 0.95, beside, va="top", linespacing=1.5)
        time_bar(ds, figure, ax=drawn, location="bottom", shrink=0.4, pad=0.02, aspect=40)
        style.caption(figure, title, words, legend_entries(drawn))
    return figure


def matrix_in_words(matrix: str) -> str:
    """The entries of a planar matrix, given by its name or its entries, the rows parted by a semicolon."""
    return "; ".join(", ".join(number(float(entry)) for entry in row) for row in planar_matrix(matrix))
