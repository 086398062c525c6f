"""Around a fixed point: where its Lyapunov function falls and grows, and the set in which it is proved to fall."""

import textwrap
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm

from dynlab import schema
from dynlab.plots import style

PANEL = (4.9, 4.1)  # inches
TITLE_WIDTH = 145  # characters over two panels
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
    if ax is None:
        return _figure(ds, **artist)
    row = _widest(ds)
    if row is None:
        ax.text(0.5, 0.5, "no Lyapunov function is proved", ha="center", va="center", transform=ax.transAxes)
        ax.set_axis_off()
        return ax
    extent, values = float(row["extent"]), row["ratio"].values
    sizes = np.abs(values[np.isfinite(values)])
    reach = float(np.quantile(sizes, SHADES)) if sizes.size else 1.0
    norm = TwoSlopeNorm(0, -max(reach, np.finfo(float).tiny), max(reach, np.finfo(float).tiny))
    x, y = extent * ds[schema.X].values, extent * ds[schema.Y].values
    mesh = ax.pcolormesh(x, y, values, cmap=f"{style.DIVERGING}_r", norm=norm, shading="nearest", rasterized=True)
    ax.figure.colorbar(mesh, ax=ax, label=style.label(ds["ratio"]), shrink=0.85, extend="both")
    if np.mean(values > ROUNDING * reach) > SEEN:
        ax.contour(x, y, values, [0.0], colors=style.BLACK, linewidths=1.0, linestyles=":")
        ax.plot([], [], color=style.BLACK, lw=1, ls=":", label="V neither falls nor grows")
    circle = np.exp(2j * np.pi * np.linspace(0, 1, 361))
    look: dict[str, Any] = {"color": style.GREEN, "lw": 2, "label": "proved: V falls inside"}
    border = float(row["radius"]) * circle
    ax.plot(border.real, border.imag, **look | artist)
    seen = float(row["sampled_radius"]) * circle
    if float(row["sampled_radius"]) < extent:
        ax.plot(seen.real, seen.imag, color=style.VERMILION, lw=1.2, ls="--", label="sampled: V falls inside")
    ax.plot(0, 0, "o", color=style.BLACK, ms=4)
    ax.plot([], [], "o", color=style.BLACK, ms=4, label="fixed point h*")
    ax.set_aspect("equal")
    ax.set_xlabel("T (h − h*) along the slowest direction")
    alone = ds.sizes[schema.STATE] == 1
    ax.set_ylabel("no meaning: the state is one number" if alone else "along the second slowest")
    number, count = int(row[schema.FIXED_POINT]), ds.sizes[schema.FIXED_POINT]
    ax.set_title("Around the fixed point" if count == 1 else f"Around fixed point {number} of 0 … {count - 1}")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, columnspacing=1.2)
    return ax


def _widest(ds: xr.Dataset) -> xr.Dataset | None:
    """The fixed point with the widest proved set."""
    if not (ds["status"] == "proved").any():
        return None
    numbered = ds.assign_coords({schema.FIXED_POINT: np.arange(ds.sizes[schema.FIXED_POINT])})
    return numbered.isel(
        {schema.FIXED_POINT: int(ds["semi_axis"].isel({schema.MODE: 0}).fillna(-1).argmax(schema.FIXED_POINT))}
    )


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    with style.style():
        figure, (plane, beside) = plt.subplots(1, 2, figsize=(2.1 * PANEL[0], PANEL[1]))
        plot_lyapunov_function(ds, ax=plane, **artist)
        _levels(ds, beside)
        figure.suptitle(textwrap.fill(ds.attrs.get("verdict", ""), TITLE_WIDTH), fontsize=9, x=0.01, ha="left")
    axes: Axes = plane
    return axes


def _levels(ds: xr.Dataset, ax: Axes) -> None:
    """The largest sampled rate on each level of every fixed point, and the proved bound up to its radius."""
    proved = [
        one
        for index in range(ds.sizes[schema.FIXED_POINT])
        if (one := ds.isel({schema.FIXED_POINT: index}))["status"] == "proved"
    ]
    if not proved:
        ax.set_axis_off()
        return
    flow = schema.settings(ds)["kind"] == "flow"
    for index, one in enumerate(proved):
        first = index == 0
        ax.plot(one["level"], one["largest_rate"], color=style.BLUE, lw=1.2, label="largest sampled" if first else None)
        radius = float(one["radius"])
        bound = float(one["rate"]) if flow else float(np.log(one["rate"]))
        ax.plot(
            [float(one["level"][0]), radius],
            [bound, bound],
            color=style.GREEN,
            lw=2,
            label="proved bound, up to the proved radius" if first else None,
        )
        ax.plot(radius, bound, "o", color=style.GREEN, ms=5)
    ax.axhline(0, color=style.BLACK, lw=1)
    ax.set_xscale("log")
    rates = np.concatenate([one["largest_rate"].values for one in proved])
    low = min(float(np.nanmin(rates)), 0.0)
    high = float(np.nanmax(rates))
    ax.set_ylim(low * 1.1 - 1e-12, max(min(high, -low), -0.15 * low) * 1.1 + 1e-12)
    ax.set_xlabel("level |T (h − h*)|")
    ax.set_ylabel(style.label(ds["largest_rate"]))
    ax.set_title("V falls where this is below 0")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, columnspacing=1.2)
