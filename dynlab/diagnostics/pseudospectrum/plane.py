"""The window of the complex plane, and σ_min(zI − A) on its grid and close to where the border is first reached."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.resolvent import Resolvent, Smallest

MARGIN = 0.15  # of the window beyond what must be in it
CLOSE = 2.5  # half the width of the close-up, in distances from where the border is first reached to an eigenvalue
CLOSER = 1 / 3  # of the window: a wider close-up would show no more


def window(values: Complex, border: Complex, grid: int, extent: float | None, flow: bool) -> tuple[Real, Real]:
    """Return x and y of a square window that holds eigenvalues, numerical range and the border of stability."""
    seen = np.concatenate([values, border, [0.0] if flow else [1.0, -1.0, 1j]])
    low, high = float(seen.real.min()), float(seen.real.max())
    half = extent or (1 + MARGIN) * max((high - low) / 2, float(np.abs(seen.imag).max()), np.finfo(float).tiny)
    line = np.linspace(-half, half, grid)
    return (low + high) / 2 + line, line


def on_grid(resolvent: Resolvent, x: Real, y: Real) -> Smallest:
    """Return σ_min(zI − A) on the upper half of the grid, and mirrored: the matrix is real."""
    upper = y[: (len(y) + 1) // 2]

    def mirrored(values: NDArray[Any]) -> NDArray[Any]:
        half = values.reshape(len(upper), len(x))
        return np.concatenate([half, half[: len(y) // 2][::-1]])

    return Smallest(*map(mirrored, resolvent.smallest((x[None, :] + 1j * upper[:, None]).ravel())))


def close_up(resolvent: Resolvent, eigenvalues: Complex, point: complex, half: float, grid: int) -> tuple[float, Real]:
    """Return half the width of the close-up around a point of the border, and σ_min(zI − A) in it, shape (y, x).

    It has half as many points as the window, which has `grid` in each direction and is `half` as wide to each side. NaN
    where there is no such point, or where the window shows enough of what is around it.
    """
    line = np.linspace(-1, 1, grid // 2 + 1)
    wanted = CLOSE * float(np.abs(eigenvalues - point).min())
    if not wanted <= CLOSER * half:  # true of NaN too
        return np.nan, np.full((len(line), len(line)), np.nan)
    z = np.asarray(point + wanted * (line + 1j * line[:, None]), dtype=np.complex128)
    return wanted, resolvent.smallest(z.ravel()).value.reshape(z.shape)
