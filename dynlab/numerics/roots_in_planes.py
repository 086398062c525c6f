"""Roots in planes through given states: where a step along a continuum of roots is brought back onto it."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.numerics.arrays import Real
from dynlab.numerics.isolation import Equations
from dynlab.numerics.merging import scale
from dynlab.numerics.roots import tolerance

CORRECTIONS = 12
SINGULAR = 1e-15  # times the largest singular value: below it a correction goes no way
SETTLED = 1e-12  # times max(1, ‖h‖): a correction below that ends the iteration
LEFT = 10.0  # times the tolerance of a root: what may be left of f where the iteration settles
ON = 1e-6  # times max(1, ‖h‖): a root this near to a walk is on the continuum


class Corrected(NamedTuple):
    """Roots (k, n) in planes, where the iteration settles (k,), and f' (k, n, n) of its last step.

    `slowing` (k,) is how long its second step is beside its first.
    """

    states: Real
    settled: NDArray[np.bool_]
    matrices: Real
    slowing: Real


def corrected(equations: Equations, starts: Real, normals: Real) -> Corrected:
    """The roots in the planes through `starts` (k, n) with the normals (k, d, n), by Newton's method."""
    here, settled = starts.copy(), np.zeros(len(starts), dtype=bool)
    slopes = np.zeros((*starts.shape, starts.shape[1]))
    first, slowing = np.zeros(len(starts)), np.zeros(len(starts))
    left, before = np.arange(len(starts)), np.full(len(starts), np.inf)
    for number in range(CORRECTIONS):
        points = torch.as_tensor(here[left])
        values, matrices = equations.value(points).numpy(), equations.matrix(points).numpy()
        finite = np.isfinite(values).all(axis=1) & np.isfinite(matrices).all(axis=(1, 2))
        if not finite.all():
            left, values, matrices = left[finite], values[finite], matrices[finite]
            points = points[torch.as_tensor(finite)]
        if len(left) == 0:
            break
        slopes[left] = matrices
        off = np.concatenate([values, (normals[left] @ (here[left] - starts[left])[..., None])[..., 0]], axis=1)
        bordered = np.concatenate([matrices, normals[left]], axis=1)
        step = -(np.linalg.pinv(bordered, rcond=SINGULAR) @ off[..., None])[..., 0]
        here[left] += step
        size = np.linalg.norm(step, axis=1)
        if number == 0:
            first[left] = np.maximum(size, ON * scale(here[left]))
        elif number == 1:
            slowing[left] = size / first[left]
        done = size <= SETTLED * scale(here[left])
        if done.any():
            small = is_left_of_a_root(torch.as_tensor(values), points).numpy()
            # far out a step of no size may still lead to a root; what settles elsewhere is a least square, and no root
            done &= small | (size >= before[left] / 2)
            settled[left[done]] = small[done]
        before[left] = size
        left = left[~done]
        if len(left) == 0:
            break
    return Corrected(here, settled, slopes, slowing)


def is_left_of_a_root(values: Tensor, points: Tensor) -> Tensor:
    """Whether what f is at points (k, n) may be left of 0 where an iteration settled, shape (k,)."""
    return values.norm(dim=-1) <= LEFT * tolerance(points)


def along(planes: Real, vectors: Real) -> Real:
    """The part of each vector (k, n) that lies in the plane spanned by orthonormal vectors (k, d, n)."""
    return (planes.swapaxes(1, 2) @ (planes @ vectors[..., None]))[..., 0]
