"""What is drawn over the steps of a training: curves with their bands, and parts of a whole one above the other."""

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


MOST = 4  # of numbered parts; the others are one
# What attractors are called, so that each has the same colour in every picture; hatches for grey print.
KNOWN = {
    "stable fixed point": (style.STABLE, ""),
    "unstable fixed point": (style.UNSTABLE, "//"),
    "fixed point of undecided stability": (style.YELLOW, "xx"),
}
OTHERS = (
    (style.BLUE, "\\\\"),
    (style.ORANGE, ".."),
    (style.SKY, "--"),
    (style.PURPLE, "++"),
    (style.GREY, ""),
    (style.YELLOW, "oo"),
)
REST = {
    "leaving_share": ("leaves every bound, or is no number", "white", ""),
    "undecided_share": ("where it ends is undecided", "#BDBDBD", ""),
}


def draw_parts(ds: xr.Dataset, panel: dict[str, Any], ax: Axes, label: str, **artist: Any) -> None:
    """Areas that add up to 1, in the order of the legend from below."""
    steps = ds[schema.TRAINING_STEP].values
    first, *rest = panel["curves"]
    shares = ds[first["variable"]].values
    named = first["each"] in ds.data_vars
    parts = _of_words(ds[first["each"]].values, shares) if named else _of_numbers(shares)
    looks = KNOWN | dict(zip((name for name in parts if name not in KNOWN), OTHERS, strict=False))
    stack = [(_counted(name, values), values, *looks.get(name, (style.GREY, ""))) for name, values in parts.items()]
    for curve in rest:
        name, colour, hatch = REST[curve["variable"]]
        stack.append((name, ds[curve["variable"]].values[:, None], colour, hatch))
    below = np.zeros(len(steps))
    for name, values, colour, hatch in stack:
        if not values.any():
            continue
        edge = style.GREY if colour == "white" else "white"
        look: dict[str, Any] = {"facecolor": colour, "hatch": hatch, "edgecolor": edge, "lw": 0.8, "alpha": 0.85}
        for number, one in enumerate(values.T):  # each attractor of a class, the largest below
            shown = ": ".join(filter(None, [label, name])) if number == 0 else None
            ax.fill_between(steps, below, below + one, label=shown, **look | artist)
            below = below + one
    for step in steps:  # where a checkpoint is; between them the areas are straight lines
        ax.axvline(step, color=style.BLACK, lw=0.4, alpha=0.4)
    ax.set(xlim=(steps[0], steps[-1]), ylim=(0, 1))


def _of_words(words: NDArray[np.str_], shares: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """The shares (step, place) of each word by size, those of fixed points first."""
    found: dict[str, NDArray[np.float64]] = {}
    for name in sorted(set(words.ravel()) - {"not there"}, key=lambda name: (name not in KNOWN, name)):
        of_it = np.sort(np.where(words == name, shares, 0.0), axis=1)[:, ::-1]
        found[name] = of_it[:, of_it.any(axis=0)]
    return found


def _counted(name: str, shares: NDArray[np.float64]) -> str:
    """With how many there are of it, where that is not one at every step."""
    counts = (shares > 0).sum(axis=1)
    low, high = int(counts.min()), int(counts.max())
    several = f", {low} to {high} of them" if low < high else f", {low} of them"
    return name + (several if high > 1 else "")


def _of_numbers(shares: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    known = np.nan_to_num(shares)
    parts = {f"component {number + 1}": known[:, [number]] for number in range(min(MOST, known.shape[1]))}
    if known.shape[1] > MOST:
        parts["all others"] = known[:, MOST:].sum(axis=1, keepdims=True)
    return parts
