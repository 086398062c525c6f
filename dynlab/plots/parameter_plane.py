"""Over two parameters: how fast a fixed point is left or reached, and the periods that orbits beside it settle to."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap, TwoSlopeNorm

from dynlab import schema
from dynlab.plots import layout, style

PANEL = (5.1, 4.3)  # inches
SPREAD = (0.02, 0.98)  # quantiles of the leading eigenvalue that the colours reach to
NARROWEST = 1e-3  # on either side of the border, where all is almost on it
# Short periods that differ in grey print as well, from light to dark; then what has none; any other number is another
# period.
PERIODS: dict[int | None, tuple[str, str]] = {
    1: ("at rest", "#FFFFFF"),
    2: ("period 2", "#C6DCEE"),
    4: ("period 4", "#6BAED6"),
    8: ("period 8", "#2171B5"),
    3: ("period 3", "#FDD0A2"),
    5: ("period 5", "#FD8D3C"),
    6: ("period 6", "#D94801"),
    None: ("other periods", "#41AB5D"),
    0: ("no period found", "#252525"),
    -1: ("left the bound, or no number", "#EFEFEF"),
    -2: ("period undecided", "#9E9E9E"),
}


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    drawn: list[layout.Panel] = [(plot_parameter_plane, artist)] + [(_draw_periods, {})] * ("period" in ds)
    return layout.panels(ds, drawn, (len(drawn) * PANEL[0], PANEL[1]), "Parameter plane")


@layout.picture(needs=["leading", "stable"], figure=_figure)
def plot_parameter_plane(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw the leading eigenvalue of the fixed point over the plane, with the border of stability as a line.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.parameter_plane`.
    ax : Axes, optional
        Axes for that alone. Without it a figure is made with the verdict below, and of a map the periods beside.
    **artist
        For the coloured mesh.

    Returns
    -------
    Axes
        Axes of the leading eigenvalue.
    """
    x, y = ds[schema.X].values, ds[schema.Y].values
    leading = ds["leading"].transpose(schema.Y, schema.X).values
    border = 1.0 if ds["leading"].attrs["units"] == schema.ONE else 0.0
    finite = leading[np.isfinite(leading)]
    low, high = np.quantile(finite, SPREAD) if len(finite) else (border, border)
    norm = TwoSlopeNorm(border, min(float(low), border - NARROWEST), max(float(high), border + NARROWEST))
    mesh = ax.pcolormesh(
        x, y, leading, **{"cmap": style.DIVERGING, "norm": norm, "shading": "nearest", "rasterized": True, **artist}
    )
    if len(finite) and finite.min() < border < finite.max():
        ax.contour(x, y, leading, levels=[border], colors="black", linewidths=1.6)
    ax.figure.colorbar(mesh, ax=ax, label=style.label(ds["leading"]), extend="both")
    none = "" if len(finite) == leading.size else "; empty: no fixed point"
    ax.set(
        title=f"Black line: {'|μ| = 1' if border else 'Re λ = 0'}{none}",
        facecolor=style.FAINT,
        xlabel=style.label(ds[schema.X]),
        ylabel=style.label(ds[schema.Y]),
    )


def _draw_periods(ds: xr.Dataset, ax: Axes) -> None:
    periods, (words, colours) = list(PERIODS), zip(*PERIODS.values(), strict=True)
    period = ds["period"].transpose(schema.Y, schema.X).values
    numbers = np.full(period.shape, periods.index(None))
    for number, value in enumerate(periods):
        numbers[period == value] = number
    norm = BoundaryNorm(np.arange(len(words) + 1) - 0.5, len(words))
    ax.pcolormesh(
        ds[schema.X].values,
        ds[schema.Y].values,
        numbers,
        cmap=ListedColormap(colours),
        norm=norm,
        shading="nearest",
        rasterized=True,
    )
    patches = [style.patch(colours[there], words[there]) for there in np.unique(numbers)]
    ax.set(xlabel=style.label(ds[schema.X]), ylabel=style.label(ds[schema.Y]), title="What orbits settle to")
    style.legend_below(ax, 3, handles=patches)
