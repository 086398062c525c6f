"""The norms of ∂h_T/∂h_t of states of a few hundred dimensions, at every t, from products of their Jacobians."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.gradient.survival import SURVIVES
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.graded_product import KNOWN, GradedProduct, identity, multiply, number_from, resolved
from dynlab.numerics.plain_product import ENOUGH, FAILING, log_norms, plain_products, plain_singular_values
from dynlab.numerics.singular_values import log_singular_values
from dynlab.numerics.threads import in_threads, one_torch_thread
from dynlab.trajectories.driven import Driven, in_float64

NAMES = ("log_norm", "log_norm_error", "log_norm_frobenius", "log_norm_frobenius_error")
NEGLIGIBLE = 40.0  # rows of e^d T so far below the largest, e^-40, change the largest singular value by e^-80
DEAR = 10**8  # entries of graded products, about a minute of one core: of more the plain ones are enough that are known
METHOD = (
    "∂h_T/∂h_t is multiplied from t = T backwards. The bound of its error comes from random vectors that are carried "
    f"along, and holds but for a probability of {FAILING:g}. Where it says too little, the product of the sample is "
    "kept as Q e^d T (QR with the columns sorted at every step). A norm is known where the error bound of its "
    f"logarithm is at most {KNOWN:g}, or this share of it. The bound holds the rounding of the Jacobians' entries and "
    "of the product"
)


def small_norms(driven: Driven, chosen: Index, seed: int) -> dict[str, NDArray[Any]]:
    """Return the variables' values at the t chosen: by plain products, by graded ones of samples where these fail."""
    samples, n = len(driven.states), driven.states.shape[-1]
    failing = FAILING / driven.states[..., 0].numel()

    def several(some: slice) -> tuple[NDArray[Any], ...]:
        return _by_plain_products(driven.of(some), chosen, failing, seed)

    *values, surviving, known, stated = in_threads(several, samples)
    found = dict(zip(NAMES, values, strict=True)) | {"surviving": surviving}
    rest = np.flatnonzero(~known)
    if rest.size * driven.steps * n**2 > DEAR:
        rest = rest[~stated[rest]]
    if rest.size:
        with one_torch_thread():
            graded = _by_graded_products(driven.of(rest))
        better = graded["surviving"]
        found["surviving"][rest] = np.where(np.isnan(better), found["surviving"][rest], better)
        for name in NAMES[::2]:
            new, wrong = graded[name][:, chosen], graded[f"{name}_error"][:, chosen]
            sharper = ~(found[f"{name}_error"][rest] <= wrong)
            found[name][rest] = np.where(sharper, new, found[name][rest])
            found[f"{name}_error"][rest] = np.where(sharper, wrong, found[f"{name}_error"][rest])
    for name in NAMES[::2]:
        found[name] = np.where(resolved(found[name], found[f"{name}_error"]), found[name], np.nan)
    return found


def _by_plain_products(driven: Driven, chosen: Index, failing: float, seed: int) -> tuple[NDArray[Any], ...]:
    """Return the values of `NAMES`, (sample, time); of each sample how many directions survive, and two judgements.

    They are known so well that no graded product is needed, or well enough to be stated.
    """
    samples, _, n = driven.states.shape
    columns = np.zeros((len(NAMES), samples, len(chosen)))
    columns[2], columns[3] = np.log(n) / 2, np.finfo(float).eps * np.log(n) / 2  # at t = T
    surviving = np.full(samples, float(n))
    known, stated = np.ones((2, samples), dtype=bool)
    t = driven.steps
    for products in plain_products(driven.factors(range(t, 0, -1)), samples, n, failing, seed):
        times = np.arange(t - 1, t - 1 - len(products.matrix), -1)
        t = int(times[-1])
        at = np.isin(times, chosen)
        some = products if at.all() else products[at]
        found, lost = log_norms(some), some.lost.numpy()
        found[::2, lost], found[1::2, lost] = np.nan, np.inf
        for value, wrong in (found[:2], found[2:]):
            known &= (lost | (np.isfinite(wrong) & resolved(value, wrong, ENOUGH))).all(axis=0)
            stated &= (lost | (np.isfinite(wrong) & resolved(value, wrong))).all(axis=0)
        columns[:, :, np.searchsorted(chosen, times[at])] = np.moveaxis(found, 2, 1)
        if t == 0:
            value, wrong, upper = plain_singular_values(products[-1:])
            surviving = number_from(value - wrong, upper, np.log(SURVIVES))[0]
    return (*columns, surviving, known, stated)


def _by_graded_products(driven: Driven) -> dict[str, NDArray[Any]]:
    """Return the same at every t; the products of J_Tᵀ, J_{T−1}ᵀ, … are the transposes of ∂h_T/∂h_t."""
    samples, _, n = driven.states.shape
    product = identity(samples, n, in_float64(driven.states))
    rows = [_with_errors(product)]
    for jacobian, error in driven.jacobians_with_errors(range(driven.steps, 0, -1)):
        product = multiply(jacobian.mT, product, error.mT)
        rows.append(_with_errors(product))
    columns = [torch.stack(column[::-1], dim=1).cpu().numpy() for column in zip(*rows, strict=True)]
    d, T, errors = (part.cpu().numpy() for part in (product.log_scale, product.rows, _errors(product)))
    return dict(zip(NAMES, columns, strict=True)) | {"surviving": surviving_of(log_singular_values(d, T), errors)}


def surviving_of(values: Real, errors: Real) -> Real:
    """Return how many singular values are at least `SURVIVES`, of their logarithms with error bounds (..., n)."""
    upper = np.minimum.accumulate(np.where(np.isnan(values + errors), np.inf, values + errors), axis=-1)
    lower = np.where(np.isfinite(errors), values - errors, -np.inf)
    return number_from(lower, upper, np.log(SURVIVES))


def _with_errors(product: GradedProduct) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return both norms, each with its error: −inf has an error of 0 only where the product is zero for certain."""
    errors = _errors(product)
    d = product.log_scale.sort(dim=-1, descending=True).values
    shares = torch.softmax(2 * d, dim=-1).nan_to_num(0)
    frobenius = errors[:, 0] + (shares * errors.clamp(max=1)).sum(dim=-1)  # of a mode that is lost all of it counts
    return _log_norm(product), errors[:, 0], torch.logsumexp(2 * product.log_scale, dim=-1) / 2, frobenius


def _errors(product: GradedProduct) -> Tensor:
    """Return the error of each ln σ, NaN where the trajectory has diverged."""
    return torch.where(product.valid.unsqueeze(-1), product.error(), torch.nan)


def _log_norm(product: GradedProduct) -> Tensor:
    """Return the logarithm of the largest singular value of e^d T, shape (sample,), of its rows that matter."""
    top = product.log_scale.max(dim=-1, keepdim=True).values
    vanished = torch.isneginf(top)
    below = torch.where(vanished, 0, product.log_scale - torch.where(vanished, 0, top))
    kept = int((below > -NEGLIGIBLE).sum(dim=-1).max())
    first = torch.argsort(below, dim=-1, descending=True)[:, :kept]
    rows = product.rows.gather(-2, first.unsqueeze(-1).expand(-1, -1, product.rows.shape[-1]))
    rows = rows * below.gather(-1, first).exp().unsqueeze(-1)
    squares = torch.linalg.eigvalsh(rows @ rows.mT)  # the largest is right to rounding, which is all that is used
    return top.squeeze(-1) + squares[:, -1].log() / 2
