"""The norms of ∂h_T/∂h_t at many t, and in words what they leave of a small change.

They come from products of Jacobians, and of large states from products with vectors.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.linalg import vector_norm

from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.golub_kahan import norm_bounds
from dynlab.numerics.graded_product import KNOWN, number_from, resolved
from dynlab.numerics.plain_product import FAILING, log_norms, plain_products, plain_singular_values
from dynlab.numerics.threads import in_threads, slices
from dynlab.program.jacobian import Operator
from dynlab.progress import through
from dynlab.trajectories.driven import NUMBERS_AT_ONCE, Driven
from dynlab.words import READABLE, number, power, ranged

UNCHANGED = 0.05  # nats: a factor nearer to 1 is told as a power of e alone
SURVIVES = 0.1  # a direction survives where its singular value is at least this
NAMES = ("log_norm", "log_norm_error", "log_norm_frobenius", "log_norm_frobenius_error")
VECTORS = 4  # that each bound starts from: fewer need longer Krylov spaces, more are multiplied in vain
WIDTH = 0.09  # of ln ‖∂h_T/∂h_t‖₂ between its bounds
NUMBERS = 16  # for each unit, that the factors of a cell's Jacobian take
KEPT = 2**26  # numbers of all Jacobians' factors that are kept: 512 MiB; of more they are made anew for each product
SAFETY = 2.0  # of the first-order bound of rounding
METHOD = (
    "∂h_T/∂h_t is multiplied from t = T backwards. The bound of its error comes from random vectors that are carried "
    f"along, and holds but for a probability of {FAILING:g}. A norm is known where the error bound of its "
    f"logarithm is at most {KNOWN:g}, or this share of it. The bound holds the rounding of the Jacobians' entries and "
    "of the product"
)
METHOD_LARGE = (
    "Golub and Kahan's method makes ∂h_T/∂h_t bidiagonal, by products of the factors of the Jacobians with vectors, "
    f"from {VECTORS} random ones. The norm that is found is a lower bound, at most {WIDTH:g} below ln ‖∂h_T/∂h_t‖₂ but "
    f"for a probability of {FAILING:g}. The error holds the rounding of the Jacobians' entries and of the products"
)


def small_norms(driven: Driven, chosen: Index, seed: int) -> dict[str, NDArray[Any]]:
    """Return the variables' values at the t chosen, (sample, time), NaN where they are not resolved."""
    failing = FAILING / driven.states[..., 0].numel()
    values = in_threads(lambda some: _products(driven.of(some), chosen, failing, seed), len(driven.states))
    found = dict(zip((*NAMES, "surviving"), values, strict=True))
    found |= {name: np.where(resolved(found[name], found[f"{name}_error"]), found[name], np.nan) for name in NAMES[::2]}
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


