"""What two passes along orbits measure: covariant vectors, what determines them, and angles of subspaces."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynlab.diagnostics.covariant_vectors.angles import SubspaceAngles, angles_along, over_window
from dynlab.diagnostics.covariant_vectors.ginelli import RUNS, Passes
from dynlab.diagnostics.covariant_vectors.tangent_steps import TangentSteps
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.statistics import BLOCKS, SHORTEST_BLOCK, standard_errors, sure

AGREE = 1e-6  # radians between the vectors of both runs, above which they are not determined
# The gap between two exponents must explain half of the decades of that agreement over the shorter transient: vectors
# of a defective matrix agree too after long enough, but as 1/t.
SEPARATED = float(-np.log(AGREE) / 2)
ROUNDING = 1e-10  # nat a step: an exponent that near to 0 is 0 to rounding
MOST_NUMBERS = 2**22  # of vectors that are kept


@dataclass(frozen=True)
class CovariantVectors:
    """Arrays by sample, time and mode; NaN where nothing is known.

    `times` are step numbers; `rates` are a step's.
    """

    steps: TangentSteps
    times: Index
    vectors: Real
    rates: Real
    mean_rates: Real
    exponents: Real
    errors: Real
    determined: NDArray[np.bool_]
    differences: Real
    residuals: Real
    unstable: Index
    stable: Index
    angles: SubspaceAngles
    stretches: int


def measured(
    steps: TangentSteps, k: int, first: int, last: int, times: int, max_memory: float, seed: int
) -> CovariantVectors:
    """Both passes over `steps`, for k vectors at the steps first + 1 … last."""
    window, samples, n = last - first, steps.samples, steps.size
    blocks = max(1, min(BLOCKS, window // SHORTEST_BLOCK))
    passes = Passes(steps, k, first, last, blocks, max_memory, seed)
    exponents = passes.growth[:, -1] / window
    errors = standard_errors(
        passes.growth, (passes.stops - first).astype(float), blocks if window >= SHORTEST_BLOCK else 0
    )
    inside = np.isinf(steps.cut)
    sound = passes.sound & inside[:, None]
    unstable, stable = _signs(exponents, sure(blocks) * errors + ROUNDING, sound)
    at_most = max(1, MOST_NUMBERS // (samples * n * k))
    kept = np.unique(np.round(np.linspace(first + 1, last, min(times, window, at_most))).astype(int))
    found = _way_back(passes, kept, unstable, stable, sound)
    determined = sound & (found.differences <= AGREE) & _separated(exponents, min(first, steps.count - last))
    nowhere = ~determined
    found.vectors[np.broadcast_to(nowhere[:, None, :, None], found.vectors.shape)] = np.nan
    found.rates[np.broadcast_to(nowhere[:, None], found.rates.shape)] = np.nan
    return CovariantVectors(
        steps=steps,
        times=kept,
        vectors=found.vectors,
        rates=found.rates,
        mean_rates=np.where(nowhere, np.nan, found.total / window),
        exponents=np.where(sound, exponents, np.nan),
        errors=np.where(sound, errors, np.nan),
        determined=determined,
        differences=np.where(sound, found.differences, np.nan),
        residuals=np.where(sound, found.residuals, np.nan),
        unstable=np.where(inside, unstable, 0),
        stable=np.where(inside, stable, 0),
        angles=over_window(found.angles, first, kept),
        stretches=passes.stretches,
    )


class _Gathered(NamedTuple):
    """What the pass back leaves: vectors and rates at the steps that are kept, the rest of all steps.

    `total` is the sum of the rates, `differences` and `residuals` are the largest of each mode, and `angles` are those
    of both runs, shape (run, sample, step).
    """

    vectors: Real
    rates: Real
    total: Real
    differences: Real
    residuals: Real
    angles: Real


def _way_back(passes: Passes, kept: Index, unstable: Index, stable: Index, sound: NDArray[np.bool_]) -> _Gathered:
    """Gather over the pass back, which gives one stretch at a time."""
    samples, n, k, first = passes.steps.samples, passes.steps.size, passes.k, passes.first
    vectors, rates = np.full((samples, len(kept), k, n), np.nan), np.full((samples, len(kept), k), np.nan)
    angles = np.full((RUNS, samples, passes.last - first), np.nan)
    total, differences, residuals = (np.zeros((samples, k)) for _ in range(3))
    for stretch in passes.back():
        here = np.flatnonzero((kept > stretch.start) & (kept <= stretch.stop))
        at = kept[here] - stretch.start - 1
        vectors[:, here] = stretch.vectors[:, at].transpose(-1, -2).numpy()
        rates[:, here] = stretch.rates[:, at].numpy()
        total += stretch.rates.sum(dim=1).numpy()
        differences = np.fmax(differences, stretch.differences.amax(dim=1).numpy())
        residuals = np.fmax(residuals, stretch.residuals.amax(dim=1).numpy())
        angles[:, :, stretch.start - first : stretch.stop - first] = angles_along(stretch, unstable, stable, sound)
    return _Gathered(vectors, rates, total, differences, residuals, angles)


def _signs(exponents: Real, margin: Real, sound: NDArray[np.bool_]) -> tuple[Index, Index]:
    """How many leading modes certainly grow and how many of the last sound ones certainly decay, of each sample."""
    with np.errstate(invalid="ignore"):
        grows, decays = exponents > margin, exponents < -margin
    unstable = np.cumprod(grows & sound, axis=1).sum(axis=1)
    stable = np.cumprod((decays | ~sound)[:, ::-1], axis=1).sum(axis=1) - (~sound).sum(axis=1)
    return unstable.astype(np.int64), np.maximum(stable, 0).astype(np.int64)


def _separated(exponents: Real, transient: int) -> NDArray[np.bool_]:
    """Whether the gaps to both neighbours are wide enough for the transients."""
    gaps = exponents[:, :-1] - exponents[:, 1:]
    wide = np.pad(gaps * transient >= SEPARATED, ((0, 0), (1, 1)), constant_values=True)
    both: NDArray[np.bool_] = wide[:, :-1] & wide[:, 1:]
    return both
