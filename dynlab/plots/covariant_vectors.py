"""How close the unstable and the stable subspace come along an orbit, and how fast its neighbours grow and decay."""

import textwrap
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from dynlab import schema
from dynlab.plots import style

PANEL = (4.9, 3.9)  # inches
TITLE_WIDTH = 148  # characters over two panels
MOST_DRAWN = 6  # orbits whose angles are drawn
MOST_LABELLED = 10  # ticks
RANGE = (5, 95)  # percent of the local rates that a bar spans
MARKERS = "os^DvP"


def plot_covariant_vectors(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The smallest angle between the unstable and the stable subspace along each orbit.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.covariant_vectors`.
    ax : Axes, optional
        Where only that is drawn. Without it a figure is made that also shows the exponents with the local rates along
        the vectors, with the verdict above.
    **artist
        For the angles' markers.

    Returns
    -------
    Axes
        Of the angles.
    """
    schema.check(ds, needs=("angle", "local_rate", "exponent", "determined", "smallest_angle"))
    if ax is None:
        return _figure(ds, **artist)
    angles = np.degrees(ds["angle"].values)
    known = np.flatnonzero(np.isfinite(angles).all(axis=1))
    time = ds[schema.TIME].values
    for place, sample in enumerate(known[:MOST_DRAWN]):
        colour = style.CYCLE[place]
        look: dict[str, Any] = {
            "ls": "none",
            "ms": 3.5,
            "color": colour,
            "marker": MARKERS[place],
            "alpha": 0.7,
            "mew": 0,
        }
        few = f"sample {sample}" if len(angles) > 1 else "at the steps that are kept"
        ax.plot(time, angles[sample], label=few, **look | artist)
        lowest = float(np.degrees(ds["smallest_angle"].values[sample]))
        at = float(ds["smallest_angle_time"].values[sample])
        words = "smallest of all steps" if place == 0 else None
        ax.plot(
            at, lowest, marker="*", ms=9, color=colour, markeredgecolor=style.BLACK, mew=0.6, ls="none", label=words
        )
    if len(known) == 0:
        lost = not np.isfinite(ds["exponent"].values).any()
        words = (
            "no vector is known" if lost else "no exponent is certainly positive\nwhere another is certainly negative"
        )
        ax.text(0.5, 0.5, words, transform=ax.transAxes, ha="center", va="center", color=style.GREY)
        ax.set_xlim(time[0], max(time[-1], time[0] + 1))
    else:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=4, columnspacing=1.0)
    ax.set_ylim(-2, 92)
    ax.set_yticks([0, 15, 30, 45, 60, 75, 90])
    ax.set_xlabel(style.label(ds[schema.TIME]))
    ax.set_ylabel("smallest angle, unstable to stable (°)")
    return ax


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    with style.style():
        figure, (left, right) = plt.subplots(1, 2, figsize=(2 * PANEL[0], PANEL[1]))
        plot_covariant_vectors(ds, ax=left, **artist)
        _draw_rates(ds, right)
        text = f"{ds.attrs['system']}: {ds.attrs.get('verdict', '')}"
        figure.suptitle("\n".join(textwrap.wrap(text, TITLE_WIDTH)), x=0.01, ha="left", fontsize=8)
    axes: Axes = left
    return axes


def _draw_rates(ds: xr.Dataset, ax: Axes) -> None:
    """Of each vector the exponent, and the range of the local rates over the steps and samples that are kept."""
    exponent, rates = ds["exponent"].values, ds["local_rate"].values
    determined = (ds["determined"].values == 1).any(axis=0)
    index = np.arange(1, exponent.shape[1] + 1)
    for mode in np.flatnonzero(determined):
        known = rates[:, :, mode][np.isfinite(rates[:, :, mode])]
        low, high = np.percentile(known, RANGE)
        ax.vlines(index[mode], low, high, color=style.SKY, lw=5, alpha=0.6, zorder=2)
    finite = np.isfinite(exponent)
    mean = np.where(
        finite.any(axis=0), np.where(finite, exponent, 0).sum(axis=0) / np.maximum(finite.sum(axis=0), 1), np.nan
    )
    some: dict[str, Any] = {"ls": "none", "marker": "o", "ms": 5, "zorder": 3}
    if determined.any():
        ax.plot(index[determined], mean[determined], color=style.BLUE, label="$\\lambda_i$, vector determined", **some)
    if not determined.all():
        hollow = {"color": "white", "markeredgecolor": style.GREY, "label": "$\\lambda_i$, vector not determined"}
        ax.plot(index[~determined], mean[~determined], **some | hollow)
    unknown = int(np.isnan(mean).sum())
    if unknown:
        ax.plot([], [], ls="none", label=f"{unknown} of {len(index)}: −∞, or not known")
    if determined.any():
        ax.plot([], [], color=style.SKY, lw=5, alpha=0.6, label=f"{RANGE[1] - RANGE[0]} % of the local rates")
    ax.axhline(0, color=style.BLACK, lw=1, ls=":", zorder=1)
    ax.set_xlim(0.4, max(np.flatnonzero(~np.isnan(mean)), default=0) + 1.6)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=MOST_LABELLED))
    ax.set_xlabel("index i")
    ax.set_ylabel(f"growth along $v_i$ ({ds['exponent'].attrs['units']})")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, columnspacing=1.0)
