"""What theory allows beside what was measured, one row a statement."""

from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import style
from dynlab.plots.text_size import POINTS
from dynlab.wording import interval, number

WIDTH, ROW = 9.0, 0.5  # inches
HALF = 0.36  # of a row: the height of theory's bar
LETTER, BOLD = 0.58, 0.68  # of the height of text: how wide its characters are
GAP, FRAME = 0.2, 0.5  # inches between columns, and around the axes
NARROWEST, WIDEST = 1.2, 5.0  # the bars, which take what the words leave
POINT = 0.04  # of the bars: how wide a bound is drawn that is one number
ROOM = 0.18  # of a row's range on each side, where an interval without an end goes on
RANK = "Here d₁ is the rank of P U − I"  # of the low-rank ERNN, P = U = I + V H
LOOK = {  # colour and sign, so that grey print tells them apart
    "holds": (style.GREEN, "✓"),
    "at the bound": (style.GREEN, "✓"),
    "violated": (style.VERMILION, "✗"),
    "undecided": (style.GREY, "?"),
    "no bound": (style.GREY, "–"),
}


class Columns(NamedTuple):
    """Where the bars start and how wide they are, where numbers start, and where all ends, in inches."""

    bars: float
    width: float
    numbers: float
    end: float


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
    rows = [ds.isel({schema.BOUND: row}) for row in range(ds.sizes[schema.BOUND])]
    if ax is None:
        return style.panels(
            ds, [(plot_theory_bounds, artist)], (WIDTH, 1.0 + ROW * len(rows)), "Theory and measurement"
        )
    names, outcomes = ([str(one[name].values) for one in rows] for name in ("quantity", "outcome"))
    words = [_words(one) for one in rows]
    bars = any(_is_range(one) for one in rows)
    columns = _columns(ax, names, words, outcomes, bars)
    for row, one in enumerate(rows):
        colour, sign = LOOK[outcomes[row]]
        ax.text(0, row, style.subscripts(names[row]), va="center")
        if bars:
            _draw_row(ax, row, one, columns, **artist)
        numbers = ax.text(columns.numbers, row, words[row], va="center")
        look: dict[str, Any] = {
            "va": "center",
            "color": colour,
            "weight": "bold",
        }  # behind the numbers, however wide these are drawn
        ax.annotate(
            f"{sign} {outcomes[row]}", (1, 0.5), (8, 0), numbers, "offset points", annotation_clip=False, **look
        )
    ax.set(xlim=(0, columns.end), ylim=(len(rows) - 0.4, -0.6), xticks=[], yticks=[])
    ax.spines[["left", "bottom"]].set_visible(False)
    theory = "what the ERNN paper says of its inner flow F;\n" if "ernn" in ds.attrs["system"] else "theory allows;\n"
    said = f"Grey: {theory}blue: measured; each row has its scale and numbers"
    said += f".\n{RANK}" * any("d₁" in name for name in names)
    ax.set_title(said if bars else "What theory says, and what was measured")
    return ax


def _is_range(one: xr.Dataset) -> bool:
    """Whether theory's interval or the measured one is more than a number, to which no axis adds anything."""
    return any(float(one[f"{what}_low"]) != float(one[f"{what}_high"]) for what in ("theory", "measured"))


def _columns(ax: Axes, names: list[str], words: list[str], outcomes: list[str], has_bars: bool) -> Columns:
    """Side by side, however wide the axes are."""
    spec = ax.get_subplotspec()
    share = 1.0 if spec is None else len(spec.colspan) / spec.get_gridspec().ncols
    room = share * float(ax.figure.bbox.width / ax.figure.dpi) - FRAME
    letter = LETTER * plt.rcParams["font.size"] / POINTS
    bars = letter * max(map(len, names)) + GAP
    numbers = letter * max(map(len, words)) + GAP
    last = BOLD / LETTER * letter * (2 + max(map(len, outcomes)))
    width = float(np.clip(room - bars - GAP - numbers - last, NARROWEST, WIDEST)) if has_bars else 0.0
    after = bars + width + GAP * has_bars
    return Columns(bars, width, after, max(room, after + numbers + last))


def _draw_row(ax: Axes, row: int, one: xr.Dataset, columns: Columns, **artist: Any) -> None:
    ends = np.array([float(one[name]) for name in ("theory_low", "theory_high", "measured_low", "measured_high")])
    finite = ends[np.isfinite(ends)]
    if not finite.size:
        return
    low, high = float(finite.min()), float(finite.max())
    width = (high - low) or abs(high) or 1.0
    scale = high - low + 2 * ROOM * width
    left, right, *measured = columns.bars + columns.width * np.clip((ends - low + ROOM * width) / scale, 0, 1)
    wide = max(right - left, POINT * columns.width)
    ax.barh(row, wide, left=(left + right - wide) / 2, height=2 * HALF, color=style.FAINT, zorder=1)
    look: dict[str, Any] = {"color": style.BLUE, "lw": 3, "solid_capstyle": "butt", "ms": 9}
    look["marker"] = "|" if measured[1] - measured[0] > POINT * columns.width else "o"
    if np.isfinite(ends[2:]).all():
        ax.plot(measured, [row, row], zorder=3, **look | artist)


def _words(one: xr.Dataset) -> str:
    """Both intervals in numbers."""
    strict = " < " in str(one["quantity"].values)
    theory = _interval(float(one["theory_low"]), float(one["theory_high"]), "below" if strict else "at most")
    return f"theory {theory}; measured {_interval(float(one['measured_low']), float(one['measured_high']))}"


def _interval(low: float, high: float, up_to: str = "at most") -> str:
    """From `low` to `high`, of which either may be infinite."""
    if np.isneginf(low):
        return "none" if np.isposinf(high) else f"{up_to} {number(high)}"
    if np.isposinf(high):
        return f"above {number(low)}"
    return interval([low, high], 4)
