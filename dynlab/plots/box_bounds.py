"""Proved bounds over a box of states, and what sampled states show below them."""

import textwrap
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import style

SIZE = (7.6, 4.4)  # inches
TITLE_WIDTH = 105  # characters
HEIGHTS = 20  # the seed of heights that keep dots apart: another than that of the states that the dots are of
SPREAD = 0.22  # half the height of a row of dots
# (sampled of the norm, sampled of the eigenvalues, proved bound, the border between growth and decay)
NORM = ("sampled_norm", "sampled_spectral_radius", "norm_bound", 1.0)
RATE = ("sampled_logarithmic_norm", "sampled_abscissa", "abscissa_bound", 0.0)


def plot_box_bounds(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The common norm and the spectral radius at sampled states, the proved bound, and the border of contraction.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.box_bounds`.
    ax : Axes, optional
        Where only the norm is drawn. Without it a figure is made that also shows real parts, with the verdict above.
    **artist
        For the dots.

    Returns
    -------
    Axes
        Of the norm.
    """
    schema.check(ds, needs=[*NORM[:3], *RATE[:3]])
    if ax is not None:
        _panel(ds, ax, NORM, "modulus or norm", artist)
        return ax
    with style.style():
        figure, panels = plt.subplots(2, 1, figsize=SIZE)
    _panel(ds, panels[0], NORM, "modulus or norm of the step's Jacobian", artist)
    units = ds["abscissa_bound"].attrs["units"]
    whose = "step's Jacobian" if units == schema.ONE else f"flow's Jacobian ({units})"
    _panel(ds, panels[1], RATE, f"real part of the {whose}", artist)
    figure.suptitle("\n".join(textwrap.wrap(ds.attrs.get("verdict", ""), TITLE_WIDTH)), fontsize=8.5, x=0.01, ha="left")
    first: Axes = panels[0]
    return first


def _above(bound: float) -> float:
    """Four digits of a proved bound, rounded up: rounded down it would not be one."""
    if not np.isfinite(bound) or bound == 0:
        return bound
    unit = 10.0 ** (np.floor(np.log10(abs(bound))) - 3)
    return float(np.ceil(bound / unit) * unit)


def _panel(ds: xr.Dataset, ax: Axes, names: tuple[str, str, str, float], label: str, artist: dict[str, Any]) -> None:
    *rows, proved, border = names
    generator = np.random.default_rng(HEIGHTS)
    for height, (name, colour, marker) in enumerate(zip(rows, (style.BLUE, style.ORANGE), "os", strict=True)):
        values = ds[name].values
        heights = height + generator.uniform(-SPREAD, SPREAD, len(values))
        look: dict[str, Any] = {"s": 12, "color": colour, "marker": marker, "alpha": 0.6, "linewidths": 0}
        ax.scatter(values, heights, **(look | artist))
    bound = float(ds[proved])
    ax.axvline(bound, color=style.BLACK, lw=1.6)
    ax.set_ylim(-0.5, 2.1)
    side = "right" if bound >= border else "left"
    ax.annotate(f" proved ≤ {_above(bound):.4g} ", (bound, 1.75), ha=side, va="center", fontsize=8)
    if proved == "norm_bound" or ds[proved].attrs["units"] == schema.PER_SECOND:  # 0 is no border of a step's Re λ
        ax.axvline(border, color=style.GREY, ls="--", lw=1.0)
        other = "left" if bound >= border else "right"
        at = " 1: contracts below " if border else " 0: decays below "
        ax.annotate(at, (border, 1.42), ha=other, va="center", fontsize=8, color=style.GREY)
    ax.set_yticks([0, 1], [textwrap.fill(ds[name].attrs["long_name"], 18) for name in rows])
    ax.set_xlabel(label)
    ax.set_ylabel("sampled")
    ax.margins(x=0.12)
