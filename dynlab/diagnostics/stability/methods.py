"""Integrators' stability functions R, the largest step that keeps |R(ελ)| ≤ 1, and grids of |R(z)| for a picture.

References
----------
Hairer and Wanner, "Solving Ordinary Differential Equations II", Springer 1996, sections IV.2 and IV.3.
"""

from dataclasses import dataclass

import numpy as np
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
    name, title : str
        Key in the table, and name in a sentence.
    numerator, denominator : tuple of float
        R's coefficients, from the constant on; both empty for R = e^z. A method with a denominator is A-stable.
    """

    name: str
    title: str
    numerator: tuple[float, ...] = ()
    denominator: tuple[float, ...] = (1.0,)

    @np.errstate(all="ignore")
    def factor(self, z: ArrayLike) -> NDArray[np.complex128]:
        """Return R(z)."""
        at = np.asarray(z, dtype=complex)
        return np.asarray(polyval(at, self.numerator) / polyval(at, self.denominator) if self.numerator else np.exp(at))

    @np.errstate(all="ignore")
    def modulus(self, z: NDArray[np.complex128], errors: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Return |R(z)| and a bound on its error, for z each known up to `errors`."""
        slope = value = self.factor(z)
        if self.numerator:
            change = polyval(z, polyder(self.numerator)) - value * polyval(z, polyder(self.denominator))
            slope = change / polyval(z, self.denominator)
        rounding = ROUNDINGS * np.finfo(float).eps * (1 + np.abs(z) ** max(1, len(self.numerator) - 1))
        return np.abs(value), BEYOND_FIRST_ORDER * np.abs(slope) * errors + rounding

    def largest_step(self, eigenvalues: NDArray[np.complex128], errors: NDArray[np.float64]) -> tuple[float, str]:
        """Return the largest ε up to which no |R(ελ)| exceeds 1, in seconds, and why it is not known.

        Parameters
        ----------
        eigenvalues : ndarray, shape (mode,)
            Eigenvalues of a flow's Jacobian, in 1/s.
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
        """Return the least r > 0 at which |R(r e^{iφ})|² − 1, a polynomial in r that vanishes at 0, is 0 again."""
        a, degree = np.array(self.numerator), 2 * (len(self.numerator) - 1)
        squares = np.zeros((len(angles), degree + 1))
        for j, k in np.ndindex(len(a), len(a)):
            squares[:, j + k] += a[j] * a[k] * np.cos((j - k) * angles)
        companion = np.tile(np.eye(degree - 1, k=-1), (len(angles), 1, 1))
        companion[:, :, -1] -= squares[:, 1:-1] / squares[:, -1:]
        roots = approximate_eigenvalues(companion)
        real = (np.abs(roots.imag) <= REAL * np.abs(roots)) & (roots.real > 0)
        return np.asarray(np.where(real, roots.real, np.inf).min(axis=1))


METHODS = {
    method.name: method
    for method in (
        Method("euler", "Euler", (1.0, 1.0)),
        Method("midpoint", "explicit midpoint", (1.0, 1.0, 1 / 2)),
        Method("rk4", "Runge–Kutta 4", (1.0, 1.0, 1 / 2, 1 / 6, 1 / 24)),
        Method("implicit-midpoint", "implicit midpoint", (1.0, 1 / 2), (1.0, -1 / 2)),
        Method("exponential-euler", "exponential Euler"),
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


@np.errstate(over="ignore", invalid="ignore")
def region(
    method: Method, step: NDArray[np.float64], values: NDArray[np.complex128]
) -> dict[str, tuple[tuple[str, ...], NDArray[np.float64], str]]:
    """Return the modulus on two grids, for steps (sample, time) and eigenvalues (sample, time, mode).

    They are the whole region, and the neighbourhood of 0 and the eigenvalues, each axis on its own scale: real parts
    are often thousands of times smaller than imaginary ones.
    """
    z = step[..., None] * values
    z = z[np.abs(z) <= FARTHEST]
    left, right, tall = (float(part(initial=0)) for part in (z.real.min, z.real.max, np.abs(z.imag).max))
    whole, reach = WHOLE.get(method.name, LARGEST), 1 + ROOM
    corners = [(min(whole[0], reach * left), max(whole[1], reach * right), max(whole[2], reach * tall))]
    tall = WIDE_OPEN if max(tall, right - left) <= SMALLEST else max(tall, SMALLEST)
    # Euler's circle leaves the axis by Im²/2: the window shows the side on which each eigenvalue lies
    width = max(right - left, tall**2 / 2, SMALLEST)
    tall = max(tall, LEAST * width)
    corners.append((left - ROOM * width - tall**2 / 2, right + 2 * ROOM * width, reach * tall))
    real = np.array([np.linspace(low, high, GRID) for low, high, _ in corners])
    imaginary = np.array([np.linspace(-height, height, GRID) for *_, height in corners])
    moduli = np.abs(method.factor(real[:, None, :] + 1j * imaginary[:, :, None]))
    return {
        "region": ((schema.WINDOW, schema.Y, schema.X), moduli, "modulus |R(z)|"),
        "region_real": ((schema.WINDOW, schema.X), real, "Re z"),
        "region_imaginary": ((schema.WINDOW, schema.Y), imaginary, "Im z"),
    }
