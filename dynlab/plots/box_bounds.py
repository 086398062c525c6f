"""Proved bounds over a box of states, and what sampled states show below them."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import layout, style
from dynlab.words import at_most, number

HEIGHTS = 20  # the seed of heights that keep dots apart: another than that of the states that the dots are of
FAR = 2.0  # times what is sampled: a bound farther off is an arrow
SPREAD = 0.22  # half the height of a row of dots
# (sampled of the norm, sampled of the eigenvalues, proved bound)
NORM = ("sampled_norm", "sampled_spectral_radius", "norm_bound")
RATE = ("sampled_logarithmic_norm", "sampled_abscissa", "abscissa_bound")


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    return layout.panels(
        ds, [(plot_box_bounds, artist), (_draw_rates, artist)], (7.6, 5.8), "Bounds over a box", below=True
    )


@layout.picture(needs=[*NORM, *RATE, "box_lower", "box_upper"], figure=_figure)
def plot_box_bounds(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw the common norm and the spectral radius at sampled states, the proved bound, and the border of contraction.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.box_bounds`.
    ax : Axes, optional
        Axes for the norm alone. Without it a figure is made that also shows real parts, with the verdict below.
    **artist
        For the dots.

    Returns
    -------
    Axes
        The panel of the norm.
    """
    _draw_panel(ds, ax, NORM, 1.0, "contracts below 1", **artist)
    ax.set(xlabel="modulus or norm of the step's Jacobian", title="Norm and spectral radius")


def _draw_rates(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Real parts and logarithmic norms: of a flow, which decays below 0, or of a step, which has one fixed point."""
    units = ds["abscissa_bound"].attrs["units"]
    border, words, whose = (
        (1.0, "one fixed point at most below 1", "the step's")
        if units == schema.ONE
        else (0.0, "decays below 0", f"the flow's ({units})")
    )
    _draw_panel(ds, ax, RATE, border, words, **artist)
    ax.set(xlabel=f"real part or logarithmic norm, {whose}", title="Logarithmic norm and real part")


def _draw_panel(ds: xr.Dataset, ax: Axes, names: tuple[str, ...], border: float, words: str, **artist: Any) -> None:
    *rows, proved = names
    generator = np.random.default_rng(HEIGHTS)
    for height, (name, colour, marker) in enumerate(zip(rows, (style.BLUE, style.ORANGE), "os", strict=True)):
        ax.scatter(
            ds[name],
            height + generator.uniform(-SPREAD, SPREAD, ds[name].size),
            label=ds[name].attrs["long_name"],
            **{"s": 12, "color": colour, "marker": marker, "alpha": 0.6, "linewidths": 0, **artist},
        )
    ax.set(ylim=(-0.5, 2.1), yticks=[], ylabel="sampled states")
    ax.axvline(border, color=style.GREY, ls="--", lw=1.0, label=words)
    bound, (low, high) = float(ds[proved]), ax.dataLim.intervalx
    word = f"proved ≤ {at_most(bound) if np.isfinite(bound) else number(bound)}"
    if bound - high > FAR * (high - low) or np.isinf(bound):  # an arrow, so that the dots keep their room
        ax.annotate(
            f"{word}, off the scale",
            (1.0, 0.9),
            (0.9, 0.9),
            arrowprops={"arrowstyle": "->", "color": style.BLUE, "lw": 1.6},
            xycoords=ax.transAxes,
            ha="right",
            va="center",
            color=style.BLUE,
        )
    else:
        ax.axvline(bound, color=style.BLUE, lw=1.6, label=word)
    ax.margins(x=0.08)
