"""What theory allows beside what was measured, one row a statement."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import style

WIDTH, ROW = 9.0, 0.5  # inches
HALF = 0.36  # of a row: the height of theory's bar
# Where the statements start, and where the numbers and the outcomes stand, in parts of the bars' width.
START, WORDS, SIGNS, END = -0.95, 1.04, 1.72, 2.1
ROOM = 0.18  # of a row's range on each side, where an interval without an end goes on
LOOK = {  # colour and sign, so that grey print tells them apart
    "holds": (style.GREEN, "✓"),
    "at the bound": (style.GREEN, "✓"),
    "violated": (style.VERMILION, "✗"),
    "undecided": (style.GREY, "?"),
    "no bound": (style.GREY, "–"),
}


def plot_theory_bounds(ds: xr.Dataset, *, ax: Axes | None = None, **artist: Any) -> Axes:
    """A bar for the interval that theory allows and a line for what was measured, every row on its own scale.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.stability`.
    ax : Axes, optional
    **artist
        For the lines of what was measured.
    """
    schema.check(ds, needs=["theory_low", "theory_high", "measured_low", "measured_high", "quantity", "outcome"])
    names = [str(name) for name in ds["quantity"].values]
    ax = style.axes(ax, (WIDTH, 1.3 + ROW * len(names)))
    for row, name in enumerate(names):
        ax.text(START, row, name, va="center", fontsize=8.5)
        _draw_row(ax, row, ds.isel({schema.BOUND: row}), **artist)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_yticks([])
    ax.set_xlim(START, END)
    ax.set_xticks([])
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.set_ylabel("statement")
    ax.set_xlabel("every row on its own scale; a bar that reaches the edge has no end")
    ax.set_title("Grey: what theory allows; blue: what was measured")
    return ax


def _draw_row(ax: Axes, row: int, one: xr.Dataset, **artist: Any) -> None:
    theory = np.array([float(one["theory_low"]), float(one["theory_high"])])
    measured = np.array([float(one["measured_low"]), float(one["measured_high"])])
    ends = np.concatenate([theory, measured])
    ends = ends[np.isfinite(ends)]
    if ends.size:
        low, high = float(ends.min()), float(ends.max())
        width = (high - low) or abs(high) or 1.0
        start, scale = low - ROOM * width, (1 + 2 * ROOM) * width if high > low else 2 * ROOM * width

        def at(value: float) -> float:
            return float(np.clip((value - start) / scale, 0, 1))

        left, right = at(theory[0]), at(theory[1])
        ax.barh(row, max(right - left, 0.004), left=left, height=2 * HALF, color=style.FAINT, zorder=1)
        look: dict[str, Any] = {"color": style.BLUE, "lw": 3, "solid_capstyle": "butt", "marker": "|", "ms": 9}
        if np.isfinite(measured).all():
            ax.plot([at(each) for each in measured], [row, row], zorder=3, **look | artist)
    outcome = str(one["outcome"].values)
    colour, sign = LOOK[outcome]
    words = f"theory {_interval(theory)}\nmeasured {_interval(measured)}"
    ax.text(WORDS, row, words, va="center", fontsize=7.5)
    ax.text(SIGNS, row, f"{sign} {outcome}", va="center", fontsize=8.5, color=colour, weight="bold")


def _interval(ends: np.ndarray) -> str:
    if ends[0] == ends[1]:
        return _number(ends[0])
    if np.isneginf(ends[0]) and np.isposinf(ends[1]):
        return "none"
    if np.isneginf(ends[0]):
        return f"up to {_number(ends[1])}"
    if np.isposinf(ends[1]):
        return f"above {_number(ends[0])}"
    return f"{_number(ends[0])} to {_number(ends[1])}"


def _number(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")
