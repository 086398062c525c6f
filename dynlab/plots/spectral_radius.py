"""The spectral radius of the one-step Jacobians over time."""

from typing import Any

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from dynlab import schema
from dynlab.plots import style
from dynlab.plots.over_time import draw_samples


def plot_spectral_radius(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The spectral radius of each sample over time, their median, and 1.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.spectrum`.
    ax : Axes, optional
    **artist
        For the samples' lines.
    """
    schema.check(ds, needs=["spectral_radius"])
    ax = style.axes(ax)
    ax.axhline(1, color=style.BLACK, linewidth=1, linestyle="--", zorder=1, label="1: neither shrinks nor grows")
    draw_samples(ds["spectral_radius"], ax, colour=style.BLUE, **artist)
    ax.set_xlabel(style.label(ds[schema.TIME]))
    ax.set_ylabel("spectral radius")
    ax.set_title(r"Spectral radius of $\partial h_t/\partial h_{t-1}$")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3, columnspacing=1.2)
    return ax
