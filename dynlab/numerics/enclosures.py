"""Simple eigenvalues of a real matrix enclosed in discs far smaller than condition times rounding.

An eigenvector v, whose entry k is held, and its eigenvalue λ are the root of f(v, λ) = A v − λ v. Newton's method with
residuals of twice the digits brings them to where rounding leaves them; a ball about that point which Newton's
contraction maps into itself then holds a true eigenvector and its eigenvalue (Brouwer), and of the eigenvalue what is
left is of second order.

References
----------
Symm and Wilkinson, "Realistic error bounds for a simple eigenvalue and its associated eigenvector", Numer. Math. 35
(1980); Yamamoto, "Error bounds for computed eigenvalues and eigenvectors", Numer. Math. 34 (1980); Dongarra, Moler and
Wilkinson, SIAM J. Numer. Anal. 20 (1983), on the refinement; Rump, Acta Numerica 19 (2010), section 13.
"""

import numpy as np
from numpy.typing import NDArray

from dynlab.numerics.twice_the_digits import UNIT, dot, two_sum

Complex = NDArray[np.complex128]
Real = NDArray[np.float64]

STEPS = 2  # of Newton's method: LAPACK's pairs are right to rounding times a condition, which a step squares
TRIALS = 12  # of a ball that is blown up until it is mapped into itself
INFLATION = 1.25  # how much a ball is blown up beyond what it was mapped to
ROUNDINGS = 1.001  # times a bound: covers the roundings of computing it from numbers that are not negative
SMALLEST_SCALE = 1e-150  # a matrix below it, or above its inverse, is not looked at: products may under- or overflow
BYTES = 2**27  # of matrices held at once


