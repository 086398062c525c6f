"""Covariant Lyapunov vectors: a frame carried forward, and upper triangular coefficients carried back.

Beside them the angles between subspaces that the vectors span.

References
----------
Ginelli, Poggi, Turchi, Chaté, Livi and Politi, "Characterizing dynamics with covariant Lyapunov vectors", Phys. Rev.
Lett. 99 (2007); Ginelli, Chaté, Livi and Politi, J. Phys. A 46 (2013), section 3.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.linalg import solve_triangular, vector_norm

from dynlab.diagnostics.covariant_vectors.tangent_steps import TangentSteps
from dynlab.numerics.frame import SAFETY, UNRESOLVED, random_frame
from dynlab.progress import through

RUNS = 2  # from other random frames and coefficients: what they agree on does not depend on these


@dataclass(frozen=True)
class Forward:
    """A stretch of an orbit carried forward: what the pass back needs.

    `maps` (sample, step, n, n); `frames` (run·sample, step + 1, n, k) at its ends and between; `factors` (run·sample,
    step, k, k), upper triangular with a positive diagonal.
    """

    maps: Tensor
    frames: Tensor
    factors: Tensor


@dataclass(frozen=True)
class Stretch:
    """Covariant vectors over some steps start + 1 … stop, in that order.

    Attributes
    ----------
    start, stop : int
    vectors : Tensor, shape (sample, step, n, k)
        Of length 1, after each step; of the first run.
    coefficients : Tensor, shape (run, sample, step, k, k)
        Of the vectors in the frames, likewise.
    rates : Tensor, shape (sample, step, k)
        ln ‖J_t v(t − 1)‖.
    residuals : Tensor, shape (sample, step, k)
        ‖J_t v(t − 1)/‖…‖ − v(t)‖.
    differences : Tensor, shape (sample, step, k)
        The angle between the vectors of both runs.
    """

    start: int
    stop: int
    vectors: Tensor
    coefficients: Tensor
    rates: Tensor
    residuals: Tensor
    differences: Tensor


class Passes:
    """The forward pass over all steps, and the pass back through what it left.

    Parameters
    ----------
    steps : TangentSteps
    k : int
    first, last : int
        The steps between the transients: vectors are wanted at first … last.
    blocks : int
        Of the window between them, for which growth is summed up.
    max_memory : float
        Bytes: where frames, factors and maps of the window and the last transient do not fit, only some frames are kept
        and the stretches between them are carried forward once more.
    seed : int

    Attributes
    ----------
    growth : ndarray, shape (sample, block, k)
        Σ ln R_ii since `first`, of the first run, at the ends of the blocks.
    stops : ndarray of int, shape (block,)
        These ends.
    sound : ndarray of bool, shape (sample, k)
        Which modes no step drowned in rounding, and no mode before them.
    stretches : int
        How many had to be carried forward once more.
    """

    def __init__(
        self, steps: TangentSteps, k: int, first: int, last: int, blocks: int, max_memory: float, seed: int
    ) -> None:
        self.steps, self.k, self.first, self.last, self.seed = steps, k, first, last, seed
        n, samples = steps.size, steps.samples
        # maps and their images; frames, vectors and what they are multiplied from; factors and coefficients
        numbers = samples * (n * n + 2 * n * k + RUNS * (3 * n * k + 4 * k * k))
        at_once = max(1, int(max_memory // (8 * numbers)))
        self._sound = torch.ones(RUNS * samples, k, dtype=torch.bool)
        frames = [random_frame(samples, n, k, seed + run, torch.zeros(1)).columns for run in range(RUNS)]
        frame = torch.cat(frames).double()
        for start in through(range(0, first, at_once)):
            frame = self._carried(frame, start, min(first, start + at_once)).frames[:, -1]
        self._starts = list(range(first, steps.count, at_once))
        self._checkpoints: list[Tensor] = []
        self.stops = first + np.round(np.linspace(0, last - first, blocks + 1)).astype(np.int64)[1:]
        self.growth = np.zeros((samples, blocks, k))
        for start in through(self._starts):
            self._checkpoints.append(frame)
            self._kept = self._carried(frame, start, min(steps.count, start + at_once))
            frame = self._kept.frames[:, -1]
            self._sum_up(start)
        self.growth = np.cumsum(self.growth, axis=1)
        self.sound = self._sound.reshape(RUNS, samples, k).all(dim=0).cummin(dim=1).values.numpy()
        self.stretches = len(self._starts) - 1

    def back(self) -> Iterator[Stretch]:
        """The covariant vectors of the window, the last stretch first."""
        samples, k = self.steps.samples, self.k
        drawn = np.triu(np.random.default_rng(self.seed).standard_normal((RUNS, k, k)))
        drawn[:, np.arange(k), np.arange(k)] = np.abs(drawn[:, np.arange(k), np.arange(k)])
        coefficients = torch.as_tensor(np.repeat(drawn, samples, axis=0))
        coefficients = coefficients / vector_norm(coefficients, dim=-2, keepdim=True)
        stretches = list(zip(self._starts, self._checkpoints, strict=True))
        for start, frame in through(stretches[::-1]):
            kept = self._kept
            if start != self._starts[-1]:
                kept = self._carried(frame, start, self._starts[self._starts.index(start) + 1])
            found = [coefficients]
            for factor in reversed(kept.factors.unbind(dim=1)):
                coefficients = solve_triangular(factor, coefficients, upper=True)
                coefficients = coefficients / vector_norm(coefficients, dim=-2, keepdim=True)
                found.append(coefficients)
            count = min(self.last - start, len(found) - 1)
            if count > 0:
                yield self._stretch(start, kept, torch.stack(found[::-1], dim=1), count)

    def _stretch(self, start: int, kept: Forward, coefficients: Tensor, count: int) -> Stretch:
        within = slice(0, count + 1)
        vectors = kept.frames[:, within] @ coefficients[:, within]
        ours, others = vectors.unflatten(0, (RUNS, self.steps.samples))
        images = kept.maps[:, :count] @ ours[:, :-1]
        sizes = vector_norm(images, dim=-2)
        residuals = vector_norm(images / sizes.unsqueeze(-2) - ours[:, 1:], dim=-2)
        after = coefficients[:, 1 : count + 1].unflatten(0, (RUNS, self.steps.samples))
        differences = angles_between(ours[:, 1:], others[:, 1:])
        return Stretch(start, start + count, ours[:, 1:], after, sizes.log(), residuals, differences)

    def _carried(self, frame: Tensor, start: int, stop: int) -> Forward:
        maps = self.steps.block(start, stop).cpu()
        frames, factors = [frame], []
        for step in through(range(stop - start)):
            image = maps[:, step].repeat(RUNS, 1, 1) @ frames[-1]
            Q, R = torch.linalg.qr(image)
            diagonal = R.diagonal(dim1=-2, dim2=-1)
            size = vector_norm(image, dim=(-2, -1))[:, None]
            sound = diagonal.abs() * UNRESOLVED > SAFETY * self.steps.roundings * size
            self._sound &= sound
            sign = torch.where(diagonal < 0, -1.0, 1.0)
            frames.append(Q * sign.unsqueeze(-2))
            factors.append(_without(R * sign.unsqueeze(-1), sound))
        return Forward(maps, torch.stack(frames, dim=1), torch.stack(factors, dim=1))

    def _sum_up(self, start: int) -> None:
        """Add what the factors grew to the blocks that their steps belong to."""
        samples = self.steps.samples
        logs = self._kept.factors[:samples].diagonal(dim1=-2, dim2=-1).log().numpy()
        numbers = np.arange(start + 1, start + 1 + logs.shape[1])
        for block, (low, high) in enumerate(zip([self.first, *self.stops[:-1]], self.stops, strict=True)):
            self.growth[:, block] += logs[:, (numbers > low) & (numbers <= high)].sum(axis=1)


def _without(factor: Tensor, sound: Tensor) -> Tensor:
    """R with the rows and columns of the modes that are lost replaced by the identity's: no others see them."""
    both = sound.unsqueeze(-1) & sound.unsqueeze(-2)
    return torch.where(both, factor, torch.eye(factor.shape[-1], dtype=factor.dtype))


