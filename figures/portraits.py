"""Several phase portraits in one figure, with what each shows in its title."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import xarray as xr

from dynlab.matrices import planar_matrix
from dynlab.plots.phase_panels import draw_panel, legend_entries, panel
from dynlab.plots.phase_plane import time_bar
from dynlab.words import number

from .scripts import Drawn

COLUMNS = 3
SIZE, BAR = (11.0, 3.4), 0.9  # inches, of a row of panels and of the scale of time below them


def size_of(places: int) -> tuple[float, float]:
    """Return the size of a figure with so many places for panels."""
    return SIZE[0], SIZE[1] * -(-places // COLUMNS) + BAR


def draw_portraits(ds: xr.Dataset, named: Mapping[str, str], beside: str = "") -> Drawn:
    """Draw portraits under titles that tell what becomes of each, with one scale of time and one legend for all.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.diagnostics.phase_plane.panels.phase_panels`.
    named : mapping of str to str
        The panels' letters, and what stands behind each.
    beside : str
        Function that draws in the place after the last panel.
    """
    figure = plt.figure()
    grid = figure.add_gridspec(-(-(len(named) + bool(beside)) // COLUMNS), COLUMNS)
    drawn = [
        draw_panel(panel(ds, letter), figure.add_subplot(grid[divmod(place, COLUMNS)]), f"({letter}) {name}")
        for place, (letter, name) in enumerate(named.items())
    ]
    if beside:
        ax = figure.add_subplot(grid[divmod(len(named), COLUMNS)])
        ax.axis("off")
        ax.text(0, 0.95, beside, va="top", linespacing=1.5)
    time_bar(ds, figure, ax=drawn, location="bottom", shrink=0.4, pad=0.02, aspect=40)
    return Drawn(figure, ds.attrs["verdict"], legend_entries(drawn))


def matrix_in_words(matrix: str) -> str:
    """Return the entries of a planar matrix, given by its name or its entries, the rows parted by a semicolon."""
    return "; ".join(", ".join(number(float(entry)) for entry in row) for row in planar_matrix(matrix))
