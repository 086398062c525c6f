"""How long the modes of each fixed point last and how fast they turn; what drives them, and how they are read."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from dynlab import schema
from dynlab.numerics.arrays import place_of_largest
from dynlab.plots import style
from dynlab.wording import of_map

NEEDS = ("time_constant", "doubling_time", "frequency", "fate", "separated", "input_share", "eigenvalue", "kind")
HEIGHT = 4.6  # inches
MOST_ROWS = 12
LONG = 1000  # steps, said without decimals
SMALL, CROWD = 9, 200  # a marker among more than so many modes
MOST_CELLS = 150  # with their numbers written in
FATES = {
    "decays": ("o", style.STABLE, "decays"),
    "grows": ("^", style.UNSTABLE, "grows"),
    "undecided": ("X", style.UNDECIDED, "growth undecided: |μ| = 1 within the error"),
}
SHORTEST = 0.05  # steps, below which a mode is drawn at the lower edge


def plot_modes(ds: xr.Dataset, *, ax: Axes | None = None, fixed_point: int = 0, **artist: Any) -> Axes:
    """Time constants over frequencies, those of one fixed point dark; what drives its modes and how they are read.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.modes`.
    ax : Axes, optional
        Where only time constants and frequencies are drawn. Without it a figure is made that also has a table of what
        drives each mode of `fixed_point`, and one of how it is read where there is a read-out.
    fixed_point : int
        Its number in the Dataset.
    **artist
        For its modes' markers.

    Returns
    -------
    Axes
        Of time constants and frequencies.
    """
    schema.check(ds, needs=NEEDS)
    if ax is None:
        return _figure(ds, fixed_point, **artist)
    lasts, turns, fate = _lasts(ds), np.abs(ds["frequency"].values), ds["fate"].values
    top = 2 * float(lasts[np.isfinite(lasts)].max(initial=1.0))
    height = np.where(np.isposinf(lasts), top, np.maximum(lasts, SHORTEST))
    of_point = np.arange(len(fate))[:, None] == fixed_point
    small: dict[str, Any] = {"s": SMALL if fate.size > CROWD else 2 * SMALL, "alpha": 0.3, "linewidths": 0, "zorder": 2}
    for name, (marker, colour, words) in FATES.items():
        chosen, others = (fate == name) & of_point, (fate == name) & ~of_point
        ax.scatter(turns[others], height[others], marker=marker, color=colour, **small)
        if (fate == name).any():
            look: dict[str, Any] = {"s": 34, "marker": marker, "edgecolors": colour, "linewidths": 1.2, "zorder": 3}
            look["facecolors"] = "white" if name == "grows" else colour
            ax.scatter(turns[chosen], height[chosen], label=words, **look | artist)
    if len(fate) > 1:
        for point, mode in _extremes(ds):
            at = float(turns[point, mode]), float(height[point, mode])
            ax.annotate(f"point {point}", at, (5, 4), textcoords="offset points", color=style.BLACK, zorder=4)
        number = len(fate) - 1
        label = f"small: modes of the other {number} fixed points" if number > 1 else "small: those of the other point"
        ax.plot([], [], ls="none", marker=".", ms=4, color=style.GREY, alpha=0.6, label=label)
    ax.set_xlim(-0.02 * max(0.02, 1.1 * float(np.nanmax(turns, initial=0.0))), None)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.set(yscale="log", xlabel="frequency |arg μ|/2π (cycle/step)", ylabel="time constant, or doubling time (step)")
    if not (np.isfinite(turns) & np.isfinite(height)).any():
        ax.set_ylim(1, 10)  # no data of which it could be taken
    style.plain_numbers(ax)
    if np.isposinf(lasts).any():
        ax.axhline(top, color=style.GREY, lw=0.8, ls=":", zorder=1)
        ax.text(0.995, top, "∞", transform=ax.get_yaxis_transform(), ha="right", va="bottom", color=style.GREY)
    if len(fate):
        size = "Large: fixed" if len(fate) > 1 else "Fixed"
        ax.set_title(f"{size} point {fixed_point}, {of_map(str(ds['kind'].values[fixed_point]))}")
        style.legend_below(ax, 2)
    else:
        style.say(ax, "no fixed point found")
    return ax


def _figure(ds: xr.Dataset, point: int, **artist: Any) -> Axes:
    tables = [name for name in ("input_share", "output_read") if name in ds and ds[name].size]
    widths = [4.4, *(min(4.2, 1.4 + 0.42 * ds[name].shape[-1]) for name in tables)]
    drawn: list[style.Panel] = [(plot_modes, artist | {"fixed_point": point})]
    for index, name in enumerate(tables):
        widths[index + 1] += 0.0 if index else 1.0  # for the rows' names
        drawn.append((_draw_table, {"name": name, "point": point, "labelled": index == 0}))
    return style.panels(ds, drawn, (sum(widths), HEIGHT), "Modes", width_ratios=widths)


def _draw_table(ds: xr.Dataset, ax: Axes, name: str, point: int, *, labelled: bool) -> None:
    """A row for each mode, of a complex pair one: shares in per cent, read-outs in their own size, the largest dark."""
    rows = _rows(ds, point)
    if not len(rows):
        style.say(ax, "no mode to interpret")
        ax.set_axis_off()
        return
    values = ds[name].values[point, rows]
    known, is_share = np.isfinite(values).all(axis=-1), name == "input_share"
    largest = values.max(axis=-1, keepdims=True, initial=0.0, where=np.isfinite(values))
    shares = np.divide(values, largest, out=np.full_like(values, np.nan), where=(largest > 0) & known[:, None])
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=1.15, aspect="auto", interpolation="nearest")
    centred: dict[str, Any] = {"ha": "center", "va": "center"}
    for (row, column), value in np.ndenumerate(values):
        if values.size <= MOST_CELLS and np.isfinite(value):
            colour = "white" if shares[row, column] > 0.6 else style.BLACK
            ax.text(column, row, f"{100 * value:.0f}" if is_share else f"{value:.2g}", color=colour, **centred)
    middle = (values.shape[1] - 1) / 2
    for row in np.flatnonzero(~known):
        ax.text(middle, float(row), "not interpreted", color=style.GREY, **centred)
    ax.set_xticks(np.arange(values.shape[1]) if values.shape[1] <= MOST_ROWS else [0, values.shape[1] - 1])
    ax.set_yticks(np.arange(len(rows)), [_named(ds, point, row) for row in rows] if labelled else [""] * len(rows))
    if labelled:
        ax.set_ylabel("mode: τ or doubling time (step), f (cycle/step)")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    what, title = ("input", "Share of each input (%)") if is_share else ("output", "Effect on outputs")
    ax.set(xlabel=f"number of the {what}", title=title)


def _rows(ds: xr.Dataset, point: int) -> NDArray[np.int64]:
    """The leading modes of a point, one for each complex pair, without those that are forgotten in a step."""
    first = ds["eigenvalue"].values[point].imag >= 0
    return np.flatnonzero(first & np.isfinite(ds["frequency"].values[point]))[:MOST_ROWS]


def _named(ds: xr.Dataset, point: int, mode: int) -> str:
    at = point, mode
    turning = abs(float(ds["frequency"].values[at]))
    fate = str(ds["fate"].values[at])
    lasts = _lasts(ds)[at]
    long = f"{lasts:,.0f}" if lasts >= LONG else f"{lasts:.3g}"
    said = {"decays": f"τ {long}", "grows": f"doubles {long}", "undecided": "undecided"}[fate]
    return f"{said}, f {turning:.2g}" if turning > 0 else said


def _extremes(ds: xr.Dataset) -> list[tuple[int, int]]:
    """Point and mode of what decays slowest and of what grows fastest, which the verdict names."""
    told = (ds["separated"].values == 1) & np.isfinite(ds["frequency"].values)
    decays = place_of_largest(ds["time_constant"].values, told & (ds["fate"].values == "decays"))
    grows = place_of_largest(-ds["doubling_time"].values, told & (ds["fate"].values == "grows"))
    return [at for at in (decays, grows) if at]


def _lasts(ds: xr.Dataset) -> NDArray[np.float64]:
    """The time constant of what decays, the doubling time of what grows, inf where that is undecided."""
    return np.where(ds["fate"].values == "grows", ds["doubling_time"].values, ds["time_constant"].values)
