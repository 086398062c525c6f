"""The logarithm of a determinant's modulus with a bound on its error."""

import torch
from torch import Tensor

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
