"""Around a fixed point: where its Lyapunov function falls and grows, and the set in which it is proved to fall."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm

from dynlab import schema
from dynlab.plots import layout, style, unit_circle
from dynlab.words import number

SIZES = (5.4, 4.6), (10.3, 4.8)  # inches: where nothing is proved, and where something is
ROUNDING = 1e-9  # relative: a rate above 0 by less is no growth
UNSEEN = 0.03  # of half the plane's width: a smaller circle lies under the dot in its middle
SHADES = 0.98  # quantile of the sizes that the colours reach


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    beside: list[layout.Panel] = [(_draw_levels, {})] * bool((ds["status"] == "proved").any())
    return layout.panels(ds, [(plot_lyapunov_function, artist), *beside], SIZES[len(beside)], "Lyapunov function")


@layout.picture(needs=("status", "ratio", "radius", "sampled_radius", "largest_rate"), figure=_figure)
def plot_lyapunov_function(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw the plane of the two slowest directions around the fixed point whose proved set is the widest.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.lyapunov_function`.
    ax : Axes, optional
        Axes for the plane alone. Without it a figure is made that also shows the largest rate on each level, with
        the verdict below.
    **artist
        For the border of the proved set.

    Returns
    -------
    Axes
        The panel of the plane.
    """
    if not (ds["status"] == "proved").any():
        is_flow = schema.settings(ds)["kind"] == "flow"
        sizes = ds["eigenvalue"].values.real if is_flow else np.abs(ds["eigenvalue"].values)
        largest = (
            f":\nthe largest {'Re λ' if is_flow else '|μ|'} is {number(float(sizes.max()), 5)}" if sizes.size else ""
        )
        style.say(ax, f"no Lyapunov function is proved{largest}")
        ax.set_axis_off()
        return
    place = int(ds["semi_axis"].isel({schema.MODE: 0}).fillna(-1).argmax(schema.FIXED_POINT))  # the widest proved set
    row = ds.isel({schema.FIXED_POINT: place})
    extent, values = float(row["extent"]), row["ratio"].values
    sizes = np.abs(values[np.isfinite(values)])
    reach = max(float(np.quantile(sizes, SHADES)) if sizes.size else 1.0, np.finfo(float).tiny)
    x, y = extent * ds[schema.X].values, extent * ds[schema.Y].values
    mesh = ax.pcolormesh(
        x, y, values, shading="gouraud", rasterized=True, cmap=style.DIVERGING, norm=TwoSlopeNorm(0, -reach, reach)
    )
    ax.figure.colorbar(mesh, ax=ax, shrink=0.8, extend="both", label=style.label(ds["ratio"]))
    if (values > ROUNDING * reach).any():
        ax.contour(x, y, values, [0.0], colors=style.BLACK, linewidths=1.0, linestyles=":")
        ax.plot([], [], color=style.BLACK, lw=1, ls=":", label="V neither falls nor grows")
    radius, sampled = float(row["radius"]), float(row["sampled_radius"])
    unseen = " (too small to see)" if radius < UNSEEN * extent else ""
    inside = f"proved: V falls below level {number(radius, 2)}{unseen}"
    _draw_circle(ax, radius, {"color": style.GREEN, "lw": 2, "label": inside} | artist)
    if sampled < extent:
        _draw_circle(ax, sampled, {"color": style.BLACK, "lw": 1.2, "ls": "--", "label": "sampled: V falls inside"})
    ax.plot(0, 0, "o", color=style.BLACK, ms=4, label="fixed point h*")
    ax.set(
        aspect="equal",
        xlabel="T (h − h*), slowest direction",
        ylabel="second slowest direction",
        title=f"Fixed point {place}: V = |T (h − h*)|²",
    )


def _draw_circle(ax: Axes, radius: float, look: dict[str, Any]) -> None:
    ax.plot(radius * unit_circle.CIRCLE.real, radius * unit_circle.CIRCLE.imag, **look)


def _draw_levels(ds: xr.Dataset, ax: Axes) -> None:
    """Draw the slowest fall of V on each level of every fixed point: sampled, and proved up to its radius."""
    numbers = np.flatnonzero(ds["status"].values == "proved")
    proved = ds.isel({schema.FIXED_POINT: numbers})
    bounds = proved["rate"].values if schema.settings(ds)["kind"] == "flow" else np.log(proved["rate"].values)
    levels, rates = (proved[name].transpose(schema.LEVEL, ...).values for name in ("level", "largest_rate"))
    radii = proved["radius"].values
    sampled = ax.loglog(levels, np.where(rates < 0, -rates, np.nan), color=style.BLUE, lw=1.2)
    sampled[0].set_label("sampled, up to where V grows" if (rates >= 0).any() else "sampled")
    lines = ax.loglog([levels[0], radii], [-bounds, -bounds], color=style.GREEN, lw=2)
    lines[0].set_label("proved, up to the proved radius")
    ax.plot(radii, -bounds, "o", color=style.GREEN, ms=5)
    for place, at in zip(numbers, zip(radii, -bounds, strict=True), strict=True):
        ax.annotate(str(place), at, (4, 4), textcoords="offset points", color=style.GREEN)
    ax.set(
        xlabel="level |T (h − h*)|",
        ylabel=f"−({style.label(ds['ratio'])}) at least",
        title="How fast V falls, by fixed point",
    )
