"""Integrators' stability functions R, and the largest step that keeps |R(ελ)| ≤ 1.

References
----------
Hairer and Wanner, "Solving Ordinary Differential Equations II", Springer 1996, sections IV.2 and IV.3.
"""

from dataclasses import dataclass

import numpy as np
from numpy.polynomial.polynomial import polyder, polyval
from numpy.typing import ArrayLike, NDArray

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
