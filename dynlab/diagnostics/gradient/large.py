"""The norms of ∂h_T/∂h_t of large states, from products of the chain of Jacobians with a few vectors."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.linalg import vector_norm

from dynlab.diagnostics.end_to_end import SURVIVES
from dynlab.driven import NUMBERS_AT_ONCE, Driven
from dynlab.numerics.arrays import Real
from dynlab.numerics.deflated_norms import DeflatedNorms, deflated_norms
from dynlab.numerics.golub_kahan import NormBounds, norm_bounds
from dynlab.numerics.plain_product import FAILING
from dynlab.numerics.threads import in_threads
from dynlab.program.jacobian import Operator
from dynlab.progress import through

VECTORS = 4  # that each bound starts from: fewer need longer Krylov spaces, more are multiplied in vain
MOST = 24  # products with the chain and its transpose; a norm without a gap below it takes some 12
WIDTH = 0.09  # of ln ‖∂h_T/∂h_t‖₂ between its bounds
PROBES = 64  # random vectors for the Frobenius norms, and for what a basis leaves
BASIS = 32  # directions that all products share
SHORT = 1 / 8  # of the longest product: shorter ones seldom share its directions
NOISE = 4  # random vectors of what rounding adds: few, since that is far below what bounds differ by
NUMBERS = 16  # for each unit, that the factors of a cell's Jacobian take
KEPT = 2**26  # numbers of all Jacobians' factors that are kept: 512 MiB; of more they are made anew for each product
ALIASED, PADDING = 512, 8  # numbers from row to row that share the places of a cache, and what is put between them
SAFETY = 2.0  # of the first-order bound of rounding

NAMES = ("log_norm", "log_norm_error", "log_norm_frobenius", "log_norm_frobenius_error")
METHOD = (
    "∂h_T/∂h_t is known along a basis that many t share, and beside it by random vectors, from one pass back through "
    "the factors of the Jacobians. Where that leaves the bounds of its norm too far apart, Golub and Kahan's method "
    f"makes it bidiagonal from {VECTORS} random vectors. The norm lies between two bounds, but for a probability of "
    f"{FAILING:g}; its error is half their distance. What the basis leaves of the Frobenius norm is estimated from "
    f"{PROBES} random vectors, and its error holds as surely. Both errors hold the rounding of the Jacobians' entries "
    "and of the products"
)


class Chain:
    """The Jacobians along a driven trajectory, as products with vectors (sample, state, vector)."""

    def __init__(self, driven: Driven, kept: float = KEPT) -> None:
        self._driven = driven
        samples, _, n = driven.states.shape
        each = samples * n * (NUMBERS if driven.has_closed_form else n)
        self._at_once = max(1, NUMBERS_AT_ONCE // each)
        self._kept: list[Operator] = []  # as many as there is room for
        self._matrices: dict[tuple[int, torch.Size], tuple[Tensor, Tensor]] = {}
        found, held = [], 0
        for block, rounding in driven.operators_with_rounding(range(1, driven.steps + 1), self._at_once):
            found.append(rounding)
            held += _numbers(block)
            if held <= kept:
                block = block.mapped(lambda numbers: numbers, self._apart)
                self._kept += [block[:, index] for index in range(rounding.shape[1])]
        self.rounding = torch.cat(found, dim=1)  # (sample, step), of each Jacobian and its products with vectors

    def _apart(self, shared: Any) -> Any:
        """A matrix whose rows do not lie a power of two apart: its transposed product is twice as fast.

        Of a system in float32 every block has a copy of its own, which is left as it is.
        """
        own = isinstance(shared, Tensor) and shared.ndim > 1 and self._driven.states.dtype == torch.float64
        if not own or shared.stride(0) % ALIASED:
            return shared
        key = shared.data_ptr(), shared.shape
        if key not in self._matrices:
            rows, columns = shared.shape
            padded = shared.new_empty(rows, columns + PADDING)[:, :columns].copy_(shared)
            self._matrices[key] = shared, padded  # the first too, so that its place in memory stays its own
        return self._matrices[key][1]

    def operators(self, steps: Sequence[int]) -> Iterable[Operator]:
        """∂h_t/∂h_{t−1} for each t of `steps`."""
        return self._made(steps) if max(steps, default=0) > len(self._kept) else [self._kept[t - 1] for t in steps]

    def back(self, vectors: Tensor, t: int) -> tuple[Tensor, Tensor]:
        """(∂h_T/∂h_t)ᵀ times vectors, as vectors and the logarithms of what multiplies each."""
        *_, last = self.passed(vectors, range(self._driven.steps, t, -1), transposed=True)
        return last

    def forth(self, vectors: Tensor, t: int) -> tuple[Tensor, Tensor]:
        """∂h_T/∂h_t times vectors, likewise."""
        *_, last = self.passed(vectors, range(t + 1, self._driven.steps + 1), transposed=False)
        return last

    def passed(self, vectors: Tensor, steps: Sequence[int], transposed: bool) -> Iterator[tuple[Tensor, Tensor]]:
        """The vectors, and what each step makes of them, the largest entry of each being 1."""
        log_scale = torch.zeros_like(vectors[:, 0])
        yield vectors, log_scale
        for operator in self.operators(steps):
            vectors = operator.apply_transpose(vectors) if transposed else operator.apply(vectors)
            size = vectors.abs().amax(dim=1)
            log_scale = log_scale + torch.where(size > 0, size, 1).log()
            vectors = vectors / torch.where(size > 0, size, 1).unsqueeze(1)
            yield vectors, log_scale

    def _made(self, steps: Sequence[int]) -> Iterator[Operator]:
        for start in range(0, len(steps), self._at_once):
            some = steps[start : start + self._at_once]
            (block,) = self._driven.operators(some, len(some))
            block = block.mapped(lambda numbers: numbers, self._apart)
            yield from (block[:, index] for index in range(len(some)))


def _numbers(block: Operator) -> int:
    """How many numbers the operators hold, but for those that all share."""
    counts: list[int] = []

    def counted(numbers: Tensor) -> Tensor:
        counts.append(numbers.numel())
        return numbers

    block.mapped(counted, lambda shared: shared)
    return sum(counts)


def large_norms(driven: Driven, times: NDArray[np.int64], seed: int) -> dict[str, NDArray[Any]]:
    """The variables' values at the times chosen, the first two dimensions being sample and time."""
    samples = len(driven.states)
    failing = FAILING / (2 * samples * len(times))

    def several(some: slice) -> tuple[NDArray[Any], ...]:
        generators = [np.random.default_rng([seed, number]) for number in range(samples)[some]]
        return _norms(driven.of(some), times, generators, failing, KEPT / samples)

    # The vectors of many samples at once make fast products: each thread has all of its samples together.
    found = dict(zip(NAMES, in_threads(several, samples, chunks_per_thread=1), strict=True))
    none_survives = found["log_norm"][:, 0] + found["log_norm_error"][:, 0] < np.log(SURVIVES)
    return found | {"surviving": np.where(none_survives & (times[0] == 0), 0.0, np.nan)}


