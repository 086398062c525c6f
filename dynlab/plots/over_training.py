"""A diagnostic over the steps of a training, as bands."""

import json
import re
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from dynlab import schema
from dynlab.plots import style

QUARTILES = (0.25, 0.75)
STABILITY = {
    1: (style.STABLE, "o", "stable"),
    0: (style.UNSTABLE, "^", "unstable"),
    -1: (style.UNDECIDED, "s", "undecided"),
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
        Another than the diagnostic's headline.
    label : str
        Whose it is, in the legend, where several are drawn on the same axes.
    ax : Axes, optional
    **artist
        For the lines: their ``color`` is that of the bands too.

    Notes
    -----
    Of fixed points each is a point at the modulus of its leading multiplier.
    """
    schema.check(ds, needs=[schema.TRAINING_STEP, variable] if variable else [schema.TRAINING_STEP])
    headline = json.loads(ds.attrs["headline"])
    if variable in ("", headline["variable"]):
        chosen = ds[headline["variable"]].isel(headline["isel"])
        chosen.attrs["long_name"] = headline["name"]
    else:
        chosen = ds[variable]
    ax = style.axes(ax, (6.4, 4.0))
    if schema.FIXED_POINT in chosen.dims and "stable" in ds:
        _draw_points(ds, chosen, ax, **artist)
    else:
        _draw_bands(chosen, ax, label, **artist)
    ax.set_xlabel(style.label(ds[schema.TRAINING_STEP]))
    ax.set_ylabel(_subscripts(style.label(chosen)))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    steps = ds[schema.TRAINING_STEP].values
    ax.set_title(f"{ds.attrs['system']} at {len(steps)} steps of its training")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=3, columnspacing=1.2)
    return ax


def _subscripts(text: str) -> str:
    """h_t and h_{t−1} set as mathematics."""
    return re.sub(r"h_(\{[^}]*\}|\w)", lambda found: f"$h_{found.group(1)}$", text)


def _draw_bands(chosen: xr.DataArray, ax: Axes, label: str, **artist: Any) -> None:
    steps = chosen[schema.TRAINING_STEP].values
    rows = chosen.transpose(schema.TRAINING_STEP, ...).values.reshape(len(steps), -1)
    rows = np.abs(rows) if np.iscomplexobj(rows) else rows.astype(float)
    known = np.where(np.isfinite(rows), rows, np.nan)
    look: dict[str, Any] = {"color": style.BLUE, "lw": 1.8, "marker": "o", "ms": 3, "zorder": 3} | artist
    prefix = f"{label}: " if label else ""
    if rows.shape[1] == 1:
        ax.plot(steps, known[:, 0], label=label or None, **look)
        return
    there = ~np.isnan(known).all(axis=1)
    marks = np.full((5, len(steps)), np.nan)
    marks[:, there] = np.nanquantile(known[there], [0, QUARTILES[0], 0.5, QUARTILES[1], 1], axis=1)
    ax.fill_between(
        steps,
        marks[0],
        marks[4],
        color=look["color"],
        alpha=0.15,
        lw=0,
        label=f"{prefix}range of {rows.shape[1]:,} values",
    )
    ax.fill_between(steps, marks[1], marks[3], color=look["color"], alpha=0.35, lw=0, label=f"{prefix}middle half")
    ax.plot(steps, marks[2], label=f"{prefix}median", **look)
    lost = int(np.isnan(known).sum())
    if lost:
        ax.plot([], [], ls="none", label=f"{prefix}{lost:,} of {known.size:,} not finite, left out")


def _draw_points(ds: xr.Dataset, chosen: xr.DataArray, ax: Axes, **artist: Any) -> None:
    steps = ds[schema.TRAINING_STEP].values
    moduli = np.abs(chosen.transpose(schema.TRAINING_STEP, schema.FIXED_POINT).values)
    stable = ds["stable"].transpose(schema.TRAINING_STEP, schema.FIXED_POINT).values
    across = np.broadcast_to(steps[:, None], moduli.shape)
    for value, (colour, marker, word) in STABILITY.items():
        of_it = stable == value
        if of_it.any():
            look: dict[str, Any] = {"color": colour, "marker": marker, "ms": 5, "ls": "none", "alpha": 0.8} | artist
            ax.plot(across[of_it], moduli[of_it], label=f"{word} fixed point", **look)
    ax.axhline(1, color=style.BLACK, lw=1, ls=":", zorder=1, label="modulus 1")
    ax.set_xlim(steps[0] - 0.03 * np.ptp(steps), steps[-1] + 0.03 * np.ptp(steps))
