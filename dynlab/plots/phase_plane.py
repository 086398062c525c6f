"""The phase portrait of a planar system; its divergence; and both beside its eigenvalues."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from dynlab import schema
from dynlab.plots import layout, phase_portrait, style
from dynlab.plots.stability_disc import needs_close_up, plot_stability_disc

SIZE, WIDTHS = (10.4, 6.0), (1.75, 1.0)  # inches; of the portrait and of what stands beside it
FLAT = 2.0  # how many times longer one axis may be on one scale
USUAL = 5.0  # times what nine of ten values reach, the largest colours: beside a pole all else would be white
LEAST_AREA = 1e-6  # a smaller factor has the shade of this one


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    """The portrait on the left; on the right the disc, a close-up where it needs one, and the divergence."""
    near: list[dict[str, Any]] = [{}, {"close_up": True}] if needs_close_up(ds) else [{}]
    with style.style((SIZE[0], SIZE[1] * (len(near) + 3) / 4)):
        figure = plt.figure()
        grid = figure.add_gridspec(len(near) + 1, 2, width_ratios=WIDTHS)
        portrait = figure.add_subplot(grid[:, 0])
        plot_phase_plane(ds, ax=portrait, **artist)
        time_bar(ds, figure, ax=portrait, shrink=0.5, pad=0.02, aspect=16)
        discs = [plot_stability_disc(ds, ax=figure.add_subplot(grid[row, 1]), **look) for row, look in enumerate(near)]
        plot_divergence(ds, ax=figure.add_subplot(grid[-1, 1]))
        layout.finish(ds, figure, "Phase portrait", style.entries(portrait, discs[0]))
    return portrait


@layout.picture(needs=("trajectory", "velocity", "divergence", "equilibrium"), legend=False, figure=_figure)
def plot_phase_plane(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw field, nullclines, orbits with time shown, starts, and equilibria marked by kind.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.phase_plane`.
    ax : Axes, optional
        Axes for the portrait alone. Without it a figure is made that also shows the eigenvalues beside Euler's
        disc of stability and the divergence.
    **artist
        For the orbits' lines.

    Returns
    -------
    Axes
        Axes of the portrait.
    """
    _set_window(ds, ax)
    phase_portrait.draw_field(ds, ax)
    phase_portrait.draw_conserved(ds, ax)
    phase_portrait.draw_nullclines(ds, ax)
    phase_portrait.draw_long_orbits(ds, ax)
    phase_portrait.draw_backward(ds, ax)
    phase_portrait.draw_orbits(ds, ax, **artist)
    phase_portrait.draw_eigenvectors(ds, ax)
    phase_portrait.draw_equilibria(ds, ax)
    _set_window(ds, ax)


def _set_window(ds: xr.Dataset, ax: Axes) -> None:
    x, y = (ds[axis].values[[0, -1]] for axis in (schema.X, schema.Y))
    alike = max(np.ptp(x), np.ptp(y)) < FLAT * min(np.ptp(x), np.ptp(y))
    ax.set(
        xlim=x,
        ylim=y,
        xlabel=style.label(ds[schema.X]),
        ylabel=style.label(ds[schema.Y]),
        aspect="equal" if alike else "auto",
    )


def _of_divergence(ds: xr.Dataset) -> str:
    return "Area factor" if "area_factor" in ds else "Divergence"


@layout.picture(_of_divergence, (4.8, 3.8), needs=["divergence"])
def plot_divergence(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw the divergence in colour, white where it is 0; of a map that is no Euler step |det J|, white where it is 1.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.phase_plane`.
    ax : Axes, optional
    **artist
        For the image.
    """
    is_map = "area_factor" in ds
    factors = ds["area_factor" if is_map else "divergence"].values
    values = (np.log10(np.maximum(factors, LEAST_AREA)) if is_map else factors).round(12)  # rounding is no colour
    size = np.abs(values[np.isfinite(values)])
    largest = float(size.max(initial=0.0)) or 1.0
    limit = min(largest, USUAL * float(np.quantile(size, 0.9))) or largest
    options: dict[str, Any] = {"cmap": style.DIVERGING, "shading": "gouraud", "rasterized": True} | artist
    image = ax.pcolormesh(
        ds[schema.X],
        ds[schema.Y],
        np.nan_to_num(values, posinf=limit, neginf=-limit),
        vmin=-limit,
        vmax=limit,
        **options,
    )
    _set_window(ds, ax)
    ax.set_title(_of_divergence(ds))
    unit = ds["divergence"].attrs["units"]
    words = "log₁₀ |det J|" if is_map else "" if unit == schema.ONE else unit
    ax.figure.colorbar(image, ax=ax, label=words, extend="both" if limit < largest else "neither")


def time_bar(ds: xr.Dataset, figure: Figure, **options: Any) -> None:
    """Draw the colours of the orbits as a scale of time; `options` as `Figure.colorbar` takes them."""
    times = ds[schema.TIME].values
    scale = ScalarMappable(Normalize(times[0], times[-1]), phase_portrait.time_colours(len(times) - 1))
    figure.colorbar(scale, label=style.label(ds[schema.TIME]), **options).outline.set_visible(False)
