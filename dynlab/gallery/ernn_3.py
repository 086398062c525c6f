"""Figure 3 of the ERNN paper, redrawn: the network block of one inner Euler step, repeated K times."""

import itertools
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyBboxPatch

from dynlab.gallery.made import Made
from dynlab.plots import style

BOXES = {  # centre, words
    "U": ((2.6, 1.6), "U"),
    "b": ((4.4, 0.1), "$W x_k + b$"),
    "P": ((6.2, 1.6), "P = U"),
    "phi": ((8.1, 1.6), "φ"),
    "eta": ((11.2, 1.6), "$η_k^{(i)}$"),
}
SUMS = {"first": ((1.0, 1.6), "+"), "drive": ((4.4, 1.6), "+"), "minus": ((9.7, 1.6), "+"), "last": ((12.8, 1.6), "+")}
HALF, RADIUS = (0.62, 0.4), 0.28
WIDER = 1.5  # times, the box of a sum
LARGE, SMALL = 17, 14  # points
BESIDE = 0.12  # left of an arrow: the sign of what it adds
ABOVE = 0.14  # a line, so that a subscript does not touch it
GREY = style.GREY


def make(fast: bool = False, recompute: bool = False) -> Made:
    """The block; there is nothing to compute."""
    with style.style((11.0, 3.8)) as size:
        figure, ax = plt.subplots(figsize=size)
        ax.axis("off")
        ax.set(xlim=(-1.2, 15.1), ylim=(-0.7, 4.4), aspect="equal")
        _frame(ax)
        for place, words in BOXES.values():
            _box(place, words, ax)
        for place, words in SUMS.values():
            ax.add_patch(Circle(place, RADIUS, facecolor="white", edgecolor=style.BLACK, zorder=3))
            ax.text(*place, words, ha="center", va="center", fontsize=LARGE, zorder=4)
        _arrows(ax)
    return Made(
        "ERNN, Figure 3: the block of one inner step",
        "“Once the maximum number of iterations K is predefined, we can convert an ERNN into a feed-forward network "
        "using the blocks” (section 2.1). Redrawn from equations 10 and 11.",
        "A diagram, nothing is measured. h_{k−1} is the state before, x_k the input, φ the activation, and K inner "
        "steps end at the new state h_k. The network learns W, b, the V and H of U = I + V H, and one η for each inner "
        "step i and each time step k. As P = U, the matrix U is used twice.",
        figure,
        {},
    )


def _box(place: tuple[float, float], words: str, ax: Axes) -> None:
    (x, y), (wide, tall) = place, HALF
    wide *= WIDER if "+" in words else 1
    look: dict[str, Any] = {"boxstyle": "round,pad=0.06", "facecolor": "#eaf1fb", "edgecolor": style.BLUE}
    ax.add_patch(FancyBboxPatch((x - wide, y - tall), 2 * wide, 2 * tall, zorder=3, **look))
    ax.text(x, y, words, ha="center", va="center", fontsize=LARGE, zorder=4)


def _frame(ax: Axes) -> None:
    look: dict[str, Any] = {"boxstyle": "round,pad=0.1", "facecolor": "none", "edgecolor": GREY, "linestyle": "--"}
    ax.add_patch(FancyBboxPatch((0.35, -0.5), 13.1, 4.1, **look))
    ax.text(13.45, 3.8, "repeated K times, i = 0 … K − 1", ha="right", fontsize=SMALL, color=GREY)


def _arrows(ax: Axes) -> None:
    """From left to right through the block, and the two ways around it."""
    places = {name: place for name, (place, _) in (BOXES | SUMS).items()}
    order = ("first", "U", "drive", "P", "phi", "minus", "eta", "last")
    for start, end in itertools.pairwise(order):
        _arrow(_edge(places[start], start, +1), _edge(places[end], end, -1), ax)
    (drive, below), (first, row), (minus, _), (last, _) = (places[name] for name in ("b", "first", "minus", "last"))
    _arrow((drive, below + HALF[1] + 0.06), (drive, row - RADIUS), ax)
    large: dict[str, Any] = {"fontsize": LARGE, "va": "bottom"}
    _arrow((-1.0, row), (first - RADIUS, row), ax)
    ax.text(-1.1, row + ABOVE, "$h_k^{(i)}$", **large)
    _arrow((-0.6, 0.5), (first - RADIUS * 0.7, row - RADIUS * 0.7), ax)
    ax.text(-0.7, 0.5, "$h_{k-1}$", ha="right", **large | {"va": "center"})
    _arrow((last + RADIUS, row), (15.0, row), ax)
    ax.text(13.7, row + ABOVE, "$h_k^{(i+1)}$", **large)
    small: dict[str, Any] = {"fontsize": SMALL, "va": "bottom", "ha": "center"}
    _around((first, row + RADIUS), 2.45, (minus, row + RADIUS), ax)
    ax.text((first + minus) / 2, 2.45 + ABOVE / 2, "$h_k^{(i)} + h_{k-1}$", **small)
    ax.text(minus - BESIDE, row + RADIUS, "−", **large | {"ha": "right"})  # this sum is taken from φ
    _around((-0.3, row), 3.1, (last, row + RADIUS), ax)
    ax.text((first + minus) / 2, 3.1 + ABOVE / 2, "$h_k^{(i)}$", **small)


def _edge(place: tuple[float, float], name: str, side: int) -> tuple[float, float]:
    reach = RADIUS if name in SUMS else HALF[0] + 0.06
    return place[0] + side * reach, place[1]


def _arrow(start: tuple[float, float], end: tuple[float, float], ax: Axes) -> None:
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": style.BLACK, "shrinkA": 0, "shrinkB": 0})


def _around(start: tuple[float, float], height: float, end: tuple[float, float], ax: Axes) -> None:
    ax.plot([start[0], start[0], end[0]], [start[1], height, height], color=style.BLACK, lw=1)
    _arrow((end[0], height), end, ax)
