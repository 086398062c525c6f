"""How long the modes of each fixed point last and how fast they turn; what drives them, and how they are read."""

import textwrap
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, NullLocator
from numpy.typing import NDArray

from dynlab import schema
from dynlab.plots import style

NEEDS = ("time_constant", "doubling_time", "frequency", "fate", "separated", "input_drive", "eigenvalue", "kind")
HEIGHT = 4.6  # inches
TITLE_WIDTH = 16  # characters an inch
MOST_ROWS = 12
LONG = 1000  # steps, said without decimals
FEW = 2.0  # decades: fewer need labels between the powers of ten
NARROW = 0.6  # decades: fewer are labelled as a linear axis is
TITLE_LETTERS = 46  # over the left panel
SMALL, CROWD = 9, 200  # a marker among more than so many modes
MOST_CELLS = 150  # with their numbers written in
FATES = {
    "decays": ("o", style.STABLE, "decays"),
    "grows": ("^", style.UNSTABLE, "grows"),
    "undecided": ("X", style.UNDECIDED, "undecided: |λ| = 1 within the error"),
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
    lasts, turns = _lasts(ds), np.abs(ds["frequency"].values)
    fate = ds["fate"].values
    top = 2 * float(np.nanmax(np.where(np.isfinite(lasts), lasts, np.nan), initial=1.0))
    height = np.where(np.isposinf(lasts), top, np.maximum(lasts, SHORTEST))
    for name, (marker, colour, words) in FATES.items():
        others = fate == name
        chosen = np.zeros_like(others)
        if len(fate):
            chosen[fixed_point] = others[fixed_point]
        others &= ~chosen
        ax.scatter(
            turns[others],
            height[others],
            s=SMALL if fate.size > CROWD else 2 * SMALL,
            marker=marker,
            color=colour,
            alpha=0.3,
            linewidths=0,
            zorder=2,
        )
        if chosen.any() or others.any():
            look: dict[str, Any] = {"s": 34, "marker": marker, "edgecolors": colour, "linewidths": 1.2, "zorder": 3}
            look["facecolors"] = "white" if name == "grows" else colour
            ax.scatter(turns[chosen], height[chosen], label=words, **look | artist)
    if len(fate) > 1:
        number = len(fate) - 1
        label = f"small: modes of the other {number} fixed points" if number > 1 else "small: those of the other point"
        ax.plot([], [], ls="none", marker=".", ms=4, color=style.GREY, alpha=0.6, label=label)
    ax.set_yscale("log")
    if not (np.isfinite(turns) & np.isfinite(height)).any():
        ax.set_ylim(1, 10)  # no data of which it could be taken
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    low, high = np.log10(ax.get_ylim())
    if high - low < NARROW:
        ax.yaxis.set_major_locator(MaxNLocator(5))
        ax.yaxis.set_minor_locator(NullLocator())
    else:
        ax.yaxis.set_minor_formatter(
            FuncFormatter(lambda value, _: _sparse(value)) if high - low < FEW else NullFormatter()
        )
    ax.xaxis.set_major_locator(MaxNLocator(5))
    if np.isposinf(lasts).any():
        ax.axhline(top, color=style.GREY, lw=0.8, ls=":", zorder=1)
        ax.text(0.995, top, "∞", transform=ax.get_yaxis_transform(), ha="right", va="bottom", color=style.GREY)
    ax.set_xlim(-0.02 * max(0.02, 1.1 * float(np.nanmax(turns, initial=0.0))), None)
    ax.set_xlabel("frequency |arg λ|/2π (cycle/step)")
    ax.set_ylabel("time constant, or doubling time (step)")
    if len(fate):
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, columnspacing=1.2)
    else:
        ax.text(0.5, 0.5, "no fixed point found", transform=ax.transAxes, ha="center", color=style.GREY)
    return ax


