"""The numerical range {xᴴ A x : ‖x‖ = 1}: its border, its rightmost and its farthest point.

References
----------
Johnson, "Numerical determination of the field of values of a general complex matrix", SIAM J. Numer. Anal. 15 (1978).
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.block_triangular import real_times
from dynlab.numerics.singular_values import ALL_UP_TO, ASIDE
from dynlab.numerics.threads import in_threads
from dynlab.progress import through

ANGLES = 180  # of supporting lines
STEPS, RESTARTS = 48, 20  # of Lanczos's iteration, which starts anew from the best vectors so far
BEHIND = 1e-12  # of the numerical radius: a supporting line that is nearer than a known point by less stays
SHORT, MOST_NEAR = 1e-10, 32  # of the numerical radius; angles that may have it
RESIDUAL = 1e-8  # of it, in parts of the numerical radius: the supporting line is off by the square of it


@dataclass(frozen=True)
class NumericalRange:
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
    """Largest eigenvalues of the Hermitian parts of e^{−iθ}A: the line xᴴAx·e^{−iθ} = that touches the range."""
    # a real matrix has a range that is symmetric about the real axis
    half = 2 * np.pi * np.arange(ANGLES // 2 + 1) / ANGLES

    def work(rows: slice) -> tuple[Real, Complex, Complex]:
        supports, vectors = _supporting(matrix, half[rows])
        return supports, np.einsum("ij,ij->j", vectors.conj(), real_times(matrix, vectors)), vectors.T

    supports, upper, vectors = in_threads(work, len(half), chunks_per_thread=1)
    border = np.concatenate([upper, upper[-2:0:-1].conj()])
    return NumericalRange(border, float(supports[0]), *_radius(matrix, half, supports, vectors.T))


def _radius(matrix: Real, angles: Real, supports: Real, vectors: Complex) -> tuple[float, float]:
    """The largest support of all angles, from those of a grid, and by how much it is short at most.

    The support is at least r cos(δ) at a distance δ from the angle of the largest one, r. So that angle lies within
    half a spacing of one whose support is so large, and only beside these the grid is made finer.
    """
    spacing = 2 * np.pi / ANGLES
    while (short := 1 / np.cos(spacing / 2) - 1) > SHORT:
        near = supports >= supports.max() * (np.cos(spacing / 2) - BEHIND)
        if near.sum() > MOST_NEAR:  # as of a disc, whose every angle has the largest one
            break
        spacing /= 3
        beside = np.concatenate([angles[near] - spacing, angles[near] + spacing])
        angles, known = np.concatenate([angles[near], beside]), vectors[:, near]
        more, others = _supporting(matrix, beside, np.concatenate([known, known], axis=1))
        supports, vectors = np.concatenate([supports[near], more]), np.concatenate([known, others], axis=1)
    rounding = len(matrix) * np.finfo(float).eps * float(np.linalg.norm(matrix))
    return float(supports.max()), float(supports.max()) * short + rounding


def _supporting(matrix: Real, angles: Real, near: Complex | None = None) -> tuple[Real, Complex]:
    """The support at each angle, and a unit vector whose point touches the line there; of others `near` are known."""
    return _of_small(matrix, angles) if len(matrix) <= ALL_UP_TO else _of_large(matrix, angles, near)


def _of_small(matrix: Real, angles: Real) -> tuple[Real, Complex]:
    """The largest eigenvalue of the Hermitian part of e^{−iθ}A for each angle, and its eigenvectors as columns."""
    n, supports, vectors = len(matrix), [], []
    symmetric, skew = (matrix + matrix.T) / 2, (matrix - matrix.T) / 2
    for angle in through(angles):
        hermitian = np.cos(angle) * symmetric - 1j * np.sin(angle) * skew
        values, columns = eigh(hermitian, subset_by_index=[n - 1, n - 1], check_finite=False)
        if not len(values):  # LAPACK's search for one of many equal ones may end with none
            values, columns = eigh(hermitian, check_finite=False)
        supports.append(values[-1])
        vectors.append(columns[:, -1])
    return np.array(supports), np.stack(vectors, axis=1)


def _of_large(matrix: Real, angles: Real, near: Complex | None) -> tuple[Real, Complex]:
    """The same by products with vectors, of all angles at once: Lanczos's iteration, started anew every few steps.

    From vectors `near` those that it looks for it takes fewer steps. They are moved a little aside, as the range may be
    that of a part which they do not see.
    """
    turns = np.exp(-1j * angles)
    start = np.random.default_rng(0).standard_normal((len(matrix), 1))
    x = np.repeat(start / np.linalg.norm(start), len(angles), axis=1) + 0j
    if near is not None:
        x = near + ASIDE * x
        x /= np.linalg.norm(x, axis=0)
    lowest = -(2 * float(np.linalg.norm(matrix)) or 1.0)

    points, left = np.zeros(len(angles), dtype=complex), np.arange(len(angles))
    for _ in through(range(RESTARTS)):
        x[:, left] = _best_of_krylov_space(matrix, turns[left], x[:, left], lowest)
        mapped = real_times(matrix, x[:, left])
        points[left] = np.einsum("ij,ij->j", x[:, left].conj(), mapped)
        supports, radius = (turns * points).real, float(np.abs(points).max())
        image = _hermitian_part(matrix, turns[left], x[:, left], mapped)
        residual = np.linalg.norm(image - supports[left] * x[:, left], axis=0)
        open_ = np.isin(np.arange(len(angles)), left[residual > RESIDUAL * radius])
        # a point that another angle has led to may lie farther out
        reach = (turns[:, None] * points).real
        farthest = reach.argmax(axis=1)
        behind = reach.max(axis=1) > supports + BEHIND * radius
        x[:, behind] = x[:, farthest[behind]]
        left = np.flatnonzero(open_ | behind)
        if not len(left):
            break
    return supports, x


def _hermitian_part(matrix: Real, turns: Complex, vectors: Complex, mapped: Complex) -> Complex:
    """(e^{−iθ}A + e^{iθ}Aᵀ)/2 times vectors, each of its own angle, that A itself has `mapped`."""
    return (turns * mapped + turns.conj() * real_times(matrix.T, vectors)) / 2


def _best_of_krylov_space(matrix: Real, turns: Complex, start: Complex, lowest: float) -> Complex:
    """From each column x the unit vector of span(x, Hx, H²x, …) with the largest xᴴHx; no eigenvalue is `lowest`."""
    steps, count = min(STEPS, len(start)), start.shape[1]
    alphas, betas = np.zeros((count, steps)), np.zeros((count, steps))
    basis, before, q = np.zeros((steps, *start.shape), dtype=complex), np.zeros_like(start), start
    for k in range(steps):
        basis[k] = q
        w = _hermitian_part(matrix, turns, q, real_times(matrix, q)) - betas[:, k] * before
        alphas[:, k] = np.einsum("ij,ij->j", q.conj(), w).real
        w -= alphas[:, k] * q
        alphas[~q.any(axis=0), k] = lowest  # the space is complete
        if k + 1 < steps:
            betas[:, k + 1] = np.linalg.norm(w, axis=0)
            before, q = q, w / np.maximum(betas[:, k + 1], np.finfo(float).tiny)
    rows = np.arange(steps)
    stack = np.zeros((count, steps, steps))
    stack[:, rows, rows], stack[:, rows[1:], rows[:-1]] = alphas, betas[:, 1:]
    shares = np.linalg.eigh(stack)[1][:, :, -1]  # reads the lower triangle
    best = np.einsum("kij,jk->ij", basis, shares)
    return np.asarray(best / np.linalg.norm(best, axis=0))
