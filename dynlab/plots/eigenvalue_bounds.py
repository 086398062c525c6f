"""Bounds and what was measured for each, one row a bound."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.transforms import blended_transform_factory

from dynlab import schema
from dynlab.plots import layout, style
from dynlab.words import digits_against, number, unit_after

WIDTH, ROW = 8.6, 0.62  # inches
LOOK = {  # colour and marker, so that grey print tells them apart
    "holds": (style.GREEN, "o"),
    "at the bound": (style.ORANGE, "D"),
    "violated": (style.VERMILION, "X"),
    "undecided": (style.GREY, "s"),
}
REACH, ARROW = 1.15, 0.12  # of the axis to each side of the bound, and how long the arrow of an upper bound is
BELOW = -9  # points from the end of a bar to its number
APART = 0.25  # of a row's scale: of ends that are nearer than that one has its number


@layout.picture(
    "Bounds",
    lambda ds: (WIDTH, 1.5 + ROW * ds.sizes[schema.BOUND]),
    needs=("limit", "measured", "error", "margin", "outcome", "lowest", "median", "highest", "only_above"),
)
def plot_eigenvalue_bounds(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw the range of all that was measured for each bound, and the number that decides, with its error.

    Every row has its own scale, on which the bound is at 0 and the inside is to the left; below its ends stand the
    smallest and largest numbers. Where what was measured is itself only an upper bound, an arrow points to where the
    number may lie.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.eigenvalue_bounds`.
    ax : Axes, optional
    **artist
        For the points.
    """
    rows = [ds.isel({schema.BOUND: row}) for row in range(ds.sizes[schema.BOUND])]
    ax.axvspan(0, 2 * REACH, color=style.FAINT, lw=0, zorder=0)
    ax.axvline(0, color=style.BLACK, lw=1.4, zorder=1)
    beside = blended_transform_factory(ax.transAxes, ax.transData)
    names = []
    for row, one in enumerate(rows):
        outcome, limit, value = str(one["outcome"].values), float(one["limit"]), float(one["measured"])
        _draw_row(ax, row, one, style.once(ax, outcome) or "", **artist)
        measured = number(value, digits_against(value, limit))
        words = f"{'≤ ' if one['only_above'] else ''}{measured}\n{outcome}"
        ax.text(1.02, row, words, transform=beside, va="center", color=LOOK[outcome][0])
        side, name = "≤" if one["is_upper"] else "≥", str(one[schema.BOUND].values).replace("_", " ")
        names.append(f"{name}\n{side} {number(limit, 5)}{unit_after(str(one['unit'].values))}")
    ax.set(
        xticks=[0],
        xticklabels=["bound"],
        xlim=(-REACH, REACH),
        xlabel="inside  ←  each row on its own scale  →  outside",
        yticks=range(len(rows)),
        yticklabels=names,
        ylim=(len(rows) - 0.4, -0.6),
        ylabel="bound",
        title="Shaded: outside of the bound",
    )


def _draw_row(ax: Axes, row: int, one: xr.Dataset, label: str, **artist: Any) -> None:
    sign, limit = 1.0 if one["is_upper"] else -1.0, float(one["limit"])
    ends = sign * (np.array([float(one[part]) for part in ("lowest", "median", "highest")]) - limit)
    margin, error = float(one["margin"]), float(np.nan_to_num(one["error"], posinf=0.0))
    sizes = np.abs([*ends, abs(margin) + error])
    scale = float(sizes[np.isfinite(sizes)].max(initial=0.0)) or 1.0
    only_above = bool(one["only_above"])
    if np.isfinite(ends).all() and not only_above:
        ax.plot(
            ends[[0, 2]] / scale,
            [row, row],
            label="" if row else "all that was measured",
            color=style.SKY,
            lw=6,
            alpha=0.6,
            solid_capstyle="butt",
        )
        ax.plot(ends[1] / scale, row, "|", color=style.BLUE, ms=14, mew=2, label="" if row else "median", zorder=3)
        for end in (0, 2) if abs(ends[2] - ends[0]) > APART * scale else (2,):
            value = float(one["highest" if end else "lowest"])
            ax.annotate(
                number(value, digits_against(value, limit)),
                (ends[end] / scale, row),
                (0, BELOW),
                bbox=style.ground(ax),
                textcoords="offset points",
                ha="center",
                va="top",
            )
    colour, marker = LOOK[str(one["outcome"].values)]
    look: dict[str, Any] = {"fmt": marker, "color": colour, "ms": 7, "capsize": 3, "mec": style.BLACK, "zorder": 4}
    if only_above:  # an arrow to where the number itself may lie: below
        look |= {("xuplims" if sign > 0 else "xlolims"): True, "fmt": "<" if sign > 0 else ">"}
    at = float(np.clip(-margin / scale, -1.0, 1.0)) if not np.isnan(margin) else 0.0
    ax.errorbar(at, row, xerr=ARROW if only_above else error / scale, label=label, **(look | artist))
