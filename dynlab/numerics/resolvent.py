"""Smallest singular values of zI − A for many z: one Schur decomposition, then triangular solves for all z at once.

References
----------
Trefethen, "Computation of pseudospectra", Acta Numerica 8 (1999), section 8: Schur decomposition and inverse Lanczos.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import schur

from dynlab.numerics.arrays import Complex, Index, Real
from dynlab.numerics.block_triangular import parts_of
from dynlab.numerics.shifted_solves import inverses_of_blocks, scale_down, shifted_gaps, solved
from dynlab.numerics.threads import cores, in_threads, one_thread_each, slices
from dynlab.progress import through

TOLERANCE = 1e-10  # relative residual of the Ritz value 1/σ², so that σ has half of it
LONGEST = 80  # Lanczos steps; a value that has not converged by then says so
LOOK = 4  # Lanczos steps between two looks at the Ritz values, which cost as much as the steps
LARGEST_EXPONENT = 900  # of the power of 2 that a matrix is divided by: points of its plane must not overflow
COPIES = 11  # arrays of the size (n, points) that a block holds
MATRICES = 5  # of the size (n, n): the caller's, its error, both Schur forms; each core has one more


@dataclass(frozen=True)
class Smallest:
    """Smallest singular values.

    Attributes
    ----------
    value : ndarray, shape (point,)
        σ_min(zI − A), with an absolute error of n ε ‖A‖_F or so.
    iterations : ndarray, shape (point,)
    residual : ndarray, shape (point,)
        Of the Lanczos iteration, relative.
    converged : ndarray, shape (point,)
    """

    value: Real
    iterations: Index
    residual: Real
    converged: NDArray[np.bool_]


class Resolvent:
    """σ_min(zI − A) for many z.

    Inverse Lanczos: 1/σ_min² is the largest eigenvalue of (zI − T)⁻¹ (zI − T)⁻ᴴ, where T is A's Schur form. Each
    column is kept at about 1, its power of 2 beside it: of a nilpotent A, 1/σ_min² is beyond the largest number.

    Parameters
    ----------
    matrix : ndarray, shape (n, n)
    blocks : sequence of int, optional
        The sizes of its diagonal blocks, where it is lower block triangular: each has a Schur form of its own.
    max_memory : float
        Bytes: points are taken in blocks that stay below, what the matrices hold included.
    seed : int
        Of the vector that Lanczos starts with.
    """

    def __init__(self, matrix: Real, blocks: Sequence[int] = (), *, max_memory: float, seed: int) -> None:
        n, largest = len(matrix), float(np.abs(matrix).max())
        exponent = int(np.clip(np.frexp(largest)[1], -LARGEST_EXPONENT, LARGEST_EXPONENT))
        self._scale = 2.0**exponent
        matrix = np.ldexp(matrix, -exponent)
        with one_thread_each():  # LAPACK's iteration is slower in several
            self._triangle = _schur_form(matrix, parts_of(blocks or (n,)))
        start = np.random.default_rng(seed).standard_normal((2, n))
        self._first = (start[0] + 1j * start[1]) / np.linalg.norm(start)
        # a diagonal entry smaller than its own rounding would only divide by zero
        self._least = np.finfo(float).eps * float(np.linalg.norm(matrix)) or np.finfo(float).tiny
        free = max_memory - 8 * (MATRICES + cores()) * n**2
        self._at_once = max(1, int(free // (16 * (COPIES * n + LONGEST**2) * cores())))

    def smallest(self, points: Complex) -> Smallest:
        """At each z of `points`, shape (point,)."""
        # each block passes through the triangle once for all its points: few large ones
        scaled = points / self._scale
        some = slices(len(points), min(self._at_once, -(-len(points) // cores())))

        def work(rows: slice) -> tuple[Any, ...]:
            parts = [_lanczos(self._triangle, scaled[part], self._first, self._least) for part in through(some[rows])]
            return tuple(np.concatenate(part) for part in zip(*parts, strict=True))

        value, *rest = in_threads(work, len(some))
        return Smallest(value * self._scale, *rest)


def _schur_form(matrix: Real, parts: Sequence[slice]) -> Real:
    """Upper triangular but for 2 × 2 blocks, and orthogonally similar; blocks come from the last to the first."""
    n = len(matrix)
    forms = [schur(matrix[part, part], output="real") for part in parts]
    turned = [slice(n - part.stop, n - part.start) for part in parts]
    found = np.zeros((n, n))
    for i, (triangle, basis) in enumerate(forms):
        found[turned[i], turned[i]] = triangle
        for j in range(i):
            found[turned[i], turned[j]] = basis.T @ matrix[parts[i], parts[j]] @ forms[j][1]
    return found


def _lanczos(T: Real, points: Complex, first: Complex, least: float) -> tuple[Real, Index, Real, NDArray[np.bool_]]:
    """The kernel for one block; a point that has converged is not carried on."""
    count, n = len(points), len(T)
    value, residual = np.full(count, np.nan), np.full(count, np.inf)
    iterations = np.zeros(count, dtype=np.int64)
    left = np.arange(count)
    flipped = np.ascontiguousarray(T.T[::-1, ::-1])
    inverses = []
    for triangle, at in ((flipped, points.conj()), (T, points)):
        gaps = shifted_gaps(triangle, at)
        inverses.append(inverses_of_blocks(triangle, np.where(np.abs(gaps) < least, least, gaps)))
    q, before = np.repeat(first[:, None], count, axis=1), np.zeros((n, count), dtype=complex)
    alphas, betas = np.zeros((LONGEST, count)), np.zeros((LONGEST + 1, count))
    scale = None  # power of 4 that the operator is divided by
    for k in range(LONGEST):
        half, first_power = solved(flipped, inverses[0], q[::-1])  # (zI − T)⁻ᴴ, from the last row to the first
        scale_down(half, first_power, slice(None), 0.0)
        w, power = solved(T, inverses[1], half[::-1])
        scale_down(w, power, slice(None), 0.0)
        power += first_power
        if scale is None:
            scale = 2 * (power // 2)
        w *= np.exp2(np.minimum(power - scale, LARGEST_EXPONENT))  # of a column of zeros it is arbitrary
        w -= betas[k] * before
        alphas[k] = np.einsum("ij,ij->j", q.conj(), w).real
        w -= alphas[k] * q
        betas[k + 1] = np.linalg.norm(w, axis=0)
        w /= np.maximum(betas[k + 1], np.finfo(float).tiny)
        before, q = q, w
        if (k + 1) % LOOK and k + 1 != n and k + 1 < LONGEST:  # at n the space may be all, but for what rounding lost
            continue
        top, last = _largest(alphas[: k + 1], betas[1 : k + 1])
        value[left] = np.maximum(np.exp2(-scale / 2) / np.sqrt(top), np.finfo(float).tiny)
        residual[left] = betas[k + 1] * last / top
        iterations[left] = k + 1
        going = residual[left] > TOLERANCE
        if not going.any():
            break
        left, before, q, *inverses = left[going], *(each[:, going] for each in (before, q, *inverses))
        scale = scale[going]
        alphas, betas = alphas[:, going], betas[:, going]
    return value, iterations, residual, residual <= TOLERANCE


def _largest(alphas: Real, betas: Real) -> tuple[Real, Real]:
    """The largest eigenvalue of each symmetric tridiagonal matrix, and its unit eigenvector's last entry's modulus."""
    size, count = alphas.shape
    stack = np.zeros((count, size, size))
    row = np.arange(size)
    stack[:, row, row] = alphas.T
    stack[:, row[1:], row[:-1]] = betas.T
    values, vectors = np.linalg.eigh(stack)  # reads the lower triangle
    return values[:, -1], np.abs(vectors[:, -1, -1])
