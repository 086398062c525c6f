"""The divergence of a planar field: where areas grow and where they shrink."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import style

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
    edges = (*ds[schema.X].values[[0, -1]], *ds[schema.Y].values[[0, -1]])
    options: dict[str, Any] = {
        "origin": "lower",
        "extent": edges,
        "cmap": style.DIVERGING,
        "interpolation": "bilinear",
    } | artist
    options |= {"vmin": -(limit or 1.0) / SHADE, "vmax": (limit or 1.0) / SHADE}
    image = ax.imshow(values, **options)
    ax.set_xlabel(style.label(ds[schema.X]))
    ax.set_ylabel(style.label(ds[schema.Y]))
    name = style.label(ds["divergence"])
    ax.set_title(name[0].upper() + name[1:] if limit else "Divergence: 0 everywhere", fontsize=9)
    ax.set_anchor("W")
    if limit:
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.85, pad=0.03, panchor=False)
        bar.outline.set_visible(False)
    return ax
