"""Curves over the steps of a training: the median of many values, their middle half and their range."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from numpy.typing import NDArray

from dynlab import schema
from dynlab.plots import style

QUARTILES = (0.25, 0.75)
RANGE, HALF = 0.15, 0.35  # opacity
MARKERS = "os^DvP*"  # which grey print tells apart, with the dashes
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))


class Drawn(NamedTuple):
    """A curve: its values at each step (step, value), one standard error of each where that is known.

    `lost` says how many values are there and cannot be drawn.
    """

    name: str
    values: NDArray[np.float64]
    error: NDArray[np.float64] | None
    lost: str


def draw_bands(ds: xr.Dataset, panel: dict[str, Any], ax: Axes, label: str, **artist: Any) -> None:
    """Every curve of the panel: a line where there is one value a step, else median, middle half and range."""
    steps = ds[schema.TRAINING_STEP].values
    curves = [drawn for curve in panel["curves"] for drawn in _curves(ds, curve, bool(panel.get("log")))]
    alone = len(curves) == 1
    for number, curve in enumerate(curves):
        look: dict[str, Any] = {"color": style.CYCLE[number % len(style.CYCLE)], "lw": 1.8, "ms": 3, "zorder": 3}
        look |= {"marker": MARKERS[number % len(MARKERS)], "ls": DASHES[number % len(DASHES)]}
        called = ", ".join(filter(None, [curve.name, curve.lost]))
        name = ": ".join(filter(None, [label, "" if alone else called]))
        _draw(curve, steps, ax, name, alone, look | artist)
    if not alone and any(curve.values.shape[1] > 1 for curve in curves):
        for opacity, words in ((HALF, "middle half"), (RANGE, "range")):
            ax.fill_between([], [], [], color=style.GREY, alpha=opacity, lw=0, label=words)


def _curves(ds: xr.Dataset, curve: dict[str, Any], log: bool) -> Iterator[Drawn]:
    array = ds[curve["variable"]].isel(curve["isel"])
    error = ds[curve["error"]].values.astype(float) if curve.get("error") else None
    along = curve.get("each")
    several = [(str(value), array.sel({along: value})) for value in ds[along].values] if along else []
    for name, one in several or [(curve["name"], array)]:
        across = one.transpose(schema.TRAINING_STEP, ...).values
        rows = across.reshape(len(across), -1)
        rows = np.abs(rows) if curve.get("modulus") or np.iscomplexobj(rows) else rows.astype(float)
        lost = ~np.isfinite(rows)
        if "present" in ds and set(ds["present"].dims) <= set(one.dims):  # the rest is padding
            lost &= ds["present"].broadcast_like(one).values.reshape(rows.shape) != 0
        if log:  # a time constant is negative where a mode grows, and NaN says nothing else
            lost = np.isinf(rows) | (rows == 0)
            rows = np.where(rows > 0, rows, np.nan)
        words = f"{lost.sum():,} of {lost.size:,} {'are 0 or infinite' if log else 'not finite'}"
        yield Drawn(name, rows, error, words if lost.any() else "")


def _draw(curve: Drawn, steps: NDArray[np.int64], ax: Axes, name: str, alone: bool, look: dict[str, Any]) -> None:
    rows = curve.values
    known = np.where(np.isfinite(rows), rows, np.nan)
    prefix = f"{name}: " if name else ""
    if rows.shape[1] == 1:
        (line,) = ax.plot(steps, known[:, 0], label=name or None, **look)
        if curve.error is not None:
            below, above = known[:, 0] - curve.error, known[:, 0] + curve.error
            band = f"{prefix}± one standard error"
            ax.fill_between(steps, below, above, color=line.get_color(), alpha=HALF, lw=0, label=band)
    else:
        there = ~np.isnan(known).all(axis=1)
        marks = np.full((5, len(steps)), np.nan)
        marks[:, there] = np.nanquantile(known[there], [0, QUARTILES[0], 0.5, QUARTILES[1], 1], axis=1)
        for low, high, opacity, words in (
            (0, 4, RANGE, f"range of {rows.shape[1]:,} values"),
            (1, 3, HALF, "middle half"),
        ):
            shown = f"{prefix}{words}" if alone else None
            ax.fill_between(steps, marks[low], marks[high], color=look["color"], alpha=opacity, lw=0, label=shown)
        ax.plot(steps, marks[2], label=f"{prefix}median" if alone else f"{name} (median)", **look)
    if curve.lost and alone:
        ax.plot([], [], ls="none", label=f"{prefix}{curve.lost}, left out")
