"""The complex plane about a matrix: σ_min(zI − A) in a window, the numerical range, and the border of stability.

The numerical range is {xᴴ A x : ‖x‖ = 1}. The border is the unit circle for a map and the imaginary axis for a flow.

References
----------
Johnson, "Numerical determination of the field of values of a general complex matrix", SIAM J. Numer. Anal. 15 (1978).
Trefethen and Embree, "Spectra and Pseudospectra", Princeton 2005, chapters 14, 18 and 49. The least σ_min(zI − A) on
the border is the least ‖E‖₂ of a complex E after which a stable A + E is not stable. With K = sup_{|z|>1} (|z| − 1)
‖(zI − A)⁻¹‖ it is K ≤ sup_k ‖A^k‖ ≤ e n K; for a flow, K = sup Re z ‖(zI − A)⁻¹‖ over Re z > 0.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.eigenvalues import Eigenvalues
from dynlab.numerics.resolvent import Resolvent, Smallest
from dynlab.numerics.singular_values import ALL_UP_TO
from dynlab.numerics.threads import in_threads
from dynlab.progress import through

BESIDE = 64  # eigenvalues, those nearest to the border, beside which it is sampled too
DIRECTIONS, DISTANCES = 91, 25  # samples along half the border (the matrix is real), and away from it
NEAREST, FARTHEST = 1e-6, 10.0  # distances of the samples from the border, in parts of the scale
REFINED = 4  # best samples, each followed to a local optimum
ACROSS = 7  # points of a window in each direction; the best is the centre of the next window, a third as wide
ROUNDS, ROUNDS_OF_LARGE = 16, 8  # windows, and those of more than `ALL_UP_TO` states
REACH = 1.5  # of a flow: how far the imaginary axis is sampled, in parts of the largest |λ| or of ‖A‖
ROUNDING = 4.0  # times n^{3/2} ε ‖zI − A‖: what a Schur form and its solves leave in σ_min
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


def numerical_range(matrix: Real) -> tuple[Complex, float, float, float]:
    """Return the range whose supporting lines are largest eigenvalues of the Hermitian parts of e^{−iθ}A.

    Returns
    -------
    border : ndarray, shape (angle,), complex
        Points of the border, where lines of each slope touch it.
    abscissa : float
        ω = max Re xᴴAx, the largest eigenvalue of (A + Aᵀ)/2: the slope of ‖e^{tA}‖ at t = 0.
    radius, radius_error : float
        Largest modulus, a lower bound, and by how much it is short at most: the support is at least r cos(δ) at a
        distance δ from the angle of the largest one, the radius r.
    """
    # a real matrix has a range that is symmetric about the real axis
    angles = np.linspace(0, np.pi, (ANGLES if len(matrix) <= ALL_UP_TO else OF_LARGE) // 2 + 1)
    supports, upper = _supporting(matrix, angles)
    border, radius = np.concatenate([upper, upper[-2:0:-1].conj()]), float(supports.max())
    rounding = len(matrix) * np.finfo(float).eps * float(np.linalg.norm(matrix))
    short = radius * (1 / np.cos(float(angles[1]) / 2) - 1)
    return border, float(supports[0]), radius, short + rounding


def _supporting(matrix: Real, angles: Real) -> tuple[Real, Complex]:
    """Return the supports at angles θ, and the points of the border where the lines touch it."""
    symmetric, skew = (matrix + matrix.T) / 2, (matrix - matrix.T) / 2

    def work(rows: slice) -> tuple[Real, Complex]:
        found = [_leading(np.cos(angle) * symmetric - 1j * np.sin(angle) * skew) for angle in through(angles[rows])]
        supports, vectors = (np.array(each) for each in zip(*found, strict=True))
        return supports, np.einsum("ij,ij->i", vectors.conj(), vectors @ matrix.T)

    return in_threads(work, len(angles))


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


def beyond(values: Complex, flow: bool) -> Real:
    """Return how far outside of the border eigenvalues lie, negative inside: |μ| − 1 of a map, Re λ of a flow."""
    return np.asarray(values.real if flow else np.abs(values) - 1)


def is_stable(spectrum: Eigenvalues, flow: bool) -> bool:
    """Return whether all eigenvalues lie inside beyond their errors."""
    return bool((beyond(spectrum.values, flow) < -spectrum.errors).all())


def instability(resolvent: Resolvent, spectrum: Eigenvalues, flow: bool) -> tuple[float, complex]:
    """Return the least σ_min(zI − A) on the border and its z, the upper of two conjugates; NaN unless A is stable."""
    if not is_stable(spectrum, flow):
        return np.nan, complex(np.nan, np.nan)
    end = REACH * (float(np.abs(spectrum.values).max()) or 1.0) if flow else np.pi

    def on_border(at: Real) -> Complex:
        return _point(np.clip(at[0], 0, end), 0.0, flow)

    samples, spacing = _places(spectrum.values, end, flow)[None], np.array([[end / DIRECTIONS]])
    value, at = _climbed(lambda at: -resolvent.smallest(on_border(at)).value, samples, spacing, _rounds(spectrum))
    return -value, complex(on_border(at)[0])


def kreiss_constant(
    matrix: Real, spectrum: Eigenvalues, resolvent: Resolvent, flow: bool, rounding: float = 0.0
) -> tuple[float, complex]:
    """Return a lower bound on the constant and its z; inf and an eigenvalue where that is unstable beyond its error.

    Each quotient is taken at its least: σ_min is larger by what rounding may have moved it, a few n^{3/2} ε ‖zI − A‖,
    and by `rounding` of A itself. The bound is at least 1, the limit at ∞.
    """
    outside = beyond(spectrum.values, flow)
    if (outside > spectrum.errors).any():
        return np.inf, complex(spectrum.values[np.argmax(outside)])
    unit, norm = float(np.finfo(float).eps), float(np.linalg.norm(matrix))
    scale = (norm or 1.0) if flow else 1.0

    def quotient(at: Real) -> Real:
        z = _point(at[1], np.exp(at[0]), flow)
        smallest = resolvent.smallest(z).value + ROUNDING * len(matrix) ** 1.5 * unit * (np.abs(z) + norm) + rounding
        return np.asarray((beyond(z, flow) - 2 * unit) / smallest)

    logs = np.log(np.geomspace(NEAREST, FARTHEST, DISTANCES) * scale)
    places = _places(spectrum.values, REACH * scale if flow else np.pi, flow)
    samples = np.stack([part.ravel() for part in np.meshgrid(logs, places)])
    spacing = np.array([[logs[1] - logs[0]], [places.max() / DIRECTIONS]])
    value, at = _climbed(quotient, samples, spacing, _rounds(spectrum))
    return (value, complex(_point(at[1], np.exp(at[0]), flow)[0])) if value > 1 else (1.0, complex(np.inf))


def _rounds(spectrum: Eigenvalues) -> int:
    return ROUNDS if len(spectrum.values) <= ALL_UP_TO else ROUNDS_OF_LARGE


def _places(eigenvalues: Complex, end: float, flow: bool) -> Real:
    """Return places along half the border: evenly spaced, and beside the eigenvalues nearest to it."""
    along = np.abs(eigenvalues.imag if flow else np.angle(eigenvalues))
    nearest = np.argsort(np.abs(beyond(eigenvalues, flow)))[:BESIDE]
    return np.concatenate([np.linspace(0, end, DIRECTIONS), along[nearest]])


def _point(place: Real, distance: Real | float, flow: bool) -> Complex:
    """Return z at a distance beyond a place of the border: iy for a flow, e^(iφ) for a map, where π is exactly −1."""
    if flow:
        return np.asarray(distance + 1j * place)
    return np.asarray((1 + distance) * np.where(place == np.pi, -1.0, np.exp(1j * place)))


def _climbed(value: Callable[[Real], Real], samples: Real, spacing: Real, rounds: int) -> tuple[float, Real]:
    """Follow the best samples (dimension, k) to local maxima by shrinking windows: the largest, and where, (d, 1)."""
    centre, half = samples[:, np.argsort(-value(samples))[:REFINED]], spacing
    offsets = np.stack([part.ravel() for part in np.meshgrid(*[np.linspace(-1, 1, ACROSS)] * len(samples))])
    for _ in through(range(rounds)):
        tried = centre[:, :, None] + half[:, :, None] * offsets[:, None]
        found = value(tried.reshape(len(samples), -1)).reshape(centre.shape[1], -1)
        centre = np.take_along_axis(tried, found.argmax(axis=1)[None, :, None], axis=2)[..., 0]
        half = half / (ACROSS // 2)
    best = int(found.max(axis=1).argmax())
    return float(found.max()), centre[:, best : best + 1]
