"""The angle between unstable and stable subspace along an orbit, and the rates of growth and decay."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import layout, style
from dynlab.words import counted

MOST_DRAWN = 6  # orbits whose angles are drawn
RANGE = (5, 95)  # percent of the local rates that a bar spans
MARKERS = "os^DvP"
SEEN = 0.5  # degrees: a smaller error has no bar to see


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    angled = [(plot_covariant_vectors, artist)] if np.isfinite(ds["angle"]).any() else []
    return layout.panels(ds, [*angled, (_draw_rates, {})], (9.8, 3.9), "Covariant vectors")


@layout.picture(
    needs=("angle", "angle_error", "local_rate", "exponent", "determined", "smallest_angle"), figure=_figure
)
def plot_covariant_vectors(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw the smallest angle between the unstable and the stable subspace along each orbit, with its error.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.covariant_vectors`.
    ax : Axes, optional
        Axes for that alone. Without it a figure is made that also shows the exponents with the local rates along
        the vectors, and shows these alone where no angle is known.
    **artist
        For the angles' markers.

    Returns
    -------
    Axes
        The panel of the angles, or of the exponents if these stand alone.
    """
    angles, errors, lowest = (np.degrees(ds[name].values) for name in ("angle", "angle_error", "smallest_angle"))
    known = np.flatnonzero(np.isfinite(angles).all(axis=1))[:MOST_DRAWN]
    time = ds[schema.TIME].values
    for place, sample in enumerate(known):
        colour, wrong = style.CYCLE[place], errors[sample] > SEEN
        low, high = (np.clip(angles[sample] + sign * errors[sample], 0, 90)[wrong] for sign in (-1, 1))
        ax.vlines(time[wrong], low, high, color=colour, lw=0.9, alpha=0.7)
        ax.plot(
            time,
            angles[sample],
            label=f"sample {sample}",
            mew=0,
            **{"ls": "none", "ms": 3.5, "color": colour, "marker": MARKERS[place], "alpha": 0.7, **artist},
        )
        ax.plot(
            ds["smallest_angle_time"].values[sample],
            lowest[sample],
            "*",
            label=None if place else "smallest of all steps",
            ms=9,
            color=colour,
            mec=style.BLACK,
            mew=0.6,
        )
    if not len(known):
        style.say(ax, "no angle is known")
    ax.set(
        ylim=(-2, 92),
        yticks=range(0, 91, 15),
        title="Smallest angle, with its error",
        xlabel=style.label(ds[schema.TIME]),
        ylabel="unstable to stable (°)",
    )


def _draw_rates(ds: xr.Dataset, ax: Axes) -> None:
    """Draw each vector's exponent and the range of its local rates over the steps and samples that are kept."""
    rates, counts = ds["local_rate"].values, (ds["determined"].values == 1).sum(axis=0)
    samples, mean = len(rates), ds["exponent"].where(np.isfinite(ds["exponent"])).mean(schema.SAMPLE).values
    index = np.arange(1, len(mean) + 1)
    bar: dict[str, Any] = {"color": style.SKY, "lw": 5, "alpha": 0.6}
    low, high = style.quantiles(rates.reshape(-1, len(mean)), [end / 100 for end in RANGE])
    ax.vlines(index, low, high, zorder=2, **bar)
    half: dict[str, Any] = {"color": style.BLUE, "fillstyle": "left", "markerfacecoloralt": style.GROUND}
    for which, words, look in (
        (counts == samples, f"determined in {counted(samples, 'sample')}", {"color": style.BLUE}),
        ((counts > 0) & (counts < samples), "in some samples", half),
        (counts == 0, "vector not determined", {"mfc": style.GROUND, "mec": style.GREY}),
    ):
        if which.any():
            ax.plot(index[which], mean[which], ls="none", marker="o", ms=6.5, zorder=3, label=words, **look)
    if counts.any():
        ax.plot([], [], label=f"{RANGE[1] - RANGE[0]} % of the rates of single steps", **bar)
    ax.axhline(0, color=style.BLACK, lw=1, ls=":", zorder=1)
    unknown = int(np.isnan(mean).sum())
    ax.set(
        xlim=(0.4, max(np.flatnonzero(~np.isnan(mean)), default=0) + 1.6),
        xlabel="index i",
        ylabel=f"exponent $\\Lambda_i$, or rate ({ds['exponent'].attrs['units']})",
        title="Exponents and rates" + f"; {unknown} of {len(mean)} −∞ or unknown" * bool(unknown),
    )
    style.whole(ax.xaxis, nbins=10)
