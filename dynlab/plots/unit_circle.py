"""The unit circle, which parts eigenvalues of a step that grow from those that shrink, and a window on what is near."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from dynlab.plots import style

FLAT, ROOM, SMALLEST = 2.0, 0.08, 1e-6  # how many times longer one axis is, room beside what is shown, the least
CIRCLE = np.exp(2j * np.pi * np.linspace(0, 1, 2001))
FINE = np.exp(1j * np.linspace(-0.5, 0.5, 20001))  # near 1, where windows are smallest


def draw_circle(ax: Axes, **look: Any) -> None:
    """Draw the circle, thin and grey and below all points, and its inside shaded."""
    line = np.concatenate([FINE, CIRCLE[CIRCLE.real < FINE.real[0]], FINE[:1]])
    ax.fill(line.real, line.imag, color=style.SHADED, lw=0, zorder=0)
    ax.plot(line.real, line.imag, **{"color": style.GREY, "linewidth": 0.8, "zorder": 1, **look})


def show(ax: Axes, values: NDArray[np.complex128], symbol: str, held: float = 1.0) -> None:
    """Set a window around values and a real number, and name its axes.

    Each axis has its own scale where values lie far closer along one than along the other, and yet apart.
    """
    together = np.append(values[np.isfinite(values)], held)
    ends = np.array([[part.min(), part.max()] for part in (together.real, together.imag)])
    short, long = np.sort(np.ptp(ends, axis=1))
    own = bool(SMALLEST * long < short and short * FLAT < long)
    lengths = np.ptp(ends, axis=1) if own else np.full(2, max(long, SMALLEST))
    limits = ends.mean(axis=1)[:, None] + (0.5 + ROOM) * lengths[:, None] * np.array([-1.0, 1.0])
    ax.set(
        xlim=limits[0],
        ylim=limits[1],
        aspect="auto" if own else "equal",
        ylabel=f"Im {symbol}",
        xlabel=f"Re {symbol}" + ", each axis on its own scale" * own,
    )
    ax.ticklabel_format(useOffset=False)
    ax.locator_params(nbins=4)
