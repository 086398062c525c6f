"""Bounds and what was measured for each, one row a bound."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import blended_transform_factory

from dynlab import schema
from dynlab.plots import style
from dynlab.wording import digits_against, number, unit_after

WIDTH, ROW = 8.6, 0.62  # inches
LEGEND = 0.42  # inches below the axes
LOOK = {  # colour, marker and word, so that grey print tells them apart
    "holds": (style.GREEN, "o"),
    "at the bound": (style.ORANGE, "D"),
    "violated": (style.VERMILION, "X"),
    "undecided": (style.GREY, "s"),
}
ARROW = 0.12  # how long the arrow of an upper bound is
REACH, TICKS = 1.15, 6  # of the axis to each side of the bound, and how many numbers about stand along it
OUTSIDE = 0.3  # of a single row: so much of the outside is seen beyond all that was measured
BELOW, LINE_APART = -9, 4  # points from the end of a bar to its number, and from the bound's line to it
BESIDE = 0.12  # from the bound: what is as near would be struck through by its line
VISIBLE = 0.01  # of a row's scale: an error that is shorter is hidden by the marker
APART = 0.25  # of a row's scale: of ends that are nearer than that one has its number
HALF = 1.0  # each row's own scale: what lies farthest from its bound is so far away


def plot_eigenvalue_bounds(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The range of all that was measured for each bound, and the number that decides, with its error.

    Every row has its own scale, on which the bound is at 0 and the inside is to the left; below its ends stand the
    smallest and largest numbers. Where what was measured is
    itself only an upper bound, an arrow points to where the number may lie.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.eigenvalue_bounds`.
    ax : Axes, optional
    **artist
        For the points.
    """
    schema.check(
        ds, needs=["limit", "measured", "error", "margin", "outcome", "lowest", "median", "highest", "only_above"]
    )
    rows = [ds.isel({schema.BOUND: row}) for row in range(ds.sizes[schema.BOUND])]
    height = ROW * len(rows)
    if ax is None:
        return style.panels(ds, [(plot_eigenvalue_bounds, artist)], (WIDTH, 1.5 + height), "Bounds")
    ax.axvspan(0, 2 * HALF, color=style.FAINT, alpha=0.6, lw=0, zorder=0)
    ax.axvline(0, color=style.BLACK, lw=1.4, zorder=1)
    beside = blended_transform_factory(ax.transAxes, ax.transData)
    for row, one in enumerate(rows):
        _draw_row(ax, row, one, **artist)
        ax.text(1.02, row, _words(one), transform=beside, va="center")
    ax.set_yticks(range(len(rows)), [_bound(one) for one in rows])
    ax.set(xlim=(-REACH, REACH), ylim=(len(rows) - 0.4, -0.6), ylabel="bound")
    ax.set_xticks([0], ["bound"])
    ax.set_xlabel("inside  ←  distance from the bound, each row on its own scale  →  outside")
    if len(rows) == 1:
        _number_axis(ax, rows[0])
    ax.set_title("Shaded: outside of the bound")
    handles, labels = ax.get_legend_handles_labels()
    once = dict(zip(reversed(labels), reversed(handles), strict=True))  # of what comes again the first
    labels = list(dict.fromkeys(labels))
    marks = [each.lines[0] if isinstance(each, ErrorbarContainer) else each for each in map(once.get, labels)]
    style.legend_below(ax, 6, handles=marks, labels=labels)
    return ax


