"""Several phase portraits in one figure of the gallery, with what each shows in its title."""

from collections.abc import Mapping, Sequence
from typing import cast

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec

from dynlab.matrices import planar_matrix
from dynlab.plots import style
from dynlab.plots.phase_panels import legend_entries, panel
from dynlab.plots.phase_plane import plot_phase_plane, time_bar
from dynlab.wording import number

COLUMNS = 3
SIZE = (11.0, 3.4)  # inches, of a row of panels
BAR = 0.9  # inches, for the scale of time
TOP = 9  # of the drawing order: no marker of an equilibrium hides a start


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
            _draw(panel(ds, letter), figure.add_subplot(place), f"({letter}) {name}")
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


def _draw(one: xr.Dataset, ax: Axes, title: str) -> Axes:
    plot_phase_plane(one.drop_vars("backward_orbit", errors="ignore"), ax=ax)  # too much in a small panel
    ax.set_title(f"{title}\n{_told(one)}", fontsize="medium")
    if not cast(SubplotSpec, ax.get_subplotspec()).is_first_col():
        ax.set_ylabel("")
    for line in ax.lines:
        if line.get_marker() == "*":
            line.set_zorder(TOP)
    return ax


def _told(one: xr.Dataset) -> str:
    """The kinds of the equilibria; of one whose linear part decides nothing, where the orbits go."""
    kinds = [str(kind) for kind in one["map_kind"].values]
    if len(kinds) > 1:
        return _counted(kinds)
    modulus = f"|μ| = {number(float(np.abs(one['map_eigenvalue'].values).max()), 5)}"
    if "flow_kind" not in one:
        start, end = (np.linalg.norm(one["trajectory"].values[:, step], axis=-1) for step in (0, -1))
        slow = ":\norbits go in slowly" if (end < start).all() else ""
        return f"{modulus} decides nothing{slow}"
    flow = str(one["flow_kind"].values[0])
    if flow == kinds[0]:
        return f"{flow}\nof flow and map, {modulus}"
    return f"flow: {flow}\nmap: {kinds[0]},\n{modulus}"


def _counted(kinds: Sequence[str]) -> str:
    """Each kind with how many there are: "1 saddle, 2 × stable node"."""
    return ", ".join(f"{kinds.count(kind)} × {kind}" for kind in dict.fromkeys(kinds))
