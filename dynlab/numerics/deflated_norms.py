"""Bounds of a matrix's norms from its products with an orthonormal basis and with random vectors beside it.

With orthonormal columns U let D = (I − UUᵀ) A be what they leave of A. Of a fixed vector v random normal vectors G have
components Gᵀv whose square is at least χ, a quantile, but for a small probability. So ‖DᵀG‖₂ ≥ √χ ‖D‖₂, and
‖(D Aᵀu)ᵀ G‖ ≥ √χ ‖D Aᵀu‖. Turned so that the columns of AᵀU are orthogonal, of lengths s_j, ‖A‖₂² is at most the
largest eigenvalue of the small symmetric matrix of s_j², of bounds of ‖D Aᵀu_j‖ beside them, and of one of ‖D‖₂². It is
at least the largest s_j². Where U nearly holds A's first left singular vectors, both are close.

References
----------
Halko, Martinsson and Tropp, "Finding structure with randomness", SIAM Review 53 (2011); Meyer, Musco, Musco and
Woodruff, "Hutch++", SOSA 2021, for the sum of what is known and what is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from dynlab.numerics.arrays import Real

ROUNDINGS = 8.0  # of n ε tr M: what the matrix M of inner products and its eigenvalues round, with a margin


@dataclass(frozen=True)
class DeflatedNorms:
    """Logarithms, shape (sample,), NaN where nothing is known.

    Attributes
    ----------
    log_lower, log_upper : ndarray
        Bounds of ln ‖A‖₂.
    log_frobenius, frobenius_error : ndarray
        An estimate of ln ‖A‖_F, and a bound of its error.
    """

    log_lower: Real
    log_upper: Real
    log_frobenius: Real
    frobenius_error: Real

    def scaled(self, log_scale: Real) -> DeflatedNorms:
        """Those of e^log_scale times the matrix."""
        lower, upper, frobenius = (each + log_scale for each in (self.log_lower, self.log_upper, self.log_frobenius))
        return DeflatedNorms(lower, upper, frobenius, self.frobenius_error)


def deflated_norms(images: Tensor, basis: int, wrong: Tensor, failing: float) -> DeflatedNorms:
    """Bounds of ‖A‖₂, and of ‖A‖_F.

    Parameters
    ----------
    images : Tensor, shape (sample, n, basis + probes)
        AᵀU, and after it Aᵀ(I − UUᵀ)G.
    basis : int
        How many columns U has.
    wrong : Tensor, shape (sample,)
        A bound in the Frobenius norm of the errors of `images`.
    failing : float
        The probability that one of the bounds of a sample does not hold.
    """
    from scipy.special import gammainccinv, gammaincinv  # here, since they take a tenth of a second to load

    n, probes = images.shape[1], images.shape[2] - basis
    each = failing / (basis + 3)
    low, high = (2 * float(quantile(probes / 2, each)) for quantile in (gammaincinv, gammainccinv))
    known = images.isfinite().all(dim=-1).all(dim=-1) & wrong.isfinite()
    products = torch.where(known[:, None, None], images.mT @ images, 0)
    of_basis, squares = products[:, :basis, :basis], products.diagonal(dim1=-2, dim2=-1)
    rounding = ROUNDINGS * n * torch.finfo(images.dtype).eps * squares.sum(dim=-1)
    lengths, turned = torch.linalg.eigh(of_basis)
    rest = ((torch.linalg.eigvalsh(products[:, basis:, basis:])[:, -1] + rounding).clamp(min=0).sqrt() + wrong) ** 2
    beside = torch.linalg.vector_norm(turned.mT @ products[:, :basis, basis:], dim=-1) + rounding.unsqueeze(-1)
    beside = beside + lengths.clamp(min=0).sqrt() * wrong.unsqueeze(-1)
    small = torch.diag_embed(torch.cat([lengths, (rest / low).unsqueeze(-1)], dim=-1))
    small[:, -1, :-1] = small[:, :-1, -1] = beside / low**0.5
    top = torch.linalg.eigvalsh(torch.where(known[:, None, None], small, 0))[:, -1]
    lower = (lengths[:, -1] - rounding).clamp(min=0).sqrt() - wrong
    upper = (top + rounding).clamp(min=0).sqrt() + wrong
    kept, drawn = squares[:, :basis].sum(dim=-1).sqrt(), squares[:, basis:].sum(dim=-1).sqrt()
    least = (kept - wrong).clamp(min=0) ** 2 + (drawn - wrong).clamp(min=0) ** 2 / high
    most = (kept + wrong) ** 2 + (drawn + wrong) ** 2 / low
    of_frobenius = [each.log() / 2 for each in (kept**2 + drawn**2 / probes, least, most)]
    numbers = torch.stack([lower.clamp(min=0).log(), upper.log(), *of_frobenius])
    log_lower, log_upper, value, lowest, highest = np.asarray(torch.where(known, numbers, torch.nan).cpu())
    with np.errstate(invalid="ignore"):
        error = np.maximum(highest - value, value - lowest) + np.finfo(float).eps * np.abs(value)
    return DeflatedNorms(log_lower, log_upper, value, np.where(np.isneginf(value), 0.0, error))
