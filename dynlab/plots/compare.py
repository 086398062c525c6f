"""Two networks beside each other: the eigenvalues of the maps fitted to them, and how far apart their runs are."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from dynlab import schema
from dynlab.plots import style
from dynlab.plots.unit_circle import CIRCLE
from dynlab.wording import number

SIZE = (9.2, 5.0)  # inches
LOOKS = (("o", style.BLUE), ("s", style.VERMILION))
OWN = ", each axis on its own scale"
ALIKE = 1e-9  # of their size: distances that differ by less are one
BINS = 12
FLAT, ROOM, SMALLEST = 2.0, 0.08, 1e-6  # how many times longer one axis is, room beside what is shown, the least
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
    own = _set_window(ax, np.concatenate([ds[name].values.ravel() for name in ("eigenvalue", "run_eigenvalue")]))
    ax.plot(CIRCLE.real, CIRCLE.imag, color=style.BLACK, lw=1, zorder=1, label="unit circle: |μ| = 1")
    ax.set(xlabel="Re μ", ylabel="Im μ", title="Eigenvalues μ of the linear maps fitted to runs" + OWN * own)
    ax.plot([], [], ls="none", marker=".", color=style.GREY, ms=4, label="small: of single runs")
    style.legend_below(ax, 2)
    return ax


def _set_window(ax: Axes, values: np.ndarray) -> bool:
    """Around the values and 1; where these lie far closer along one axis, each has its own scale: whether it has."""
    ends = np.array([[part.min(), part.max()] for part in (np.append(values.real, 1.0), values.imag)])
    wide, tall = np.ptp(ends, axis=1)
    if min(wide, tall) * FLAT < max(wide, tall):
        for name, (low, high) in zip(("xlim", "ylim"), ends, strict=True):
            pad = ROOM * max(high - low, SMALLEST)
            ax.set(**{name: (low - pad, high + pad)})
        return True
    half = (0.5 + ROOM) * max(wide, tall, SMALLEST)
    (x, y) = ends.mean(axis=1)
    ax.set(xlim=(x - half, x + half), ylim=(y - half, y + half), aspect="equal")
    return False


def _draw_distances(ds: xr.Dataset, ax: Axes) -> None:
    """How many relabellings have which mean distance, those at least as far apart hatched, and the true labels' own."""
    distances, own = ds["relabelled_distance"].values, float(ds["between_runs"])
    as_far = round(float(ds["p_value"]) * len(distances))
    farthest = np.sort(distances)[len(distances) - as_far :]
    edges = _edges(distances, float(farthest.min(initial=own)))
    ax.hist(distances, edges.tolist(), color=style.FAINT, ec=style.GREY, lw=0.8, label="after other exchanges of runs")
    share = f"at least as far apart: {as_far} of {len(distances)}"
    ax.hist(farthest, edges.tolist(), color="white", hatch="////", ec=style.BLACK, lw=0.8, label=share)
    ax.axvline(own, color=style.BLACK, lw=2, label="as they are")
    high = max(edges[-1], own)
    ax.set(xlim=(0, (1 + ROOM) * high), ylim=(0, HEADROOM * ax.get_ylim()[1]))
    ax.set(xlabel="mean distance of a run of one from a run of the other", ylabel="number of ways to exchange runs")
    ax.locator_params(axis="x", nbins=6)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_title(f"Distance of the networks, runs exchanged (p = {number(float(ds['p_value']), 2)})")
    for place, (_, colour) in enumerate(LOOKS):
        _draw_within(ax, str(ds[schema.NETWORK].values[place]), float(ds["within_runs"].values[place]), colour, place)
    style.legend_below(ax, 2)


def _edges(distances: np.ndarray, first: float) -> np.ndarray:
    """Of the bars: one of them is the first of the distances that are at least as far, and all bars are as wide."""
    low, high = float(distances.min()), float(distances.max())
    if high - low <= ALIKE * abs(high):  # as of a network and itself
        middle = (low + high) / 2
        return middle + np.array([-0.5, 0.5]) * (abs(middle) / BINS or 1.0)
    width = (high - low) / BINS
    start = first - ALIKE * abs(high)
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
