"""Bounds of the largest singular value of a matrix that is known by its products with a few vectors alone.

From random vectors g_i, Golub and Kahan's bidiagonalisation of A gives the matrix of A Aᵀ in an orthonormal basis of
each Krylov space. Its largest eigenvalue is at most σ², which is the lower bound. For the upper one let p_j be the
polynomials that are orthonormal under the weights that g_i has in the eigenvectors of A Aᵀ: the weight at an eigenvalue
λ is at most 1/Σ_j p_j(λ)² (Christoffel). A random direction has a weight of at least `share` at σ² but for a small
probability; so σ² lies below the last λ where Σ_j p_j(λ)² ≤ 1/share, for one of the vectors at least.

References
----------
Golub and Kahan, "Calculating the singular values and pseudo-inverse of a matrix", SIAM J. Numer. Anal. 2 (1965);
Kuczyński and Woźniakowski, "Estimating the largest eigenvalue by the power and Lanczos algorithms with a random start",
SIAM J. Matrix Anal. 13 (1992); Akhiezer, "The classical moment problem" (1965), section 2.5.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.linalg import vector_norm

from dynlab.numerics.arrays import Real

HALVINGS = 60  # of the interval that holds the upper bound, in the logarithm of λ
REACH = 60.0  # the length of that interval: σ² is no larger than e^60 times the lower bound, or nothing is known

# A product with vectors (sample, n, vector), as vectors and the logarithms (sample, vector) of what multiplies them.
Product = Callable[[Tensor], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class NormBounds:
    """What is known of ln σ, the largest singular value's logarithm.

    Attributes
    ----------
    log_lower, log_upper : ndarray, shape (sample,)
        Before rounding; the upper one holds but for the probability that was asked for. Both −inf of a zero matrix.
    vector : Tensor, shape (sample, n)
        Of length 1, whose image has the length of the lower bound.
    """

    log_lower: Real
    log_upper: Real
    vector: Tensor


def least_share(size: int, vectors: int, failing: float) -> float:
    """Return the least share that one of so many random directions has along a given one, but for a probability."""
    from scipy.special import betaincinv  # here, since a tenth of a second is long for a command that needs none

    return float(betaincinv(0.5, (size - 1) / 2, failing ** (1 / vectors)))


def norm_bounds(
    image: Product, preimage: Product, start: Tensor, failing: float, width: float, most: int
) -> NormBounds:
    """Return bounds of ‖A‖₂.

    Parameters
    ----------
    image, preimage : callable
        A u and Aᵀ v.
    start : Tensor, shape (sample, n, vector)
        Independent and normally distributed; each vector makes a Krylov space of its own.
    failing : float
        The probability that an upper bound is too small.
    width : float
        Of ln σ: narrower bounds are not sought.
    most : int
        Products with Aᵀ, fewer where the bounds are narrow before.
    """
    share = least_share(start.shape[1], start.shape[2], failing)
    u = start / vector_norm(start, dim=1, keepdim=True)
    v, log_scale = image(u)
    size = vector_norm(v, dim=1)
    reference = log_scale + size.log()  # everything else is measured in units of ‖A u‖
    zero = size == 0
    v = v / torch.where(zero, 1, size).unsqueeze(1)
    left, right = [u], [v]
    alphas = [torch.where(zero, 0.0, 1.0).to(u)]
    betas: list[Tensor] = []
    reference = torch.where(zero, 0, reference)
    vanished = zero.all(dim=1).cpu().numpy()
    for _ in range(most):
        w, log_scale = preimage(v)
        w, beta = _orthogonal(w * (log_scale - reference).exp().unsqueeze(1), left)
        v, log_scale = image(w)
        v, alpha = _orthogonal(v * (log_scale - reference).exp().unsqueeze(1), right)
        left, right, alphas, betas = [*left, w], [*right, v], [*alphas, alpha], [*betas, beta]
        lower, upper, chosen = _bounds(alphas, betas, share)
        log_lower, log_upper = (each + 2 * reference.cpu().numpy() for each in (lower, upper))
        highest, best = log_upper.max(axis=1), log_lower.argmax(axis=1)
        if (vanished | (highest <= log_lower.max(axis=1) + 2 * width)).all():
            break
    rows = np.arange(len(best))
    weights = torch.from_numpy(chosen[rows, best]).to(u)
    basis = torch.stack(left, dim=-1)[rows, :, best]
    low, high = (np.where(vanished, -np.inf, each / 2) for each in (log_lower.max(axis=1), highest))
    return NormBounds(low, high, (basis @ weights.unsqueeze(-1)).squeeze(-1))


def _orthogonal(vectors: Tensor, basis: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the part orthogonal to the basis, of length 1 or zero, and its length; each vector has its own basis."""
    earlier = torch.stack(basis, dim=-1)
    for _ in range(2):  # once is not enough where little is left
        along = torch.einsum("snbj,snb->sbj", earlier, vectors)
        vectors = vectors - torch.einsum("snbj,sbj->snb", earlier, along)
    size = vector_norm(vectors, dim=1)
    # Below the rounding of the vector itself nothing of it is left: the Krylov space is complete.
    size = torch.where(size > vectors.shape[1] * torch.finfo(vectors.dtype).eps, size, 0)
    return vectors / torch.where(size > 0, size, torch.inf).unsqueeze(1), size


def _bounds(alphas: list[Tensor], betas: list[Tensor], share: float) -> tuple[Real, Real, Real]:
    """Return the logarithms of the bounds of σ², shape (sample, vector), and the lower one's vector in the basis."""
    a = torch.stack(alphas, dim=-1).cpu().numpy()
    b = torch.stack([torch.zeros_like(alphas[0]), *betas], dim=-1).cpu().numpy()
    diagonal, beside = a * a + b * b, a[..., :-1] * b[..., 1:]
    k = a.shape[-1]
    matrix = np.zeros((*a.shape, k))
    matrix[..., range(k), range(k)] = diagonal
    matrix[..., range(1, k), range(k - 1)] = matrix[..., range(k - 1), range(1, k)] = beside
    values, vectors = np.linalg.eigh(matrix)
    with np.errstate(divide="ignore"):
        lower = np.log(values[..., -1])
    low, high = np.zeros_like(lower), np.full_like(lower, REACH)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        heavy = _reciprocal_weight(values[..., -1] * np.exp(middle), diagonal, beside) <= 1 / share
        low, high = np.where(heavy, middle, low), np.where(heavy, high, middle)
    return lower, lower + np.where(high == REACH, np.inf, high), vectors[..., -1]


def _reciprocal_weight(value: Real, diagonal: Real, beside: Real) -> Real:
    """Return Σ_j p_j(λ)² of the orthonormal polynomials of the tridiagonal matrix's three-term recurrence."""
    before, now = np.zeros_like(value), np.ones_like(value)
    total = np.ones_like(value)
    coupling = np.zeros_like(value)
    with np.errstate(all="ignore"):  # where a coupling is 0 the Krylov space is complete, and no other λ has a weight
        for j in range(beside.shape[-1]):
            after = ((value - diagonal[..., j]) * now - coupling * before) / beside[..., j]
            before, now, coupling = now, after, beside[..., j]
            total = total + np.nan_to_num(now * now, nan=np.inf, posinf=np.inf)
    return total
