"""What an integrator makes of an eigenvalue: its stability function R, and the largest step that keeps |R(ελ)| ≤ 1.

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
BEYOND_FIRST_ORDER = 1.5  # what the first-order bound on the error of |R| is multiplied by


@dataclass(frozen=True)
class Method:
    """An integrator as `dynlab.systems.integrators.INTEGRATORS` names it.

    Attributes
    ----------
    name, title : str
    numerator, denominator : tuple of float
        R's, from the constant on; both empty for R = e^z.
    """

    name: str
    title: str
    numerator: tuple[float, ...]
    denominator: tuple[float, ...] = (1.0,)

    def factor(self, z: ArrayLike) -> NDArray[np.complex128]:
        """R(z)."""
        at = np.asarray(z, dtype=complex)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if not self.numerator:
                return np.asarray(np.exp(at))
            return np.asarray(polyval(at, self.numerator) / polyval(at, self.denominator))

    def modulus(self, z: NDArray[np.complex128], errors: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """|R(z)| and a bound on its error, for z each known up to `errors`."""
        value = self.factor(z)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if not self.numerator:
                slope = np.abs(value)
            else:
                p, q = polyval(z, self.numerator), polyval(z, self.denominator)
                by_p, by_q = (polyval(z, polyder(part)) for part in (self.numerator, self.denominator))
                slope = np.abs((by_p * q - p * by_q) / q**2)
            rounding = ROUNDINGS * np.finfo(float).eps * (1 + np.abs(z) ** max(1, len(self.numerator) - 1))
            return np.abs(value), BEYOND_FIRST_ORDER * slope * errors + rounding

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
            inf where no step is too large; 0 and NaN as of `dynlab.numerics.critical_step`, which
            Euler's step is.
        flag : str
        """
        step, flag = critical_step(eigenvalues, errors)
        if self.name == "euler" or not step > 0:
            return step, flag
        moving = eigenvalues[np.abs(eigenvalues) > 0]
        return float(np.min(self._first_exit(np.angle(moving)) / np.abs(moving))), flag

    def _first_exit(self, angles: NDArray[np.float64]) -> NDArray[np.float64]:
        """The least r > 0 at which |R(r e^{iφ})| comes back to 1, inf where it never does, for φ in the left half."""
        if not self.numerator:
            return np.full(len(angles), np.inf)
        squares = _squared(self.numerator, angles)
        least = _squared(self.denominator, angles)
        squares[:, : least.shape[1]] -= least
        reduced = squares[:, 1:]  # |R|² = 1 at r = 0, which is divided out
        degree = reduced.shape[1] - 1
        leading = reduced[:, -1]
        found = np.full(len(angles), np.inf)
        usable = np.abs(leading) > 0
        if degree == 0 or not usable.any():
            return found
        companion = np.zeros((int(usable.sum()), degree, degree))
        companion[:, np.arange(1, degree), np.arange(degree - 1)] = 1
        companion[:, :, -1] = -reduced[usable, :-1] / leading[usable, None]
        roots = approximate_eigenvalues(companion)
        real = (np.abs(roots.imag) <= REAL * np.abs(roots)) & (roots.real > 0)
        found[usable] = np.where(real, roots.real, np.inf).min(axis=1)
        return found


METHODS = {
    method.name: method
    for method in (
        Method("euler", "Euler", (1.0, 1.0)),
        Method("midpoint", "explicit midpoint", (1.0, 1.0, 1 / 2)),
        Method("rk4", "Runge–Kutta 4", (1.0, 1.0, 1 / 2, 1 / 6, 1 / 24)),
        Method("implicit-midpoint", "implicit midpoint", (1.0, 1 / 2), (1.0, -1 / 2)),
        Method("exponential-euler", "exponential Euler", (), ()),
    )
}


def _squared(coefficients: tuple[float, ...], angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """The coefficients of |p(r e^{iφ})|² in r, shape (angle, 2 degree + 1): p_j p_k cos((j − k) φ) of r^{j+k}."""
    found = np.zeros((len(angles), 2 * len(coefficients) - 1))
    for j, first in enumerate(coefficients):
        for k, second in enumerate(coefficients):
            found[:, j + k] += first * second * np.cos((j - k) * angles)
    return found
