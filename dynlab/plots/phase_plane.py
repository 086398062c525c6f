"""The phase portrait of a planar system; its divergence; and both beside its eigenvalues."""

import textwrap
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from dynlab import schema
from dynlab.plots import phase_portrait, style
from dynlab.plots.stability_disc import needs_close_up, plot_stability_disc
from dynlab.wording import capital

NEEDS = ("trajectory", "velocity", "divergence", "equilibrium")
SIZE = (10.0, 7.3)  # inches
TITLE_WIDTH = 150  # characters
SHADE = 0.9  # how dark the extremes of the divergence are


def plot_phase_plane(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """Field, nullclines, orbits with time shown, starts, and equilibria marked by kind.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.phase_plane`.
    ax : Axes, optional
        Where only the portrait is drawn. Without it a figure is made that also shows the eigenvalues beside Euler's
        disc of stability and the divergence.
    **artist
        For the orbits' lines.

    Returns
    -------
    Axes
        Of the portrait.
    """
    schema.check(ds, needs=NEEDS)
    if ax is None:
        return _figure(ds, **artist)
    phase_portrait.draw_field(ds, ax)
    phase_portrait.draw_conserved(ds, ax)
    phase_portrait.draw_nullclines(ds, ax)
    phase_portrait.draw_long_orbits(ds, ax)
    phase_portrait.draw_orbits(ds, ax, **artist)
    phase_portrait.draw_equilibria(ds, ax)
    ax.set(aspect="equal", xlim=ds[schema.X].values[[0, -1]], ylim=ds[schema.Y].values[[0, -1]])
    ax.set(xlabel=style.label(ds[schema.X]), ylabel=style.label(ds[schema.Y]))
    return ax


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


def time_bar(ds: xr.Dataset, figure: Figure, **options: Any) -> None:
    """The colours of the orbits as a scale of time; `options` as `Figure.colorbar` takes them."""
    times = ds[schema.TIME].values
    colours = phase_portrait.time_colours(len(times) - 1)
    scale = ScalarMappable(Normalize(times[0], times[-1]), colours)
    bar = figure.colorbar(scale, label=style.label(ds[schema.TIME]), **options)
    bar.outline.set_visible(False)


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    """The portrait on the left; on the right the disc, a close-up where it needs one, and the divergence.

    The axes' places are given, not found: squares leave the layout engine no freedom, and it takes its time.
    """
    with style.style():
        figure = plt.figure(figsize=SIZE, layout="none")
        portrait = figure.add_axes((0.07, 0.145, 0.5, 0.5 * SIZE[0] / SIZE[1]))
        plot_phase_plane(ds, ax=portrait, **artist)
        time_bar(ds, figure, cax=figure.add_axes((0.585, 0.145, 0.012, 0.32)))
        figure.legend(*portrait.get_legend_handles_labels(), loc="lower left", bbox_to_anchor=(0.06, 0.0), ncols=3)
        if needs_close_up(ds):
            plot_stability_disc(ds, ax=figure.add_axes((0.725, 0.625, 0.26, 0.205)))
            plot_stability_disc(ds, ax=figure.add_axes((0.725, 0.365, 0.25, 0.165)), close_up=True)
            plot_divergence(ds, ax=figure.add_axes((0.725, 0.055, 0.26, 0.215)))
        else:
            plot_stability_disc(ds, ax=figure.add_axes((0.725, 0.525, 0.26, 0.31)))
            plot_divergence(ds, ax=figure.add_axes((0.725, 0.1, 0.26, 0.31)))
        _headline(ds, figure)
    return portrait


def _headline(ds: xr.Dataset, figure: Figure) -> None:
    """The verdict: what comes before the first colon large, the rest small below it."""
    first, _, rest = ds.attrs.get("verdict", "").partition(": ")
    wrapped = "\n".join(textwrap.wrap(rest[:1].upper() + rest[1:], TITLE_WIDTH))
    figure.text(0.015, 0.985, first, fontsize=11.5, fontweight="bold", va="top")
    figure.text(0.015, 0.948, wrapped, fontsize=9, va="top", linespacing=1.35)
