"""Lyapunov exponents with their errors, and how they settled over time."""

import textwrap
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from dynlab import schema
from dynlab.plots import style

PANEL = (4.9, 3.9)  # inches
TITLE_WIDTH = 165  # characters over two panels
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
    name = "finite_time_exponent" if "finite_time_exponent" in ds else "exponent"
    schema.check(ds, needs=[name, "mean_exponent", "mean_exponent_error", "running_exponent"])
    if ax is None:
        return _figure(ds, name, **artist)
    values, mean, error = (ds[each].values for each in (name, "mean_exponent", "mean_exponent_error"))
    index = np.arange(1, values.shape[1] + 1)
    several = len(values) > 1
    if several:
        ax.plot([], [], ls="none", marker=".", color=style.GREY, ms=4, label=f"each of {len(values)} samples")
        ax.plot(index, values.T, ls="none", marker=".", color=style.GREY, ms=3, alpha=0.5, zorder=2)
    look: dict[str, Any] = {"fmt": "o", "ms": 4, "capsize": 2.5, "color": style.BLUE, "zorder": 3} | artist
    shown = np.where(np.isfinite(mean), mean, np.nan)
    label = "mean and its error" if several else "exponent and its error"
    ax.errorbar(index, shown, yerr=np.where(np.isfinite(error), error, 0), label=label, **look)
    all_gone = np.isneginf(values).all(axis=0)
    some_gone = np.isneginf(values).any(axis=0) & ~all_gone
    rest = np.isnan(shown) & ~all_gone & ~some_gone
    for which, words in (
        (some_gone, "−∞ for some samples"),
        (all_gone, "−∞, a Jacobian is singular"),
        (rest, "not known"),
    ):
        if which.any():
            ax.plot([], [], ls="none", label=f"{which.sum()} of {len(index)}: {words}")
    (drawn,) = np.nonzero(np.isfinite(values).any(axis=0))
    ax.axhline(0, color=style.BLACK, lw=1, ls=":", zorder=1)
    ax.set_xlim(0.4, max(drawn, default=0) + 1.6)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlabel("index i")
    ax.set_ylabel(_label(ds[name]))
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, columnspacing=1.2)  # no marker beside the data
    return ax


def _figure(ds: xr.Dataset, name: str, **artist: Any) -> Axes:
    with style.style():
        figure, (left, right) = plt.subplots(1, 2, figsize=(2 * PANEL[0], PANEL[1]))
        plot_lyapunov(ds, ax=left, **artist)
        _draw_running(ds, right)
        text = f"{ds.attrs['system']}: {ds.attrs.get('verdict', '')}"
        figure.suptitle("\n".join(textwrap.wrap(text, TITLE_WIDTH)), x=0.01, ha="left", fontsize=8)
    axes: Axes = left
    return axes


def _draw_running(ds: xr.Dataset, ax: Axes) -> None:
    """The running estimates of the largest exponents: means over samples, and the range of the largest."""
    running = ds["running_exponent"].transpose(schema.SAMPLE, schema.TIME, schema.MODE).values
    time = ds[schema.TIME].values
    followed = min(FOLLOWED, running.shape[2])
    for mode in range(followed):
        values = np.where(np.isfinite(running[:, :, mode]), running[:, :, mode], np.nan)
        known = ~np.isnan(values).all(axis=0)
        if not known.any():
            continue
        colour = style.CYCLE[mode % len(style.CYCLE)]
        look: dict[str, Any] = {"color": colour, "ls": LINES[mode], "label": f"$\\lambda_{{{mode + 1}}}$"}
        if known.sum() == 1:  # a line of one point would not show
            look |= {"marker": "o", "ms": 4}
        ax.plot(time[known], _mean(values[:, known]), **look)
        if mode == 0 and len(values) > 1:
            low, high = np.nanmin(values[:, known], axis=0), np.nanmax(values[:, known], axis=0)
            band = f"$\\lambda_1$ of {len(values)} samples"
            ax.fill_between(time[known], low, high, color=colour, alpha=0.15, lw=0, label=band)
    ax.axhline(0, color=style.BLACK, lw=1, ls=":", zorder=1)
    ax.set_xlabel(style.label(ds[schema.TIME]))
    ax.set_ylabel(_label(ds["running_exponent"]))
    which = "Running estimates" if followed == running.shape[2] else f"Running estimates of the {followed} largest"
    ax.set_title(which + (", means of samples" if len(running) > 1 else ""))
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=FOLLOWED + 1, columnspacing=1.2)
    else:
        ax.text(0.5, 0.5, "none is known", transform=ax.transAxes, ha="center", va="center", color=style.GREY)


def _label(array: xr.DataArray) -> str:
    """The axis's label, λ_i set as mathematics."""
    return style.label(array).replace("λ_i", "$\\lambda_i$")


def _mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean over the samples that are known; NaN where none is."""
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    return np.where(count > 0, np.where(known, values, 0).sum(axis=0) / np.maximum(count, 1), np.nan)
