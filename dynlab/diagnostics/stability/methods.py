"""Integrators' stability functions R, the largest step that keeps |R(ελ)| ≤ 1, and grids of |R(z)| for a picture.

References
----------
Hairer and Wanner, "Solving Ordinary Differential Equations II", Springer 1996, sections IV.2 and IV.3.
"""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.polynomial.polynomial import polyder, polyval
from numpy.typing import ArrayLike, NDArray

from dynlab import schema
from dynlab.numerics.critical_step import critical_step
from dynlab.numerics.eigenvalues import approximate_eigenvalues

REAL = 1e-9  # of its modulus: a root with a smaller imaginary part is real
ROUNDINGS = 8.0  # of R, each of half a unit at the most, relative to 1 + |z|^s
BEYOND_FIRST_ORDER = 1.5  # factor on the first-order bound on the error of |R|


@dataclass(frozen=True)
class Method:
    """An integrator as `dynlab.systems.integrators.INTEGRATORS` names it.

    Attributes
    ----------
    name, title, step : str
        Its key, its name, and the name of its step in a sentence.
    numerator, denominator : tuple of float
        R's coefficients, from the constant on; both empty for R = e^z. A method with a denominator is A-stable.
    """

    name: str
    title: str
    step: str
    numerator: tuple[float, ...] = ()
    denominator: tuple[float, ...] = (1.0,)

    def factor(self, z: ArrayLike) -> NDArray[np.complex128]:
        """R(z)."""
        at = np.asarray(z, dtype=complex)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            ratio = polyval(at, self.numerator) / polyval(at, self.denominator) if self.numerator else np.exp(at)
            return np.asarray(ratio)

    def modulus(self, z: NDArray[np.complex128], errors: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """|R(z)| and a bound on its error, for z each known up to `errors`."""
        value, degree = self.factor(z), max(1, len(self.numerator) - 1)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            slope = value
            if self.numerator:
                q = polyval(z, self.denominator)
                slope = (polyval(z, polyder(self.numerator)) - value * polyval(z, polyder(self.denominator))) / q
            rounding = ROUNDINGS * np.finfo(float).eps * (1 + np.abs(z) ** degree)
            return np.abs(value), BEYOND_FIRST_ORDER * np.abs(slope) * errors + rounding

    def largest_step(self, eigenvalues: NDArray[np.complex128], errors: NDArray[np.float64]) -> tuple[float, str]:
        """The largest ε up to which no |R(ελ)| exceeds 1, in seconds, and why it is not known.

        Parameters
        ----------
        eigenvalues : ndarray, shape (mode,)
            Of a flow's Jacobian, in 1/s.
        errors : ndarray, shape (mode,)

        Returns
        -------
        step : float
            inf where no step is too large; 0 and NaN as of `dynlab.numerics.critical_step`, which Euler's step is.
        flag : str
        """
        step, flag = critical_step(eigenvalues, errors)
        if self.name == "euler" or not step > 0:
            return step, flag
        if not self.numerator or len(self.denominator) > 1:
            return np.inf, flag
        moving = eigenvalues[np.abs(eigenvalues) > 0]
        return float(np.min(self._first_exit(np.angle(moving)) / np.abs(moving))), flag

    def _first_exit(self, angles: NDArray[np.float64]) -> NDArray[np.float64]:
        """The least r > 0 at which |R(r e^{iφ})|² − 1, a polynomial in r that vanishes at 0, is 0 again."""
        degree = 2 * (len(self.numerator) - 1)
        squares = np.zeros((len(angles), degree + 1))
        for j, first in enumerate(self.numerator):
            for k, second in enumerate(self.numerator):
                squares[:, j + k] += first * second * np.cos((j - k) * angles)
        companion = np.zeros((len(angles), degree - 1, degree - 1))
        companion[:, np.arange(1, degree - 1), np.arange(degree - 2)] = 1
        companion[:, :, -1] = -squares[:, 1:-1] / squares[:, -1:]
        roots = approximate_eigenvalues(companion)
        real = (np.abs(roots.imag) <= REAL * np.abs(roots)) & (roots.real > 0)
        return np.asarray(np.where(real, roots.real, np.inf).min(axis=1))


METHODS = {
    method.name: method
    for method in (
        Method("euler", "Euler", "Euler's step", (1.0, 1.0)),
        Method("midpoint", "explicit midpoint", "the explicit midpoint step", (1.0, 1.0, 1 / 2)),
        Method("rk4", "Runge–Kutta 4", "the Runge–Kutta 4 step", (1.0, 1.0, 1 / 2, 1 / 6, 1 / 24)),
        Method("implicit-midpoint", "implicit midpoint", "the implicit midpoint step", (1.0, 1 / 2), (1.0, -1 / 2)),
        Method("exponential-euler", "exponential Euler", "the exponential Euler step"),
    )
}


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