def _norms(
    driven: Driven, times: NDArray[np.int64], generators: list[np.random.Generator], failing: float, kept: float
) -> tuple[NDArray[Any], ...]:
    """The values of `NAMES`, (sample, time), NaN where a trajectory diverges; every sample has its own generator."""
    samples, _, n = driven.states.shape
    chain = Chain(driven, kept * samples)

    def drawn(count: int) -> Tensor:
        return torch.from_numpy(np.stack([each.standard_normal((count, n)) for each in generators])).mT

    known = driven.states.isfinite().all(dim=-1)[:, -1].cpu().numpy()
    rows: list[tuple[Real, Real, Real, Real]] = []
    for t, found in zip(through(times[::-1].tolist()), _together(chain, times, drawn, failing), strict=True):
        if t == driven.steps:
            exact, root = np.zeros(samples), np.full(samples, np.log(n) / 2)
            rows.append((exact, exact, root, np.finfo(float).eps * root))
            continue
        lower, upper = found.log_lower, found.log_upper
        if (upper - lower <= WIDTH)[known].all():
            of_norm = (lower + upper) / 2, (upper - lower) / 2
        else:
            both = partial(chain.back, t=t), partial(chain.forth, t=t)
            bounds = norm_bounds(*both, drawn(VECTORS), failing, WIDTH, MOST)
            of_norm = _middle(bounds, _of_rounding(chain, bounds, t, driven.steps))
        rows.append((*of_norm, found.log_frobenius, found.frobenius_error))
    columns = (np.stack(column[::-1], axis=1) for column in zip(*rows, strict=True))
    return tuple(np.where(known[:, None], values, np.nan) for values in columns)


