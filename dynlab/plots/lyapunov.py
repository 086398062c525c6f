"""Lyapunov exponents with their errors, and how they settled over time."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from dynlab import schema
from dynlab.plots import style
from dynlab.plots.attractor import plot_attractor
from dynlab.wording import subscript

SIZE = (9.8, 3.9)  # inches
FOLLOWED = 4  # running estimates are drawn of so many exponents at most
LINES = ("-", "--", "-.", ":")


def plot_lyapunov(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The exponents by their index, with error bars.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.lyapunov`.
    ax : Axes, optional
        Where only the exponents are drawn. Without it a figure is made that also shows the running estimates, with the
        verdict above.
    **artist
        For the points and their error bars.

    Returns
    -------
    Axes
        Of the exponents: of one sample with its errors, of several their mean with the error of the mean, and each
        sample's in grey.
    """
    name = _name(ds)
    schema.check(ds, needs=[name, "mean_exponent", "mean_exponent_error", "running_exponent"])
    if ax is None:
        panels: list[style.Panel] = [(plot_lyapunov, artist), (_draw_running, {})]
        if "visited" in ds and (ds["visited"] != ds["visited"][0]).any():  # one state makes no picture
            panels.append((plot_attractor, {}))
        return style.panels(ds, panels, (SIZE[0], SIZE[1] * (len(panels) - 1)), "Lyapunov exponents")
    values, mean, error = (ds[each].values for each in (name, "mean_exponent", "mean_exponent_error"))
    index = np.arange(1, values.shape[1] + 1)
    label = "exponent and its error"
    if len(values) > 1:
        label = "mean and its error"
        ax.plot([], [], ls="none", marker=".", color=style.GREY, ms=4, label=f"each of {len(values)} samples")
        ax.plot(index, values.T, ls="none", marker=".", color=style.GREY, ms=3, alpha=0.5, zorder=2)
    look: dict[str, Any] = {"fmt": "o", "ms": 4, "capsize": 2.5, "color": style.BLUE, "zorder": 3} | artist
    shown = np.where(np.isfinite(mean), mean, np.nan)
    ax.errorbar(index, shown, yerr=np.where(np.isfinite(error), error, 0), label=label, **look)
    gone = np.asarray(np.isneginf(values))
    ax.axhline(0, color=style.BLACK, lw=1, ls=":", zorder=1)
    drawn = np.flatnonzero(np.isfinite(values).any(axis=0))
    if not len(drawn):
        style.say(ax, "−∞" if gone.all() else "none is known")
    last = min(int(max(drawn, default=0)) + 2, len(index))  # of those that are nowhere finite the first has its mark
    _mark_missing(ax, gone, np.isnan(shown) & ~gone.any(axis=0), last)
    ax.set(xlim=(0.4, last + 0.6), xlabel="index i", ylabel=_label(ds[name]))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    style.legend_below(ax, 2)  # no marker beside the data
    return ax


def _mark_missing(ax: Axes, gone: np.ndarray, unknown: np.ndarray, last: int) -> None:
    """A mark on the lower edge for each of the exponents up to the last that is −∞ (sample, mode) or not known."""
    marks: dict[str, Any] = {"ls": "none", "color": style.GREY, "ms": 6, "clip_on": False, "zorder": 4}
    some, every = np.asarray(gone.any(axis=0)), np.asarray(gone.all(axis=0))
    for which, words, look in (
        (some & ~every, "−∞ for some samples", {"marker": "v", "mfc": "white"}),
        (every, "−∞, a Jacobian is singular", {"marker": "v"}),
        (unknown, "not known", {"marker": "x"}),
    ):
        if which.any():
            label = f"{which.sum()} of {len(which)}: {words}"
            at = np.flatnonzero(which[:last]) + 1
            ax.plot(at, np.zeros(len(at)), transform=ax.get_xaxis_transform(), label=label, **marks | look)


def _draw_running(ds: xr.Dataset, ax: Axes) -> None:
    """The running estimates of the first exponents: means over samples, and the range of the first."""
    running = ds["running_exponent"].transpose(schema.SAMPLE, schema.TIME, schema.MODE).values
    running = np.where(np.isfinite(running), running, np.nan)
    time = ds[schema.TIME].values
    followed, count = min(FOLLOWED, running.shape[2]), 0
    gone = np.asarray(np.isneginf(ds[_name(ds)].values).any(axis=0))  # without a mean
    for mode in range(followed):
        known = ~np.isnan(running[:, :, mode]).all(axis=0)
        if not known.any() or gone[mode]:
            continue
        count += 1
        values, colour = running[:, known, mode], style.CYCLE[mode]
        look: dict[str, Any] = {"color": colour, "ls": LINES[mode], "label": f"$\\Lambda_{{{mode + 1}}}$"}
        if known.sum() == 1:  # a line of one point would not show
            look |= {"marker": "o", "ms": 4}
        ax.plot(time[known], np.nanmean(values, axis=0), **look)
        if mode == 0 and len(values) > 1:
            band = f"$\\Lambda_1$ of {len(values)} samples"
            low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
            ax.fill_between(time[known], low, high, color=colour, alpha=0.15, lw=0, label=band)
    ax.axhline(0, color=style.BLACK, lw=1, ls=":", zorder=1)
    ax.set(xlabel=style.label(ds[schema.TIME]), ylabel=_label(ds["running_exponent"]))
    which = f"Running estimates of Λ₁ to Λ{subscript(count)}" if 1 < count < running.shape[2] else "Running estimates"
    ax.set_title(which + (", means of samples" if len(running) > 1 else ""))
    if ax.get_legend_handles_labels()[0]:
        style.legend_below(ax, FOLLOWED + 1)
    else:
        style.say(ax, "none is known")


def _name(ds: xr.Dataset) -> str:
    """Of the variable with the exponents."""
    return "finite_time_exponent" if "finite_time_exponent" in ds else "exponent"


def _label(array: xr.DataArray) -> str:
    """The axis's label, Λ_i set as mathematics."""
    return style.label(array).replace("Λ_i", "$\\Lambda_i$")
