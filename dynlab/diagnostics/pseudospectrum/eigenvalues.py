"""The eigenvalues that norms are laid beside, with the error of each and its condition."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from dynlab.errors import UserError
from dynlab.numerics.eigenvalues import AXIS, CIRCLE, eigenvalues_and_errors
from dynlab.numerics.lapack import geev


@dataclass(frozen=True)
class Eigenvalues:
    """Eigenvalues in decreasing modulus.

    Attributes
    ----------
    value : ndarray of complex, shape (mode,)
    error : ndarray, shape (mode,)
        A bound on the error of each, sharpest where the border of stability is near.
    condition : ndarray, shape (mode,)
        1/|yᴴx| of unit left and right eigenvectors; inf where it is exactly defective.
    """

    value: NDArray[np.complex128]
    error: NDArray[np.float64]
    condition: NDArray[np.float64]

    def beyond(self, *, flow: bool) -> NDArray[np.float64]:
        """How far each lies outside the stable region, negative inside."""
        return self.value.real if flow else np.abs(self.value) - 1

    def unstable(self, *, flow: bool) -> bool:
        """Whether one lies outside by more than its error."""
        return bool((self.beyond(flow=flow) > self.error).any())


def eigenvalues(matrix: NDArray[np.float64], *, flow: bool, rounding: float, single: bool) -> Eigenvalues:
    """Of a real matrix.

    Parameters
    ----------
    matrix : ndarray, shape (n, n)
    flow : bool
        Whether Re λ = 0 is the border of stability, and not |λ| = 1.
    rounding : float
        A bound in the 2-norm on what rounding has left in the entries.
    single : bool
        Whether they were computed in float32, whose rounding the first bound does not cover.

    Raises
    ------
    UserError
        Where LAPACK does not converge.
    """
    values, overlap, converged = geev(matrix)
    if not converged:
        raise UserError("The eigenvalues of that Jacobian did not converge: its entries differ too much in size.")
    with np.errstate(divide="ignore"):
        condition = 1 / overlap
    found, errors = eigenvalues_and_errors(
        matrix, rounding if single else 0.0, border=AXIS if flow else CIRCLE, rounding=0.0 if single else rounding
    )
    mine, theirs = linear_sum_assignment(np.abs(found[:, None] - values))
    return Eigenvalues(found, errors, condition[theirs[np.argsort(mine)]])
