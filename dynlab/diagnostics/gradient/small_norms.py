"""The norms of ∂h_T/∂h_t of states of a few hundred dimensions, at every t, from products of their Jacobians."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynlab.diagnostics.gradient.survival import SURVIVES
from dynlab.numerics.arrays import Index
from dynlab.numerics.graded_product import KNOWN, number_from, resolved
from dynlab.numerics.plain_product import FAILING, log_norms, plain_products, plain_singular_values
from dynlab.numerics.threads import in_threads
from dynlab.trajectories.driven import Driven

NAMES = ("log_norm", "log_norm_error", "log_norm_frobenius", "log_norm_frobenius_error")
METHOD = (
    "∂h_T/∂h_t is multiplied from t = T backwards. The bound of its error comes from random vectors that are carried "
    f"along, and holds but for a probability of {FAILING:g}. A norm is known where the error bound of its "
    f"logarithm is at most {KNOWN:g}, or this share of it. The bound holds the rounding of the Jacobians' entries and "
    "of the product"
)


def small_norms(driven: Driven, chosen: Index, seed: int) -> dict[str, NDArray[Any]]:
    """Return the variables' values at the t chosen, (sample, time), NaN where they are not resolved."""
    failing = FAILING / driven.states[..., 0].numel()

    def several(some: slice) -> tuple[NDArray[Any], ...]:
        return _products(driven.of(some), chosen, failing, seed)

    found = dict(zip((*NAMES, "surviving"), in_threads(several, len(driven.states)), strict=True))
    for name in NAMES[::2]:
        found[name] = np.where(resolved(found[name], found[f"{name}_error"]), found[name], np.nan)
    followed = driven.states[:, -1].isfinite().all(dim=-1).cpu().numpy()
    unknown = np.flatnonzero(np.isnan(found["log_norm"]).any(axis=1) & followed)
    if len(unknown):
        zero = exact_zeros(driven.of(unknown))
        for name, value in zip(NAMES, (-np.inf, 0.0) * 2, strict=True):
            found[name][unknown] = np.where(zero[:, chosen], value, found[name][unknown])
        found["surviving"][unknown[zero[:, 0]]] = 0
    return found


def exact_zeros(driven: Driven) -> NDArray[np.bool_]:
    """Return at which t (sample, time) ∂h_T/∂h_t is zero for certain: no path leads through entries that may not be."""
    reached = driven.states.new_ones(len(driven.states), 1, driven.states.shape[-1]).double()
    zero = np.zeros(driven.states.shape[:2], dtype=bool)
    backwards = range(driven.steps, 0, -1)
    for t, (J, error) in zip(backwards, driven.jacobians_with_errors(backwards), strict=True):
        reached = (reached @ ((J != 0) | (error > 0)).to(reached) > 0).to(reached)
        zero[:, t - 1] = ~reached.any(dim=(1, 2)).cpu().numpy()
    return zero


def _products(driven: Driven, chosen: Index, failing: float, seed: int) -> tuple[NDArray[Any], ...]:
    """Return the values of `NAMES`, (sample, time), and of each sample how many directions survive."""
    samples, _, n = driven.states.shape
    columns = np.zeros((len(NAMES), samples, len(chosen)))
    columns[2], columns[3] = np.log(n) / 2, np.finfo(float).eps * np.log(n) / 2  # at t = T
    surviving = np.full(samples, float(n))
    for products in plain_products(driven.factors(range(driven.steps, 0, -1)), samples, n, failing, seed):
        times = driven.steps - products.count
        some = products[np.isin(times, chosen)]
        found, lost = log_norms(some), some.lost.numpy()
        found[::2, lost], found[1::2, lost] = np.nan, np.inf
        columns[:, :, np.searchsorted(chosen, driven.steps - some.count)] = np.moveaxis(found, 2, 1)
        if times[-1] == 0:
            value, wrong, upper = plain_singular_values(products[-1])
            surviving = number_from(value - wrong, upper, np.log(SURVIVES))
    return (*columns, surviving)
