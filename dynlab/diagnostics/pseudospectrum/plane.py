"""The window of the complex plane with σ_min(zI − A) on its grid and in a close-up, and the numerical range.

The numerical range is {xᴴ A x : ‖x‖ = 1}.

References
----------
Johnson, "Numerical determination of the field of values of a general complex matrix", SIAM J. Numer. Anal. 15 (1978).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.resolvent import Resolvent, Smallest
from dynlab.numerics.singular_values import ALL_UP_TO
from dynlab.numerics.threads import in_threads
from dynlab.progress import through

MARGIN = 0.15  # of the window beyond what must be in it
CLOSE = 2.5  # half the width of the close-up, in distances from where the border is first reached to an eigenvalue
CLOSER = 1 / 3  # of the window: a wider close-up would show no more
ANGLES, OF_LARGE = 180, 60  # of supporting lines, and of more than `ALL_UP_TO` states
RESIDUAL = 1e-8  # of an eigenvector of a large matrix, relative: the eigenvalue is off by its square
VECTORS = 40  # of Lanczos's iteration before it starts anew


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


class NumericalRange(NamedTuple):
    """The numerical range of a matrix.

    Attributes
    ----------
    border : ndarray, shape (angle,), complex
        Points of the border, where lines of each slope touch it.
    abscissa : float
        ω = max Re xᴴAx, the largest eigenvalue of (A + Aᵀ)/2: the slope of ‖e^{tA}‖ at t = 0.
    radius : float
        Largest modulus, a lower bound.
    radius_error : float
        By how much it is short at most.
    """

    border: Complex
    abscissa: float
    radius: float
    radius_error: float


def numerical_range(matrix: Real) -> NumericalRange:
    """Return the range whose supporting lines are largest eigenvalues of the Hermitian parts of e^{−iθ}A.

    The support is at least r cos(δ) at a distance δ from the angle of the largest one, the radius r.
    """
    # a real matrix has a range that is symmetric about the real axis
    angles = np.linspace(0, np.pi, (ANGLES if len(matrix) <= ALL_UP_TO else OF_LARGE) // 2 + 1)
    supports, upper = _supporting(matrix, angles)
    border, radius = np.concatenate([upper, upper[-2:0:-1].conj()]), float(supports.max())
    rounding = len(matrix) * np.finfo(float).eps * float(np.linalg.norm(matrix))
    short = radius * (1 / np.cos(float(angles[1]) / 2) - 1)
    return NumericalRange(border, float(supports[0]), radius, short + rounding)


def _supporting(matrix: Real, angles: Real) -> tuple[Real, Complex]:
    """Return the supports at angles θ, and the points of the border where the lines touch it."""
    symmetric, skew = (matrix + matrix.T) / 2, (matrix - matrix.T) / 2

    def work(rows: slice) -> tuple[Real, Complex]:
        found = [_leading(np.cos(angle) * symmetric - 1j * np.sin(angle) * skew) for angle in through(angles[rows])]
        supports, vectors = (np.array(each) for each in zip(*found, strict=True))
        return supports, np.einsum("ij,ij->i", vectors.conj(), vectors @ matrix.T)

    supports, points = in_threads(work, len(angles))
    return supports, points


def _leading(hermitian: Complex) -> tuple[float, Complex]:
    """Return the largest eigenvalue, and a unit eigenvector."""
    n = len(hermitian)
    if n > ALL_UP_TO and hermitian.any():
        start = np.random.default_rng(0).standard_normal(n) + 0j
        values, columns = eigsh(hermitian, k=1, which="LA", v0=start, ncv=VECTORS, tol=RESIDUAL)
    else:
        values, columns = eigh(hermitian, subset_by_index=[n - 1, n - 1], check_finite=False)
    if not len(values):  # LAPACK's search for one of many equal ones may end with none
        values, columns = eigh(hermitian, check_finite=False)
    return float(values[-1]), columns[:, -1]
