"""Lyapunov exponents with their errors, how they settled over time, and the attractor that they are of."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from numpy.typing import NDArray

from dynlab import schema
from dynlab.numerics.statistics import WRONG
from dynlab.plots import layout, style
from dynlab.words import percent

SIZE = (9.8, 4.4)  # inches
FOLLOWED = 4  # running estimates are drawn of so many exponents at most
LINES = ("-", "--", "-.", ":")
BESIDE, MANY = 0.25, 40  # from an error bar to the samples' dots, and so many bars are thin
# Where the first exponents take less than this part of the axis, and a gap below them more, the axis is logarithmic
# beyond the first ones.
SQUEEZED, GAP = 0.15, 0.6
COBWEB = 40  # the last steps of an orbit, which are drawn as stairs
FEW = 100  # states, which are drawn larger
STRIP = 0.03  # of the axes' height: the place of marks for exponents that are −∞ or not known

Numbers = NDArray[np.float64]


def _figure(ds: xr.Dataset, **artist: Any) -> Axes:
    moves = "visited" in ds and bool((ds["visited"] != ds["visited"][0]).any())  # one state makes no picture
    panels: list[layout.Panel] = [(plot_lyapunov, artist), (_draw_running, {}), (plot_attractor, {})]
    return layout.panels(ds, panels[: 2 + moves], (SIZE[0], SIZE[1] * (1 + moves)), "Lyapunov exponents")


@layout.picture(
    needs=("mean_exponent", "mean_exponent_error", "running_exponent"), figure=_figure
)  # no marker beside the data
def plot_lyapunov(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw the exponents by their index, with error bars.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.lyapunov`.
    ax : Axes, optional
        Axes for the exponents alone. Without it a figure is made that also shows the running estimates, and the
        attractor of an orbit that nothing drives, with the verdict below.
    **artist
        For the points and their error bars.

    Returns
    -------
    Axes
        Of the exponents: of one sample with its errors, of several their mean with the error of the mean, and each
        sample's in grey.
    """
    name = "finite_time_exponent" if "finite_time_exponent" in ds else "exponent"
    values, mean, error = (ds[each].values for each in (name, "mean_exponent", "mean_exponent_error"))
    shown, error = np.where(np.isfinite(mean), mean, np.nan), np.where(np.isfinite(error), error, 0)
    gone, index = np.asarray(np.isneginf(values)), np.arange(1, len(mean) + 1)
    last = min(int(max(np.flatnonzero(np.isfinite(values).any(axis=0)), default=0)) + 2, len(mean))
    label = "exponent and its error" if len(values) == 1 else f"mean, {percent(1 - WRONG, 1)} interval"
    if len(values) > 1:
        ax.plot(
            index + BESIDE,
            np.where(np.isfinite(values), values, np.nan).T,
            label=[f"each of {len(values)} samples"] + [None] * (len(values) - 1),
            ls="none",
            marker=".",
            color=style.GREY,
            ms=3,
            alpha=0.5,
        )
    look: dict[str, Any] = {"fmt": "o", "ms": 4, "capsize": 2.5, "color": style.BLUE, "zorder": 3}
    look |= {"ms": 3, "capsize": 0, "elinewidth": 0.8} if len(mean) > MANY else {}
    ax.errorbar(index, shown, yerr=error, label=label, **look | artist)
    _set_scale(ax, shown - error, shown + error)
    _mark_missing(ax, gone, np.isnan(shown) & ~gone.any(axis=0), last)
    ax.set(xlim=(0.4 - last / 100, last + 0.6), xlabel="index i", ylabel=style.label(ds[name]), title="Final estimates")
    style.whole(ax.xaxis, min_n_ticks=1)


def _set_scale(ax: Axes, low: Numbers, high: Numbers) -> None:
    """A line at 0, and a logarithmic scale beyond the first exponents where a wide gap squeezes these together."""
    ax.axhline(0, color=style.BLACK, lw=1, ls=":", zorder=1)
    if not (np.isfinite(low) & np.isfinite(high)).all():
        return
    whole = high.max(initial=0.0) - low.min(initial=0.0)
    for count in range(1, len(low)):
        top, bottom = high[:count].max(initial=0.0), low[:count].min(initial=0.0)
        if top - bottom < SQUEEZED * whole and bottom - high[count:].max() > GAP * whole:
            ax.set_yscale("symlog", linthresh=max(1.2 * max(top, -bottom), SQUEEZED * whole / 10))
            ax.set_ylim(bottom=1.5 * low.min())
            return


