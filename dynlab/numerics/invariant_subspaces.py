"""Bounds on the eigenvalues of a matrix that is defective or nearly so, from bases of its invariant subspaces.

Eigenvalues near one another are taken together: with orthonormal bases V_c of their invariant subspaces, from a
reordered Schur form, V⁻¹(A + E)V = diag(T_c) + M, each T_c triangular. An eigenvalue z of that satisfies, for one c at
least, 1/‖(z − T_c)⁻¹‖ ≤ ρ_c = Σ_c' ‖M_cc'‖ (block Gershgorin), and ‖(z − T_c)⁻¹‖ ≤ Σ_k N^k/d^{k+1} with N the norm of
T_c's part above its diagonal and d the distance of z from that diagonal (Henrici). All of one block, this is a bound
like Elsner's, (2‖A‖)^{1−1/n} δ^{1/n} or so.

References
----------
Henrici, Numer. Math. 4 (1962); Feingold and Varga, Pacific J. Math. 12 (1962); Elsner, Linear Algebra Appl. 71 (1985);
Golub and Van Loan, Matrix Computations, sections 7.2 and 7.6.
"""

import itertools

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, schur
from scipy.linalg.lapack import ztrsen
from scipy.sparse.csgraph import connected_components

from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.eigenvalue_discs import SAFE, UNIT, left_inverses

# Times ‖A‖: eigenvalues in a chain of shorter gaps are taken together; each is tried, and the best bounds are kept.
NEIGHBOURS = (0.0, 1e-12, 1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, np.inf)
LARGEST = 256  # a larger matrix is taken as one block: reordering takes n³ for each
BISECTIONS = 60  # of a radius between n ρ and the closed bound, in log scale


def eigenvalues_by_subspaces(matrix: Real, error: float) -> tuple[Complex, Real]:
    """Eigenvalues and bounds.

    Parameters
    ----------
    matrix : ndarray, shape (n, n)
        Finite, with a largest entry of about 1.
    error : float
        A bound on ‖E‖₂, what it is wrong by.

    Returns
    -------
    values : ndarray of complex, shape (n,)
    errors : ndarray, shape (n,)
        Matched one to one, every eigenvalue of A + E is within the error of its value; inf where LAPACK fails.
    """
    n = len(matrix)
    try:
        T, Q = schur(matrix, output="complex")
    except LinAlgError:
        return np.full(n, np.nan + 0j), np.full(n, np.inf)
    values, norm = T.diagonal(), float(np.linalg.norm(matrix))
    best, seen = np.full(n, np.inf), set()
    for nearest in NEIGHBOURS if n <= LARGEST else NEIGHBOURS[-1:]:
        groups = connected(np.abs(values[:, None] - values) <= nearest * norm)
        if groups.tobytes() in seen:
            continue
        seen.add(groups.tobytes())
        centers, errors = _grouped(matrix, T, Q, groups, error)
        if np.log(np.maximum(errors, UNIT)).sum() < np.log(np.maximum(best, UNIT)).sum():
            values, best = centers, errors
    return values, best


def connected(meets: NDArray[np.bool_]) -> NDArray[np.int32]:
    """The number of the component that each belongs to, shape (n,), where `meets` (n, n) says which ones meet."""
    return np.asarray(connected_components(meets, directed=False)[1])


def reach(centers: Complex, radii: Real) -> Real:
    """From each centre to the far end of all discs that a chain of discs connects with its own, shape (n,).

    A union of discs that meets no other disc holds as many eigenvalues as centres: any pairing of these is within it.
    """
    if not np.isfinite(radii).all():
        return np.full(len(radii), np.inf)
    distance = np.abs(centers[:, None] - centers)
    groups = connected(distance <= radii[:, None] + radii)
    return np.asarray(np.where(groups[:, None] == groups, distance + radii, 0.0).max(axis=1))


def _grouped(matrix: Real, T: Complex, Q: Complex, groups: NDArray[np.int32], error: float) -> tuple[Complex, Real]:
    """Eigenvalues in the order of T's diagonal, and errors, from one block for each group."""
    n, count = len(matrix), int(groups.max()) + 1
    bases, blocks, places = [], [], [np.flatnonzero(groups == number) for number in range(count)]
    for place in places:
        chosen = np.isin(np.arange(n), place)
        turned, basis = (T, Q) if count == 1 else ztrsen(chosen.astype(np.int32), T, Q, job="N")[:2]
        bases.append(basis[:, : len(place)])
        blocks.append(turned[: len(place), : len(place)])
    V = np.concatenate(bases, axis=1)
    with np.errstate(all="ignore"):
        W = left_inverses(V[None])[0]
        R = np.concatenate([matrix @ basis - basis @ block for basis, block in zip(bases, blocks, strict=True)], axis=1)
        rounding = 8 * (n + 4) * np.sqrt(n) * UNIT  # of a complex product, times the 2-norms of its factors
        G = np.linalg.norm(W @ V - np.eye(n), axis=1) + rounding * np.linalg.norm(W, axis=1)
        room = 1 - np.linalg.norm(G)
    if not room > 0.5:
        return T.diagonal(), np.full(n, np.inf)
    norm, P = float(np.linalg.norm(matrix)), W @ R
    wrong = 2 * rounding * norm + error
    sizes = np.array([len(place) for place in places])
    starts = np.cumsum(sizes) - sizes
    parts = [slice(start, start + size) for start, size in zip(starts, sizes, strict=True)]
    whole = np.linalg.norm(W, 2)
    left = np.array([_two_norm(W[row]) for row in parts])
    lost = np.sqrt(np.add.reduceat(G**2, starts)) / room
    residual = np.sqrt(np.add.reduceat((np.abs(R) ** 2).sum(axis=0), starts))
    between = np.sqrt(np.add.reduceat(np.add.reduceat(np.abs(P) ** 2, starts, axis=0), starts, axis=1))
    for i, j in itertools.product(np.flatnonzero(sizes > 1), repeat=2):
        between[i, j] = np.linalg.norm(P[parts[i], parts[j]], 2)
    uncertain = (wrong * (1 + rounding * n) + rounding * residual).sum() * (left + lost * whole)
    totals = between.sum(axis=1) + uncertain + lost * sum(_two_norm(P[:, part]) for part in parts)
    centers, radii = T.diagonal().copy(), np.empty(n)
    for total, block, place in zip(totals, blocks, places, strict=True):
        centers[place] = block.diagonal()
        departure = float(np.linalg.norm(np.triu(block, 1)))
        radii[place] = _distance(SAFE * float(total), departure, len(place)) + 4 * UNIT * np.abs(block.diagonal())
    return centers, reach(centers, SAFE * radii)


def _two_norm(matrix: Complex) -> float:
    """Of a row or a column its length, without the singular values."""
    return float(np.linalg.norm(matrix, None if 1 in matrix.shape else 2))


def _distance(rho: float, departure: float, size: int) -> float:
    """An upper bound on the root d of Σ_{k<m} N^k/d^{k+1} = 1/ρ."""
    if rho == 0 or size == 1 or departure == 0:
        return rho
    powers = np.arange(size)

    def enough(d: float) -> bool:
        return bool(np.logaddexp.reduce(powers * np.log(departure / d)) <= np.log(d / rho))

    low, high = np.log(rho), np.log(size * rho) + max(0.0, (1 - 1 / size) * np.log(departure / (size * rho)))
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(float(np.exp(middle))) else (middle, high)
    return float(np.exp(high)) * SAFE
