"""The norms of ∂h_T/∂h_t of states of a few hundred dimensions, at every t, from products of their Jacobians."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.end_to_end import SURVIVES
from dynlab.diagnostics.gradient.large import NAMES
from dynlab.driven import Driven, in_float64
from dynlab.jacobians import OF_FUNCTIONS
from dynlab.numerics.graded_product import (
    GradedProduct,
    identity,
    largest_bound,
    multiply,
    number_from,
    resolved,
    sharp_bound,
)
from dynlab.numerics.plain_product import ENOUGH, FAILING, log_norms, plain_products, plain_singular_values
from dynlab.numerics.singular_values import log_singular_values
from dynlab.numerics.threads import in_threads, one_torch_thread

NEGLIGIBLE = 40.0  # rows of e^d T so far below the largest, e^-40, change the largest singular value by e^-80
KNOWN = 1e-3  # of the logarithm of a norm, or as a share of it: beyond it no norm is stated
DEAR = 10**8  # entries of graded products, about a minute of one core: of more the plain ones are enough that are known
COARSE, LOOKED_AT = 8.0, 8  # Jacobians this many times as wrong as what a product rounds; at so many steps
METHOD = (
    "∂h_T/∂h_t is multiplied from t = T backwards. The bound of its error comes from random vectors that are carried "
    f"along, and holds but for a probability of {FAILING:g}. Where that bound says too little, the product of the "
    "sample is kept as Q e^d T (QR with the columns sorted at every step), so that nothing under- or overflows. Where "
    "that would take minutes, it is done for samples of which a norm is not known. A "
    f"norm is known where the error bound of its logarithm is at most {KNOWN:g}, or this share of it. The bound holds "
    "the rounding of the Jacobians' entries and of the product"
)


def small_norms(driven: Driven, chosen: NDArray[np.int64], seed: int) -> dict[str, NDArray[Any]]:
    """The variables' values at the t chosen: by plain products, and by graded ones of samples where these fail."""
    failing = FAILING / driven.states[..., 0].numel()

    def several(samples: slice) -> tuple[NDArray[Any], ...]:
        return _by_plain_products(driven.of(samples), chosen, failing, seed)

    *values, surviving, known, stated = in_threads(several, len(driven.states))
    found = dict(zip(NAMES, values, strict=True)) | {"surviving": surviving}
    rest = np.flatnonzero(~known)
    if stated[rest].any():
        rest = rest[~(stated[rest] & _coarse(driven.of(rest)))]
    if rest.size * driven.steps * driven.states.shape[-1] ** 2 > DEAR:
        rest = rest[~stated[rest]]
    if rest.size:
        with one_torch_thread():
            graded = _by_graded_products(driven.of(rest))
        for name, each in graded.items():
            found[name][rest] = each[:, chosen] if each.ndim > 1 else each
    return found


def _by_plain_products(
    driven: Driven, chosen: NDArray[np.int64], failing: float, seed: int
) -> tuple[NDArray[Any], ...]:
    """The values of `NAMES`, (sample, time); of each sample how many directions survive, and two judgements.

    They are known so well that no graded product is needed, or well enough to be stated.
    """
    samples, _, n = driven.states.shape
    limit, enough = largest_bound(driven.states.dtype), ENOUGH * sharp_bound(driven.states.dtype)
    columns = np.zeros((len(NAMES), samples, len(chosen)))
    columns[2], columns[3] = np.log(n) / 2, np.finfo(float).eps * np.log(n) / 2  # at t = T
    surviving = np.full(samples, float(n))
    known, stated = np.ones(samples, dtype=bool), np.ones(samples, dtype=bool)
    t = driven.steps
    for products in plain_products(driven.factors(range(t, 0, -1)), samples, n, failing, seed):
        times = np.arange(t - 1, t - 1 - len(products.matrix), -1)
        t = int(times[-1])
        at = np.isin(times, chosen)
        some = products if at.all() else products[at]
        found, lost = log_norms(some), some.lost.numpy()
        found[::2, lost], found[1::2, lost] = np.nan, np.inf
        for value, wrong in (found[:2], found[2:]):
            known &= (lost | (np.isfinite(wrong) & resolved(value, wrong, enough))).all(axis=0)
            stated &= (lost | (np.isfinite(wrong) & resolved(value, wrong, max(KNOWN, limit)))).all(axis=0)
        if not stated.any():
            break
        columns[:, :, np.searchsorted(chosen, times[at])] = np.moveaxis(found, 2, 1)
        if t == 0:
            value, wrong = plain_singular_values(products[-1:])
            surviving = number_from(value, wrong, np.log(SURVIVES), limit)[0]
    return (*columns, surviving, known, stated)


