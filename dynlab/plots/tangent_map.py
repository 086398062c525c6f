"""One step on a plane around a state as arrows, beside those of its linear map, and where that fails."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import layout, style
from dynlab.words import number

MOST_ARROWS = 15  # in each direction
LIGHT = 0.6  # opacity of the shade, on which arrows are still seen
LARGEST_SHADE, SMALLEST_SHADE = 0.5, 0.02  # of the linear map's error, beyond which all is one shade
ERROR_LINE = 0.1  # as in the verdict


@layout.picture(
    "One step and its linear map",
    (6.6, 5.4),
    needs=("displacement", "linear_displacement", "linear_error", "mode_direction", "eigenvalue_error"),
)
def plot_tangent_map(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw arrows of the step, dark, and of its linear map, orange; shaded by the linear map's error.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.tangent_map`.
    ax : Axes, optional
    **artist
        For the step's arrows.

    Returns
    -------
    Axes
    """
    x, y, error = ds[schema.X].values, ds[schema.Y].values, ds["linear_error"].values
    top = float(np.clip(error.max(), SMALLEST_SHADE, LARGEST_SHADE))
    shade = ax.pcolormesh(
        x, y, error, cmap="Greys", vmin=0, vmax=top, shading="nearest", alpha=LIGHT, rasterized=True, zorder=0
    )
    extend = "max" if error.max() > top else "neither"
    ax.figure.colorbar(shade, ax=ax, label=style.label(ds["linear_error"]), shrink=0.8, pad=0.02, extend=extend)
    if error.max() > ERROR_LINE:
        ax.contour(x, y, error, levels=[ERROR_LINE], colors=style.BLACK, linewidths=0.9, linestyles=":")
        ax.plot([], [], color=style.BLACK, ls=":", lw=0.9, label=f"error {ERROR_LINE}")
    every = max(1, -(-len(x) // MOST_ARROWS))
    some = slice((len(x) // 2) % every, None, every)
    longest = float(np.linalg.norm(ds["displacement"].values, axis=-1).max()) or 1.0
    scale = longest / (every * float(x[1] - x[0]) * 1.2)  # the longest arrow reaches from one to the next
    options: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": scale, "zorder": 3}
    for name, look in (
        ("linear_displacement", {"color": style.ORANGE, "width": 0.0075, "label": "linear map J"}),
        ("displacement", {"color": style.BLACK, "width": 0.0035, "label": "the step itself"} | artist),
    ):
        arrows = ds[name].values[some, some]
        ax.quiver(x[some], y[some], arrows[..., 0], arrows[..., 1], **options | look)
    _draw_modes(ds, ax, 2 * abs(float(x[-1])))
    ax.plot(0, 0, "o", ms=6, color=style.GROUND, mec=style.BLACK, zorder=5, label="the state p")
    ax.set(
        xlim=x[[0, -1]],
        ylim=y[[0, -1]],
        aspect="equal",
        xlabel=style.label(ds[schema.X]),
        ylabel=style.label(ds[schema.Y]),
    )


def _draw_modes(ds: xr.Dataset, ax: Axes, length: float) -> None:
    """Lines along the real eigenvectors in the plane, named by their eigenvalue; a complex pair is only named."""
    values, errors = ds["eigenvalue"].values, ds["eigenvalue_error"].values
    for mode, way in enumerate(ds["mode_direction"].values[:2]):
        value, excess = values[mode], abs(values[mode]) - 1
        fate, colour, line = "growth undecided", style.GREY, ":"
        if abs(excess) > errors[mode]:
            fate, colour, line = ("grows", style.VERMILION, "-") if excess > 0 else ("decays", style.GREEN, "--")
        name = f"{number(value.real)} ± {number(abs(value.imag))}i" if value.imag else number(value.real)
        ends = length * way / np.linalg.norm(way)
        ax.plot(
            *np.stack([-ends, ends], axis=1), label=f"μ = {name}, {fate}", color=colour, lw=1.2, ls=line, zorder=2
        )  # NaN where it has no vector
        if value.imag:
            break
