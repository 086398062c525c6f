"""The largest singular value of a matrix that is only multiplied with vectors, between two bounds.

Golub and Kahan's method makes a matrix A bidiagonal on the Krylov spaces of a few random vectors. The largest singular
value θ of what it has made is a lower bound of σ, and with probability 1 − p of each vector σ² ≤ θ²/(1 − ε) after
k steps, p = 1.648 √n e^{−√ε (2k − 1)}, whatever the singular values are.

References
----------
Golub and Kahan, "Calculating the singular values and pseudo-inverse of a matrix", SIAM J. Numer. Anal. B 2 (1965).
Kuczyński and Woźniakowski, "Estimating the largest eigenvalue by the power and Lanczos algorithms with a random start",
SIAM J. Matrix Anal. Appl. 13 (1992), theorem 4.1.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.linalg import vector_norm

from dynlab.numerics.arrays import Real

# A product with vectors (sample, n, vector), as vectors and the logarithms (sample, vector) of what multiplies them.
Product = Callable[[Tensor], tuple[Tensor, Tensor]]


def steps_for(size: int, vectors: int, failing: float, width: float) -> int:
    """Return after how many steps the bounds are `width` apart, but for a probability of `failing`."""
    epsilon = -math.expm1(-2 * width)
    return math.ceil((math.log(1.648 * math.sqrt(size)) - math.log(failing) / vectors) / math.sqrt(epsilon) / 2 + 0.5)


def norm_bounds(image: Product, preimage: Product, start: Tensor, failing: float, width: float) -> tuple[Real, Tensor]:
    """Return a lower bound of ln ‖A‖₂ before rounding, (sample,), and a vector (sample, n) whose image has that length.

    The logarithm is at most `width` larger but for a probability of `failing`; the bound is −inf of a zero matrix.

    Parameters
    ----------
    image, preimage : callable
        A u and Aᵀ v.
    start : Tensor, shape (sample, n, vector)
        Independent and normally distributed; each vector makes a Krylov space of its own.
    failing : float
        The probability that an upper bound is too small.
    width : float
        Distance between the bounds of ln σ.
    """
    u = start / vector_norm(start, dim=1, keepdim=True)
    v, log_scale = image(u)
    size = vector_norm(v, dim=1)
    zero = size == 0
    reference = torch.where(zero, 0, log_scale + size.log())  # everything else is measured in units of ‖A u‖
    v = v / torch.where(zero, 1, size).unsqueeze(1)
    left, right, alphas, betas = [u], [v], [(~zero).to(u)], [torch.zeros_like(reference)]
    for _ in range(1, min(start.shape[1], steps_for(start.shape[1], start.shape[2], failing, width))):
        w, log_scale = preimage(v)
        w, beta = _orthogonal(w * (log_scale - reference).exp().unsqueeze(1), left)
        v, log_scale = image(w)
        v, alpha = _orthogonal(v * (log_scale - reference).exp().unsqueeze(1), right)
        left, right, alphas, betas = [*left, w], [*right, v], [*alphas, alpha], [*betas, beta]
    above = torch.diag_embed(torch.stack([*betas[1:], betas[0]], dim=-1), offset=1)[..., :-1, :-1]
    bidiagonal = torch.diag_embed(torch.stack(alphas, dim=-1)) + above
    _, values, vectors = torch.linalg.svd(bidiagonal)
    logs = (values[..., 0].log() + reference).cpu().numpy()
    best = torch.from_numpy(logs.argmax(axis=1))
    rows = torch.arange(len(best))
    basis = torch.stack(left, dim=-1)[rows, :, best]
    return logs.max(axis=1), (basis @ vectors[rows, best, 0].unsqueeze(-1)).squeeze(-1)


def _orthogonal(vectors: Tensor, basis: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the part orthogonal to the basis, of length 1 or zero, and its length; each vector has its own basis."""
    earlier = torch.stack(basis, dim=-1)
    for _ in range(2):  # once is not enough where little is left
        vectors = vectors - torch.einsum("snbj,sbj->snb", earlier, torch.einsum("snbj,snb->sbj", earlier, vectors))
    size = vector_norm(vectors, dim=1)
    # Below the rounding of the vector itself nothing of it is left: the Krylov space is complete.
    size = torch.where(size > vectors.shape[1] * torch.finfo(vectors.dtype).eps, size, 0)
    return vectors / torch.where(size > 0, size, torch.inf).unsqueeze(1), size