def smallest_angles(coefficients: Tensor, unstable: int, stable: int) -> Tensor:
    """The smallest principal angle between the first `unstable` vectors' span and the last `stable` ones', in radians.

    Parameters
    ----------
    coefficients : Tensor, shape (..., k, k)
        Upper triangular: the vectors' components in an orthonormal frame.
    unstable, stable : int
        At least one each, k together at most.

    Notes
    -----
    The first vectors span the frame's first directions. With an orthonormal basis of the others, cos θ is the largest
    singular value of its rows there, sin θ the smallest of its rows elsewhere. The arc tangent of both is accurate for
    small angles and for right ones.

    References
    ----------
    Björck and Golub, "Numerical methods for computing angles between linear subspaces", Math. Comp. 27 (1973).
    """
    basis = torch.linalg.qr(coefficients[..., -stable:]).Q
    cosine = torch.linalg.svdvals(basis[..., :unstable, :])[..., 0]
    sine = torch.linalg.svdvals(basis[..., unstable:, :])[..., -1]
    return torch.atan2(sine, cosine)


def angles_between(first: Tensor, second: Tensor) -> Tensor:
    """The angle between the lines along unit vectors (..., state, k), column by column; accurate near 0."""
    along = (first * second).sum(dim=-2, keepdim=True)
    beside = torch.linalg.vector_norm(second - along * first, dim=-2)
    return torch.atan2(beside, along.squeeze(-2).abs())
