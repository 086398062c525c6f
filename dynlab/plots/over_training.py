"""A diagnostic over the steps of a training, as bands."""

import json
from collections.abc import Iterator
from itertools import cycle
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from numpy.typing import NDArray

from dynlab import schema
from dynlab.plots import layout, style
from dynlab.plots.bifurcation import MARKERS, WORDS

PANEL = (6.0, 4.4)  # inches
FAR = 30.0  # times: values so far apart need a logarithmic axis
STABILITY = {
    1: (style.STABLE, "o", "stable fixed point"),
    0: (style.UNSTABLE, "^", "unstable fixed point"),
    -1: (style.UNDECIDED, "s", "stability undecided"),
}


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    drawn: list[layout.Panel] = [(_draw, artist | {"panel": panel}) for panel in json.loads(ds.attrs["panels"])]
    size = min(len(drawn), layout.MOST_BESIDE) * PANEL[0], PANEL[1] * -(-len(drawn) // layout.MOST_BESIDE)
    return layout.panels(ds, drawn, size, _title(ds))


def _title(ds: xr.Dataset) -> str:
    return f"At {ds.sizes[schema.TRAINING_STEP]} steps of its training"


@layout.picture(needs=[schema.TRAINING_STEP], legend=False, figure=_figure)
def plot_over_training(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw the median of a variable over samples (and times) at each step of a training, its quartiles and its range.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.over_training`.
    ax : Axes, optional
        Axes for the first of its pictures alone. Without it a figure is made of all, with the verdict below.
    **artist
        For the lines: their ``color`` is that of the bands too, their ``label`` stands in the legend.

    Returns
    -------
    Axes
        The first panel.

    Notes
    -----
    Of fixed points each is a point at the modulus of its leading multiplier, of bifurcations each one at the value of
    the parameter; shares of a whole are stacked.
    """
    _draw(ds, ax, json.loads(ds.attrs["panels"])[0], **artist)
    ax.set_title(_title(ds))


def _draw(ds: xr.Dataset, ax: Axes, panel: dict[str, Any], **artist: Any) -> None:
    DRAW[panel.get("drawn", "bands")](ds, panel, ax, **artist)
    low, high = ax.dataLim.intervaly
    if panel.get("log") and low > 0 and high > FAR * low:
        ax.set_yscale("log")
    else:
        ax.ticklabel_format(axis="y", useOffset=False)  # 1.00005, not 5e-5 beside a 1 in the corner
    if panel.get("border") is not None and panel["border_name"] not in ax.get_legend_handles_labels()[1]:
        ax.axhline(panel["border"], color=style.BLACK, lw=1, ls=":", zorder=1, label=panel["border_name"])
    first = panel["curves"][0]
    words = ds[first["variable"]].attrs | {"long_name": panel.get("label") or first["name"]}
    ax.set(xlabel=style.label(ds[schema.TRAINING_STEP]), ylabel=style.label(xr.DataArray(attrs=words)))
    style.whole(ax.xaxis)
    if ax.get_legend_handles_labels()[1]:
        style.legend_below(ax, 2)


def _draw_fixed_points(ds: xr.Dataset, panel: dict[str, Any], ax: Axes, **artist: Any) -> None:
    """Draw each fixed point at the modulus of its leading multiplier, by its stability."""
    curve = panel["curves"][0]
    values = ds[curve["variable"]].isel(curve["isel"]).transpose(schema.TRAINING_STEP, schema.FIXED_POINT).values
    stable = ds["stable"].transpose(schema.TRAINING_STEP, schema.FIXED_POINT).values
    for value, (colour, marker, word) in STABILITY.items():
        _scatter(
            ds, ax, np.abs(values), stable == value, **{"color": colour, "marker": marker, "label": word, **artist}
        )
    ax.axhline(1, color=style.BLACK, lw=1, ls=":", zorder=1, label="modulus 1")


def _draw_bifurcations(ds: xr.Dataset, panel: dict[str, Any], ax: Axes, **artist: Any) -> None:
    """Draw each bifurcation at its parameter value, by its kind, in the range that was followed."""
    kinds, settings = ds["bifurcation_kind"].values, schema.settings(ds)
    found = sorted(set(kinds.ravel()) - {"not there"})
    for number, kind in enumerate(found):
        colour, marker = style.CYCLE[number % len(style.CYCLE)], MARKERS[kind]["marker"]
        look = {"color": colour, "marker": marker, "label": WORDS.get(kind, kind)}
        _scatter(ds, ax, ds["bifurcation_parameter"].values, kinds == kind, **look | artist)
    if not found:
        ax.plot([], [], ls="none", label="no bifurcation was found")
    if settings["parameter"].endswith("*") and settings["lowest"] < 1 < settings["highest"]:  # a factor
        ax.axhline(1, color=style.BLACK, lw=1, ls=":", zorder=1, label="as trained")
    ax.set_ylim(settings["lowest"], settings["highest"])


def _scatter(ds: xr.Dataset, ax: Axes, values: np.ndarray, chosen: np.ndarray, **look: Any) -> None:
    """The chosen values (step, place) over the steps."""
    if chosen.any():
        across = np.broadcast_to(ds[schema.TRAINING_STEP].values[:, None], values.shape)
        ax.plot(across[chosen], values[chosen], **{"ms": 5, "ls": "none", "alpha": 0.85, **look})


RANGE, HALF = 0.15, 0.35  # opacity
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))  # for grey print


def _draw_bands(ds: xr.Dataset, panel: dict[str, Any], ax: Axes, **artist: Any) -> None:
    """Every curve of the panel: a line where there is one value a step, else median, middle half and range."""
    curves = [drawn for curve in panel["curves"] for drawn in _curves(ds, curve, bool(panel.get("log")))]
    alone, steps = len(curves) == 1, ds[schema.TRAINING_STEP].values
    for number, (called, values, error) in enumerate(curves):
        dashes, colour = DASHES[number % len(DASHES)], style.CYCLE[number % len(style.CYCLE)]
        look = {"color": colour, "ls": dashes, "lw": 1.8, "marker": ".", "ms": 3, "zorder": 3} | artist
        if values.shape[1] == 1:
            ax.plot(steps, values[:, 0], **{"label": called} | look)
            if error is not None:
                ends, band = (values[:, 0] - error, values[:, 0] + error), f"{called}: ± one standard error"
                ax.fill_between(steps, *ends, color=look["color"], alpha=HALF, lw=0, label=band)
            continue
        marks = style.quantiles(values.T, (0.0, 0.25, 0.5, 0.75, 1.0))
        for low, opacity, words in ((0, RANGE, f"range of {values.shape[1]:,} values"), (1, HALF, "middle half")):
            shown = words if alone else None
            ax.fill_between(steps, marks[low], marks[4 - low], color=look["color"], alpha=opacity, lw=0, label=shown)
        ax.plot(steps, marks[2], **{"label": "median" if alone else f"{called} (median)"} | look)
    if alone and curves[0][0].endswith("left out"):
        ax.plot([], [], ls="none", label=curves[0][0].rpartition(", ")[2])


def _curves(
    ds: xr.Dataset, curve: dict[str, Any], log: bool
) -> Iterator[tuple[str, NDArray[np.float64], NDArray[np.float64] | None]]:
    """The name, values (step, value) and standard errors of a variable, or of each of the parts that it is told by.

    They are NaN where nothing can be drawn.
    """
    array, along = ds[curve["variable"]].isel(curve["isel"]), curve.get("each")
    error = ds[curve["error"]].values.astype(float) if curve.get("error") else None
    several = [(str(value), array.sel({along: value})) for value in ds[along].values] if along else []
    for name, one in several or [(curve["name"], array)]:
        across = one.transpose(schema.TRAINING_STEP, ...).values
        rows = across.reshape(len(across), -1)
        rows = np.abs(rows) if curve.get("modulus") or np.iscomplexobj(rows) else rows.astype(float)
        lost = ~np.isfinite(rows)
        if "present" in ds and set(ds["present"].dims) <= set(one.dims):  # the rest is padding
            lost &= ds["present"].broadcast_like(one).values.reshape(rows.shape) != 0
        if log:  # a time constant is negative where a mode grows, and NaN says nothing else
            lost = np.isinf(rows) | (rows == 0)
        words = f", {lost.sum():,} of {lost.size:,} {'0 or infinite' if log else 'not finite'}: left out"
        drawn = np.isfinite(rows) & ((rows > 0) | (not log))
        yield name + words * bool(lost.any()), np.where(drawn, rows, np.nan), error


MOST = 4  # of numbered parts; the others are one
# What attractors are called, so that each has the same colour in every picture.
KNOWN = {
    "stable fixed point": style.STABLE,
    "unstable fixed point": style.UNSTABLE,
    "fixed point of undecided stability": style.YELLOW,
}
OTHERS = (style.BLUE, style.ORANGE, style.SKY, style.PURPLE, style.GREY)
REST = {
    "leaving_share": ("leaves every bound, or is no number", style.GROUND),
    "undecided_share": ("where it ends is undecided", style.FAINT),
}


def _draw_parts(ds: xr.Dataset, panel: dict[str, Any], ax: Axes, **artist: Any) -> None:
    """Areas that add up to 1, in the order of the legend from below; of a class each attractor has its own."""
    steps, (first, *rest) = ds[schema.TRAINING_STEP].values, panel["curves"]
    shares = np.nan_to_num(ds[first["variable"]].values)
    if first["each"] in ds.data_vars:
        words = ds[first["each"]].values
        found = sorted(set(words.ravel()) - {"not there"}, key=lambda name: (name not in KNOWN, name))
        parts = {name: np.sort(np.where(words == name, shares, 0.0), axis=1)[:, ::-1] for name in found}
    else:
        parts = {f"component {number + 1}": shares[:, [number]] for number in range(min(MOST, shares.shape[1]))}
        parts["all others"] = shares[:, MOST:].sum(axis=1, keepdims=True)
    others = cycle(OTHERS)
    stack = [(name, KNOWN.get(name) or next(others), values) for name, values in parts.items()]
    stack += [(*REST[each], ds[each].values[:, None]) for each in (curve["variable"] for curve in rest)]
    below = np.zeros(len(steps))
    for name, colour, values in stack:
        for number, one in enumerate(values.T[values.any(axis=0)]):
            look: dict[str, Any] = {"facecolor": colour, "edgecolor": style.GREY, "lw": 0.8, "alpha": 0.85}
            ax.fill_between(steps, below, below + one, **look | {"label": None if number else name} | artist)
            below = below + one
    ax.vlines(steps, 0, 1, color=style.BLACK, lw=0.4, alpha=0.4)  # where a checkpoint is
    ax.set(xlim=(steps[0], steps[-1]), ylim=(0, 1))


DRAW = {"bands": _draw_bands, "parts": _draw_parts, "points": _draw_fixed_points, "kinds": _draw_bifurcations}