def enclosed(matrix: Real, values: Complex, right: Complex, error: float = 0.0) -> tuple[Complex, Real]:
    """Better values of some eigenvalues, and discs about them each of which surely holds an eigenvalue.

    Parameters
    ----------
    matrix : ndarray, shape (n, n)
        A, real and finite, as stored.
    values : ndarray of complex, shape (k,)
        Of approximate eigenvalues.
    right : ndarray of complex, shape (n, k)
        Columns of approximate eigenvectors.
    error : float
        A bound in the 2-norm on E: every matrix A + E has an eigenvalue in each disc.

    Returns
    -------
    centers : ndarray of complex, shape (k,)
    radii : ndarray, shape (k,)
        inf where nothing is proved, as of a multiple or a defective eigenvalue, or one that is nearly so.

    Notes
    -----
    Let B be A − λI with its column k replaced by −v, R an approximate inverse, and let δ stand for the change of v,
    in its entry k for that of λ. Then f(x + δ) = 0 says δ = −R f(x) + (I − R B) δ + δ_k R (δ − δ_k e_k) − R E (v + δ).
    Where the right-hand side maps {|δ| ≤ t} into itself it has a fixed point there; and |δ_k + (R f)_k| ≤ (|I − R B|
    t)_k + t_k (|R| t)_k + ‖R_k‖₂ ‖E‖₂ (‖v‖₂ + ‖t‖₂), second order in t beside the last term, which is the condition
    of λ times ‖E‖. ‖I − R B‖ < 1, which the first inclusion implies, makes R and B invertible. All of it is bounded
    with the rounding of its own evaluation.
    """
    scale = float(np.abs(matrix).max(initial=0.0))
    if not SMALLEST_SCALE < scale < 1 / SMALLEST_SCALE:
        return values, np.full(len(values), np.inf)
    exponent = int(np.frexp(scale)[1])  # a power of 2 changes no digit
    scaled = np.ldexp(matrix, -exponent)
    at_once = max(1, BYTES // (64 * len(matrix) ** 2))
    centers, radii = np.empty(len(values), dtype=complex), np.empty(len(values))
    for start in range(0, len(values), at_once):
        part = slice(start, start + at_once)
        found = _enclosed(scaled, values[part] / 2.0**exponent, right[:, part].T, error / 2.0**exponent)
        centers[part], radii[part] = (each * 2.0**exponent for each in found)
    return centers, radii


def _enclosed(matrix: Real, values: Complex, vectors: Complex, error: float) -> tuple[Complex, Real]:
    """`enclosed` of a matrix whose largest entry is between 1/2 and 1; `vectors` (k, n) are rows."""
    rows = np.arange(len(values))
    held = np.abs(vectors).argmax(axis=1)
    with np.errstate(all="ignore"):  # what overflows or is not a number proves nothing
        v = vectors / vectors[rows, held][:, None]
        v[rows, held] = 1.0
        high, low = values.copy(), np.zeros_like(values)
        inverse = _inverses(_bordered(matrix, high, v, held))
        for _ in range(STEPS):
            change = -np.einsum("kij,kj->ki", inverse, _residual(matrix, v, high, low)[0])
            high, low = _added(high, low, change[rows, held])
            change[rows, held] = 0
            v = v + change
        return _proved(matrix, v, high, low, held, inverse, error)


def _proved(
    matrix: Real, v: Complex, high: Complex, low: Complex, held: NDArray[np.intp], inverse: Complex, error: float
) -> tuple[Complex, Real]:
    rows, n = np.arange(len(v)), len(matrix)
    rounding = 4 * (n + 8) * UNIT  # of a sum of n complex products, times the sum of their moduli
    residual, residual_error = _residual(matrix, v, high, low)
    bordered = _bordered(matrix, high, v, held)
    contraction = np.abs(np.eye(n) - inverse @ bordered)
    size, outer = np.abs(inverse), np.abs(bordered)
    lost = 4 * UNIT * (np.abs(high)[:, None] + np.abs(matrix.diagonal())) + np.abs(low)[:, None]  # forming A − λI
    reach = np.linalg.norm(inverse, axis=2) * error
    length = np.linalg.norm(v, axis=1)[:, None]

    def times(matrices: Real, vectors: Real) -> Real:
        return np.einsum("kij,kj->ki", matrices, vectors)

    change = -np.einsum("kij,kj->ki", inverse, residual)
    first = rounding * times(size, np.abs(residual)) + times(size, residual_error)

    def second(t: Real) -> Real:
        """What the equation for δ adds to −R f(x), where |δ| ≤ t."""
        others = t.copy()
        others[rows, held] = 0
        of_value = t[rows, held][:, None]
        linear = times(contraction, t) + rounding * times(size, times(outer, t) + t) + times(size, lost * t)
        uncertain = reach * (length + np.linalg.norm(t, axis=1)[:, None])
        return ROUNDINGS * (first + linear + of_value * times(size, others) + uncertain)

    t = INFLATION * (np.abs(change) + ROUNDINGS * (first + reach * length)) + np.finfo(float).tiny
    inside = np.zeros(len(v), dtype=bool)
    for _ in range(TRIALS):
        mapped = ROUNDINGS * np.abs(change) + second(t)
        inside = (mapped < t).all(axis=1)
        if inside.all():
            break
        t = np.where(inside[:, None], t, INFLATION * mapped)
    sharp = second(np.minimum(t, mapped))[rows, held]
    high, low = _added(high, low, change[rows, held])
    center = high + low
    # the center is rounded, and so is its modulus where that is taken
    radius = ROUNDINGS * (sharp + 4 * UNIT * np.abs(center) + 64 * UNIT**2 * (1 + np.abs(center)))
    proved = inside & np.isfinite(radius)
    return np.where(proved, center, high), np.where(proved, radius, np.inf)


def _bordered(matrix: Real, values: Complex, v: Complex, held: NDArray[np.intp]) -> Complex:
    """A − λI with the column of the held entry replaced by −v, shape (k, n, n)."""
    n = len(matrix)
    stacked = np.repeat(matrix[None].astype(complex), len(values), axis=0)
    stacked[:, np.arange(n), np.arange(n)] -= values[:, None]
    stacked[np.arange(len(values)), :, held] = -v
    return stacked


def _inverses(stack: Complex) -> Complex:
    """Of each matrix; NaN where it is exactly singular."""
    try:
        return np.asarray(np.linalg.inv(stack), dtype=complex)
    except np.linalg.LinAlgError:
        if len(stack) == 1:
            return np.full_like(stack, np.nan)
        return np.concatenate([_inverses(each[None]) for each in stack])


def _residual(matrix: Real, v: Complex, high: Complex, low: Complex) -> tuple[Complex, Real]:
    """A v − (high + low) v to twice the digits, rounded, shape (k, n), and a bound on its error."""
    columns = np.broadcast_to(matrix, (len(v), *matrix.shape))
    high, low = high[:, None, None], low[:, None, None]
    real, imaginary = v.real[:, :, None], v.imag[:, :, None]
    shape = (*v.shape, 1)
    parts, errors = [], []
    for along, across, sign in ((v.real, imaginary, 1.0), (v.imag, real, -1.0)):
        # Re(λ v) = Re λ Re v − Im λ Im v, Im(λ v) = Re λ Im v + Im λ Re v
        factors = [np.broadcast_to(each, shape) for each in (-high.real, sign * high.imag, -low.real, sign * low.imag)]
        ahead = along[:, :, None]
        a = np.concatenate([columns, *factors], axis=2)
        b = np.concatenate([np.broadcast_to(along[:, None, :], columns.shape), ahead, across, ahead, across], axis=2)
        leading, rest, error = dot(a, b)
        parts.append(leading + rest)
        errors.append(error + 2 * UNIT * np.abs(leading + rest))
    return parts[0] + 1j * parts[1], errors[0] + errors[1]


def _added(high: Complex, low: Complex, change: Complex) -> tuple[Complex, Complex]:
    """(high + low) + change in two parts each, real and imaginary: the error is of the order of u times the low one."""
    parts = []
    for one, rest, added in ((high.real, low.real, change.real), (high.imag, low.imag, change.imag)):
        total, lost = two_sum(one, added)
        parts.append(two_sum(total, lost + rest))
    (real, real_low), (imaginary, imaginary_low) = parts
    return real + 1j * imaginary, real_low + 1j * imaginary_low