def _coarse(driven: Driven) -> NDArray[np.bool_]:
    """Of which samples the Jacobians' own errors are far above what a product rounds: no product is known better."""
    steps = np.unique(np.linspace(1, driven.steps, LOOKED_AT).astype(int))
    n = driven.states.shape[-1]
    coarse = np.ones(len(driven.states), dtype=bool)
    for jacobian, wrong in driven.factors(steps.tolist()):
        size = jacobian.abs()
        norm = (size.sum(dim=-1).amax(dim=-1) * size.sum(dim=-2).amax(dim=-1)).sqrt()  # √(‖A‖₁ ‖A‖_∞) ≥ ‖A‖₂
        rounded = (n + OF_FUNCTIONS) * torch.finfo(driven.states.dtype).eps / 2 * norm
        coarse &= (wrong > COARSE * rounded).all(dim=1).cpu().numpy()
    return coarse


def _by_graded_products(driven: Driven) -> dict[str, NDArray[Any]]:
    """The same at every t; the products of J_Tᵀ, J_{T−1}ᵀ, … are the transposes of ∂h_T/∂h_t."""
    samples, _, n = driven.states.shape
    product = identity(samples, n, in_float64(driven.states))
    exact = torch.zeros_like(product.log_scale[:, 0])
    root = _log_frobenius(product)  # ln(n)/2
    rows = [(_log_norm(product), exact, root, torch.finfo(root.dtype).eps * root)]
    for jacobian, error in driven.jacobians_with_errors(range(driven.steps, 0, -1)):
        product = multiply(jacobian.mT, product, error.mT)
        rows.append(_with_errors(product))
    limit = largest_bound(driven.states.dtype)
    d, T, errors = (part.cpu().numpy() for part in (product.log_scale, product.rows, _errors(product)))
    values = log_singular_values(d, T)
    found = {"surviving": number_from(values, errors, np.log(SURVIVES), limit)}
    columns = [torch.stack(column[::-1], dim=1).cpu().numpy() for column in zip(*rows, strict=True)]
    for name, value, wrong in zip(NAMES[::2], columns[::2], columns[1::2], strict=True):
        known = resolved(value, wrong, max(KNOWN, limit))
        found |= {name: np.where(known, value, np.nan), f"{name}_error": wrong}
    return found


def _with_errors(product: GradedProduct) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Both norms, each with its error: −inf has an error of 0 only where the product is zero for certain."""
    errors = _errors(product)
    d = product.log_scale.sort(dim=-1, descending=True).values
    shares = torch.softmax(2 * d, dim=-1).nan_to_num(0)
    frobenius = errors[:, 0] + (shares * errors.clamp(max=1)).sum(dim=-1)  # of a mode that is lost all of it counts
    return _log_norm(product), errors[:, 0], _log_frobenius(product), frobenius


def _errors(product: GradedProduct) -> Tensor:
    """Of each ln σ, NaN where the trajectory has diverged."""
    return torch.where(product.valid.unsqueeze(-1), product.error(), torch.nan)


def _log_norm(product: GradedProduct) -> Tensor:
    """The logarithm of the largest singular value of e^d T, shape (sample,), of its rows that matter."""
    top = product.log_scale.max(dim=-1, keepdim=True).values
    vanished = torch.isneginf(top)
    below = torch.where(vanished, 0, product.log_scale - torch.where(vanished, 0, top))
    kept = int((below > -NEGLIGIBLE).sum(dim=-1).max())
    first = torch.argsort(below, dim=-1, descending=True)[:, :kept]
    rows = product.rows.gather(-2, first.unsqueeze(-1).expand(-1, -1, product.rows.shape[-1]))
    rows = rows * below.gather(-1, first).exp().unsqueeze(-1)
    squares = torch.linalg.eigvalsh(rows @ rows.mT)  # the largest is right to rounding, which is all that is used
    return top.squeeze(-1) + squares[:, -1].log() / 2


def _log_frobenius(product: GradedProduct) -> Tensor:
    """The same in the Frobenius norm: the rows of T have length 1."""
    return torch.logsumexp(2 * product.log_scale, dim=-1) / 2
