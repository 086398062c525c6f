"""Orbits in an affine space of fewer dimensions than the state, and whether orbits beside that space come back to it.

In floating-point numbers an orbit can stay on a set that repels only where rounding cannot leave it: in such a space,
as an invariant line or the states that a symmetry keeps.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynlab.numerics.arrays import Index, Real

MOST = 512  # states that say in which directions an orbit extends
FLAT = 1e-10  # of the orbit's extent: a direction in which it extends less has none of it
# A neighbour that starts at one of these distances and ends beyond the other has left; one that ends nearer than it
# started comes back. A distance that grows like a power of time does not get so far in 100,000 steps.
BESIDE, AWAY = 1e-8, 1e-3


@dataclass(frozen=True)
class FlatSpaces:
    """The affine space that holds each of several orbits.

    Attributes
    ----------
    dimensions : ndarray of int, shape (sample,)
        −1 where the orbit extends in all directions, or too few states tell.
    centre : ndarray, shape (sample, state)
    axes : ndarray, shape (sample, k, state)
        Orthonormal, in the order of how far the orbit extends; the first `dimensions` of them span the space.
    scale : ndarray, shape (sample,)
        The size of the orbit's states.
    """

    dimensions: Index
    centre: Real
    axes: Real
    scale: Real

    def spanning(self, sample: int) -> Real:
        """The axes (d, state) of the space of one orbit."""
        return np.asarray(self.axes[sample, : self.dimensions[sample]])

    def across(self, states: Real) -> Real:
        """What of each vector (sample, ..., state) is orthogonal to the space of its orbit."""
        spans = np.arange(self.axes.shape[1]) < self.dimensions[:, None]
        along = np.einsum("skn,s...n->s...k", self.axes * spans[:, :, None], states)
        return states - np.einsum("skn,s...k->s...n", self.axes, along)

    def hold(self, states: Real, samples: Iterable[int] | None = None) -> NDArray[np.bool_]:
        """Which states (..., state) lie, to rounding, in the space of one of the orbits, or of one of `samples`."""
        found = np.zeros(states.shape[:-1], dtype=bool)
        for sample in range(len(self.centre)) if samples is None else samples:
            axes, away = self.spanning(sample), states - self.centre[sample]
            distance = np.linalg.norm(away - away @ axes.T @ axes, axis=-1)
            found |= distance <= FLAT * (self.scale[sample] + np.linalg.norm(away, axis=-1))
        return found


def spread(count: int, most: int = MOST) -> Index:
    """The places of at most so many of consecutive states, 0 among them, in no rhythm that a cycle could share."""
    if count <= most:
        return np.arange(count)
    return np.unique((np.linspace(0, 1, most) ** 2 * (count - 1)).astype(np.int64))


def flat_spaces(visited: Real, unit: Real) -> FlatSpaces:
    """The spaces that hold orbits.

    Parameters
    ----------
    visited : ndarray, shape (sample, time, state)
        Some states of each orbit.
    unit : ndarray, shape (sample,)
        What the states of each are measured in, beside their own size.
    """
    samples, count, n = visited.shape
    finite = np.asarray(np.isfinite(visited).all(axis=(1, 2)))
    if count < 2 * n or not finite.any():  # too few states say in which directions the orbit does not extend
        return FlatSpaces(np.full(samples, -1), visited[:, 0], np.zeros((samples, 0, n)), unit)
    kept = np.where(finite[:, None, None], visited, visited[finite][:1])
    centre = kept.mean(axis=1)
    sizes, axes = np.linalg.svd(kept - centre[:, None], full_matrices=False)[1:]
    scale = unit + np.abs(centre).max(axis=1) + sizes[:, 0] / np.sqrt(count)
    extends = sizes > FLAT * np.sqrt(count) * scale[:, None]
    dimensions = np.where(finite & ~extends.all(axis=1), extends.sum(axis=1), -1)
    return FlatSpaces(dimensions, centre, axes, scale)


def neighbours_distance(spaces: FlatSpaces, begin: Real, follow: Callable[[Real], Real], seed: int) -> Real:
    """How far from the space of its orbit a neighbour is at last, in the orbit's size; NaN where there is no space.

    Parameters
    ----------
    spaces : FlatSpaces
    begin : ndarray, shape (sample, state)
        A state of each orbit. The neighbour starts `BESIDE` away, across the space.
    follow : callable
        The last states (sample, time, state) of orbits from states (sample, state).
    seed : int
        Of the direction in which the neighbour lies.
    """
    is_flat = spaces.dimensions >= 0
    if not is_flat.any():
        return np.full(len(begin), np.nan)
    begin = np.where(is_flat[:, None], begin, spaces.centre)
    aside = spaces.across(np.random.default_rng(seed).standard_normal(begin.shape))
    length = np.linalg.norm(aside, axis=1, keepdims=True)
    aside = aside / np.where(length > 0, length, 1) * spaces.scale[:, None] * BESIDE
    with np.errstate(all="ignore"):  # a neighbour that runs away has left
        away = spaces.across(follow(begin + aside) - spaces.centre[:, None])
        distance = np.linalg.norm(away, axis=2).max(axis=1) / spaces.scale
    return np.where(is_flat, np.where(np.isnan(distance), np.inf, distance), np.nan)
