"""One step on a plane around a state as arrows, what its linear map says beside them, and where that fails."""

import textwrap
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
TITLE_WIDTH = 92  # characters
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
        with style.style():
            ax = plt.subplots(figsize=SIZE)[1]
            plot_tangent_map(ds, ax=ax, **artist)
            text = f"{ds.attrs['system']}: {ds.attrs.get('verdict', '')}"
            ax.figure.suptitle(textwrap.fill(text, TITLE_WIDTH), fontsize=8.5, x=0.01, ha="left")
        return ax
    x, y = ds[schema.X].values, ds[schema.Y].values
    error = ds["linear_error"].values
    top = float(np.clip(error.max(), SMALLEST_SHADE, LARGEST_SHADE))
    # no darker than arrows are still seen on
    greys = ListedColormap(plt.get_cmap("Greys")(np.linspace(0, DARKEST, 256)))
    shade = ax.pcolormesh(x, y, error, cmap=greys, vmin=0, vmax=top, shading="nearest", rasterized=True, zorder=0)
    bar = ax.figure.colorbar(shade, ax=ax, shrink=0.8, pad=0.02, extend="max" if error.max() > top else "neither")
    bar.set_label(style.label(ds["linear_error"]))
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
    ax.plot(
        0, 0, marker="o", ms=6, color="white", markeredgecolor=style.BLACK, ls="none", zorder=5, label="the state p"
    )
    ax.set_xlim(x[0], x[-1])
    ax.set_ylim(y[0], y[-1])
    ax.set_aspect("equal")
    ax.set_xlabel(style.label(ds[schema.X]))
    ax.set_ylabel(style.label(ds[schema.Y]))
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, columnspacing=1.2)
    return ax


def _draw_modes(ds: xr.Dataset, ax: Axes, x: Any) -> None:
    """Lines along the real eigenvectors in the plane, named by their eigenvalue; a complex pair is only named."""
    values, errors = ds["eigenvalue"].values, ds["eigenvalue_error"].values
    for mode, way in enumerate(ds["mode_direction"].values[:2]):
        value, excess = values[mode], abs(values[mode]) - 1
        fate, colour, line = ("undecided", style.GREY, ":")
        if abs(excess) > errors[mode]:
            fate, colour, line = ("grows", style.VERMILION, "-") if excess > 0 else ("decays", style.GREEN, "--")
        if value.imag < 0 and mode == 1:
            continue
        if value.imag:
            label = f"λ = {number(value.real, 3)} ± {number(abs(value.imag), 3)}i, |λ| = {number(abs(value))}, {fate}"
        else:
            label = f"λ = {number(value.real)}, {fate}"
        if value.imag or np.isnan(way).any():
            ax.plot([], [], ls="none", label=label if value.imag else f"{label}: no vector of its own")
            continue
        ends = way / np.linalg.norm(way) * 2 * abs(x[-1])
        ax.plot(*np.stack([-ends, ends], axis=1), color=colour, lw=1.2, ls=line, zorder=2, label=label)


def _scale(ds: xr.Dataset, x: Any, every: int) -> float:
    """So that the longest arrow reaches from one to the next."""
    longest = float(np.linalg.norm(ds["displacement"].values, axis=-1).max())
    return longest / (every * float(x[1] - x[0]) * 1.2) if longest > 0 else 1.0
