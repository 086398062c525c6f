"""|R(z)| over the plane of z = ελ: all of the region where a step is stable, and a close-up of the eigenvalues."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from dynlab import schema
from dynlab.diagnostics.stability.methods import Method

GRID = 81
# Left, right and half the height that hold all of a region that is bounded, and of the others as much as of RK4's.
WHOLE = {"euler": (-2.5, 0.7, 1.6), "midpoint": (-2.5, 0.7, 2.2)}
LARGEST = (-3.4, 1.2, 3.3)
ROOM = 0.15  # of the extent of the eigenvalues beyond them
LEAST = 0.25  # of the extent in one direction that the close-up has at least in the other, where that is the wider
SMALLEST, WIDE_OPEN = 1e-9, 0.1  # extents: at least, and where all eigenvalues are 0
FARTHEST = 1e12  # what lies farther out, or is not known, is not shown
WINDOWS = ("whole", "close-up")


def region(method: Method, step: NDArray[np.float64], values: NDArray[np.complex128]) -> dict[str, xr.Variable]:
    """The modulus on two grids, for steps (sample, time) and eigenvalues (sample, time, mode).

    Returns
    -------
    dict
        ``region(window, y, x)`` with the coordinates ``region_real(window, x)`` and ``region_imaginary(window, y)``.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        z = step[..., None] * values
        z = z[np.abs(z) <= FARTHEST]
    corners = [_whole(z, method.name), _close(z)]
    real = np.array([np.linspace(left, right, GRID) for left, right, _, _ in corners])
    imaginary = np.array([np.linspace(low, high, GRID) for _, _, low, high in corners])
    moduli = np.abs(method.factor(real[:, None, :] + 1j * imaginary[:, :, None]))
    return {
        "region": schema.variable((schema.WINDOW, schema.Y, schema.X), moduli, "modulus |R(z)|"),
        "region_real": schema.variable((schema.WINDOW, schema.X), real, "Re z"),
        "region_imaginary": schema.variable((schema.WINDOW, schema.Y), imaginary, "Im z"),
    }


def _whole(z: NDArray[np.complex128], name: str) -> tuple[float, float, float, float]:
    left, right, tall = WHOLE.get(name, LARGEST)
    reach = 1 + ROOM
    left = min(left, reach * float(z.real.min(initial=0)))
    right = max(right, reach * float(z.real.max(initial=0)))
    tall = max(tall, reach * float(np.abs(z.imag).max(initial=0)))
    return left, right, -tall, tall


def _close(z: NDArray[np.complex128]) -> tuple[float, float, float, float]:
    """Around 0 and the eigenvalues; each axis has its own scale: real parts are often thousands of times smaller."""
    left, right = min(0.0, float(z.real.min(initial=0))), max(0.0, float(z.real.max(initial=0)))
    tall = max(float(np.abs(z.imag).max(initial=0)), SMALLEST)
    if max(tall, right - left) <= SMALLEST:  # all at 0
        tall = WIDE_OPEN
    # Euler's circle leaves the axis by Im²/2: the window shows on which side of it what is
    width = max(right - left, tall**2 / 2, SMALLEST)
    tall = max(tall, LEAST * width)
    return left - ROOM * width - tall**2 / 2, right + 2 * ROOM * width, -(1 + ROOM) * tall, (1 + ROOM) * tall
