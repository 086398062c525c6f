"""Parts of a whole over the steps of a training, one above the other."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from numpy.typing import NDArray

from dynlab import schema
from dynlab.plots import style

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
REST = {"leaving_share": ("leaves every bound", "white", ""), "undecided_share": ("undecided", "#BDBDBD", "")}


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
