"""Products of many matrices as one matrix each, with bounds on their errors from random vectors that are carried along.

Of P_t = M_1 M_2 … M_t the computed product is wrong by Δ_t = Σ_s R_s X_st, where R_s is what step s adds, of a size
‖R_s‖_F ≤ ρ_s, and X_st = M_{s+1} … M_t. Random vectors that go through the same factors as rows, w ← w M_s + ρ_s g with
new normal g at every step, have squares with the mean S_t = Σ_s ρ_s² ‖X_st‖_F², and Cauchy's inequality says that
‖Δ_t‖_F ≤ √(t S_t). So the bound knows how the factors turn what is wrong, which a product of their norms does not. The
mean of m such squares is below a share x of S_t with a probability of at most (x e^{1−x})^{m/2} (Chernoff's bound),
whatever the singular values are.

References
----------
Higham, "Accuracy and Stability of Numerical Algorithms", SIAM 2002, section 3.5 (products of matrices).
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.linalg import vector_norm

from dynlab.numerics.arrays import Index, Real

PROBES = 16  # random vectors: a bound is some ten times as wide as with any number of them
SMALL, MORE_PROBES = 32, 128  # states, and the vectors of so few, which cost little: the bound is wider by 2
SAFETY = 2.0  # factors may round twice, when they are made and when they are multiplied; and for terms of second order
LARGE = 2.0**100  # norms are kept between 1/LARGE and LARGE by powers of two
UNSEEN = 2.0**400  # a step that goes beyond it may underflow to what has few digits: of that nothing is said
FAILING = 1e-9  # the probability that one of the bounds that a call states does not hold
ENOUGH = 1e-7  # error of a logarithm beyond which a graded product is made as well
ROUNDINGS = 8.0  # of n ε tr G: what a Gram matrix and its reduction to tridiagonal form round, with a margin


@dataclass(frozen=True)
class PlainProducts:
    """Products after several steps: e^scale times a matrix.

    Attributes
    ----------
    matrix : Tensor, shape (step, sample, n, n)
    log_scale : Tensor, shape (step, sample)
    error : Tensor, shape (step, sample)
        Bound of the matrix's error in the Frobenius norm; inf or NaN where nothing is known, as of a matrix of zeros.
    lost : Tensor of bool, shape (step, sample)
        From a factor on that is wrong by as much as its own size, as beside a kink: no way of multiplying knows more.
    count : ndarray of int, shape (step,)
        Number of factors.
    """

    matrix: Tensor
    log_scale: Tensor
    error: Tensor
    lost: Tensor
    count: Index

    def __getitem__(self, steps: int | slice | NDArray[np.bool_]) -> "PlainProducts":
        """Return one of the steps, without their dimension, or some."""
        return PlainProducts(*(part[steps] for part in vars(self).values()))


def plain_products(
    factors: Iterable[tuple[Tensor, Tensor]], samples: int, n: int, failing: float, seed: int
) -> Iterator[PlainProducts]:
    """Yield the products M_1, M_1 M_2, M_1 M_2 M_3 and so on, of several steps at a time.

    Parameters
    ----------
    factors : iterable of pairs of Tensor
        Several factors each, (sample, step, n, n), with a bound of ‖E‖₂ of what rounding does to each of them and to
        its product with a vector, (sample, step).
    failing : float
        The probability that one bound is too small.
    """
    generator = np.random.default_rng(seed)
    probes = MORE_PROBES if n <= SMALL else PROBES
    share = failing ** (2 / probes) / math.e
    both = torch.zeros(samples, n + probes, n, dtype=torch.float64)
    both[:, :n] = torch.eye(n, dtype=torch.float64)
    exponent = torch.zeros(samples, dtype=torch.float64)
    size = vector_norm(both, dim=(-2, -1))
    lost, done = torch.zeros(samples, dtype=torch.bool), 0
    for matrices, rounding in factors:
        steps = matrices.shape[1]
        found = both.new_empty(steps, *both.shape)
        scales, gone = both.new_empty(steps, samples), torch.empty(steps, samples, dtype=torch.bool)
        noise = torch.from_numpy(generator.standard_normal((steps, samples, probes, n)))
        rounding = rounding.to(both)
        of_kinks = (rounding > 0) & (rounding >= vector_norm(matrices, dim=(-2, -1)))
        rounding = SAFETY * rounding
        for step in range(steps):
            wrong = size * rounding[:, step]
            both = torch.matmul(both, matrices[:, step], out=found[step])
            both[:, n:] += noise[step].mul_(wrong[:, None, None])
            size = vector_norm(both[:, :n], dim=(-2, -1))
            if not bool(((size < LARGE) & (size > 1 / LARGE)).all()):
                exponent += _rescaled(both, size)
                size = vector_norm(both[:, :n], dim=(-2, -1))
            lost |= of_kinks[:, step]
            scales[step], gone[step] = exponent, lost
        count = np.arange(done + 1, done + steps + 1)
        done += steps
        spread = torch.from_numpy(np.sqrt(count / (probes * share))).unsqueeze(-1)
        error = spread * vector_norm(found[..., n:, :], dim=(-2, -1))
        yield PlainProducts(found[..., :n, :], scales * math.log(2), error, gone, count)


def _rescaled(both: Tensor, size: Tensor) -> Tensor:
    """Divide products in place by powers of two, whose exponents are returned; NaN where digits may be lost."""
    known = (size < UNSEEN) & (size > 1 / UNSEEN)
    exponent = torch.where(known, torch.frexp(torch.where(known, size, 1)).exponent, 0).to(both)
    both.mul_(torch.where(known, (-exponent).exp2(), torch.nan)[:, None, None])
    return exponent


def log_norms(products: PlainProducts) -> Real:
    """Return ln ‖P‖₂ and ln ‖P‖_F, each with a bound of its error: (4, step, sample), NaN or inf where not known."""
    matrix = products.matrix
    known = products.error.isfinite()
    gram = matrix @ matrix.mT
    gram[~known] = torch.eye(matrix.shape[-1], dtype=matrix.dtype)
    squares = gram.diagonal(dim1=-2, dim2=-1).sum(dim=-1)
    largest = torch.linalg.eigvalsh(gram)[..., -1].clamp(min=0)
    rounding = ROUNDINGS * matrix.shape[-1] * torch.finfo(matrix.dtype).eps * squares / largest
    columns = []
    for square, share in ((largest, rounding), (squares, rounding * largest / squares)):
        value = square.log() / 2 + products.log_scale
        columns += [value, share + _of_logarithm(products.error, square.sqrt(), value)]
    return np.asarray(torch.where(known, torch.stack(columns), torch.nan))


def plain_singular_values(products: PlainProducts) -> tuple[Real, Real, Real]:
    """Return ln σ, decreasing, bounds of their errors, and upper bounds of ln σ (Weyl), each (step, sample, n)."""
    known = products.error.isfinite()
    matrix = torch.where(known[..., None, None], products.matrix, 0)
    singular = torch.linalg.svdvals(matrix)
    rounding = ROUNDINGS * matrix.shape[-1] * torch.finfo(matrix.dtype).eps * singular[..., :1]
    wrong = torch.where(known, products.error, torch.inf).unsqueeze(-1) + rounding
    scale = products.log_scale.unsqueeze(-1)
    value = singular.log() + scale
    error = _of_logarithm(wrong, singular, value).nan_to_num(torch.inf, torch.inf)
    upper = ((singular + wrong).log() + scale).nan_to_num(torch.inf, torch.inf, -torch.inf)
    return np.asarray(value), np.asarray(error), np.asarray(upper)


def _of_logarithm(error: Tensor, size: Tensor, value: Tensor) -> Tensor:
    """Return the error of a size's logarithm, which is rounded itself; inf where it may be all of it."""
    share = error / size
    known = torch.where(share < 1, -torch.log1p(-share), torch.inf)
    return known + torch.finfo(value.dtype).eps * (1 + value.abs())
