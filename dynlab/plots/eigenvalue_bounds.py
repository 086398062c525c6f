"""Bounds and what was measured for each, one row a bound."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.transforms import blended_transform_factory

from dynlab import schema
from dynlab.plots import style
from dynlab.wording import number

WIDTH, ROW = 8.6, 0.62  # inches
LEGEND = 0.42  # inches below the axes
LOOK = {  # colour, marker and word, so that grey print tells them apart
    "holds": (style.GREEN, "o"),
    "at the bound": (style.ORANGE, "D"),
    "violated": (style.VERMILION, "X"),
    "undecided": (style.GREY, "s"),
}
HALF = 1.0  # each row's own scale: what lies farthest from its bound is so far away


def plot_eigenvalue_bounds(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """The range of all that was measured for each bound, and the number that decides, with its error.

    Every row has its own scale, on which the bound is at 0 and the inside is to the left.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.eigenvalue_bounds`.
    ax : Axes, optional
    **artist
        For the points.
    """
    schema.check(ds, needs=["limit", "measured", "error", "margin", "outcome", "lowest", "median", "highest"])
    names = ds[schema.BOUND].values.tolist()
    ax = style.axes(ax, (WIDTH, 1.5 + ROW * len(names)))
    ax.axvspan(0, 2 * HALF, color=style.FAINT, alpha=0.6, lw=0, zorder=0)
    ax.axvline(0, color=style.BLACK, lw=1.4, zorder=1)
    seen: set[str] = set()
    for row in range(len(names)):
        one = ds.isel({schema.BOUND: row})
        _draw_row(ax, row, one, seen, **artist)
        text = blended_transform_factory(ax.transAxes, ax.transData)
        ax.text(1.02, row, _words(one), transform=text, va="center", fontsize=8)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_yticks(range(len(names)), [_bound(ds.isel({schema.BOUND: row})) for row in range(len(names))])
    ax.set_xlim(-1.15 * HALF, 1.15 * HALF)
    ax.set_xticks([])
    ax.set_ylabel("bound")
    ax.set_xlabel("inside  ←  distance from the bound, each row on its own scale  →  outside")
    ax.set_title(f"Bounds on {ds.attrs['system']}")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -LEGEND / (ROW * len(names))), ncols=6, columnspacing=1.2)
    return ax


def _draw_row(ax: Axes, row: int, one: xr.Dataset, seen: set[str], **artist: Any) -> None:
    sign = 1.0 if one["is_upper"] else -1.0
    ends = sign * (np.array([float(one[part]) for part in ("lowest", "median", "highest")]) - float(one["limit"]))
    beyond = -float(one["margin"])
    error = float(one["error"]) if np.isfinite(one["error"]) else 0.0
    sizes = np.abs([*ends, abs(beyond) + error if np.isfinite(beyond) else np.nan])
    scale = float(np.nanmax(np.where(np.isfinite(sizes), sizes, 0))) or 1.0
    if np.isfinite(ends).all():
        range_label = "all that was measured" if "range" not in seen else None
        ax.plot(ends[[0, 2]] / scale, [row, row], color=style.SKY, lw=6, alpha=0.6, label=range_label, zorder=2)
        median_label = "median" if "range" not in seen else None
        ax.plot(ends[1] / scale, row, "|", color=style.BLUE, ms=14, mew=2, label=median_label, zorder=3)
        seen.add("range")
    outcome = str(one["outcome"].values)
    colour, marker = LOOK[outcome]
    at = float(np.clip(beyond / scale, -HALF, HALF)) if not np.isnan(beyond) else 0.0
    look: dict[str, Any] = {"fmt": marker, "color": colour, "ms": 7, "capsize": 3, "mec": style.BLACK, "mew": 0.6}
    ax.errorbar(
        at, row, xerr=error / scale, label=outcome if outcome not in seen else None, zorder=4, **(look | artist)
    )
    seen.add(outcome)


def _bound(one: xr.Dataset) -> str:
    unit = str(one["unit"].values)
    side = "≤" if one["is_upper"] else "≥"
    name = str(one[schema.BOUND].values).replace("_", " ")
    return f"{name}\n{side} {number(float(one['limit']), 5)}" + (f" {unit}" if unit != "1" else "")


def _words(one: xr.Dataset) -> str:
    outcome = str(one["outcome"].values)
    measured = number(float(one["measured"]), 5)
    return f"{measured}\n{outcome}"
