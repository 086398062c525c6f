"""Tangent vectors carried along an orbit and made orthonormal again before rounding blurs them: J Q = Q' R."""

import numpy as np

from dynlab.numerics.arrays import Real

# The first-order bound of `growth` has no constants of QR and multiplication; the true error of 4,000 random and
# saturated products was at most 2.4 times as large.
SAFETY = 4.0
UNRESOLVED = 0.1  # error of a growth factor's logarithm beyond which it is not known
ALIKE = 1e-3  # rows larger than this share of the largest lose at most three digits in a QR without sorting


def random_frame(samples: int, size: int, k: int, seed: int) -> Real:
    """Return k random orthonormal directions, shape (sample, size, k), the same for every sample.

    An axis might be an invariant direction; these are not. The first of them do not depend on k.
    """
    drawn = np.random.default_rng(seed).standard_normal((k, size)).T
    return np.broadcast_to(np.linalg.qr(drawn)[0], (samples, size, k))


def orthonormal(image: Real) -> tuple[Real, Real]:
    """Return Q and R of matrices (..., n, k); rows of very different sizes are sorted, which keeps small ones' digits.

    A row of zeros in a square matrix gives an exact 0 on R's diagonal.
    """
    rows = np.abs(image).max(axis=-1)
    if (rows.min(axis=-1) > ALIKE * rows.max(axis=-1)).all():
        Q, R = np.linalg.qr(image)
        return Q, R
    order = np.argsort(-rows, axis=-1, kind="stable")[..., None]
    Q, R = np.linalg.qr(np.take_along_axis(image, order, axis=-2))
    back = np.empty_like(Q)
    np.put_along_axis(back, np.broadcast_to(order, Q.shape), Q, axis=-2)
    return back, R


def growth(R: Real, log_size: Real, rounding: Real) -> tuple[Real, Real]:
    """Return ln abs(R_ii) and a bound of its error, both of shape (..., k).

    Parameters
    ----------
    R : ndarray, shape (..., k, k)
    log_size : ndarray, shape (...)
        Logarithm of a bound of ‖J_m‖₂ … ‖J_1‖₂.
    rounding : ndarray, shape (...)
        Error of the image J_m … J_1 Q, as a share of that bound.

    Notes
    -----
    A change δ of Q R moves ln R_ii by (Qᵀ δ R⁻¹)_ii to first order, at most ‖δ‖₂ ‖R⁻¹ e_i‖₂. The bound is inf where
    R_ii is 0 and where it exceeds `UNRESOLVED`.
    """
    diagonal = np.abs(np.diagonal(R, axis1=-2, axis2=-1))
    vanished = diagonal == 0
    eye = np.eye(R.shape[-1])
    regular = np.where(vanished[..., None, :], eye, R) if vanished.any() else R
    with np.errstate(all="ignore"):
        # A zero column is replaced by the identity's, which leaves the others' inverse as it is.
        length = np.linalg.norm(inverse_triangular(regular), axis=-2)
        error = SAFETY * (rounding * np.exp(log_size))[..., None] * length
        known = ~vanished & (error < UNRESOLVED)
        return np.log(diagonal), np.where(known, error, np.inf)


def inverse_triangular(R: Real) -> Real:
    """Return the inverses of upper triangular matrices (..., k, k) with a diagonal without zeros; NaN where R is."""
    from scipy.linalg.lapack import dtrtri  # here, since SciPy takes a tenth of a second to import

    flat = R.reshape(-1, *R.shape[-2:])
    return np.stack([dtrtri(each)[0] for each in flat]).reshape(R.shape)