def _figure(ds: xr.Dataset, fixed_point: int, **artist: Any) -> Axes:
    tables = [name for name in ("input_drive", "output_read") if name in ds and ds[name].size]
    tables = tables if ds.sizes[schema.FIXED_POINT] else []
    columns = [min(4.2, 1.4 + 0.42 * ds[name].shape[-1]) for name in tables]
    widths = [4.4, *(width + (1.0 if index == 0 else 0.0) for index, width in enumerate(columns))]
    with style.style():
        figure, axes = plt.subplots(1, len(widths), figsize=(sum(widths), HEIGHT), width_ratios=widths, squeeze=False)
        left: Axes = axes[0, 0]
        plot_modes(ds, ax=left, fixed_point=fixed_point, **artist)
        for index, (name, ax) in enumerate(zip(tables, axes[0, 1:], strict=True)):
            _draw_table(ds, name, fixed_point, ax, labelled=index == 0)
        if tables:
            kind = ds["kind"].values[fixed_point]
            others = ds.sizes[schema.FIXED_POINT] > 1
            named = f"{'Large: fixed' if others else 'Fixed'} point {fixed_point}, {kind}"
            left.set_title(textwrap.fill(named, TITLE_LETTERS))
        text = f"{ds.attrs['system']}: {ds.attrs.get('verdict', '')}"
        wrapped = textwrap.wrap(text, int(TITLE_WIDTH * sum(widths)))
        figure.suptitle("\n".join(wrapped), x=0.01, ha="left", fontsize=8.5)
    return left


def _draw_table(ds: xr.Dataset, name: str, point: int, ax: Axes, *, labelled: bool) -> None:
    """A row for each mode, of a complex pair one; shaded by the size, the largest of the row at its darkest."""
    rows = _rows(ds, point)
    if not len(rows):
        ax.text(0.5, 0.5, "no mode to interpret", transform=ax.transAxes, ha="center", color=style.GREY)
        ax.set_axis_off()
        return
    values = ds[name].values[point, rows]
    known = np.isfinite(values).all(axis=-1)
    largest = values.max(axis=-1, keepdims=True, initial=0.0, where=np.isfinite(values))
    shares = np.divide(values, largest, out=np.full_like(values, np.nan), where=(largest > 0) & known[:, None])
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=1.15, aspect="auto", interpolation="nearest")
    if values.size <= MOST_CELLS:
        for (row, column), value in np.ndenumerate(values):
            if np.isfinite(value):
                dark = shares[row, column] > 0.6
                look: dict[str, Any] = {
                    "ha": "center",
                    "va": "center",
                    "fontsize": 6.5,
                    "color": "white" if dark else style.BLACK,
                }
                ax.text(column, row, f"{value:.2g}", **look)
    for row in np.flatnonzero(~known):
        ax.text(
            (values.shape[1] - 1) / 2,
            float(row),
            "not interpreted",
            ha="center",
            va="center",
            fontsize=7,
            color=style.GREY,
        )
    ax.set_xticks(np.arange(values.shape[1]) if values.shape[1] <= MOST_ROWS else [0, values.shape[1] - 1])
    ax.set_yticks(np.arange(len(rows)), [_named(ds, point, row) for row in rows] if labelled else [""] * len(rows))
    if labelled:
        ax.set_ylabel("τ, doubling time (step), f (cycle/step)")
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    drive = name == "input_drive"
    ax.set_xlabel(f"{'input' if drive else 'output'}\n(dark: the row's largest)")
    ax.set_title("Driven by: |l B|" if drive else "Read as: |C r|")


def _sparse(value: float) -> str:
    """2 and 5 times a power of ten, nothing else."""
    leading = round(value / 10 ** np.floor(np.log10(value) + 1e-9), 6)
    return f"{value:,g}" if leading in (2.0, 5.0) else ""


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


def _lasts(ds: xr.Dataset) -> NDArray[np.float64]:
    """The time constant of what decays, the doubling time of what grows, inf where that is undecided."""
    return np.where(ds["fate"].values == "grows", ds["doubling_time"].values, ds["time_constant"].values)
