"""The region in which an integrator's step is stable, with ελ of the flow's eigenvalues over it."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import style
from dynlab.wording import share

REGION_COLOUR = "#E3EEF6"
MOST_POINTS = 20_000
LARGE = 20.0  # points of this area have room for an edge
HIGHEST = 3.0  # moduli above are drawn as this: a pole is no wall of contours
TITLES = {
    "euler": "Euler",
    "midpoint": "Explicit midpoint",
    "rk4": "Runge–Kutta 4",
    "implicit-midpoint": "Implicit midpoint",
    "exponential-euler": "Exponential Euler",
}
LOOK = {  # colour, marker and word, so that grey print tells them apart
    0: (style.VERMILION, "X", "above 1"),
    -1: (style.GREY, "s", "1 within its error"),
    1: (style.GREEN, "o", "below 1"),
}


def plot_step_region(ds: xr.Dataset, *, ax: Axes | None = None, close_up: bool = False, **artist: Any) -> Axes:
    """Where |R(z)| ≤ 1, and z = ελ of all states, each by whether the step multiplies its mode by more than 1.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.stability`.
    ax : Axes, optional
    close_up : bool
        The neighbourhood of the eigenvalues, each axis with its own scale, in place of the whole region.
    **artist
        For the points.
    """
    schema.check(ds, needs=["region", "region_real", "region_imaginary", "eigenvalue", "step_modulus"])
    ax = style.axes(ax, (4.6, 4.2))
    window = ds.isel({schema.WINDOW: int(close_up)})
    x, y = window["region_real"].values, window["region_imaginary"].values
    heights = np.minimum(window["region"].transpose(schema.Y, schema.X).values, HIGHEST)
    ax.contourf(x, y, heights, [-1.0, 1.0], colors=[REGION_COLOUR])
    if heights.min() < 1 < heights.max():
        ax.contour(x, y, heights, [1.0], colors=[style.BLACK], linewidths=1.2)
    ax.axhline(0, color=style.GREY, lw=0.6, zorder=1)
    ax.axvline(0, color=style.GREY, lw=0.6, zorder=1)
    scale = _points(ds, ax, **artist)
    ax.set_xlim(x[0], x[-1])
    ax.set_ylim(y[0], y[-1])
    ax.set_xlabel("Re ελ")
    ax.set_ylabel("Im ελ")
    name = TITLES[schema.settings(ds)["integrator"]]
    if close_up:
        ax.locator_params(axis="x", nbins=5)
        ax.set_title("Near 0, each axis on its own scale")
        return ax
    ax.set_aspect("equal")
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.14),
        ncols=3,
        handletextpad=0.3,
        markerscale=scale,
        columnspacing=1.0,
    )
    ax.set_title(f"{name}: |R(ελ)| ≤ 1 is shaded")
    return ax


def _points(ds: xr.Dataset, ax: Axes, **artist: Any) -> float:
    """Draw them, and say how many times larger a legend should show them."""
    along = (schema.SAMPLE, schema.TIME, schema.MODE)
    z = (ds["used_step"] * ds["eigenvalue"]).transpose(*along).values
    excess, errors = (ds[name].transpose(*along).values for name in ("step_modulus", "step_modulus_error"))
    excess = excess - 1
    sides = np.where(excess > errors, 0, np.where(excess <= -errors, 1, -1))
    size = float(np.clip(160 / np.sqrt(max(1, z.size)), 4, 44))
    for side, (colour, marker, word) in LOOK.items():
        shown = z[np.isfinite(z) & (sides == side)]
        if not len(shown):
            continue
        # the same ones each time where there are too many to see
        seen = np.random.default_rng(0).choice(len(shown), min(len(shown), MOST_POINTS), replace=False)
        options: dict[str, Any] = {"color": colour, "marker": marker, "s": size, "rasterized": True, "zorder": 4 - side}
        if size > LARGE:
            options |= {"edgecolors": style.BLACK, "linewidths": 0.6}
        else:
            options |= {"linewidths": 0}
        part = len(shown) / max(1, int(np.isfinite(z).sum()))
        label = word if z.size < 10 else f"{word} ({share(part)})"
        ax.scatter(shown[seen].real, shown[seen].imag, label=label, **options | artist)
    return 1.0 if size > LARGE else 2.0
