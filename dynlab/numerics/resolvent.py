"""Smallest singular values of zI − A for many z: one Schur decomposition, then triangular solves for all z at once.

References
----------
Trefethen, "Computation of pseudospectra", Acta Numerica 8 (1999), section 8: Schur decomposition and inverse Lanczos.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import rsf2csf, schur

from dynlab.numerics.arrays import Complex, Index, Real
from dynlab.numerics.eigenvectors import parts_of
from dynlab.numerics.threads import cores, in_threads, one_thread_each, slices
from dynlab.progress import through

TOLERANCE = 1e-10  # relative residual of the Ritz value 1/σ², so that σ has half of it
LONGEST = 80  # Lanczos steps; a value that has not converged by then says so
LOOK = 4  # Lanczos steps between two looks at the Ritz values, which cost as much as the steps
ROWS = 32  # of the triangle that are solved one by one; between these and others are matrix products
COPIES = 8  # arrays of the size (n, points) that a block holds


class Smallest(NamedTuple):
    """Smallest singular values at several points.

    Attributes
    ----------
    value : ndarray, shape (point,)
        σ_min(zI − A), with an absolute error of n ε ‖A‖_F or so.
    iterations : ndarray of int, shape (point,)
    residual : ndarray, shape (point,)
        Relative residual of the Lanczos iteration.
    converged : ndarray of bool, shape (point,)
    """

    value: Real
    iterations: Index
    residual: Real
    converged: NDArray[np.bool_]


class Resolvent:
    """σ_min(zI − A) for many z, by inverse Lanczos.

    1/σ_min² is the largest eigenvalue of (zI − T)⁻¹ (zI − T)⁻ᴴ, where T is A's complex Schur form.

    Parameters
    ----------
    matrix : ndarray, shape (n, n)
    blocks : sequence of int, optional
        Sizes of the diagonal blocks of a lower block triangular matrix: each has a Schur form of its own.
    max_memory : float
        Bytes for the points that are worked on at once.
    seed : int
        Seed of the vector that Lanczos starts with.
    """

    def __init__(self, matrix: Real, blocks: Sequence[int] = (), *, max_memory: float, seed: int) -> None:
        n = len(matrix)
        with one_thread_each():  # LAPACK's iteration is slower in several
            self._triangle = _schur_form(matrix, parts_of(blocks or (n,)))
        start = np.random.default_rng(seed).standard_normal((2, n))
        self._first = (start[0] + 1j * start[1]) / np.linalg.norm(start)
        self._at_once = max(1, int(max_memory // (16 * (COPIES * n + LONGEST**2) * cores())))

    def smallest(self, points: Complex) -> Smallest:
        """Return σ_min at each z of `points`, shape (point,)."""
        # each block passes through the triangle once for all its points: few large ones
        some = slices(len(points), min(self._at_once, -(-len(points) // cores())))

        def work(rows: slice) -> tuple[Any, ...]:
            parts = [_lanczos(self._triangle, points[part], self._first) for part in through(some[rows])]
            return tuple(np.concatenate(part) for part in zip(*parts, strict=True))

        return Smallest(*in_threads(work, len(some)))


def _schur_form(matrix: Real, parts: Sequence[slice]) -> Complex:
    """Return an upper triangular matrix that is unitarily similar; blocks come from the last to the first."""
    n, found = len(matrix), np.zeros(matrix.shape, dtype=complex)
    forms = [rsf2csf(*schur(matrix[part, part], output="real")) for part in parts]
    turned = [slice(n - part.stop, n - part.start) for part in parts]
    for i, (triangle, basis) in enumerate(forms):
        found[turned[i], turned[i]] = np.triu(triangle)
        for j in range(i):
            found[turned[i], turned[j]] = basis.conj().T @ matrix[parts[i], parts[j]] @ forms[j][1]
    return found


def _solved(T: Complex, gaps: Complex, right: Complex) -> Complex:
    """Return (z − T)⁻¹ of each column of `right`, where `gaps` (n, m) are z less T's diagonal."""
    x = np.array(right, order="C")
    for stop in range(len(T), 0, -ROWS):
        start = max(stop - ROWS, 0)
        x[start:stop] += T[start:stop, stop:] @ x[stop:]
        for row in range(stop - 1, start - 1, -1):
            x[row] = (x[row] + T[row, row + 1 : stop] @ x[row + 1 : stop]) / gaps[row]
    return x


def _lanczos(T: Complex, points: Complex, first: Complex) -> tuple[Real, Index, Real, NDArray[np.bool_]]:
    """Return the fields of `Smallest`; a point that has converged is not carried on."""
    count, n, tiny = len(points), len(T), np.finfo(float).tiny
    value, residual, iterations = np.full(count, tiny), np.zeros(count), np.ones(count, dtype=np.int64)
    left = np.arange(count)
    flipped = np.ascontiguousarray(T.conj().T[::-1, ::-1])
    gaps = points - T.diagonal()[:, None]
    # a gap smaller than its own rounding would only divide by zero
    least = np.finfo(float).eps * float(np.linalg.norm(T)) or tiny
    gaps[np.abs(gaps) < least] = least
    q, before = np.repeat(first[:, None], count, axis=1), np.zeros((n, count), dtype=complex)
    alphas, betas = np.zeros((LONGEST, count)), np.zeros((LONGEST + 1, count))
    with np.errstate(all="ignore"):  # 1/σ² beyond the largest number: σ is then rounding, and `tiny` here
        for k in range(LONGEST):
            half = _solved(flipped, gaps[::-1].conj(), q[::-1])[::-1]  # (z − T)⁻ᴴ, from the last row to the first
            w = _solved(T, gaps, half) - betas[k] * before
            alphas[k] = np.einsum("ij,ij->j", q.conj(), w).real
            w -= alphas[k] * q
            betas[k + 1] = np.linalg.norm(w, axis=0)
            w /= np.maximum(betas[k + 1], tiny)
            before, q = q, w
            if (k + 1) % LOOK and k + 1 != n and k + 1 < LONGEST:  # at n the space may be all, but for rounding
                continue
            known = np.isfinite(alphas[: k + 1]).all(axis=0) & np.isfinite(betas[: k + 2]).all(axis=0)
            top, last = _largest(np.where(known, alphas[: k + 1], 0.0), np.where(known, betas[1 : k + 1], 0.0))
            value[left] = np.where(known, np.maximum(1 / np.sqrt(top), tiny), tiny)
            residual[left], iterations[left] = np.where(known, betas[k + 1] * last / top, 0.0), k + 1
            going = residual[left] > TOLERANCE
            if not going.any():
                break
            left, before, q, gaps = left[going], before[:, going], q[:, going], gaps[:, going]
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
