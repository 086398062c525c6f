"""The unit circle, which parts eigenvalues of a step that grow from those that shrink, and a window on what is near."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

NEAR = 0.15  # of |μ| = 1: what is as near is looked at from close up
CLOSE_UP = 0.4  # half the width of the widest close-up; the smallest is a tenth of it
TITLES = ("All eigenvalues μ", "Those next to |μ| = 1")  # of the whole circle and of the close-up beside it
CIRCLE = np.exp(2j * np.pi * np.linspace(0, 1, 2001))  # a window may show a small part of it


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
