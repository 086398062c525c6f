"""Basins as areas of one colour each, with the attractors that they lead to."""

import textwrap
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_rgb
from matplotlib.patches import Patch

from dynlab import schema
from dynlab.plots import style

MOST_NAMED = 10  # attractors in the legend
TITLE_WIDTH = 92  # characters
LIGHT = 0.45  # of a basin's colour; the rest is white, so that the attractor stands out
MARKERS = "osD^vP*X<>"
LEAVES, UNDECIDED = "#FFFFFF", "#BDBDBD"


def plot_basins(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """Each start in the colour of the attractor on which it ends; fixed points and cycles as markers, others as dots.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.basins`.
    ax : Axes, optional
    **artist
        For the attractors' markers.

    Returns
    -------
    Axes
    """
    schema.check(ds, needs=["basin", "kind", "share", "attractor_x", "attractor_y"])
    if ax is None:
        return _figure(ds, **artist)
    count = ds.sizes[schema.ATTRACTOR]
    colours = [style.CYCLE[number % len(style.CYCLE)] for number in range(count)]
    table = ListedColormap([to_rgb(UNDECIDED), to_rgb(LEAVES), *(_light(colour) for colour in colours)])
    basin = ds["basin"].values
    x, y = ds[schema.X].values, ds[schema.Y].values
    half = (x[1] - x[0]) / 2, (y[1] - y[0]) / 2
    extent = (x[0] - half[0], x[-1] + half[0], y[0] - half[1], y[-1] + half[1])
    options: dict[str, Any] = {"origin": "lower", "interpolation": "nearest", "rasterized": True}
    ax.imshow(basin + 2, cmap=table, vmin=-0.5, vmax=count + 1.5, extent=extent, **options)
    handles: list[Any] = []
    for number in range(count):
        handle = _attractor(ds, number, colours[number], ax, **artist)
        if number < MOST_NAMED:
            handles.append(handle)
    if count > MOST_NAMED:
        rest = float(ds["share"].values[MOST_NAMED:].sum())
        handles.append(Patch(facecolor="none", label=f"{count - MOST_NAMED} more ({rest:.1%})"))
    for value, colour, words in ((-1, LEAVES, "leaves every bound"), (-2, UNDECIDED, "not settled, undecided")):
        share = float((basin == value).mean())
        if share:
            handles.append(Patch(facecolor=colour, edgecolor=style.GREY, lw=0.6, label=f"{words} ({share:.1%})"))
    ax.set_xlim(extent[:2])
    ax.set_ylim(extent[2:])
    ax.set_aspect("equal")
    ax.set_xlabel(style.label(ds[schema.X]))
    ax.set_ylabel(style.label(ds[schema.Y]))
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, columnspacing=1.4)
    return ax


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    with style.style():
        figure, ax = plt.subplots(figsize=(5.6, 5.9))
        plot_basins(ds, ax=ax, **artist)
        figure.suptitle(textwrap.fill(ds.attrs.get("verdict", ""), TITLE_WIDTH), fontsize=9, x=0.01, ha="left")
    return ax


def _attractor(ds: xr.Dataset, number: int, colour: str, ax: Axes, **artist: Any) -> Any:
    x, y = (ds[f"attractor_{axis}"].values[number] for axis in "xy")
    known = np.isfinite(x)
    named = f"{ds['kind'].values[number]} ({float(ds['share'].values[number]):.1%})"
    look: dict[str, Any]
    if ds["period"].values[number]:
        open_face = ds["stable"].values[number] != 1
        look = {
            "marker": MARKERS[number % len(MARKERS)],
            "ms": 7,
            "color": "white" if open_face else colour,
            "markeredgecolor": style.BLACK,
            "mew": 1.0,
        }
    else:
        look = {"marker": ".", "ms": 3, "color": colour}
    return ax.plot(x[known], y[known], ls="none", label=named, zorder=3, **look | artist)[0]


def _light(colour: str) -> tuple[float, float, float]:
    red, green, blue = (LIGHT * part + (1 - LIGHT) for part in to_rgb(colour))
    return red, green, blue
