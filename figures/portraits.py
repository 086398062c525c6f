"""Several phase portraits in one figure, with what each shows in its title."""

from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr

from dynlab.matrices import planar_matrix
from dynlab.plots.phase_panels import draw_panel, legend_entries, panel
from dynlab.plots.phase_plane import time_bar
from dynlab.words import number

from .scripts import Drawn

COLUMNS = 3
SIZE, BAR = (11.0, 3.4), 0.9  # inches, of a row of panels and of the scale of time below them


def places(count: int) -> dict[str, Any]:
    """Return the size of a figure with so many places for panels, and its rows and columns."""
    rows = -(-count // COLUMNS)
    return {"size": (SIZE[0], SIZE[1] * rows + BAR), "nrows": rows, "ncols": COLUMNS}


def draw_portraits(ds: xr.Dataset, named: Mapping[str, str], axes: Sequence[Any]) -> Drawn:
    """Draw portraits under titles that tell what becomes of each, with one scale of time and one legend for all.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.diagnostics.phase_plane.panels.phase_panels`.
    named : mapping of str to str
        The panels' letters, and what stands behind each.
    axes : sequence of Axes
        One for each panel.
    """
    drawn = [
        draw_panel(panel(ds, letter), ax, f"({letter}) {name}")
        for (letter, name), ax in zip(named.items(), axes, strict=True)
    ]
    time_bar(ds, axes[0].figure, ax=drawn, location="bottom", shrink=0.4, pad=0.02, aspect=40)
    return Drawn(ds.attrs["verdict"], legend_entries(drawn))


def matrix_in_words(matrix: str) -> str:
    """Return the entries of a planar matrix, given by its name or its entries, the rows parted by a semicolon."""
    return "; ".join(", ".join(number(float(entry)) for entry in row) for row in planar_matrix(matrix))
