"""Curves of several samples over time."""

from typing import Any

import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema


def draw_samples(
    values: xr.DataArray, ax: Axes, colour: str, name: str = "", linestyle: str = "-", **artist: Any
) -> None:
    """Each sample as a thin line, and their median as a thick one; `name` says in the legend what they are.

    Parameters
    ----------
    values : DataArray, dims (sample, time)
    """
    samples = values.sizes[schema.SAMPLE]
    times = values[schema.TIME].values
    prefix = f"{name}, " if name else ""
    alone: dict[str, Any] = {"marker": "o", "markersize": 4} if len(times) == 1 else {}  # a line of one point is none
    artist = {"color": colour, "linestyle": linestyle} | alone | artist
    if samples == 1:
        options: dict[str, Any] = {"linewidth": 1.8, "label": name or "one sample"} | artist
        ax.plot(times, values.values[0], **options)
        return
    for index, sample in enumerate(values.transpose(schema.SAMPLE, schema.TIME).values):
        thin: dict[str, Any] = {"linewidth": 0.7, "alpha": 0.45, "linestyle": "-"} | artist
        ax.plot(times, sample, label=f"{prefix}each of {samples} samples" if index == 0 else None, **thin)
    median = values.median(schema.SAMPLE, skipna=True)
    thick: dict[str, Any] = {"linewidth": 2.2, "zorder": 4} | artist
    ax.plot(times, median.values, label=f"{prefix}median", **thick)
