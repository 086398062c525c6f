"""The look that all of dynlab's pictures share: colours that colour-blind readers tell apart, few and thin lines."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

# The palette of Okabe and Ito (2008), which readers with every common form of colour blindness tell apart.
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, YELLOW, BLACK = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#F0E442",
    "#000000",
)
CYCLE = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, BLACK)
GREY = "#8A8A8A"
FAINT = "#D9D9D9"
STABLE, UNSTABLE, UNDECIDED = GREEN, VERMILION, GREY
SEQUENTIAL = "cividis"  # perceptually uniform, and the same to a reader with red-green blindness
DIVERGING = "PuOr"

SETTINGS: dict[Any, Any] = {
    "axes.prop_cycle": plt.cycler(color=CYCLE),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "figure.dpi": 110,
    "savefig.dpi": 150,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "dynlab",  # the same picture is the same file
}


@contextmanager
def style() -> Iterator[None]:
    """The settings above, for the figures made inside the block.

    Not `plt.rc_context`, which restores every setting: a notebook's first figure loads its backend, which makes pyplot
    interactive, and with that undone no later figure of the notebook would show.
    """
    before = {name: plt.rcParams[name] for name in SETTINGS}
    plt.rcParams.update(SETTINGS)
    try:
        yield
    finally:
        plt.rcParams.update(before)


def axes(ax: Axes | None, size: tuple[float, float] = (5.0, 3.6)) -> Axes:
    """`ax` itself, or the axes of a new figure of `size` inches in dynlab's style."""
    if ax is not None:
        return ax
    with style():
        return plt.subplots(figsize=size)[1]


def label(array: object) -> str:
    """What an axis says of a variable: its long name, and its units where it has some that the name does not say."""
    attrs = getattr(array, "attrs", {})
    name, units = attrs.get("long_name", ""), attrs.get("units", "1")
    return name if units == "1" or units in name.split() else f"{name} ({units})"
