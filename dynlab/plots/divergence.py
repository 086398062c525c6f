"""The divergence of a planar field: where areas grow and where they shrink."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import style
from dynlab.wording import capital

SHADE = 0.9  # how dark the extremes are


def plot_divergence(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The divergence in colour, white where it is 0.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.phase_plane`.
    ax : Axes, optional
    **artist
        For the image.
    """
    schema.check(ds, needs=["divergence"])
    ax = style.axes(ax, (3.6, 3.2))
    values = ds["divergence"].values
    limit = float(np.abs(values).max())
    shade = (limit or 1.0) / SHADE
    options: dict[str, Any] = {"origin": "lower", "cmap": style.DIVERGING, "interpolation": "bilinear"} | artist
    edges = (*ds[schema.X].values[[0, -1]], *ds[schema.Y].values[[0, -1]])
    image = ax.imshow(values, extent=edges, vmin=-shade, vmax=shade, **options)
    ax.set(xlabel=style.label(ds[schema.X]), ylabel=style.label(ds[schema.Y]), anchor="W")
    ax.set_title(capital(style.label(ds["divergence"])) if limit else "Divergence: 0 everywhere", fontsize=9)
    if limit:
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.85, pad=0.03, panchor=False)
        bar.outline.set_visible(False)
    return ax
