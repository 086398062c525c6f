"""The real Schur form of a large matrix, by a QR iteration whose windows fit a core's cache.

LAPACK's ``hseqr`` looks for eigenvalues that have converged in a window of 84 rows where a matrix has 512, and most of
its time goes into these looks. With its own routines and a smaller window the iteration takes half as long.

References
----------
Braman, Byers and Mathias, "The multishift QR algorithm", parts I and II, SIAM J. Matrix Anal. Appl. 23 (2002).
"""

import numpy as np

from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.lapack_call import call, run
from dynlab.numerics.shifted_solves import eigenvalues_of_form

LARGE = 256  # rows: of matrices up to this size LAPACK's own iteration is as fast
WINDOW, SHIFTS = 48, 32
ENOUGH = 0.3  # of a window that has converged: the next one is looked at without a sweep
STUCK = 10  # looks in a row of which none finds an eigenvalue: LAPACK's own iteration goes on from there


def large_schur(matrix: Real) -> tuple[Complex, Real, Real]:
    """Eigenvalues (n,), the triangle T (n, n) and the orthogonal Q (n, n) of A = Q T Qᵀ, in Fortran's order.

    T has a block of 2 × 2 along its diagonal for each pair, whose diagonal entries are equal. NaN are the eigenvalues
    where the iteration did not converge.
    """
    n = len(matrix)
    power = int(np.frexp(np.abs(matrix).max(initial=0.0))[1])  # a power of 2 changes no digit
    H, work = np.array(np.ldexp(matrix, -power), order="F"), np.empty(64 * n)
    moved, tau = np.empty(n), np.empty(n)
    first, last = run("dgebal", b"P", n, H, n, 0, 0, moved, 0)[2:4]  # rows outside of these are a triangle's already
    call("dgehrd", n, first, last, H, n, tau, work, len(work))
    Q = H.copy(order="F")
    call("dorghr", n, first, last, Q, n, tau, work, len(work))
    H[np.tri(n, k=-2, dtype=bool)] = 0.0
    left = _iterated(H, Q, first, last)
    failed = left and call("dhseqr", b"S", b"V", n, first, left, H, n, tau, moved.copy(), Q, n, work, len(work))
    call("dgebak", b"P", b"R", n, first, last, moved, n, Q, n)
    values = np.full(n, np.nan, complex) if failed else eigenvalues_of_form(H)
    return values * np.ldexp(1.0, power), np.ldexp(H, power), Q


def _iterated(H: Real, Q: Real, first: int, last: int) -> int:
    """Make the rows first … last of a Hessenberg matrix triangular, in place; the last row that is not, 0 if none."""
    n, stuck = len(H), 0
    values, room = np.zeros((2, n)), WINDOW + 2
    small, U = np.empty((room, room), order="F"), np.empty((3 * SHIFTS, 3 * SHIFTS), order="F")
    wide, tall, work = np.empty((3 * SHIFTS, n), order="F"), np.empty((n, 3 * SHIFTS), order="F"), np.empty(64 * room)
    while last >= first and stuck < STUCK:
        apart = np.flatnonzero(H.diagonal(-1)[first - 1 : last - 1] == 0)
        top = first + 1 + int(apart[-1]) if len(apart) else first
        size = last - top + 1
        window = size if size <= WINDOW + 1 else WINDOW
        ends = (wide, len(wide)), (tall, n)
        found = run(
            *("dlaqr3", 1, 1, n, top, last, window, H, n, 1, n, Q, n, 0, 0, *values, small, room),
            *(n, *ends[0], n, *ends[1], work, len(work)),
        )
        shifts, converged = found[10:12]
        last, stuck = last - converged, 0 if converged else stuck + 1
        if converged <= ENOUGH * window and last >= first:
            real, imaginary = _shifts(*values[:, last - shifts : last])
            run(
                *("dlaqr5", 1, 1, 1, n, top, last, len(real), real, imaginary, H, n, 1, n, Q, n),
                *(small, room, U, len(U), n, *ends[1], n, *ends[0]),
            )
    return last if last >= first else 0


def _shifts(real: Real, imaginary: Real) -> tuple[Real, Real]:
    """Of the eigenvalues of a window the smallest, in pairs: conjugate ones, or two real ones."""
    alone = real[imaginary == 0]
    alone = alone[np.argsort(-np.abs(alone))]
    alone = np.repeat(alone, 2) if len(alone) == len(real) == 1 else alone[len(alone) % 2 :]
    upper = (real + 1j * imaginary)[imaginary > 0]
    pairs = np.concatenate([np.stack([upper, upper.conj()], axis=1), alone.reshape(-1, 2)])
    chosen = pairs[np.argsort(-np.abs(pairs[:, 0]))][-SHIFTS // 2 :].ravel()
    return chosen.real.copy(), chosen.imag.copy()
