"""The phase portrait of a planar system; its divergence; and both beside its eigenvalues."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from dynlab import schema
from dynlab.plots import phase_backward, phase_portrait, style
from dynlab.plots.stability_disc import names_anything, needs_close_up, plot_stability_disc
from dynlab.wording import number

NEEDS = ("trajectory", "velocity", "divergence", "equilibrium")
SIZE = (10.0, 7.6)  # inches
WIDTHS = (1.6, 1.0)  # of the portrait and of what stands beside it
BAR = (1.05, 0.0, 0.06, 0.8)  # of the divergence, in parts of its axes: its highest number stays below the title
TIME_BAR = (1.02, 0.0, 0.035, 0.5)  # of the orbits' time, in parts of the portrait
SMOOTH = "quadric"  # between the points: bilinear makes beads of a ridge that is about as narrow as they are apart
LEAST_AREA = 1e-6  # a smaller factor has the shade of this one
AREA = "|det J|: a step's factor on areas"
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
    phase_backward.draw_backward(ds, ax)
    phase_backward.draw_separatrices(ds, ax)
    phase_portrait.draw_orbits(ds, ax, **artist)
    phase_backward.draw_eigenvectors(ds, ax)
    phase_portrait.draw_equilibria(ds, ax)
    ax.set(aspect="equal", xlim=ds[schema.X].values[[0, -1]], ylim=ds[schema.Y].values[[0, -1]])
    ax.set(xlabel=style.label(ds[schema.X]), ylabel=style.label(ds[schema.Y]))
    return ax


def plot_divergence(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The divergence in colour, white where it is 0; of a map that is no Euler step |det J|, white where it is 1.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.phase_plane`.
    ax : Axes, optional
    **artist
        For the image.
    """
    schema.check(ds, needs=["divergence"])
    is_map = "area_factor" in ds
    if ax is None:
        name = "Area factor" if is_map else "Divergence"
        return style.panels(ds, [(plot_divergence, artist)], (4.6, 4.2), name)
    values = np.log10(np.maximum(ds["area_factor"].values, LEAST_AREA)) if is_map else ds["divergence"].values
    limit = float(np.abs(values).max())
    shade = (limit or 1.0) / SHADE
    options: dict[str, Any] = {"origin": "lower", "cmap": style.DIVERGING, "interpolation": SMOOTH} | artist
    edges = (*ds[schema.X].values[[0, -1]], *ds[schema.Y].values[[0, -1]])
    image = ax.imshow(values, extent=edges, vmin=-shade, vmax=shade, **options)
    ax.set(xlabel=style.label(ds[schema.X]), ylabel=style.label(ds[schema.Y]), anchor="W")
    unit = ds["divergence"].attrs["units"]
    name, nothing = (AREA, "1") if is_map else (f"Divergence{'' if unit == schema.ONE else f' ({unit})'}", "0")
    ax.set_title(name if limit else f"{'|det J|' if is_map else 'Divergence'}: {nothing} everywhere")
    if limit:
        bar = ax.figure.colorbar(image, cax=ax.inset_axes(BAR))
        if is_map:
            bar.formatter = FuncFormatter(lambda log, _: number(10**log, 2))
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
    """The portrait on the left; on the right the disc, a close-up where it needs one, and the divergence."""
    near: list[dict[str, Any]] = [{}, {"close_up": True}] if needs_close_up(ds) else [{}]
    with style.style(SIZE) as size:
        figure = plt.figure(figsize=size)
        grid = figure.add_gridspec(1, 2, width_ratios=WIDTHS)
        portrait = figure.add_subplot(grid[0])
        plot_phase_plane(ds, ax=portrait, **artist)
        portrait.set_anchor("N")  # below the title, where it is less tall than its column
        time_bar(ds, figure, cax=portrait.inset_axes(TIME_BAR))
        style.legend_below(portrait, 3)
        column = grid[1].subgridspec(len(near) + 1, 1)
        for row, options in enumerate(near):
            disc = plot_stability_disc(ds, ax=figure.add_subplot(column[row]), **options)
            if not row and names_anything(disc):
                style.legend_below(disc, 2)
        plot_divergence(ds, ax=figure.add_subplot(column[len(near)]))
        style.finish(ds, figure, "Phase portrait")
    return portrait
