"""Around a fixed point: where its Lyapunov function falls and grows, and the set in which it is proved to fall."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm

from dynlab import schema
from dynlab.plots import style

SIZE = (10.3, 4.1)  # inches
NOTHING = (7.0, 0.8)  # where there is nothing to draw
ROUNDING = 1e-9  # relative: a rate above 0 by less is no growth
SEEN = 2e-3  # of the plane: where V grows on less, there is no border to see
SHADES = 0.98  # quantile of the sizes that the colours reach


def plot_lyapunov_function(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The plane of the two slowest directions around the fixed point whose proved set is the widest.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.lyapunov_function`.
    ax : Axes, optional
        Where only the plane is drawn. Without it a figure is made that also shows the largest rate on each level, with
        the verdict above.
    **artist
        For the border of the proved set.

    Returns
    -------
    Axes
        Of the plane.
    """
    schema.check(ds, needs=["status", "ratio", "radius", "sampled_radius", "largest_rate"])
    if ax is None and not (ds["status"] == "proved").any():
        return style.panels(ds, [(plot_lyapunov_function, artist)], NOTHING, "Lyapunov function")
    if ax is None:
        return style.panels(ds, [(plot_lyapunov_function, artist), (_draw_levels, {})], SIZE, "Lyapunov function")
    if not (ds["status"] == "proved").any():
        style.say(ax, "no Lyapunov function is proved")
        ax.set_axis_off()
        return ax
    number = int(ds["semi_axis"].isel({schema.MODE: 0}).fillna(-1).argmax(schema.FIXED_POINT))  # the widest proved set
    row = ds.isel({schema.FIXED_POINT: number})
    extent, values = float(row["extent"]), row["ratio"].values
    sizes = np.abs(values[np.isfinite(values)])
    reach = max(float(np.quantile(sizes, SHADES)) if sizes.size else 1.0, np.finfo(float).tiny)
    x, y = extent * ds[schema.X].values, extent * ds[schema.Y].values
    look: dict[str, Any] = {"cmap": style.DIVERGING, "norm": TwoSlopeNorm(0, -reach, reach)}
    mesh = ax.pcolormesh(x, y, values, shading="nearest", rasterized=True, **look)
    ax.figure.colorbar(mesh, ax=ax, label=style.label(ds["ratio"]), shrink=0.85, extend="both")
    if np.mean(values > ROUNDING * reach) > SEEN:
        ax.contour(x, y, values, [0.0], colors=style.BLACK, linewidths=1.0, linestyles=":")
        ax.plot([], [], color=style.BLACK, lw=1, ls=":", label="V neither falls nor grows")
    proved: dict[str, Any] = {"color": style.GREEN, "lw": 2, "label": "proved: V falls inside"}
    _draw_circle(ax, float(row["radius"]), proved | artist)
    if float(row["sampled_radius"]) < extent:
        sampled = {"color": style.VERMILION, "lw": 1.2, "ls": "--", "label": "sampled: V falls inside"}
        _draw_circle(ax, float(row["sampled_radius"]), sampled)
    ax.plot(0, 0, "o", color=style.BLACK, ms=4, label="fixed point h*")
    second = "no meaning: the state is one number" if ds.sizes[schema.STATE] == 1 else "along the second slowest"
    ax.set(aspect="equal", xlabel="T (h − h*) along the slowest direction", ylabel=second)
    count = ds.sizes[schema.FIXED_POINT]
    which = "the fixed point" if count == 1 else f"fixed point {number}"
    ax.set_title(f"Around {which}; V = |T (h − h*)|²")
    style.legend_below(ax, 2)
    return ax


def _draw_circle(ax: Axes, radius: float, look: dict[str, Any]) -> None:
    border = radius * np.exp(2j * np.pi * np.linspace(0, 1, 361))
    ax.plot(border.real, border.imag, **look)


def _draw_levels(ds: xr.Dataset, ax: Axes) -> None:
    """The largest sampled rate on each level of every fixed point, and the proved bound up to its radius."""
    proved = ds.isel({schema.FIXED_POINT: np.flatnonzero(ds["status"].values == "proved")})
    if not proved.sizes[schema.FIXED_POINT]:
        ax.set_axis_off()
        return
    bounds = proved["rate"].values if schema.settings(ds)["kind"] == "flow" else np.log(proved["rate"].values)
    levels, rates = (
        proved[name].transpose(schema.LEVEL, schema.FIXED_POINT).values for name in ("level", "largest_rate")
    )
    radii = proved["radius"].values
    first, *_ = ax.plot(levels, rates, color=style.BLUE, lw=1.2)
    first.set_label("largest sampled")
    first, *_ = ax.plot([levels[0], radii], [bounds, bounds], color=style.GREEN, lw=2)
    first.set_label("proved bound, up to the proved radius")
    ax.plot(radii, bounds, "o", color=style.GREEN, ms=5)
    ax.axhline(0, color=style.BLACK, lw=1)
    low, high = min(float(np.nanmin(rates)), 0.0), float(np.nanmax(rates))
    ax.set(xscale="log", ylim=(low * 1.1 - 1e-12, max(min(high, -low), -0.15 * low) * 1.1 + 1e-12))
    ax.set(xlabel="level |T (h − h*)|", ylabel=style.label(ds["largest_rate"]), title="V falls where this is below 0")
    style.legend_below(ax, 2)