def _mark_missing(ax: Axes, gone: np.ndarray, unknown: np.ndarray, last: int) -> None:
    """A mark at the bottom for each exponent up to the last that is −∞ (sample, mode) or not known."""
    marks: dict[str, Any] = {"ls": "none", "color": style.GREY, "ms": 6, "clip_on": False, "zorder": 4}
    some, every = np.asarray(gone.any(axis=0)), np.asarray(gone.all(axis=0))
    for which, words, look in (
        (some & ~every, "−∞ for some samples", {"marker": "v", "mfc": style.GROUND}),
        (every, "−∞, a Jacobian is singular", {"marker": "v"}),
        (unknown, "not known", {"marker": "x"}),
    ):
        if which.any():
            at = np.flatnonzero(which[:last]) + 1
            label = f"{which.sum()} of {len(which)}: {words}"
            ax.plot(at, np.full(len(at), STRIP), transform=ax.get_xaxis_transform(), label=label, **marks | look)


def _draw_running(ds: xr.Dataset, ax: Axes) -> None:
    """The running estimates of the first exponents: means over samples, and the range of the first."""
    running = ds["running_exponent"].transpose(schema.SAMPLE, schema.TIME, schema.MODE).values
    time, ends = ds[schema.TIME].values, ds["mean_exponent"].values[:FOLLOWED]
    followed = [mode for mode, end in enumerate(ends) if np.isfinite(end) or not np.isneginf(running[..., mode]).any()]
    for mode in followed:
        values = np.where(np.isfinite(running[:, :, mode]), running[:, :, mode], np.nan)
        known = ~np.isnan(values).all(axis=0)
        ax.plot(
            time[known],
            np.nanmean(values[:, known], axis=0),
            label=f"$\\Lambda_{{{mode + 1}}}$",
            color=style.CYCLE[mode],
            ls=LINES[mode],
            marker="o" if len(time) == 1 else None,
        )
        if mode == 0 and len(values) > 1 and known.any():
            low, high = np.nanmin(values[:, known], axis=0), np.nanmax(values[:, known], axis=0)
            band = f"range of $\\Lambda_1$ over {len(values)} samples"
            ax.fill_between(time[known], low, high, color=style.CYCLE[0], alpha=0.15, lw=0, label=band)
    if followed:
        drawn = running[:, :, followed]
        _set_scale(ax, drawn.min(axis=(0, 1)), drawn.max(axis=(0, 1)))
    else:
        style.say(ax, "none is known")
    ax.set(xlabel=style.label(ds[schema.TIME]), ylabel=style.label(ds["running_exponent"]), title="Running estimates")


@layout.picture("Attractor", (5.4, 4.6), needs=["visited"])
def plot_attractor(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw the states that an orbit visits: of two on their plane, of three by the first and the last.

    Of one state each is drawn over the one before it, with the diagonal and the last steps as stairs between the two.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.lyapunov`, of a system with one to three states that nothing drives.
    ax : Axes, optional
    **artist
        For the states.
    """
    visited = ds["visited"].values
    is_flow = ds[schema.TIME].attrs["units"] == schema.SECOND
    dots: dict[str, Any] = {"ls": "none", "marker": ".", "ms": 6 if len(visited) < FEW else 1.5, "mew": 0}
    look = {"color": style.BLUE, "rasterized": len(visited) >= FEW, **({"lw": 0.6} if is_flow else dots)}
    last = visited.shape[1] - 1
    names = schema.settings(ds).get("state_names", ("h₁", "h₂", "h₃"))  # files of earlier versions have none
    if last == 0 and not is_flow:
        _draw_cobweb(visited[:, 0], names[0][0], ax, look | artist)
        return
    ax.plot(visited[:, 0] if last else np.arange(len(visited)), visited[:, last], **look | artist)
    ax.set(
        xlabel=f"state {names[0]}" if last else "place along the orbit",
        ylabel=f"state {names[last]}",
        title="States that the orbit visits",
    )


def _draw_cobweb(states: NDArray[np.float64], name: str, ax: Axes, look: dict[str, Any]) -> None:
    """Draw the cobweb: up or down to the next state, then across to the diagonal."""
    stairs = np.repeat(states[-COBWEB - 1 :], 2)
    ax.plot(
        stairs[:-1], stairs[1:], color=style.GREY, lw=0.6, zorder=1, label=f"last {min(COBWEB, len(states) - 1)} steps"
    )
    ends = [float(np.nanmin(states)), float(np.nanmax(states))]
    ax.plot(ends, ends, color=style.BLACK, lw=0.9, ls="--", zorder=2, label="the same state again")
    ax.plot(states[:-1], states[1:], zorder=3, label="one step", **look | {"ms": 4})
    ax.set(xlabel=f"state ${name}_t$", ylabel=f"next state ${name}_{{t+1}}$", title="Cobweb of the map")
