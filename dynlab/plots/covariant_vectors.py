"""How close the unstable and the stable subspace come along an orbit, and how fast its neighbours grow and decay."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from dynlab import schema
from dynlab.numerics.arrays import Index
from dynlab.plots import style
from dynlab.wording import number

SIZE = (9.8, 3.9)  # inches
MOST_DRAWN = 6  # orbits whose angles are drawn
MOST_LABELLED = 10  # ticks
RANGE = (5, 95)  # percent of the local rates that a bar spans
MARKERS = "os^DvP"
SEEN = 0.5  # degrees: a smaller error has no bar to see
DIFFER = "difference between two starts"


def plot_covariant_vectors(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The smallest angle between the unstable and the stable subspace along each orbit, with its error.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.covariant_vectors`.
    ax : Axes, optional
        Where only that is drawn. Without it a figure is made that also shows the exponents with the local rates along
        the vectors, and shows these alone where no angle is known.
    **artist
        For the angles' markers.

    Returns
    -------
    Axes
        Of the angles, or of the exponents where these stand alone.
    """
    schema.check(ds, needs=("angle", "angle_error", "local_rate", "exponent", "determined", "smallest_angle"))
    if ax is None:
        angled = [(plot_covariant_vectors, artist)] if np.isfinite(ds["angle"]).any() else []
        return style.panels(ds, [*angled, (_draw_rates, {})], SIZE, "Covariant vectors")
    errors = np.degrees(ds["angle_error"].values)
    angles, lowest = np.degrees(ds["angle"].values), np.degrees(ds["smallest_angle"].values)
    known = np.flatnonzero(np.isfinite(angles).all(axis=1))
    time, every = ds[schema.TIME].values, number(_window(ds), 0)
    for place, sample in enumerate(known[:MOST_DRAWN]):
        colour = style.CYCLE[place]
        wrong = errors[sample] > SEEN
        bars: dict[str, Any] = {"color": colour, "lw": 0.9, "alpha": 0.7}
        if wrong.any():
            low, high = (np.clip(angles[sample] + sign * errors[sample], 0, 90)[wrong] for sign in (-1, 1))
            ax.vlines(time[wrong], low, high, label=DIFFER if place == 0 else "", **bars)
        look: dict[str, Any] = {"ls": "none", "ms": 3.5, "color": colour, "marker": MARKERS[place], "alpha": 0.7}
        few = f"sample {sample}" if len(angles) > 1 else f"at {number(len(time), 0)} of {every} steps"
        ax.plot(time, angles[sample], label=few, mew=0, **look | artist)
        star: dict[str, Any] = {"ms": 9, "color": colour, "mec": style.BLACK, "mew": 0.6}
        words = f"smallest of all {every} steps" if place == 0 else None
        ax.plot(ds["smallest_angle_time"].values[sample], lowest[sample], "*", label=words, **star)
    if len(known):
        style.legend_below(ax, 4, columnspacing=1.0)
    else:
        lost = not np.isfinite(ds["exponent"].values).any()
        undecided = "no exponent is certainly positive\nwhere another is certainly negative"
        style.say(ax, "no vector is known" if lost else undecided)
        ax.set_xlim(time[0], max(time[-1], time[0] + 1))
    ax.set(ylim=(-2, 92), yticks=range(0, 91, 15))
    ax.set(xlabel=style.label(ds[schema.TIME]), ylabel="smallest angle, unstable to stable (°)")
    return ax


def _draw_rates(ds: xr.Dataset, ax: Axes) -> None:
    """Of each vector the exponent, and the range of the local rates over the steps and samples that are kept."""
    rates, counts = ds["local_rate"].values, (ds["determined"].values == 1).sum(axis=0)
    mean = ds["exponent"].where(np.isfinite(ds["exponent"])).mean(schema.SAMPLE).values
    index = np.arange(1, len(mean) + 1)
    bar: dict[str, Any] = {"color": style.SKY, "lw": 5, "alpha": 0.6}
    for mode in np.flatnonzero(counts):
        low, high = np.nanpercentile(np.where(np.isfinite(rates[:, :, mode]), rates[:, :, mode], np.nan), RANGE)
        ax.vlines(index[mode], low, high, zorder=2, **bar)
    for which, words, look in _groups(counts, len(rates)):
        ax.plot(index[which], mean[which], ls="none", marker="o", ms=6.5, zorder=3, label=words, **look)
    unknown = int(np.isnan(mean).sum())
    if counts.any():
        ax.plot([], [], label=f"{RANGE[1] - RANGE[0]} % of the rates of single steps", **bar)
    ax.axhline(0, color=style.BLACK, lw=1, ls=":", zorder=1, label="above it small changes grow")
    ax.set(xlim=(0.4, max(np.flatnonzero(~np.isnan(mean)), default=0) + 1.6))
    named = "index i, of the exponent $\\Lambda_i$ and the covariant vector $v_i$"
    ax.set_xlabel(named + f"\n({unknown} of {len(index)} exponents are −∞, or not known)" * bool(unknown))
    ax.set_ylabel(f"exponent $\\Lambda_i$, or rate along $v_i$ ({ds['exponent'].attrs['units']})")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=MOST_LABELLED))
    style.legend_below(ax, 3, columnspacing=1.0)


def _groups(counts: Index, samples: int) -> Iterator[tuple[NDArray[np.bool_], str, dict[str, Any]]]:
    """The vectors that are determined in every sample, in some of them and in none: which, the words, their look."""
    mean = ", sample mean" * (samples > 1)
    name, some = f"$\\Lambda_i${mean}: vector", counts[(counts > 0) & (counts < samples)]
    few = "" if not some.size else f"{some.min()}" if some.min() == some.max() else f"{some.min()} to {some.max()}"
    full: dict[str, Any] = {"color": style.BLUE}
    part = full | {"fillstyle": "left", "markerfacecoloralt": "white"}
    empty: dict[str, Any] = {"color": "white", "markeredgecolor": style.GREY}
    everywhere = "both samples" if samples == 2 else f"all {samples} samples"
    for which, several, one, look in (
        (counts == samples, f"determined in {everywhere}", "determined at every step", full),
        ((counts > 0) & (counts < samples), f"determined in {few} of {samples} samples", "", part),
        (counts == 0, f"determined in none of {samples} samples", "not determined at every step", empty),
    ):
        if which.any():
            yield which, f"{name} {several if samples > 1 else one}", look


def _window(ds: xr.Dataset) -> int:
    """How many steps lie between the transients."""
    settings = schema.settings(ds)
    return int(settings["steps"] - settings["transient"] - settings["backward_transient"])
