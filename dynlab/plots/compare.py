"""Two networks beside each other: the eigenvalues of the maps fitted to them, and how far apart their runs are."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from dynlab import schema
from dynlab.plots import style, unit_circle
from dynlab.wording import number

SIZE = (9.2, 5.0)  # inches
LOOKS = (("o", style.BLUE), ("s", style.VERMILION))
ALIKE = 1e-6  # of their size: distances that differ by less are one
SMALLEST = 1e-3  # of a step: distances below are equal, as in the test
BINS = 12
ROOM = 0.08  # beside what is shown
HEADROOM, LINE = 1.3, 0.08  # above the bars, and of the axes' height a line of words


def plot_compare(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The eigenvalues of both networks' maps, small those of their runs, and the distances of relabelled runs.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.compare`.
    ax : Axes, optional
        Where only the eigenvalues are drawn.
    **artist
        For the large markers.

    Returns
    -------
    Axes
        Of the eigenvalues.
    """
    schema.check(ds, needs=["eigenvalue", "run_eigenvalue", "relabelled_distance", "between_runs", "within_runs"])
    if ax is None:
        both = ds.assign_attrs(system=" and ".join(ds[schema.NETWORK].values), source="")
        return style.panels(both, [(plot_compare, artist), (_draw_distances, {})], SIZE, "Comparison")
    style.cross(ax)
    for place, (marker, colour) in enumerate(LOOKS):
        runs, whole = ds["run_eigenvalue"].values[place].ravel(), ds["eigenvalue"].values[place]
        ax.scatter(runs.real, runs.imag, s=6, marker=marker, color=colour, alpha=0.35, linewidths=0, zorder=2)
        look: dict[str, Any] = {"s": 34, "marker": marker, "facecolors": "none", "edgecolors": colour, "zorder": 3}
        ax.scatter(whole.real, whole.imag, label=str(ds[schema.NETWORK].values[place]), **look | artist)
    shown = np.concatenate([ds[name].values.ravel() for name in ("eigenvalue", "run_eigenvalue")])
    limits, own = unit_circle.window(shown)
    unit_circle.draw_circle(ax, label="unit circle: |μ| = 1")
    ax.set(xlim=limits[0], ylim=limits[1], aspect="auto" if own else "equal")
    ax.set(
        xlabel="Re μ", ylabel="Im μ", title="Eigenvalues μ of the linear maps fitted to runs" + unit_circle.OWN * own
    )
    ax.plot([], [], ls="none", marker=".", color=style.GREY, ms=4, label="small: of single runs")
    style.legend_below(ax, 2)
    return ax


def _draw_distances(ds: xr.Dataset, ax: Axes) -> None:
    """How many relabellings have which mean distance, those at least as far apart hatched, and the true labels' own."""
    distances, own = ds["relabelled_distance"].values, float(ds["between_runs"])
    as_far = round(float(ds["p_value"]) * len(distances))
    farthest = np.sort(distances)[len(distances) - as_far :]
    edges = _edges(distances, float(farthest.min(initial=own)))
    ax.hist(distances, edges.tolist(), color=style.FAINT, ec=style.GREY, lw=0.8, label="after other exchanges of runs")
    share = f"at least as far apart: {as_far} of {len(distances)}"
    ax.hist(farthest, edges.tolist(), color="white", hatch="////", ec=style.BLACK, lw=0.8, label=share)
    ax.axvline(own, color=style.BLACK, lw=2, label=f"without an exchange: {number(own, 3)}")
    low, high = min(edges[0], own), max(edges[-1], own)
    near = [each for each in ds["within_runs"].values.tolist() if low - (high - low) <= each <= high + (high - low)]
    low, high = min([low, *near]), max([high, *near])  # what is farther has an arrow: else the bars would be thin
    room = ROOM * (high - low)
    ax.set(xlim=(low - room, high + room), ylim=(0, HEADROOM * ax.get_ylim()[1]))
    ax.set(xlabel="mean distance of a run of one from a run of the other", ylabel="number of ways to exchange runs")
    ax.locator_params(axis="x", nbins=6)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_title(f"Distance of the networks, runs exchanged (p = {number(float(ds['p_value']), 2)})")
    for place, (_, colour) in enumerate(LOOKS):
        _draw_within(ax, str(ds[schema.NETWORK].values[place]), float(ds["within_runs"].values[place]), colour, place)
    style.legend_below(ax, 2)


def _edges(distances: np.ndarray, first: float) -> np.ndarray:
    """Of the bars: one begins between the first of those at least as far and what is nearer, and all are as wide.

    Where nothing is near, that bar has the first in its middle.
    """
    low, high = float(distances.min()), float(distances.max())
    if high - low <= ALIKE * abs(high) or high < SMALLEST:  # a network and itself: one bar, not rounding's histogram
        middle = (low + high) / 2
        return middle + np.array([-0.5, 0.5]) * max(high - low, middle / BINS, SMALLEST)
    width = (high - low) / BINS
    nearer = distances[distances < first - ALIKE * abs(high)].max(initial=low - width)
    start = first - min(first - float(nearer), width) / 2
    return start + width * np.arange(-np.ceil((start - low) / width) - 1, np.floor((high - start) / width) + 2)


def _draw_within(ax: Axes, name: str, value: float, colour: str, row: int) -> None:
    """The distance of two runs of one network: a line, or an arrow to where it is beyond the axis."""
    low, high = ax.get_xlim()
    words = f"two runs of {name}: {number(value, 3)}"
    if low <= value <= high:
        ax.axvline(value, color=colour, lw=1.2, ls="--", label=words)
        return
    left = value < low
    at = 0.01 if left else 0.99
    said = f"← {words}" if left else f"{words} →"
    place: dict[str, Any] = {"transform": ax.transAxes, "ha": "left" if left else "right", "va": "top"}
    ax.text(at, 0.99 - LINE * row, said, color=colour, bbox=style.ground(ax), zorder=5, **place)
