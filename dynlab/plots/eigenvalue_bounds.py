"""Bounds and what was measured for each, one row a bound."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
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
BELOW = (0, -9)  # points from the end of a bar to its number
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
    ax.set(xlim=(-1.15 * HALF, 1.15 * HALF), ylim=(len(rows) - 0.4, -0.6), ylabel="bound")
    ax.set_xticks([0], ["bound"])
    ax.set_xlabel("inside  ←  distance from the bound, each row on its own scale  →  outside")
    ax.set_title(f"Bounds on {ds.attrs['system']}")
    handles, labels = ax.get_legend_handles_labels()
    once = dict(zip(reversed(labels), reversed(handles), strict=True))  # of what comes again the first
    labels = list(dict.fromkeys(labels))
    style.legend_below(ax, 6, handles=[once[text] for text in labels], labels=labels)
    return ax


def _draw_row(ax: Axes, row: int, one: xr.Dataset, **artist: Any) -> None:
    sign = 1.0 if one["is_upper"] else -1.0
    ends = sign * (np.array([float(one[part]) for part in ("lowest", "median", "highest")]) - float(one["limit"]))
    beyond = -float(one["margin"])
    error = float(one["error"]) if np.isfinite(one["error"]) else 0.0
    sizes = np.abs([*ends, abs(beyond) + error])
    scale = float(sizes[np.isfinite(sizes)].max(initial=0.0)) or 1.0
    only_above = bool(one["only_above"])
    if np.isfinite(ends).all() and not only_above:
        ax.plot(ends[[0, 2]] / scale, [row, row], color=style.SKY, lw=6, alpha=0.6, label="all that was measured")
        for end in {0, 2} if abs(ends[2] - ends[0]) > APART * scale else {2}:
            value = float(one["highest" if end else "lowest"])
            said = number(value, digits_against(value, float(one["limit"]), 3))
            ax.annotate(said, (ends[end] / scale, row), BELOW, textcoords="offset points", ha="center", va="top")
        ax.plot(ends[1] / scale, row, "|", color=style.BLUE, ms=14, mew=2, label="median", zorder=3)
    outcome = str(one["outcome"].values)
    colour, marker = LOOK[outcome]
    at = float(np.clip(beyond / scale, -HALF, HALF)) if not np.isnan(beyond) else 0.0
    look: dict[str, Any] = {"fmt": marker, "color": colour, "ms": 7, "capsize": 3, "mec": style.BLACK, "mew": 0.6}
    if only_above:  # an arrow to where the number itself may lie: below
        to = {"xerr": ARROW, ("xuplims" if sign > 0 else "xlolims"): True, "fmt": "<" if sign > 0 else ">"}
        ax.errorbar(at, row, label=f"{outcome}, known only from above", zorder=4, **(look | to | artist))
    else:
        ax.errorbar(at, row, xerr=error / scale, label=outcome, zorder=4, **(look | artist))


def _bound(one: xr.Dataset) -> str:
    side = "≤" if one["is_upper"] else "≥"
    name = str(one[schema.BOUND].values).replace("_", " ")
    return f"{name}\n{side} {number(float(one['limit']), 5)}{unit_after(str(one['unit'].values))}"


def _words(one: xr.Dataset) -> str:
    outcome = str(one["outcome"].values)
    measured = number(float(one["measured"]), 5)
    return f"{'≤ ' if one['only_above'] else ''}{measured}\n{outcome}"