def _together(
    chain: Chain, times: NDArray[np.int64], drawn: Callable[[int], Tensor], failing: float
) -> Iterator[DeflatedNorms]:
    """Bounds at all t, the last first, from one pass back of a basis that all share and of random vectors.

    The first left singular vectors of a long product are nearly those of its last steps. So the basis has those of the
    shortest product that is no shorter than a share `SHORT` of the longest, after one iteration of its subspace. What
    rounding adds at every step, ‖E_s‖ times the vectors' size, is drawn at random and goes through the same factors.
    """
    steps = chain.rounding.shape[1]
    lengths = steps - times
    t = steps - int(lengths[lengths >= SHORT * lengths.max()].min())
    probes = drawn(PROBES)
    samples, n, _ = probes.shape
    basis = drawn(min(BASIS, n))
    for way in (chain.back, chain.forth):
        basis = torch.linalg.qr(way(basis, t)[0].nan_to_num()).Q
    probes = probes - basis @ (basis.mT @ probes)
    vectors = torch.cat([each.mT for each in (basis, probes, drawn(NOISE))], dim=1).mT
    share = failing ** (2 / NOISE) / np.e  # of the mean of NOISE squares, as in `plain_products`
    size = vector_norm(vectors[..., :-NOISE], dim=(1, 2))
    vectors[..., -NOISE:] *= (n * torch.finfo(vectors.dtype).eps * size)[
        :, None, None
    ]  # what is left of U in the probes
    scale = torch.zeros(samples, dtype=vectors.dtype)
    operators = iter(chain.operators(range(steps, int(times[0]), -1)))
    for t in range(steps, int(times[0]) - 1, -1):
        if t < steps:
            vectors = next(operators).apply_transpose(vectors)
            vectors[..., -NOISE:] += (SAFETY * size * chain.rounding[:, t])[:, None, None] * drawn(NOISE)
            exponent = torch.frexp(vector_norm(vectors[..., :-NOISE], dim=(1, 2))).exponent
            vectors, scale = vectors * (-exponent).to(scale).exp2()[:, None, None], scale + exponent
            size = vector_norm(vectors[..., :-NOISE], dim=(1, 2))
        if t in times:
            wrong = vector_norm(vectors[..., -NOISE:], dim=(1, 2)) * ((steps - t + 1) / (NOISE * share)) ** 0.5
            found = deflated_norms(vectors[..., :-NOISE], basis.shape[2], wrong, failing)
            yield found.scaled((scale * math.log(2)).numpy())


def _middle(found: NormBounds, rounding: Real) -> tuple[Real, Real]:
    """The middle of the bounds, and half their distance with what rounding adds."""
    zero = np.isneginf(found.log_upper)
    with np.errstate(invalid="ignore"):
        middle, half = (found.log_lower + found.log_upper) / 2, (found.log_upper - found.log_lower) / 2
    middle = np.where(np.isposinf(found.log_upper), found.log_lower, middle)  # a lower bound is known, and no other
    return np.where(zero, -np.inf, middle), np.where(zero, 0, half + rounding)


def _of_rounding(chain: Chain, found: NormBounds, t: int, steps: int) -> Real:
    """Of ln σ at first order: Σ_s ‖J_{s+1}ᵀ … J_Tᵀ u‖ ‖E_s‖ ‖J_{s−1} … J_{t+1} v‖ / σ."""
    u = found.vector.unsqueeze(-1)
    ends = list(chain.passed(u, range(steps, t, -1), transposed=True))
    before = [vector_norm(vectors, dim=1).log() + scale for vectors, scale in ends]
    v = ends[-1][0] / vector_norm(ends[-1][0], dim=1, keepdim=True).clamp_min(torch.finfo(u.dtype).tiny)
    passed = chain.passed(v, range(t + 1, steps + 1), transposed=False)
    after = [vector_norm(vectors, dim=1).log() + scale for vectors, scale in passed]
    # ‖x_s‖ of the vector that step s multiplies from the left is the one before it in the pass back
    left = torch.stack(before[:-1][::-1], dim=1).squeeze(-1)
    right = torch.stack(after[:-1], dim=1).squeeze(-1)
    sigma = before[-1]
    return (SAFETY * (left + right - sigma).exp() * chain.rounding[:, t:steps]).sum(dim=1).nan_to_num(0).cpu().numpy()
