"""Left and right eigenvectors of a real matrix, biorthonormal, and how far each may be off.

References
----------
Golub and Van Loan, Matrix Computations, sections 7.2.2 to 7.2.4; Stewart and Sun, Matrix Perturbation Theory, chapter
V.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Complex = NDArray[np.complex128]
Real = NDArray[np.float64]

# An eigenvector that its matrix's own error may turn by more than this is not told from its neighbours'.
UNRESOLVED = 1e-3


class Eigenmodes(NamedTuple):
    """λ_i with J r_i = λ_i r_i, l_i J = λ_i l_i and l_i r_j = δ_ij.

    Attributes
    ----------
    values : ndarray of complex, shape (n,)
        By decreasing modulus.
    right : ndarray of complex, shape (n, n)
        Rows r_i of length 1, their entry of largest modulus real and positive.
    left : ndarray of complex, shape (n, n)
        Rows l_i, not conjugated in l_i r_j.
    conditions : ndarray, shape (n,)
        ‖l_i‖‖r_i‖ = 1/|cos| of the angle between the two, inf for a defective matrix.
    errors : ndarray, shape (n,)
        A first-order bound on the angle by which r_i and l_i may be turned, inf where eigenvalues are not separated.
    """

    values: Complex
    right: Complex
    left: Complex
    conditions: Real
    errors: Real

    @property
    def resolved(self) -> NDArray[np.bool_]:
        """Which modes have vectors of their own, shape (n,)."""
        return self.errors < UNRESOLVED


def eigenmodes(jacobian: Real, value_errors: Real) -> Eigenmodes:
    """Of a real matrix (n, n) with the errors (n,) of its eigenvalues, as `eigenvalues_and_errors` gives them.

    Notes
    -----
    A change E of the matrix turns r_i by at most ‖E‖ Σ_{j≠i} κ_j/|λ_i − λ_j| to first order, doubled here for what is
    beyond, with the gap made smaller by the errors of both eigenvalues as LAPACK gives them; ‖E‖ is the largest error
    of an eigenvalue over its condition number, n ε ‖J‖_F at least. l_i is turned by at most as much, with κ_j likewise.
    """
    n = len(jacobian)
    values, columns = np.linalg.eig(jacobian)
    order = np.argsort(-np.abs(values), kind="stable")
    values, right = values[order].astype(complex), columns[:, order].T.astype(complex)
    largest = right[np.arange(n), np.abs(right).argmax(axis=1)]
    right = right * (np.abs(largest) / largest)[:, None]
    try:
        left = np.linalg.inv(right.T)
        left = left @ (2 * np.eye(n) - right.T @ left)  # one of Newton's steps halves the error's exponent
    except np.linalg.LinAlgError:  # exactly defective
        nothing = np.full((n, n), np.nan, dtype=complex)
        return Eigenmodes(values, right, nothing, np.full(n, np.inf), np.full(n, np.inf))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        conditions = np.nan_to_num(np.linalg.norm(left, axis=1), nan=np.inf, posinf=np.inf)
        rounding = n * np.finfo(float).eps * np.linalg.norm(jacobian)
        change = max(float((value_errors / (2 * conditions)).max()), rounding)
        # of the values here, which an enclosure may have bettered there
        own = np.fmax(value_errors, 2 * conditions * rounding)
        gaps = np.abs(values[:, None] - values) - own[:, None] - own
        terms = np.where(gaps > 0, conditions / gaps, np.inf)
        terms[np.diag_indices(n)] = 0.0
        errors = np.nan_to_num(2 * change * terms.sum(axis=1), nan=np.inf, posinf=np.inf)
    return Eigenmodes(values, right, left, conditions, errors)


def real_axes(vector: Complex) -> Real:
    """The semi-axes of the ellipse that Re(e^{iφ} r) runs through, longest first, shape (2, n); of a real r, (r, 0).

    Notes
    -----
    The phase that makes real and imaginary part orthogonal is half that of r·r; the longer axis is scaled to 1.
    """
    turned = vector * np.exp(-0.5j * np.angle((vector**2).sum()))
    axes = np.stack([turned.real, turned.imag])
    return np.asarray(axes / np.linalg.norm(axes[0]))
