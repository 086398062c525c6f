"""The unit circle, which parts eigenvalues of a step that grow from those that shrink, and a window on what is near."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from dynlab.plots import style

NEAR = 0.15  # of |μ| = 1: what is as near is looked at from close up
FLAT, ROOM, SMALLEST = 2.0, 0.08, 1e-6  # how many times longer one axis is, room beside what is shown, the least
LEAST = 1e-6  # of the longer axis: what is nearer along the other is on one line
OWN = ", each axis on its own scale"
CLOSE_UP = 0.4  # half the width of the widest close-up; the smallest is a tenth of it
TITLES = ("All eigenvalues μ", "Those next to |μ| = 1")  # of the whole circle and of the close-up beside it
CIRCLE = np.exp(2j * np.pi * np.linspace(0, 1, 2001))  # a window may show a small part of it
FINE = np.exp(1j * np.linspace(-0.5, 0.5, 20001))  # near 1, where windows are smallest


def draw_circle(ax: Axes, **look: Any) -> None:
    """The circle, thin and grey and below all points: it hides none that lies on it."""
    rest = CIRCLE[CIRCLE.real < FINE.real[0]]
    line = np.concatenate([FINE, rest, FINE[:1]])
    options: dict[str, Any] = {"color": style.GREY, "linewidth": 0.8, "zorder": 1} | look
    ax.plot(line.real, line.imag, **options)


def window(values: NDArray[np.complex128], held: float = 1.0) -> tuple[NDArray[np.float64], bool]:
    """The limits of a window around values and a real number, shape (axis, end); whether each axis has its own scale.

    It has where the values lie far closer along one axis than along the other, and yet apart.
    """
    together = np.append(values, held)
    ends = np.array([[part.min(), part.max()] for part in (together.real, together.imag)])
    short, long = np.sort(np.ptp(ends, axis=1))
    own = bool(LEAST * long < short and short * FLAT < long)
    lengths = np.ptp(ends, axis=1) if own else np.full(2, max(long, SMALLEST))
    return ends.mean(axis=1)[:, None] + (0.5 + ROOM) * lengths[:, None] * np.array([-1.0, 1.0]), own


def close_up(values: NDArray[np.complex128]) -> dict[str, Any] | None:
    """The limits and the title of a window around the eigenvalues next to the circle, where it is a small one."""
    near = values[np.abs(np.abs(values) - 1) < NEAR]
    if not len(near):
        return None
    seen = np.concatenate([near, near / np.abs(near)])  # the circle beside them as well
    ends = np.array([[part.min(), part.max()] for part in (seen.real, seen.imag)])
    half = max(0.6 * float(np.ptp(ends, axis=1).max()), CLOSE_UP / 10)
    x, y = ends.mean(axis=1)
    limits = {"xlim": (x - half, x + half), "ylim": (y - half, y + half), "title": TITLES[1]}
    return limits if half <= CLOSE_UP else None
