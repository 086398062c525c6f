"""Tangent vectors carried along an orbit and made orthonormal again before rounding blurs them: J Q = Q' R."""

import numpy as np
import torch

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

    A row of zeros in a square matrix gives an exact 0 on R's diagonal, and such a column of Q is 0.
    """
    rows = np.abs(image).max(axis=-1)
    if (rows.min(axis=-1) > ALIKE * rows.max(axis=-1)).all():
        Q, R = (part.numpy() for part in torch.linalg.qr(torch.from_numpy(image)))
    else:
        order = np.argsort(-rows, axis=-1, kind="stable")[..., None]
        found, R = np.linalg.qr(np.take_along_axis(image, order, axis=-2))
        Q = np.empty_like(found)
        np.put_along_axis(Q, np.broadcast_to(order, Q.shape), found, axis=-2)
    diagonal = np.diagonal(R, axis1=-2, axis2=-1)
    return (Q if diagonal.all() else np.where(diagonal[..., None, :] == 0, 0.0, Q)), R


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
    # A zero column is replaced by the identity's, which leaves the others' inverse as it is.
    regular = np.where(vanished[..., None, :], np.eye(R.shape[-1]), R) if vanished.any() else R
    with np.errstate(all="ignore"):
        error = SAFETY * (rounding * np.exp(log_size))[..., None] * np.linalg.norm(np.linalg.inv(regular), axis=-2)
        return np.log(diagonal), np.where(~vanished & (error < UNRESOLVED), error, np.inf)
