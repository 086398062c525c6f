"""One step on a plane around a state as arrows, what its linear map says beside them, and where that fails."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap

from dynlab import schema
from dynlab.plots import style
from dynlab.wording import number

SIZE = (6.4, 5.8)  # inches
MOST_ARROWS = 15  # in each direction
DARKEST = 0.55  # of the scale of greys
LARGEST_SHADE = 0.5  # of the linear map's error, beyond which all is one shade
SMALLEST_SHADE = 0.02
ERROR_LINE = 0.1  # as in the verdict


def plot_tangent_map(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """Arrows of the step, dark, and of its linear map, orange; shaded by the linear map's error.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.tangent_map`.
    ax : Axes, optional
    **artist
        For the step's arrows.

    Returns
    -------
    Axes
    """
    schema.check(
        ds, needs=("displacement", "linear_displacement", "linear_error", "mode_direction", "eigenvalue_error")
    )
    if ax is None:
        return style.panels(ds, [(plot_tangent_map, artist)], SIZE, "One step and its linear map")
    x, y = ds[schema.X].values, ds[schema.Y].values
    error = ds["linear_error"].values
    top = float(np.clip(error.max(), SMALLEST_SHADE, LARGEST_SHADE))
    # no darker than arrows are still seen on
    greys = ListedColormap(plt.get_cmap("Greys")(np.linspace(0, DARKEST, 256)))
    shade = ax.pcolormesh(x, y, error, cmap=greys, vmin=0, vmax=top, shading="nearest", rasterized=True, zorder=0)
    bar: dict[str, Any] = {"shrink": 0.8, "pad": 0.02, "extend": "max" if error.max() > top else "neither"}
    ax.figure.colorbar(shade, ax=ax, label=style.label(ds["linear_error"]), **bar)
    if error.max() > ERROR_LINE:
        ax.contour(x, y, error, levels=[ERROR_LINE], colors=style.BLACK, linewidths=0.9, linestyles=":")
        ax.plot([], [], color=style.BLACK, ls=":", lw=0.9, label="error 0.1")
    every = max(1, -(-len(x) // MOST_ARROWS))
    some = slice((len(x) // 2) % every, None, every)
    options: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": _scale(ds, x, every), "zorder": 3}
    for name, look in (
        ("linear_displacement", {"color": style.ORANGE, "width": 0.0075, "label": "linear map J"}),
        ("displacement", {"color": style.BLACK, "width": 0.0035, "label": "the step itself"} | artist),
    ):
        arrows = ds[name].values[some, some]
        ax.quiver(x[some], y[some], arrows[..., 0], arrows[..., 1], **options | look)
    _draw_modes(ds, ax, x)
    ax.plot(0, 0, "o", ms=6, color="white", mec=style.BLACK, zorder=5, label="the state p")
    ax.set(xlim=x[[0, -1]], ylim=y[[0, -1]], aspect="equal")
    ax.set(xlabel=style.label(ds[schema.X]), ylabel=style.label(ds[schema.Y]))
    style.legend_below(ax, 2)
    return ax


def _draw_modes(ds: xr.Dataset, ax: Axes, x: Any) -> None:
    """Lines along the real eigenvectors in the plane, named by their eigenvalue; a complex pair is only named."""
    values, errors = ds["eigenvalue"].values, ds["eigenvalue_error"].values
    for mode, way in enumerate(ds["mode_direction"].values[:2]):
        value, excess = values[mode], abs(values[mode]) - 1
        fate, colour, line = ("growth undecided", style.GREY, ":")
        if abs(excess) > errors[mode]:
            fate, colour, line = ("grows", style.VERMILION, "-") if excess > 0 else ("decays", style.GREEN, "--")
        if value.imag:
            pair = f"{number(value.real, 3)} ± {number(abs(value.imag), 3)}i"
            ax.plot([], [], ls="none", label=f"μ = {pair}, |μ| = {number(abs(value))}, {fate}")
            break
        label = f"μ = {number(value.real)}, {fate}"
        if np.isnan(way).any():
            ax.plot([], [], ls="none", label=f"{label}: no vector of its own")
        else:
            ends = way / np.linalg.norm(way) * 2 * abs(x[-1])
            ax.plot(*np.stack([-ends, ends], axis=1), color=colour, lw=1.2, ls=line, zorder=2, label=label)


def _scale(ds: xr.Dataset, x: Any, every: int) -> float:
    """So that the longest arrow reaches from one to the next."""
    longest = float(np.linalg.norm(ds["displacement"].values, axis=-1).max())
    return longest / (every * float(x[1] - x[0]) * 1.2) if longest > 0 else 1.0
