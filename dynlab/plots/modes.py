"""How long the modes of each fixed point last and how fast they turn; what drives them, and how they are read."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from dynlab import schema
from dynlab.plots import style
from dynlab.wording import joined, number, of_map

NEEDS = ("time_constant", "doubling_time", "frequency", "fate", "separated", "input_share", "eigenvalue", "kind")
HEIGHT, ROW, FRAME = 5.2, 0.36, 1.9  # inches of a figure at least, of a table's row, and around the tables
ROOM = 2.0  # inches for the names of the rows
MOST_ROWS = 12
SMALL, CROWD = 12, 200  # a marker among more than so many modes
AWAY = 24  # points from a mode to the words that name its point
MOST_CELLS = 150  # with their numbers written in
FATES = {
    "decays": ("o", style.STABLE, "decays (time constant)"),
    "grows": ("^", style.UNSTABLE, "grows (doubling time)"),
    "undecided": ("X", style.UNDECIDED, "growth undecided: |μ| = 1 within the error"),
}
OTHERS = {"decays": "D", "grows": "v", "undecided": "P"}  # markers of a second point
WORDS = {  # above a table and below it
    "input_share": ("Share of each input (%)", "number of the input\n(darkest: 100 %)"),
    "output_read": ("Outputs per unit\nof the mode", "number of the output\n(darkest: {})"),
}
DARK = 0.6  # a shade on which letters are white
AXIS, NEAR = "frequency f = |arg μ|/2π of the eigenvalue μ (cycle/step)", 1e-9  # which is a half of a real μ < 0
DIGITS = 3  # of a time and of a frequency, as many as the verdict has
SHORTEST = 0.05  # steps, below which a mode is drawn at the lower edge


def plot_modes(ds: xr.Dataset, *, ax: Axes | None = None, fixed_point: int | None = None, **artist: Any) -> Axes:
    """Time constants over frequencies, those of some fixed points large; what drives their modes and how they are read.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.modes`.
    ax : Axes, optional
        Where only time constants and frequencies are drawn. Without it a figure is made that also has a table of what
        drives each mode of `fixed_point`, and one of how it is read where there is a read-out.
    fixed_point : int, optional
        Its number in the Dataset; without it those of the slowest mode that decays and of the fastest that grows.
    **artist
        For its modes' markers.

    Returns
    -------
    Axes
        Of time constants and frequencies.
    """
    schema.check(ds, needs=NEEDS)
    told = _told(ds)
    points = [fixed_point] if fixed_point is not None else list(dict.fromkeys(point for point, _ in told)) or [0]
    if ax is None:
        return _figure(ds, points, **artist)
    lasts, turns, fate = _lasts(ds), np.abs(ds["frequency"].values), ds["fate"].values
    top = 2 * float(lasts[np.isfinite(lasts)].max(initial=1.0))
    height = np.where(np.isposinf(lasts), top, np.maximum(lasts, SHORTEST))
    fate = np.where(ds["eigenvalue"].values.imag < 0, "", fate)  # of a complex pair one
    of_point = np.isin(np.arange(len(fate)), points)[:, None]
    of_each = [np.arange(len(fate))[:, None] == point for point in points]
    small: dict[str, Any] = {"s": SMALL if fate.size > CROWD else 2 * SMALL, "alpha": 0.7, "linewidths": 0}
    rest = len(fate) - len(points)
    whose = f"the other {rest} points" if rest > 1 else "the other point"
    for name, (marker, colour, words) in FATES.items():
        others = (fate == name) & ~of_point
        for place, own in enumerate(of_each):
            chosen = (fate == name) & own
            if not chosen.any():
                continue
            look: dict[str, Any] = {
                "s": 34,
                "marker": OTHERS[name] if place else marker,
                "linewidths": 1.2,
                "zorder": 3,
            }
            look |= {"edgecolors": colour, "facecolors": "white" if name == "grows" or place else colour}
            label = words if len(points) == 1 else f"point {points[place]}: {words}"
            ax.scatter(turns[chosen], height[chosen], label=label, **look | artist)
        if others.any():
            label = f"small, of {whose}: {words}"
            over = 2 if name == "decays" else 2.5  # what grows is rare
            ax.scatter(turns[others], height[others], marker=marker, color=colour, label=label, zorder=over, **small)
    widest = float(np.nanmax(turns, initial=0.0))
    named = [(point, mode) for point, mode in told if len(fate) > 1 and point in points]
    _name_points(ax, named, turns, height, widest)
    ax.set_xlim(-0.02 * max(0.02, 1.1 * widest), None)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.set(
        yscale="log",
        xlabel=AXIS,
        ylabel=f"{_times(fate)} (step)",
    )
    if widest > 0.5 - NEAR:
        ax.set_xlabel(f"{AXIS}\n0.5: the sign alternates")
    if not (np.isfinite(turns) & np.isfinite(height)).any():
        ax.set_ylim(1, 10)  # no data of which it could be taken
    style.plain_numbers(ax)
    if np.isposinf(lasts).any():
        ax.axhline(top, color=style.GREY, lw=0.8, ls=":", zorder=1)
        ax.text(0.995, top, "∞", transform=ax.get_yaxis_transform(), ha="right", va="bottom", color=style.GREY)
    if len(fate):
        size = _times(fate, "s", " and").capitalize() + ("; large: of" if len(fate) > len(points) else " of")
        kinds = f" {points[0]}, {of_map(str(ds['kind'].values[points[0]]))}"
        ax.set_title(size + (f" point{kinds}" if len(points) == 1 else f" points {joined(list(map(str, points)))}"))
        style.legend_below(ax, 2)
    else:
        style.say(ax, "no fixed point found")
    return ax


def _times(fate: NDArray[np.str_], plural: str = "", between: str = ", or") -> str:
    """What the ordinate is of modes with these fates."""
    decays, grows = f"time constant{plural or ' τ'}", f"doubling time{plural}"
    if not (fate == "grows").any():
        return decays
    return f"{decays}{between} {grows}" if np.isin(fate, ["decays", "undecided"]).any() else grows


def _name_points(
    ax: Axes, named: list[tuple[int, int]], turns: NDArray[np.float64], height: NDArray[np.float64], widest: float
) -> None:
    """Write beside the modes of which the verdict tells whose they are."""
    line = {"arrowstyle": "-", "color": style.GREY, "lw": 0.8, "shrinkB": 3}
    for (point, mode), down in zip(named, (0, -AWAY), strict=False):
        if np.isfinite(turns[point, mode]):
            left = turns[point, mode] > widest / 2  # there is no room at its right
            beside: dict[str, Any] = {"va": "center", "ha": "right" if left else "left", "textcoords": "offset points"}
            place = turns[point, mode], height[point, mode]
            ax.annotate(
                f"of point {point}", place, (-AWAY if left else AWAY, down), zorder=5, arrowprops=line, **beside
            )


def _told(ds: xr.Dataset) -> list[tuple[int, int]]:
    """Point and mode of the slowest that decays and the fastest that grows, of which the verdict tells."""
    fate = ds["fate"].values
    slow = np.where(fate == "decays", ds["time_constant"].values, np.nan)
    fast = np.where(fate == "grows", -ds["doubling_time"].values, np.nan)
    found = [np.unravel_index(np.nanargmax(each), each.shape) for each in (slow, fast) if not np.isnan(each).all()]
    return [(int(point), int(mode)) for point, mode in found]


def _figure(ds: xr.Dataset, points: list[int], **artist: Any) -> Axes:
    """Time constants at the left, beside them a row of tables for each point."""
    tables = [name for name in ("input_share", "output_read") if name in ds and ds[name].size]
    widths = [4.4, *(min(4.2, 1.6 + 0.42 * ds[name].shape[-1]) for name in tables)]
    rows = [_rows(ds, point, MOST_ROWS // len(points)) for point in points if point < ds.sizes[schema.FIXED_POINT]]
    height = max(HEIGHT, FRAME + ROW * sum(map(len, rows)))
    options: dict[str, Any] = {"fixed_point": points[0]} if len(points) == 1 else {}
    names = ROOM if tables else 0.0
    with style.style((sum(widths) + names, height)) as size:
        figure = plt.figure(figsize=size)
        grid = figure.add_gridspec(max(1, len(rows)), len(widths), width_ratios=widths)
        first = plot_modes(ds, ax=figure.add_subplot(grid[:, 0]), **options | artist)
        for column, name in enumerate(tables):
            known = [
                np.nan_to_num(ds[name].values[point], posinf=np.inf, neginf=-np.inf) for point in points[: len(rows)]
            ]
            largest = float(np.max(known or 0.0, initial=0.0))
            for place, chosen in enumerate(rows):
                ax = figure.add_subplot(grid[place, column + 1])
                _draw_table(ds, ax, name, points[place], chosen, largest)
                if not column and len(chosen):
                    ax.set_yticks(np.arange(len(chosen)), [_named(ds, points[place], row) for row in chosen])
                    ax.set_ylabel(_whose(ds, points[place]), labelpad=10)
                title, label = WORDS[name]
                if place == 0:
                    ax.set_title(title)
                if place == len(rows) - 1:
                    ax.set_xlabel(label.format(number(largest, 2)))
        said = ds.assign_attrs(verdict=f"{ds.attrs.get('verdict', '')} {_which(ds, points, rows if tables else [])}")
        style.finish(said, figure, "Modes", _moved_legend(first) if tables else None)
    return first


def _which(ds: xr.Dataset, points: list[int], rows: list[NDArray[np.int64]]) -> str:
    """How many of all modes are drawn, and how many of these have rows."""
    most, count = ds.sizes[schema.MODE], ds.sizes[schema.STATE]
    chosen = f"the {most} whose eigenvalue μ has the largest modulus" if most < count else "all"
    said = f"Of the {count} modes at a fixed point {chosen} are drawn. A complex pair is one marker and one row."
    whole = [len(_rows(ds, point, most)) for point in points if point < ds.sizes[schema.FIXED_POINT]]
    fewer = max((len(some) for some, every in zip(rows, whole, strict=False) if len(some) < every), default=0)
    return f"{said} The tables have the first {fewer} of them." if fewer else said


def _moved_legend(ax: Axes) -> dict[str, Any]:
    """The entries of a legend that is taken from its axes, to lie below tables, too."""
    if (legend := ax.get_legend()) is None:
        return {}
    legend.remove()
    handles, labels = ax.get_legend_handles_labels()
    return dict(zip(labels, handles, strict=True))


def _whose(ds: xr.Dataset, point: int) -> str:
    return f"point {point}, {of_map(str(ds['kind'].values[point]))}"


def _draw_table(ds: xr.Dataset, ax: Axes, name: str, point: int, rows: NDArray[np.int64], largest: float) -> None:
    """A row for each mode, of a complex pair one: shares, and read-outs as parts of the largest, which is dark."""
    if not len(rows):
        style.say(ax, "no mode to interpret")
        ax.set_axis_off()
        return
    values = ds[name].values[point, rows]
    known = np.isfinite(values).all(axis=-1)
    shades = np.where(known[:, None], values, np.nan) / (1.0 if name == "input_share" else largest or 1.0)
    ax.imshow(shades, cmap="Blues", vmin=0, vmax=1.15, aspect="auto", interpolation="nearest")
    centred: dict[str, Any] = {"ha": "center", "va": "center"}
    for (row, column), shade in np.ndenumerate(shades):
        if values.size <= MOST_CELLS and np.isfinite(shade):
            said = f"{100 * shade:.0f}" if name == "input_share" else number(float(values[row, column]), 2)
            ax.text(column, row, said, color="white" if shade > DARK else style.BLACK, **centred)
    middle = (values.shape[1] - 1) / 2
    for row in np.flatnonzero(~known):
        ax.text(middle, float(row), "not interpreted", color=style.GREY, **centred)
    ax.set_xticks(np.arange(values.shape[1]) if values.shape[1] <= MOST_ROWS else [0, values.shape[1] - 1])
    ax.set_yticks([])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _rows(ds: xr.Dataset, point: int, most: int) -> NDArray[np.int64]:
    """The leading modes of a point, one for each complex pair, without those that are forgotten in a step."""
    first = ds["eigenvalue"].values[point].imag >= 0
    return np.flatnonzero(first & np.isfinite(ds["frequency"].values[point]))[:most]


def _named(ds: xr.Dataset, point: int, mode: int) -> str:
    at = point, mode
    turning = abs(float(ds["frequency"].values[at]))
    fate = str(ds["fate"].values[at])
    long = number(float(_lasts(ds)[at]), DIGITS)
    said = {"decays": f"τ {long} steps", "grows": f"doubles in {long} steps", "undecided": "undecided"}[fate]
    return f"{said}, f {number(turning, DIGITS)}" if turning > 0 else said


def _lasts(ds: xr.Dataset) -> NDArray[np.float64]:
    """The time constant of what decays, the doubling time of what grows, inf where that is undecided."""
    return np.where(ds["fate"].values == "grows", ds["doubling_time"].values, ds["time_constant"].values)
