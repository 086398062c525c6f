"""What two passes along orbits measure: covariant vectors, what determines them, and angles of subspaces."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.diagnostics.covariant_vectors.ginelli import RUNS, Passes, Stretch, smallest_angles
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

    `times` are step numbers; `rates` are a step's. `surely` is what no angle is below, with the difference between the
    two runs taken off, and `differ_at` the step at which that difference is largest.
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
    angles: Real
    smallest: Real
    smallest_at: Real
    median: Real
    angle_errors: Real
    surely: Real
    angle_differences: Real
    differ_at: Real
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
    kept = np.unique(
        np.round(np.linspace(first + 1, last, min(times, window, max(1, MOST_NUMBERS // (samples * n * k))))).astype(
            int
        )
    )
    vectors, rates = np.full((samples, len(kept), k, n), np.nan), np.full((samples, len(kept), k), np.nan)
    angles = np.full((RUNS, samples, window), np.nan)
    total, differences, residuals = (np.zeros((samples, k)) for _ in range(3))
    for stretch in passes.back():
        here = np.flatnonzero((kept > stretch.start) & (kept <= stretch.stop))
        at = kept[here] - stretch.start - 1
        vectors[:, here] = stretch.vectors[:, at].transpose(-1, -2).numpy()
        rates[:, here] = stretch.rates[:, at].numpy()
        total += stretch.rates.sum(dim=1).numpy()
        differences = np.fmax(differences, stretch.differences.amax(dim=1).numpy())
        residuals = np.fmax(residuals, stretch.residuals.amax(dim=1).numpy())
        angles[:, :, stretch.start - first : stretch.stop - first] = _angles(stretch, unstable, stable, sound)
    determined = sound & (differences <= AGREE) & _separated(exponents, min(first, steps.count - last))
    nowhere = ~determined
    vectors[np.broadcast_to(nowhere[:, None, :, None], vectors.shape)] = np.nan
    rates[np.broadcast_to(nowhere[:, None], rates.shape)] = np.nan
    known = np.isfinite(angles[0]).all(axis=1)
    ours = np.where(known[:, None], angles[0], 0.0)
    apart = np.where(known[:, None], np.abs(angles[0] - angles[1]), 0.0)
    place = ours.argmin(axis=1)
    return CovariantVectors(
        steps=steps,
        times=kept,
        vectors=vectors,
        rates=rates,
        mean_rates=np.where(nowhere, np.nan, total / window),
        exponents=np.where(sound, exponents, np.nan),
        errors=np.where(sound, errors, np.nan),
        determined=determined,
        differences=np.where(sound, differences, np.nan),
        residuals=np.where(sound, residuals, np.nan),
        unstable=np.where(inside, unstable, 0),
        stable=np.where(inside, stable, 0),
        angles=angles[0][:, kept - first - 1],
        smallest=np.where(known, ours.min(axis=1), np.nan),
        smallest_at=np.where(known, first + 1 + place, np.nan),
        median=np.where(known, np.median(ours, axis=1), np.nan),
        angle_errors=np.abs(angles[0] - angles[1])[:, kept - first - 1],
        surely=np.where(known, np.maximum(ours - apart, 0.0).min(axis=1), np.nan),
        angle_differences=np.where(known, apart.max(axis=1), np.nan),
        differ_at=np.where(known, first + 1 + apart.argmax(axis=1), np.nan),
        stretches=passes.stretches,
    )


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


def _angles(stretch: Stretch, unstable: Index, stable: Index, sound: NDArray[np.bool_]) -> Real:
    """Of both runs, shape (run, sample, step); NaN where there is no unstable or no stable subspace."""
    found = np.full(stretch.coefficients.shape[:3], np.nan)
    counts = np.stack([unstable, stable, sound.sum(axis=1)], axis=1)
    for grow, decay, known in np.unique(counts[(unstable > 0) & (stable > 0)], axis=0):
        those = np.flatnonzero((counts == (grow, decay, known)).all(axis=1))
        coefficients = stretch.coefficients[:, torch.as_tensor(those)][..., :known, :known]
        found[:, those] = smallest_angles(coefficients, int(grow), int(decay)).numpy()
    return found
