"""Eigenvalues as points of the complex plane, coloured by time."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator

from dynlab import schema
from dynlab.plots import style

FEW = 500  # points, which are drawn larger


def draw_points(ds: xr.Dataset, name: str, ax: Axes, **artist: Any) -> PathCollection:
    """The finite values of a variable (sample, time, mode), the axes through 0, and a scale of time beside them."""
    values = ds[name].transpose(schema.SAMPLE, schema.TIME, schema.MODE).values
    times = np.broadcast_to(ds[schema.TIME].values[:, None], values.shape)
    shown = np.isfinite(values)
    # Mixed, so that late points do not hide the early ones under them; the same way each time.
    order = np.random.default_rng(0).permutation(int(shown.sum()))
    chosen, steps = values[shown][order], ds[schema.TIME].values
    options: dict[str, Any] = {
        "s": 3 if len(chosen) > FEW else 14,
        "cmap": style.SEQUENTIAL,
        "norm": Normalize(steps[0] - 0.5, steps[-1] + 0.5),  # half a step, for a single one
        "linewidths": 0,
        "rasterized": True,  # tens of thousands of points
        "zorder": 2,
    }
    ax.axhline(0, color=style.FAINT, linewidth=0.8, zorder=0)
    ax.axvline(0, color=style.FAINT, linewidth=0.8, zorder=0)
    found = ax.scatter(chosen.real, chosen.imag, c=times[shown][order], **options | artist)
    bar = ax.figure.colorbar(found, ax=ax, shrink=0.75, pad=0.02, ticks=MaxNLocator(7, integer=True, min_n_ticks=1))
    bar.set_label(style.label(ds[schema.TIME]))
    return found