class Chain:
    """The Jacobians along a driven trajectory, as products with vectors (sample, state, vector)."""

    def __init__(self, driven: Driven, kept: float = KEPT) -> None:
        self._driven = driven
        samples, steps, n = len(driven.states), driven.steps, driven.states.shape[-1]
        each = samples * n * NUMBERS
        self._at_once = max(1, NUMBERS_AT_ONCE // each)
        self._kept: list[Operator] = []
        found = []
        for block, rounding in driven.operators_with_rounding(range(1, steps + 1), self._at_once):
            found.append(rounding)
            if each * steps <= kept:
                self._kept += [block[:, index] for index in range(rounding.shape[1])]
        self.rounding = torch.cat(found, dim=1)  # (sample, step), of each Jacobian and its products with vectors

    def operators(self, steps: Sequence[int]) -> Iterator[Operator]:
        """Yield ∂h_t/∂h_{t−1} for each t of `steps`."""
        if self._kept:
            yield from (self._kept[t - 1] for t in steps)
            return
        for some in slices(len(steps), self._at_once):
            (block,) = self._driven.operators(steps[some], self._at_once)
            yield from (block[:, index] for index in range(len(steps[some])))

    def product(self, vectors: Tensor, t: int, transposed: bool) -> tuple[Tensor, Tensor]:
        """Return ∂h_T/∂h_t, or its transpose, times vectors, and the logarithms of what multiplies each."""
        last = self.rounding.shape[1]
        *_, found = self.passed(vectors, range(last, t, -1) if transposed else range(t + 1, last + 1), transposed)
        return found

    def passed(self, vectors: Tensor, steps: Sequence[int], transposed: bool) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the vectors, and what each step makes of them, the largest entry of each being 1."""
        log_scale = torch.zeros_like(vectors[:, 0])
        yield vectors, log_scale
        for operator in self.operators(steps):
            vectors = operator.apply_transpose(vectors) if transposed else operator.apply(vectors)
            size = vectors.abs().amax(dim=1)
            log_scale = log_scale + torch.where(size > 0, size, 1).log()
            vectors = vectors / torch.where(size > 0, size, 1).unsqueeze(1)
            yield vectors, log_scale


def large_norms(driven: Driven, times: Index, seed: int) -> dict[str, NDArray[Any]]:
    """Return the variables' values at the times chosen, the first two dimensions being sample and time."""
    samples = len(driven.states)
    failing = FAILING / (samples * len(times))

    def several(some: slice) -> tuple[NDArray[Any], ...]:
        generators = [np.random.default_rng([seed, number]) for number in range(samples)[some]]
        return _norms(driven.of(some), times, generators, failing, KEPT * len(generators) / samples)

    # The vectors of many samples at once make fast products: each thread has all of its samples together.
    found = dict(zip(NAMES, in_threads(several, samples, chunks_per_thread=1), strict=False))
    none_survives = found["log_norm"][:, 0] + found["log_norm_error"][:, 0] < np.log(SURVIVES)
    return found | {"surviving": np.where(none_survives & (times[0] == 0), 0.0, np.nan)}


def _norms(
    driven: Driven, times: Index, generators: list[np.random.Generator], failing: float, kept: float
) -> tuple[NDArray[Any], ...]:
    """Return ln ‖∂h_T/∂h_t‖₂ and its error, (sample, time), NaN where a trajectory diverges; one generator a sample."""
    samples, _, n = driven.states.shape
    chain, found = Chain(driven, kept), np.zeros((2, samples, len(times)))  # 0 at t = T
    known = driven.states.isfinite().all(dim=-1)[:, -1].cpu().numpy()
    for index, t in through(list(enumerate(times[times < driven.steps].tolist()))):
        drawn = torch.from_numpy(np.stack([each.standard_normal((VECTORS, n)) for each in generators])).mT
        back, forth = (partial(chain.product, t=t, transposed=transposed) for transposed in (True, False))
        lower, vector = norm_bounds(back, forth, drawn, failing, WIDTH)
        rounding = _of_rounding(chain, vector, t, driven.steps)
        found[:, :, index] = lower, np.where(np.isneginf(lower), 0.0, WIDTH + rounding)
    return tuple(np.where(known[:, None], found, np.nan))


def _of_rounding(chain: Chain, vector: Tensor, t: int, steps: int) -> Real:
    """Return the error of ln σ at first order: Σ_s ‖J_{s+1}ᵀ … J_Tᵀ u‖ ‖E_s‖ ‖J_{s−1} … J_{t+1} v‖ / σ."""
    u = vector.unsqueeze(-1)
    back = list(chain.passed(u, range(steps, t, -1), transposed=True))
    v = back[-1][0] / vector_norm(back[-1][0], dim=1, keepdim=True).clamp_min(torch.finfo(u.dtype).tiny)
    before, after = (
        torch.stack([vector_norm(vectors, dim=1).log() + scale for vectors, scale in each], dim=1).squeeze(-1)
        for each in (back, chain.passed(v, range(t + 1, steps + 1), transposed=False))
    )
    # ‖x_s‖ of the vector that step s multiplies from the left is the one before it in the pass back; its last is σ
    shares = (before[:, :-1].flip(1) + after[:, :-1] - before[:, -1:]).exp()
    return (SAFETY * shares * chain.rounding[:, t:steps]).sum(dim=1).nan_to_num(0).cpu().numpy()


def sized(exponents: Real) -> str:
    """Return how large numbers are whose logarithms (sample,) are given: the median, the range, and how many are 0.

    Examples
    --------
    >>> sized(np.array([-3.0])), sized(np.array([-np.inf, -3.0])), sized(np.array([np.nan]))
    ('e^−3.00 ≈ 0.05', 'e^−3.00 ≈ 0.05 (median of 1 of 2 samples), exactly 0 in 1', 'not known')
    """
    finite, zeros, samples = exponents[np.isfinite(exponents)], int(np.isneginf(exponents).sum()), len(exponents)
    if not finite.size:
        return "exactly 0" if 0 < zeros == samples else "not known"
    median, low, high = float(np.median(finite)), power(finite.min()), power(finite.max())
    about = f" ≈ {number(float(np.exp(median)), 2)}" if UNCHANGED <= abs(median) <= READABLE else ""
    of = f"{finite.size:,} of " * (finite.size < samples) + f"{samples:,} samples"
    among = f" (median of {of}{f', range {low} to {high}' * (low != high)})" * (samples > 1)
    return f"{power(median)}{about}{among}" + f", exactly 0 in {zeros:,}" * bool(zeros)


def surviving(kept: Real, n: int) -> str:
    """Return how many of the `n` singular values of ∂h_T/∂h_0 are at least `SURVIVES`, without a full stop.

    Parameters
    ----------
    kept : ndarray, shape (sample,)
        Number of those, in each sample; NaN where that is undecided.
    n : int

    Examples
    --------
    >>> surviving(np.array([1.0, 0.0, np.nan]), 3)
    '0.5 (range 0 to 1) of 3 singular values are at least 0.1, where that is known (2 of 3 samples)'
    """
    known = np.isfinite(kept)
    if not known.any():
        return f"How many of {n:,} singular values are at least {SURVIVES} is undecided"
    where = "" if known.all() else f", where that is known ({known.sum():,} of {kept.size:,} samples)"
    return f"{ranged(kept, 0)} of {n:,} singular values are at least {SURVIVES}{where}"
