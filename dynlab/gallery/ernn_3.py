"""Figure 3 of the ERNN paper, redrawn: the network block of one inner Euler step, repeated K times."""

import itertools
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyBboxPatch

from dynlab.gallery.made import Made
from dynlab.plots import style

BOXES = {  # centre, words
    "U": ((2.4, 1.6), "U"),
    "b": ((4.3, 0.2), "W x$_k$ + b"),
    "P": ((5.9, 1.6), "P = U"),
    "phi": ((7.4, 1.6), "φ"),
    "eta": ((10.0, 1.6), "η$_k^{(i)}$"),
}
SUMS = {"first": ((1.0, 1.6), "+"), "drive": ((4.3, 1.6), "+"), "minus": ((8.7, 1.6), "−"), "last": ((11.4, 1.6), "+")}
HALF, RADIUS = (0.55, 0.36), 0.24
GREY = style.GREY


def make(fast: bool = False, recompute: bool = False) -> Made:
    """The block; there is nothing to compute."""
    with style.style((11.0, 3.9)) as size:
        figure, ax = plt.subplots(figsize=size)
        ax.axis("off")
        ax.set(xlim=(-1.3, 13.6), ylim=(-0.6, 4.1), aspect="equal")
        _frame(ax)
        for place, words in BOXES.values():
            _box(place, words, ax)
        for place, words in SUMS.values():
            ax.add_patch(Circle(place, RADIUS, facecolor="white", edgecolor=style.BLACK, zorder=3))
            ax.text(*place, words, ha="center", va="center", fontsize=12, zorder=4)
        _arrows(ax)
    return Made(
        "ERNN, Figure 3: the block of one inner step",
        "“Once the maximum number of iterations K is predefined, we can convert an ERNN into a feed-forward network "
        "using the blocks” (section 2.1). Redrawn from equations 10 and 11.",
        "A diagram, nothing is measured. The square boxes are learned: U = I + V H, used twice as P = U, W, b, and "
        "one η for each inner step i and each time step k.",
        figure,
        {},
    )


def _box(place: tuple[float, float], words: str, ax: Axes) -> None:
    (x, y), (wide, tall) = place, HALF
    look: dict[str, Any] = {"boxstyle": "round,pad=0.06", "facecolor": "#eaf1fb", "edgecolor": style.BLUE}
    ax.add_patch(FancyBboxPatch((x - wide, y - tall), 2 * wide, 2 * tall, zorder=3, **look))
    ax.text(x, y, words, ha="center", va="center", fontsize=11, zorder=4)


def _frame(ax: Axes) -> None:
    look: dict[str, Any] = {"boxstyle": "round,pad=0.1", "facecolor": "none", "edgecolor": GREY, "linestyle": "--"}
    ax.add_patch(FancyBboxPatch((0.3, -0.4), 11.9, 4.0, **look))
    ax.text(12.15, 3.82, "repeated K times, i = 0 … K − 1", ha="right", fontsize=9, color="#555555")


def _arrows(ax: Axes) -> None:
    """From left to right through the block, and the two ways around it."""
    places = {name: place for name, (place, _) in (BOXES | SUMS).items()}
    order = ("first", "U", "drive", "P", "phi", "minus", "eta", "last")
    for start, end in itertools.pairwise(order):
        _arrow(_edge(places[start], start, +1), _edge(places[end], end, -1), ax)
    _arrow((4.3, 0.2 + HALF[1] + 0.06), (4.3, 1.6 - RADIUS), ax)
    _arrow((-0.9, 1.6), (1.0 - RADIUS, 1.6), ax)
    ax.text(-1.2, 1.78, "h$_k^{(i)}$", fontsize=12)
    _arrow((-0.9, 0.5), (1.0 - RADIUS * 0.7, 1.6 - RADIUS * 0.7), ax)
    ax.text(-1.3, 0.2, "h$_{k-1}$", fontsize=12)
    _arrow((11.4 + RADIUS, 1.6), (13.0, 1.6), ax)
    ax.text(12.5, 1.8, "h$_k^{(i+1)}$", fontsize=12)
    _around((1.0, 1.6 + RADIUS), 2.5, (8.7, 1.6 + RADIUS), ax)
    ax.text(4.9, 2.57, "h$_k^{(i)}$ + h$_{k-1}$", ha="center", fontsize=9)
    _around((-0.3, 1.6), 3.25, (11.4, 1.6 + RADIUS), ax)
    ax.text(4.9, 3.32, "h$_k^{(i)}$", ha="center", fontsize=9)


def _edge(place: tuple[float, float], name: str, side: int) -> tuple[float, float]:
    reach = RADIUS if name in SUMS else HALF[0] + 0.06
    return place[0] + side * reach, place[1]


def _arrow(start: tuple[float, float], end: tuple[float, float], ax: Axes) -> None:
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": style.BLACK, "shrinkA": 0, "shrinkB": 0})


def _around(start: tuple[float, float], height: float, end: tuple[float, float], ax: Axes) -> None:
    ax.plot([start[0], start[0], end[0]], [start[1], height, height], color=style.BLACK, lw=1)
    _arrow((end[0], height), end, ax)
