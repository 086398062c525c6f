"""Theory's bounds beside what was measured, one row a statement."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import layout, style
from dynlab.words import interval, number

WIDTH, ROW = 9.0, 0.62  # inches
ENDS = ("theory_low", "theory_high", "measured_low", "measured_high")
LOOK: dict[str, tuple[str, str]] = {  # colour and sign, so that grey print tells them apart
    "holds": (style.GREEN, "✓"),
    "at the bound": (style.GREEN, "✓"),
    "violated": (style.VERMILION, "✗"),
    "undecided": (style.GREY, "?"),
}
ROOM, HIGH = 0.18, 0.35  # of a row's range on each side, where an interval without an end goes on; of a row, its bar


@layout.picture(
    "Theory and measurement",
    lambda ds: (WIDTH, 0.8 + ROW * ds.sizes[schema.BOUND]),
    needs=[*ENDS, "quantity", "outcome"],
)
def plot_theory_bounds(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw a bar for the interval that theory allows and a line for what was measured, every row on its own scale.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.stability`.
    ax : Axes, optional
    **artist
        For the lines of what was measured.
    """
    count = ds.sizes[schema.BOUND]
    for row in range(count):
        one = ds.isel({schema.BOUND: row})
        ends = np.array([float(one[name]) for name in ENDS])
        finite = ends[np.isfinite(ends)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        width = (high - low) or abs(high) or 1.0
        places = np.clip((ends - low + ROOM * width) / ((high - low) + 2 * ROOM * width), 0, 1)
        left, right = places[:2]
        ax.barh(row, max(right - left, 0.005), left=left, height=HIGH, color=style.FAINT, zorder=1)
        ax.plot(
            places[2:],
            [row, row],
            zorder=3,
            **{"color": style.BLUE, "lw": 3, "marker": "|", "ms": 8, "mew": 3, **artist},
        )
        quantity, outcome = str(one["quantity"].values), str(one["outcome"].values)
        colour, sign = LOOK[outcome]
        up_to = "<" if " < " in quantity else "≤"
        words = f"theory {_interval(ends[0], ends[1], up_to)}; measured {_interval(ends[2], ends[3])}"
        ax.text(0, row - HIGH, f"{style.subscripts(quantity)}   {words}", va="center")
        ax.text(1, row - HIGH, f"{sign} {outcome}", va="center", ha="right", color=colour, weight="bold")
    ax.set(
        xlim=(0, 1),
        ylim=(count - 0.6, -0.7),
        xticks=[],
        yticks=[],
        xlabel="each row on its own scale",
        title="Grey: theory allows; blue: measured",
    )


def _interval(low: float, high: float, up_to: str = "≤") -> str:
    """From `low` to `high`, of which either may be infinite."""
    if np.isneginf(low):
        return "none" if np.isposinf(high) else f"{up_to} {number(high)}"
    return f"> {number(low)}" if np.isposinf(high) else interval([low, high], 4)
