"""Over two parameters: how fast a fixed point is left or reached, and the periods that orbits beside it settle to."""

import textwrap
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap, TwoSlopeNorm
from matplotlib.patches import Patch

from dynlab import schema
from dynlab.plots import style

NEEDS = ("leading", "stable")
PANEL = (5.1, 4.3)  # inches
LEGEND = 0.9
TITLE_WIDTH = 150  # characters over two panels
SPREAD = (0.02, 0.98)  # quantiles of the leading eigenvalue that the colours reach to
NARROWEST = 1e-3  # on either side of the border, where all is almost on it
# Short periods that differ in grey print as well, from light to dark; then what has none.
PERIODS: dict[int, tuple[str, str]] = {
    1: ("at rest", "#FFFFFF"),
    2: ("period 2", "#C6DCEE"),
    4: ("period 4", "#6BAED6"),
    8: ("period 8", "#2171B5"),
    3: ("period 3", "#FDD0A2"),
    5: ("period 5", "#FD8D3C"),
    6: ("period 6", "#D94801"),
}
OTHER, APERIODIC, CUT, UNDECIDED = "other periods", "no period found", "left the bound", "undecided"
REST = {OTHER: "#41AB5D", APERIODIC: "#252525", CUT: "#EFEFEF", UNDECIDED: "#9E9E9E"}


def plot_parameter_plane(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The leading eigenvalue of the fixed point over the plane, with the border of stability as a line.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.parameter_plane`.
    ax : Axes, optional
        Where only that is drawn. Without it a figure is made with the verdict above, and of a map the periods beside.
    **artist
        For the coloured mesh.

    Returns
    -------
    Axes
        Of the leading eigenvalue.
    """
    schema.check(ds, needs=NEEDS)
    if ax is None:
        return _figure(ds, **artist)
    x, y = ds[schema.X].values, ds[schema.Y].values
    leading = ds["leading"].transpose(schema.Y, schema.X).values
    border = 1.0 if ds["leading"].attrs["units"] == schema.ONE else 0.0
    finite = leading[np.isfinite(leading)]
    low, high = np.quantile(finite, SPREAD) if len(finite) else (border, border)
    norm = TwoSlopeNorm(border, min(float(low), border - NARROWEST), max(float(high), border + NARROWEST))
    look: dict[str, Any] = {"cmap": f"{style.DIVERGING}_r", "norm": norm, "shading": "nearest", "rasterized": True}
    mesh = ax.pcolormesh(x, y, leading, **(look | artist))
    if len(finite) and finite.min() < border < finite.max():
        lines = ax.contour(x, y, leading, levels=[border], colors=style.BLACK, linewidths=1.6)
        ax.clabel(lines, fmt={border: f"{border:g}"}, fontsize=8)
    ax.figure.colorbar(mesh, ax=ax, label=style.label(ds["leading"]), extend="both")
    _frame(ds, ax)
    none = "" if len(finite) == leading.size else "; grey: no fixed point reached"
    ax.set_title(f"Black line: border of stability, {'|μ| = 1' if border else 'Re λ = 0'}{none}", fontsize=9)
    return ax


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    panels = 2 if "period" in ds else 1
    with style.style():
        size = (panels * PANEL[0] + LEGEND * (panels - 1), PANEL[1])
        figure, every = plt.subplots(1, panels, figsize=size, squeeze=False)
        left: Axes = every[0, 0]
        plot_parameter_plane(ds, ax=left, **artist)
        if panels == 2:
            _draw_periods(ds, every[0, 1])
        text = f"{ds.attrs['system']}: {ds.attrs.get('verdict', '')}"
        figure.suptitle("\n".join(textwrap.wrap(text, TITLE_WIDTH * panels // 2)), x=0.01, ha="left", fontsize=8)
    return left


def _draw_periods(ds: xr.Dataset, ax: Axes) -> None:
    period = ds["period"].transpose(schema.Y, schema.X).values
    words = [words for words, _ in PERIODS.values()] + list(REST)
    colours = dict(zip(words, [colour for _, colour in PERIODS.values()] + list(REST.values()), strict=True))
    codes = {0: APERIODIC, -1: CUT, -2: UNDECIDED} | {number: words for number, (words, _) in PERIODS.items()}
    numbers = np.vectorize(lambda value: words.index(codes.get(int(value), OTHER)), otypes=[int])(period)
    norm = BoundaryNorm(np.arange(len(words) + 1) - 0.5, len(words))
    look: dict[str, Any] = {"cmap": ListedColormap([colours[word] for word in words]), "norm": norm}
    ax.pcolormesh(ds[schema.X].values, ds[schema.Y].values, numbers, shading="nearest", rasterized=True, **look)
    there = [word for number, word in enumerate(words) if (numbers == number).any()]
    patches = [Patch(fc=colours[word], ec=style.GREY, lw=0.6, label=word) for word in there]
    ax.legend(handles=patches, loc="center left", bbox_to_anchor=(1.01, 0.5), title="orbits end", alignment="left")
    _frame(ds, ax)
    ax.set_title("What orbits beside the fixed point settle to", fontsize=9)


def _frame(ds: xr.Dataset, ax: Axes) -> None:
    ax.set_facecolor("#EFEFEF")
    ax.set_xlabel(style.label(ds[schema.X]))
    ax.set_ylabel(style.label(ds[schema.Y]))
