"""A diagnostic over the steps of a training, as bands."""

import json
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from dynlab import schema
from dynlab.plots import style
from dynlab.plots.bifurcation import MARKERS, WORDS
from dynlab.plots.over_training_panels import draw_bands, draw_parts

PANEL = (6.0, 4.4)  # inches
FAR = 30.0  # times: values so far apart need a logarithmic axis
STABILITY = {
    1: (style.STABLE, "o", "stable fixed point"),
    0: (style.UNSTABLE, "^", "unstable fixed point"),
    -1: (style.UNDECIDED, "s", "stability undecided"),
}


def plot_over_training(
    ds: xr.Dataset, *, variable: str = "", label: str = "", ax: Axes | None = None, **artist: Any
) -> Axes:
    """The median of a variable over samples (and times) at each step of a training, its quartiles and its range.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.over_training`.
    variable : str
        Another than those that the diagnostic is told by.
    label : str
        Whose it is, in the legend, where several are drawn on the same axes.
    ax : Axes, optional
        Where the first of its pictures alone is drawn. Without it a figure is made of all, with the verdict below.
    **artist
        For the lines: their ``color`` is that of the bands too.

    Returns
    -------
    Axes
        Of the first picture.

    Notes
    -----
    Of fixed points each is a point at the modulus of its leading multiplier, of bifurcations each one at the value of
    the parameter; shares of a whole are stacked.
    """
    schema.check(ds, needs=[schema.TRAINING_STEP, variable] if variable else [schema.TRAINING_STEP])
    panels: list[dict[str, Any]] = json.loads(ds.attrs["panels"])
    if variable and variable != panels[0]["curves"][0]["variable"]:
        name = ds[variable].attrs["long_name"]
        panels = [{"drawn": "bands", "curves": [{"variable": variable, "isel": {}, "name": name}]}]
    title = f"At {ds.sizes[schema.TRAINING_STEP]} steps of its training"
    if ax is None:
        drawn = [(_draw, artist | {"panel": panel, "label": label}) for panel in panels]
        size = min(len(panels), style.MOST_BESIDE) * PANEL[0], PANEL[1] * -(-len(panels) // style.MOST_BESIDE)
        return style.panels(ds, drawn, size, title)
    _draw(ds, ax, panels[0], label, **artist)
    ax.set_title(title)
    return ax


def _draw(ds: xr.Dataset, ax: Axes, panel: dict[str, Any], label: str, **artist: Any) -> None:
    DRAW[panel.get("drawn", "bands")](ds, panel, ax, label, **artist)
    low, high = ax.dataLim.intervaly
    if panel.get("log") and low > 0 and high > FAR * low:
        ax.set_yscale("log")
    else:
        ax.ticklabel_format(axis="y", useOffset=False)  # 1.00005, not 5e-5 beside a 1 in the corner
    if panel.get("border") is not None and panel["border_name"] not in ax.get_legend_handles_labels()[1]:
        ax.axhline(panel["border"], color=style.BLACK, lw=1, ls=":", zorder=1, label=panel["border_name"])
    first = panel["curves"][0]
    units = ds[first["variable"]].attrs["units"]
    named = xr.DataArray(attrs={"long_name": panel.get("label") or first["name"], "units": units})
    ax.set(xlabel=style.label(ds[schema.TRAINING_STEP]), ylabel=style.label(named))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    if ax.get_legend_handles_labels()[1]:
        style.legend_below(ax, 2)


def _draw_fixed_points(ds: xr.Dataset, panel: dict[str, Any], ax: Axes, label: str, **artist: Any) -> None:
    """Each at the modulus of its leading multiplier, by its stability."""
    curve = panel["curves"][0]
    values = ds[curve["variable"]].isel(curve["isel"]).transpose(schema.TRAINING_STEP, schema.FIXED_POINT).values
    stable = ds["stable"].transpose(schema.TRAINING_STEP, schema.FIXED_POINT).values
    for value, (colour, marker, word) in STABILITY.items():
        _scatter(ds, ax, np.abs(values), stable == value, label, word, **{"color": colour, "marker": marker} | artist)
    ax.axhline(1, color=style.BLACK, lw=1, ls=":", zorder=1, label="modulus 1")


def _draw_bifurcations(ds: xr.Dataset, panel: dict[str, Any], ax: Axes, label: str, **artist: Any) -> None:
    """Each at the value of the parameter, by its kind, in the range that was followed."""
    kinds, settings = ds["bifurcation_kind"].values, schema.settings(ds)
    found = sorted(set(kinds.ravel()) - {"not there"})
    for number, kind in enumerate(found):
        look = {"color": style.CYCLE[number % len(style.CYCLE)], "marker": MARKERS.get(kind, "o")} | artist
        _scatter(ds, ax, ds["bifurcation_parameter"].values, kinds == kind, label, WORDS.get(kind, kind), **look)
    if not found:
        ax.plot([], [], ls="none", label="no bifurcation was found")
    if settings["parameter"].endswith("*") and settings["lowest"] < 1 < settings["highest"]:  # a factor
        ax.axhline(1, color=style.BLACK, lw=1, ls=":", zorder=1, label="as trained")
    ax.set_ylim(settings["lowest"], settings["highest"])


def _scatter(
    ds: xr.Dataset, ax: Axes, values: np.ndarray, chosen: np.ndarray, label: str, word: str, **look: Any
) -> None:
    """The chosen values (step, place) over the steps."""
    if chosen.any():
        across = np.broadcast_to(ds[schema.TRAINING_STEP].values[:, None], values.shape)
        name = ": ".join(filter(None, [label, word]))
        ax.plot(across[chosen], values[chosen], label=name, **{"ms": 5, "ls": "none", "alpha": 0.85} | look)


DRAW = {"bands": draw_bands, "parts": draw_parts, "points": _draw_fixed_points, "kinds": _draw_bifurcations}
