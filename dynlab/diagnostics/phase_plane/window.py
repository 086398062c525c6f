"""The window of a phase portrait: as asked for, or what its equilibria and orbits need; and the starts within it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynlab.errors import UserError
from dynlab.numerics.arrays import Real

LARGEST = 1e100  # of a coordinate: its square and sums of such are still numbers
MARGIN = 1.12  # a window is this much wider than what is drawn in it
APART, NARROWEST = 0.25, 1.0  # of the equilibria's range, that the window has beside them; half of it where that is 0
FLAT = 1e-9  # of the equilibria's range or size: by less they differ by rounding
FARTHEST = 5.0  # half windows about the equilibria: an orbit that goes beyond is cut off
INNER = 0.5  # of half the equilibria's range: the starts on both its diagonals


class Window(NamedTuple):
    """A rectangle of the plane; ``low`` and ``high`` have shape (2,)."""

    low: Real
    high: Real

    @property
    def centre(self) -> Real:
        """Return the middle, shape (2,)."""
        return (self.low + self.high) / 2

    @property
    def half(self) -> Real:
        """Return half the width and half the height, shape (2,)."""
        return (self.high - self.low) / 2

    def scaled(self, factor: float) -> "Window":
        """Return the window that is so many times as wide, about the same centre."""
        return Window(self.centre - factor * self.half, self.centre + factor * self.half)

    def holds(self, states: Real) -> NDArray[np.bool_]:
        """Tell which states (..., 2) are in it, its border included."""
        return np.asarray(((states >= self.low) & (states <= self.high)).all(axis=-1))

    def with_states(self, states: Real) -> "Window":
        """Return the smallest window that holds this one and those states (..., 2) that are finite."""
        seen = np.concatenate([states.reshape(-1, 2), [self.low, self.high]])
        return Window(np.nanmin(seen, axis=0), np.nanmax(seen, axis=0))

    def axes(self, count: int) -> list[Real]:
        """Return the coordinates of a grid along each axis, shape (count,)."""
        return [np.linspace(low, high, count) for low, high in zip(self.low, self.high, strict=True)]

    def grid(self, count: int) -> Real:
        """Return the states of a grid, shape (y, x, 2)."""
        return np.stack(np.meshgrid(*self.axes(count)), axis=-1)


def window_of(asked: ArrayLike) -> Window:
    """Return the window that is asked for: half its width about the origin, or ((low, high), (low, high)) of x and y.

    Raises
    ------
    UserError
        For numbers that are no such window.
    """
    ends = np.asarray(asked, dtype=float)
    if ends.ndim == 0:
        ends = np.array([[-ends, ends], [-ends, ends]])
    if ends.shape != (2, 2) or not (np.abs(ends) <= LARGEST).all() or not (ends[:, 0] < ends[:, 1]).all():
        raise UserError(
            f"A window is half its width, a positive number, or the ends of x and of y, ((low, high), (low, high)), of "
            f"at most {LARGEST:g}; got {asked!r}."
        )
    return Window(ends[:, 0], ends[:, 1])


def square(half: float) -> Window:
    """Return the square about the origin, half as wide as that."""
    return Window(np.full(2, -half), np.full(2, half))


def box_of(equilibria: Real) -> Window:
    """Return the range of equilibria (k, 2); where they agree in a coordinate, a unit or its size about it."""
    if not len(equilibria):
        return square(NARROWEST)
    low, high = equilibria.min(axis=0), equilibria.max(axis=0)
    flat = high - low <= FLAT * np.maximum(np.abs(low), (high - low).max())
    room = np.where(flat, np.maximum(NARROWEST, np.abs(low)) / 2, 0.0)
    return Window(low - room, high + room)


def starts_in(box: Window) -> Real:
    """Return four starts on the diagonals of a window, shape (4, 2)."""
    return box.centre + INNER * box.half * np.array([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])


def window_about(box: Window, orbits: Real, cycles: Real) -> Window:
    """Return the window of a box, of limit cycles and of orbits, (..., 2), as far as these stay in reach of the box."""
    inside = orbits[box.scaled(FARTHEST).holds(orbits)]
    return box.scaled(1 + 2 * APART).with_states(inside).with_states(cycles).scaled(MARGIN)
