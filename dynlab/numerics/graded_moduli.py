"""Mean and deviation of the eigenvalues' moduli of a graded product, and determinants' moduli, in log scale."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.numerics.eigenvalues import approximate_eigenvalues

SAFETY = 4.0  # for what is beyond first order, and for the growth of entries in an elimination


def log_determinant(matrix: Tensor, error: Tensor) -> tuple[Tensor, Tensor]:
    """The logarithm of abs(det J), and a bound on its error: tr(abs(J⁻¹) E) at first order, with E the entries' errors.

    Rows are scaled to entries of 1 at most, so that those of saturated units keep their digits.

    Parameters
    ----------
    matrix, error : Tensor, shape (..., n, n)

    Returns
    -------
    log_modulus, bound : Tensor, shape (...)
        −inf with the bound 0 where the determinant vanishes for certain: a row or a column is exactly zero. NaN with
        the bound inf where nothing is known.
    """
    size = matrix.abs().amax(dim=-1, keepdim=True)
    scaled, wrong = (part / torch.where(size > 0, size, 1) for part in (matrix, error))
    inverse, info = torch.linalg.inv_ex(scaled)
    unit = torch.finfo(matrix.dtype).eps
    moved = inverse.abs().mT * (wrong + matrix.shape[-1] * unit * scaled.abs())
    sizes, of_scaled = size.log(), torch.linalg.slogdet(scaled).logabsdet
    found = of_scaled + sizes.sum(dim=(-2, -1))
    summed = sizes.abs().sum(dim=(-2, -1)) + of_scaled.abs()
    bound = SAFETY * (moved.sum(dim=(-2, -1)) + unit * summed).nan_to_num(torch.inf, torch.inf)
    nothing = (matrix == 0) & (error == 0)
    zero = nothing.all(dim=-1).any(dim=-1) | nothing.all(dim=-2).any(dim=-1)
    known = (info == 0) & torch.isfinite(found)
    found, bound = torch.where(known, found, torch.nan), torch.where(known, bound, torch.inf)
    return torch.where(zero, -torch.inf, found), torch.where(zero, 0, bound)


# Each logarithm is computed twice, the second time with the product changed by as much as it may be wrong; where the
# two differ by more, it is not known.
LARGEST_CHANGE = 1e-6


def log_moduli(
    log_scale: NDArray[np.float64],
    rows: NDArray[np.float64],
    orthogonal: NDArray[np.float64],
    error: NDArray[np.float64],
    generator: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The logarithms of the mean and of the standard deviation of the moduli of the eigenvalues of Q e^d T.

    Parameters
    ----------
    log_scale : ndarray, shape (product, state)
        d.
    rows, orthogonal : ndarray, shape (product, state, state)
        T and Q.
    error : ndarray, shape (product, state)
        Relative error of each row of e^d T.
    generator : numpy.random.Generator
        Draws the change that tells how well the eigenvalues are determined.

    Returns
    -------
    log_mean, log_deviation : ndarray, shape (product,)
        NaN where the value is not determined: all eigenvalues are zero, or all moduli equal, to rounding.

    Notes
    -----
    Q e^d T is similar to G = e^{d/2} T Q e^{d/2}, whose rows and columns fall off alike: the QR iteration then keeps
    the digits of large and small eigenvalues, which in Q e^d T itself drown in ε σ₁. G is divided by its largest scale;
    what underflows then is beyond every digit of the mean.
    """
    changes = generator.standard_normal(rows.shape) / np.sqrt(rows.shape[-1])
    order = np.argsort(-log_scale, axis=-1, kind="stable")
    scales, wrong = (np.take_along_axis(each, order, axis=-1) for each in (log_scale, error))
    wrong = np.clip(wrong, rows.shape[-1] * np.finfo(float).eps, 1)
    with np.errstate(divide="ignore", invalid="ignore"):  # of a product that is zero nothing is known
        half = np.exp((scales - scales[:, :1]) / 2)
        core = np.take_along_axis(rows @ orthogonal, order[:, :, None], axis=1)
        graded = half[:, :, None] * np.take_along_axis(core, order[:, None], axis=2) * half[:, None]
        changed = graded + (wrong * half)[:, :, None] * changes * half[:, None]
        moduli = np.abs(approximate_eigenvalues(np.stack([graded, changed])))
        logs, others = np.log(np.stack([moduli.mean(axis=-1), moduli.std(axis=-1)], axis=1))
        known = np.abs(others - logs) <= LARGEST_CHANGE
    log_mean, log_deviation = np.where(known, logs + scales[:, 0], np.nan)
    return log_mean, log_deviation
