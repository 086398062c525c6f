"""The look that all of dynlab's pictures share: colours that colour-blind readers tell apart, few and thin lines."""

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib.pyplot as plt
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend

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
SHADED = "#E3EEF6"  # a region that is stable
STABLE, UNSTABLE, UNDECIDED = GREEN, VERMILION, GREY
SEQUENTIAL = "cividis"  # perceptually uniform, and the same to a reader with red-green blindness
DIVERGING = "PuOr"
# What headlines say in place of a system's name that says too little.
MEANT = {"feedback": "Feedback system, in which h moves at the rate φ(W h + b)"}
HEADLINE, LETTERS = 8.5, 14.5  # the size of a figure's headline in points, and how many of its letters fill an inch

Panel = tuple[Callable[..., object], Mapping[str, Any]]  # what draws it, and its options

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


def panels(
    ds: xr.Dataset,
    drawn: Sequence[Panel],
    size: tuple[float, float],
    *,
    below: bool = False,
    text: str = "",
    **layout: Any,
) -> Axes:
    """A figure of several panels, side by side or one below the other, with the verdict above them.

    Parameters
    ----------
    ds : Dataset
    drawn : sequence of (callable, mapping)
        What draws each panel, called as ``draw(ds, ax=ax, **options)``.
    size : tuple of float
        Of the whole in inches.
    below : bool
        One below the other.
    text : str
        The headline where that is another than the verdict.
    **layout
        As `matplotlib.pyplot.subplots` takes it.

    Returns
    -------
    Axes
        Of the first panel.
    """
    shape = (len(drawn), 1) if below else (1, len(drawn))
    with style():
        figure, grid = plt.subplots(*shape, figsize=size, squeeze=False, **layout)
        for (draw, options), ax in zip(drawn, grid.flat, strict=True):
            draw(ds, ax=ax, **options)
        headline(figure, text or verdict(ds))
    first: Axes = grid.flat[0]
    return first


def verdict(ds: xr.Dataset) -> str:
    """Of which system it is, and what the result says."""
    name = ds.attrs["system"]
    return f"{MEANT.get(name, name)}: {ds.attrs.get('verdict', '')}"


def headline(figure: Figure, text: str) -> None:
    """Set a text above all panels, in as many lines as the figure's width makes of it."""
    wrapped = textwrap.fill(subscripts(text), int(LETTERS * figure.get_figwidth()))
    figure.suptitle(wrapped, x=0.01, ha="left", fontsize=HEADLINE)


def subscripts(text: str) -> str:
    """h_t, h_{t−1} and Λ_1 set as mathematics."""
    return re.sub(r"([hλμΛ])_(\{[^}]*\}|\w)", lambda found: f"${found.group(1)}_{found.group(2)}$", text)


def legend_below(ax: Axes, columns: int, gap: float = 0.14, **options: Any) -> Legend:
    """The legend under the axes, where it covers nothing; `gap` is the distance in heights of the axes."""
    place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -gap), "columnspacing": 1.2}
    return ax.legend(ncols=columns, **place | options)


def cross(ax: Axes) -> None:
    """Draw faint lines through 0."""
    ax.axhline(0, color=FAINT, lw=0.8, zorder=1)
    ax.axvline(0, color=FAINT, lw=0.8, zorder=1)


def say(ax: Axes, words: str) -> None:
    """Set words in the middle of axes that have nothing to show."""
    ax.text(0.5, 0.5, words, transform=ax.transAxes, ha="center", va="center", color=GREY)


def label(array: object) -> str:
    """What an axis says of a variable: its long name, and its units where it has some that the name does not say."""
    attrs = getattr(array, "attrs", {})
    name, units = attrs.get("long_name", ""), attrs.get("units", "1")
    return name if units == "1" or units in name.split() else f"{name} ({units})"
