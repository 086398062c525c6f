"""Lyapunov exponents with their errors, and how they settled over time."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from dynlab import schema
from dynlab.numerics.statistics import WRONG
from dynlab.plots import style
from dynlab.plots.attractor import plot_attractor
from dynlab.wording import percent, subscript

SIZE = (9.8, 4.4)  # inches
FOLLOWED = 4  # running estimates are drawn of so many exponents at most
LINES = ("-", "--", "-.", ":")
BESIDE, MANY = 0.25, 40  # from an error bar to the samples' dots, and so many bars are thin
# The first exponents have a close-up where they take less than this part of the axis, and the gap below them more.
SQUEEZED, GAP = 0.15, 0.6
STRIP = 0.1  # of the axes' height: for the marks of exponents that are −∞ or not known
ROOM = 0.14  # of the axes' height: around the close-up, for its numbers

Numbers = NDArray[np.float64]


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
    shown, error = np.where(np.isfinite(mean), mean, np.nan), np.where(np.isfinite(error), error, 0)
    _draw_exponents(ax, values, shown, error, **artist)
    gone = np.asarray(np.isneginf(values))
    drawn = np.flatnonzero(np.isfinite(values).any(axis=0))
    if not len(drawn):
        style.say(ax, "−∞" if gone.all() else "none is known")
    # of those that are nowhere finite the first has its mark
    last = min(int(max(drawn, default=0)) + 2, values.shape[1])
    if len(drawn):
        _make_strip(ax, bool(gone[:, :last].any() or np.isnan(shown[:last]).any()))
    _mark_missing(ax, gone, np.isnan(shown) & ~gone.any(axis=0), last)
    ax.set(xlim=(0.4 - last / 100, last + 0.6), xlabel="index i", ylabel=_label(ds[name]), title="Final estimates")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    if count := _squeezed(shown - error, shown + error):
        inset = _close_up(ax, shown - error, shown + error, count)
        _draw_exponents(inset, values[:, :count], shown[:count], error[:count], **artist)
        inset.set_xlim(0.4, count + 0.6)
        inset.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    style.legend_below(ax, 2)  # no marker beside the data
    return ax


def _draw_exponents(ax: Axes, values: Numbers, mean: Numbers, error: Numbers, **artist: Any) -> None:
    """Means with error bars, and right of each those of the samples (sample, mode)."""
    index = np.arange(1, len(mean) + 1)
    label = "exponent and its error"
    if len(values) > 1:
        label = f"mean, {percent(1 - WRONG, 1)} interval"
        grey: dict[str, Any] = {"ls": "none", "marker": ".", "color": style.GREY}
        ax.plot([], [], ms=4, label=f"each of {len(values)} samples", **grey)
        ax.plot(index + BESIDE, values.T, ms=3, alpha=0.5, zorder=2, **grey)
    look: dict[str, Any] = {"fmt": "o", "ms": 4, "capsize": 2.5, "color": style.BLUE, "zorder": 3}
    look |= {"ms": 3, "capsize": 0, "elinewidth": 0.8} if len(mean) > MANY else {}
    ax.errorbar(index, mean, yerr=error, label=label, **look | artist)
    ax.axhline(0, color=style.BLACK, lw=1, ls=":", zorder=1)


def _squeezed(low: Numbers, high: Numbers) -> int:
    """How many of the first are squeezed together, with 0, by those far below them: 0 where there is no wide gap."""
    if not (np.isfinite(low) & np.isfinite(high)).all():
        return 0
    whole = high.max(initial=0.0) - low.min(initial=0.0)
    for count in range(1, len(low)):
        top, bottom = _reach(low[:count], high[:count])
        if top - bottom < SQUEEZED * whole and bottom - high[count:].max() > GAP * whole:
            return count
    return 0


def _reach(low: Numbers, high: Numbers) -> tuple[float, float]:
    """Of the axis that shows these and 0: its upper and its lower end."""
    return float(high.max(initial=0.0)), float(low.min(initial=0.0))


def _close_up(ax: Axes, low: Numbers, high: Numbers, count: int) -> Axes:
    """Empty axes, in the gap below the first `count`, for these on a larger scale."""
    top, bottom = _reach(low[:count], high[:count])
    start, end = ax.get_ylim()
    below, above = ((each - start) / (end - start) for each in (float(high[count:].max()), bottom))
    inset = ax.inset_axes((0.25, below + ROOM, 0.7, above - below - 1.5 * ROOM))
    pad = 0.1 * (top - bottom)
    inset.set(ylim=(bottom - pad, top + pad), title="close-up")
    inset.yaxis.set_major_locator(MaxNLocator(4))
    return inset


def _make_strip(ax: Axes, needed: bool) -> None:
    """Room below the numbers for the marks of what is none: a shaded strip without ticks."""
    if needed:
        low, high = ax.get_ylim()
        ticks = ax.get_yticks()
        ax.set_yticks(ticks[(ticks >= low) & (ticks <= high)])
        ax.set_ylim(low - STRIP / (1 - STRIP) * (high - low), high)
        ax.add_patch(Rectangle((0, 0), 1, STRIP, transform=ax.transAxes, color=style.SHADED, lw=0, zorder=0))


def _mark_missing(ax: Axes, gone: np.ndarray, unknown: np.ndarray, last: int) -> None:
    """A mark below the numbers for each exponent up to the last that is −∞ (sample, mode) or not known."""
    marks: dict[str, Any] = {"ls": "none", "color": style.GREY, "ms": 6, "clip_on": False, "zorder": 4}
    some, every = np.asarray(gone.any(axis=0)), np.asarray(gone.all(axis=0))
    for which, words, look in (
        (some & ~every, "−∞ for some samples", {"marker": "v", "mfc": "white"}),
        (every, "−∞, a Jacobian is singular", {"marker": "v"}),
        (unknown, "not known", {"marker": "x"}),
    ):
        if which.any():
            index = np.flatnonzero(which) + 1
            at = index[index <= last]
            label = f"{len(index)} of {len(which)}: {words}"
            if len(at) < len(index) == index[-1] - index[0] + 1:  # the mark of the first stands for all
                label = f"i = {index[0]} to {index[-1]}: {words}"
            ax.plot(at, np.full(len(at), STRIP / 2), transform=ax.get_xaxis_transform(), label=label, **marks | look)


def _draw_running(ds: xr.Dataset, ax: Axes) -> None:
    """The running estimates of the first exponents: means over samples, and the range of the first."""
    running = ds["running_exponent"].transpose(schema.SAMPLE, schema.TIME, schema.MODE).values
    running = np.where(np.isfinite(running), running, np.nan)
    time = ds[schema.TIME].values
    gone = np.asarray(np.isneginf(ds[_name(ds)].values).any(axis=0))  # without a mean
    drawn = [mode for mode in range(min(FOLLOWED, running.shape[2])) if not gone[mode]]
    count = sum(_draw_estimate(ax, time, running[:, :, mode], mode) for mode in drawn)
    ax.axhline(0, color=style.BLACK, lw=1, ls=":", zorder=1)
    ax.set(xlabel=style.label(ds[schema.TIME]), ylabel=_label(ds["running_exponent"]))
    which = f"Running estimates of Λ₁ to Λ{subscript(count)}" if 1 < count < running.shape[2] else "Running estimates"
    ax.set_title(which + (", means of samples" if len(running) > 1 else ""))
    low, high = (each(running[:, :, drawn], axis=(0, 1)) for each in (np.min, np.max))
    if squeezed := _squeezed(low, high):
        inset = _close_up(ax, low, high, squeezed)
        for mode in drawn[:squeezed]:
            _draw_estimate(inset, time, running[:, :, mode], mode)
        inset.axhline(0, color=style.BLACK, lw=1, ls=":", zorder=1)
    if ax.get_legend_handles_labels()[0]:
        style.legend_below(ax, FOLLOWED + 1)
    else:
        style.say(ax, "none is known")


def _draw_estimate(ax: Axes, time: Numbers, running: Numbers, mode: int) -> bool:
    """The line of one exponent's estimates (sample, time), and of the first their range; whether any is known."""
    known = ~np.isnan(running).all(axis=0)
    if not known.any():
        return False
    values, colour = running[:, known], style.CYCLE[mode]
    look: dict[str, Any] = {"color": colour, "ls": LINES[mode], "label": f"$\\Lambda_{{{mode + 1}}}$"}
    if known.sum() == 1:  # a line of one point would not show
        look |= {"marker": "o", "ms": 4}
    ax.plot(time[known], np.nanmean(values, axis=0), **look)
    if mode == 0 and len(values) > 1:
        band = f"range of $\\Lambda_1$ over {len(values)} samples"
        low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
        ax.fill_between(time[known], low, high, color=colour, alpha=0.15, lw=0, label=band)
    return True


def _name(ds: xr.Dataset) -> str:
    """Of the variable with the exponents."""
    return "finite_time_exponent" if "finite_time_exponent" in ds else "exponent"


def _label(array: xr.DataArray) -> str:
    """The axis's label, Λ_i set as mathematics."""
    return style.label(array).replace("Λ_i", "$\\Lambda_i$")