def _draw_row(ax: Axes, row: int, one: xr.Dataset, **artist: Any) -> None:
    sign = _sign(one)
    ends = _ends(one)
    beyond, error = -float(one["margin"]), _error(one)
    scale = _scale(one)
    only_above = bool(one["only_above"])
    if np.isfinite(ends).all() and not only_above:
        apart = abs(ends[2] - ends[0]) > APART * scale
        ax.plot(
            ends[[0, 2]] / scale,
            [row, row],
            color=style.SKY,
            lw=6,
            alpha=0.6,
            solid_capstyle="butt",
            label="all that was measured" if apart else "",
        )
        for end in {0, 2} if apart else {2}:
            value = float(one["highest" if end else "lowest"])
            said = number(value, digits_against(value, float(one["limit"])))
            _write_below(ax, row, ends[end] / scale, said)
        words = "median" if apart else ""
        ax.plot(ends[1] / scale, row, "|", color=style.BLUE, ms=14, mew=2, label=words, zorder=3)
    outcome = str(one["outcome"].values)
    colour, marker = LOOK[outcome]
    at = float(np.clip(beyond / scale, -HALF, HALF)) if not np.isnan(beyond) else 0.0
    caps = 3 if error > VISIBLE * scale else 0  # of a shorter bar only these would show, as splinters of the marker
    look: dict[str, Any] = {"fmt": marker, "color": colour, "ms": 7, "capsize": caps, "mec": style.BLACK, "mew": 0.6}
    if only_above:  # an arrow to where the number itself may lie: below
        to = {"xerr": ARROW, ("xuplims" if sign > 0 else "xlolims"): True, "fmt": "<" if sign > 0 else ">"}
        ax.errorbar(at, row, label=f"{outcome}, known only from above", zorder=4, **(look | to | artist))
    else:
        ax.errorbar(at, row, xerr=error / scale, label=outcome, zorder=4, **(look | artist))
    if caps:
        ax.plot([], [], color=style.GREY, marker="|", ms=5, label="error")


def _sign(one: xr.Dataset) -> float:
    """1 of an upper bound, −1 of a lower one: the inside is to the left of both."""
    return 1.0 if one["is_upper"] else -1.0


def _ends(one: xr.Dataset) -> np.ndarray:
    """How far the smallest, the median and the largest number lie beyond the bound."""
    return _sign(one) * (np.array([float(one[part]) for part in ("lowest", "median", "highest")]) - float(one["limit"]))


def _error(one: xr.Dataset) -> float:
    return float(one["error"]) if np.isfinite(one["error"]) else 0.0


def _scale(one: xr.Dataset) -> float:
    """What is a length of 1 in the row."""
    sizes = np.abs([*_ends(one), abs(float(one["margin"])) + _error(one)])
    return float(sizes[np.isfinite(sizes)].max(initial=0.0)) or 1.0


def _write_below(ax: Axes, row: int, at: float, said: str) -> None:
    """The number of an end below it; next to the bound's line on the end's own side of the line."""
    side = "center" if abs(at) > BESIDE else "right" if at <= 0 else "left"
    away = {"center": 0, "right": -LINE_APART, "left": LINE_APART}[side]
    where = (0.0 if away else at, row)
    ax.annotate(said, where, (away, BELOW), textcoords="offset points", ha=side, va="top")


def _number_axis(ax: Axes, one: xr.Dataset) -> None:
    """The measured numbers along the axis of a single row, which ends near them, and the bound at its line."""
    limit, scale = float(one["limit"]), _scale(one)
    reach = REACH * scale
    values = np.asarray(MaxNLocator(TICKS, steps=[1, 2, 5, 10]).tick_values(limit - reach, limit + reach))
    places = _sign(one) * (values - limit) / scale
    ends = np.array([*_ends(one), -float(one["margin"])]) / scale
    high = min(REACH, float(ends[np.isfinite(ends)].max(initial=0.0)) + OUTSIDE)
    shown = (places >= -REACH) & (places <= high)
    ax.set_xticks(places[shown], [number(value) for value in values[shown]])
    ax.set_xlim(-REACH, high)
    where: dict[str, Any] = {"xytext": (LINE_APART, 0), "textcoords": "offset points", "va": "top"}
    ax.annotate(f"bound {number(limit)}", (0, 0.98), xycoords=ax.get_xaxis_transform(), **where)
    ax.set_xlabel(f"inside  ←  {str(one[schema.BOUND].values).partition('_')[2].replace('_', ' ')}  →  outside")


def _bound(one: xr.Dataset) -> str:
    side = "≤" if one["is_upper"] else "≥"
    name = str(one[schema.BOUND].values).replace("_", " ")
    return f"{name}\n{side} {number(float(one['limit']), 5)}{unit_after(str(one['unit'].values))}"


def _words(one: xr.Dataset) -> str:
    outcome = str(one["outcome"].values)
    value = float(one["measured"])
    measured = number(value, digits_against(value, float(one["limit"])))
    return f"{'≤ ' if one['only_above'] else ''}{measured}\n{outcome}"
