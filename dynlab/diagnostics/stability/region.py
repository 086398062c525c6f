"""Grids of |R(z)| for the picture of an integrator's region of stability."""

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
FARTHEST = 1e12  # eigenvalues farther out are not shown


def region(method: Method, step: NDArray[np.float64], values: NDArray[np.complex128]) -> dict[str, xr.Variable]:
    """The modulus on two grids, for steps (sample, time) and eigenvalues (sample, time, mode).

    Returns
    -------
    dict
        ``region(window, y, x)`` with the coordinates ``region_real(window, x)`` and ``region_imaginary(window, y)``:
        the whole region, and the neighbourhood of 0 and the eigenvalues, each axis on its own scale.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        z = step[..., None] * values
        z = z[np.abs(z) <= FARTHEST]
    left, right = float(z.real.min(initial=0)), float(z.real.max(initial=0))
    tall = float(np.abs(z.imag).max(initial=0))
    whole, reach = WHOLE.get(method.name, LARGEST), 1 + ROOM
    corners = [
        (min(whole[0], reach * left), max(whole[1], reach * right), max(whole[2], reach * tall)),
        _close(left, right, tall),
    ]
    real = np.array([np.linspace(low, high, GRID) for low, high, _ in corners])
    imaginary = np.array([np.linspace(-height, height, GRID) for *_, height in corners])
    moduli = np.abs(method.factor(real[:, None, :] + 1j * imaginary[:, :, None]))
    return {
        "region": schema.variable((schema.WINDOW, schema.Y, schema.X), moduli, "modulus |R(z)|"),
        "region_real": schema.variable((schema.WINDOW, schema.X), real, "Re z"),
        "region_imaginary": schema.variable((schema.WINDOW, schema.Y), imaginary, "Im z"),
    }


def _close(left: float, right: float, tall: float) -> tuple[float, float, float]:
    """A window around 0 and the eigenvalues: real parts are often thousands of times smaller than imaginary ones."""
    tall = WIDE_OPEN if max(tall, right - left) <= SMALLEST else max(tall, SMALLEST)
    # Euler's circle leaves the axis by Im²/2: the window shows the side on which each eigenvalue lies
    width = max(right - left, tall**2 / 2, SMALLEST)
    tall = max(tall, LEAST * width)
    return left - ROOM * width - tall**2 / 2, right + 2 * ROOM * width, (1 + ROOM) * tall
