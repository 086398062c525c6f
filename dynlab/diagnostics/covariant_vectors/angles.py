"""Angles between the subspace in which an orbit's neighbours grow and that in which they decay."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.diagnostics.covariant_vectors.ginelli import Stretch, smallest_angles
from dynlab.numerics.arrays import Index, Real


@dataclass(frozen=True)
class SubspaceAngles:
    """The smallest principal angle of each sample, in radians; NaN where it is not known at every step.

    Attributes
    ----------
    at_times, errors : ndarray, shape (sample, time)
        At the steps that are kept, and its difference between the two runs there; known where it is at that step.
    smallest, median : ndarray, shape (sample,)
        Over all steps.
    smallest_at : ndarray, shape (sample,)
        The step at which it is smallest.
    surely : ndarray, shape (sample,)
        What it is not below at any step, with the difference between the two runs taken off.
    largest_difference, differ_at : ndarray, shape (sample,)
        Between the two runs, and the step at which that is largest.
    """

    at_times: Real
    errors: Real
    smallest: Real
    median: Real
    smallest_at: Real
    surely: Real
    largest_difference: Real
    differ_at: Real


def over_window(angles: Real, first: int, kept: Index) -> SubspaceAngles:
    """Those of both runs, shape (run, sample, step), after the steps first + 1, …, of which some are `kept`."""
    known = np.isfinite(angles[0]).all(axis=1)
    ours = np.where(known[:, None], angles[0], 0.0)
    apart = np.where(known[:, None], np.abs(angles[0] - angles[1]), 0.0)
    return SubspaceAngles(
        at_times=angles[0][:, kept - first - 1],
        errors=np.abs(angles[0] - angles[1])[:, kept - first - 1],
        smallest=np.where(known, ours.min(axis=1), np.nan),
        median=np.where(known, np.median(ours, axis=1), np.nan),
        smallest_at=np.where(known, first + 1 + ours.argmin(axis=1), np.nan),
        surely=np.where(known, np.maximum(ours - apart, 0.0).min(axis=1), np.nan),
        largest_difference=np.where(known, apart.max(axis=1), np.nan),
        differ_at=np.where(known, first + 1 + apart.argmax(axis=1), np.nan),
    )


def angles_along(stretch: Stretch, unstable: Index, stable: Index, sound: NDArray[np.bool_]) -> Real:
    """Those of both runs, shape (run, sample, step); NaN where there is no unstable or no stable subspace."""
    found = np.full(stretch.coefficients.shape[:3], np.nan)
    counts = np.stack([unstable, stable, sound.sum(axis=1)], axis=1)
    for grow, decay, known in np.unique(counts[(unstable > 0) & (stable > 0)], axis=0):
        those = np.flatnonzero((counts == (grow, decay, known)).all(axis=1))
        coefficients = stretch.coefficients[:, torch.as_tensor(those)][..., :known, :known]
        found[:, those] = smallest_angles(coefficients, int(grow), int(decay)).numpy()
    return found
