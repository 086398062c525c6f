"""How tangent vectors grow along the orbits of a map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.linalg import matrix_norm

from dynlab.driven import Driven, in_float64
from dynlab.numerics.frame import (
    SAFETY,
    Frame,
    Growth,
    change_of_length,
    random_frame,
    renewed,
    stacked,
    stretched,
)

TOLERANCE = 1e-8  # largest error of a growth factor between two orthonormalisations
FAR = 20.0  # |ln ‖J‖₂| beyond which a Jacobian is scaled before it is multiplied
LONGEST = 64  # steps between two orthonormalisations, however little the frame changes


@dataclass(frozen=True)
class Factors:
    """Consecutive Jacobians (sample, state, state), and what is known of each.

    Very large and very small ones are multiplied by the power of 2 that `log_shrunk` (sample, step) is the logarithm
    of, so that no product of several over- or underflows. `log_norms` (sample, step) bound ln ‖J‖₂ of what is kept;
    `log_dets` are ln abs(det J); `singular` marks the steps where a sample's Jacobian has a row or column of zeros,
    `seen` (sample, step, state) the columns that are not zero.
    """

    jacobians: Sequence[Tensor]
    log_shrunk: Tensor
    log_norms: Tensor
    log_dets: Tensor
    singular: NDArray[np.bool_]
    blind: NDArray[np.bool_]
    seen: Tensor

    @classmethod
    def of(cls, block: Tensor, valid: Tensor) -> Factors:
        """The factors of a block (sample, step, state, state); where `valid` (sample, step) is false, the identity."""
        eye = torch.eye(block.shape[-1], dtype=block.dtype, device=block.device)
        block = torch.where(valid[..., None, None], block, eye)
        # ‖J‖₂ ≤ √(‖J‖₁ ‖J‖_∞)
        norms = (matrix_norm(block, 1).log() + matrix_norm(block, torch.inf).log()) / 2
        zeros = block == 0
        seen = ~zeros.all(dim=-2)
        blind = ~seen.all(dim=-1).all(dim=0)
        singular = zeros.all(dim=-1).any(dim=-1).any(dim=0) | blind
        dets = torch.linalg.slogdet(block).logabsdet
        far = torch.isfinite(norms) & (norms.abs() > FAR)
        doublings = torch.where(far, (-norms / math.log(2)).round(), 0.0)
        shrunk = doublings * math.log(2)
        if far.any():
            block = torch.ldexp(block, doublings[..., None, None])
        return cls(block.unbind(dim=1), shrunk, norms + shrunk, dets, singular.cpu().numpy(), blind.cpu().numpy(), seen)


def growth_of_map(
    driven: Driven, k: int, transient: int, stops: NDArray[np.int64], largest_state: float, seed: int, frames: int = 1
) -> Growth:
    """Carry k tangent vectors along driven orbits.

    Parameters
    ----------
    driven : Driven
    k : int
    transient : int
        How many steps align the frame before its growth counts.
    stops : ndarray of int
        Increasing step numbers after the transient at which the growth is noted, the last of them the last step.
    largest_state : float
        Where abs(h_i) exceeds it, a sample's orbit is cut.
    seed : int
        Of the first frame; those of more follow it.
    frames : int
        How many are carried, one behind the other in the dimension of samples.
    """
    samples, _, n = driven.states.shape
    inside = _until_first_false((driven.states.abs() <= largest_state).all(dim=-1))
    like = in_float64(driven.states[:, :1])
    frame = stacked([random_frame(samples, n, k, seed + number, like) for number in range(frames)])
    log_det = torch.zeros(samples, dtype=torch.float64, device=frame.columns.device)
    noted: list[Tensor] = []
    t, length, count = 0, 1, 0
    for block in driven.blocks(driven.system, np.arange(1, driven.steps + 1)):
        block = in_float64(block)
        finite = torch.isfinite(block).all(dim=(-2, -1))
        within = slice(t + 1, t + 1 + block.shape[1])
        # An orbit is cut at its first Jacobian that is not finite, too.
        inside[:, within] &= finite.to(inside.device)
        inside = _until_first_false(inside)
        factors = Factors.of(block, inside[:, within].to(block.device))
        log_det = log_det + factors.log_dets[:, max(0, transient - t) :].sum(dim=1)
        done = 0
        while done < block.shape[1]:
            if t == transient and not noted:
                frame = renewed(frame, seed)
            boundary = transient if t < transient else int(stops[len(noted)])
            steps = _steps(factors, done, min(length, boundary - t))
            found, worst = _advanced(frame, factors, done, steps)
            change = change_of_length(worst, TOLERANCE, SAFETY * n * np.finfo(float).eps)
            if worst > TOLERANCE and steps > 1:
                length = max(1, min(steps - 1, int(steps * change)))
                continue
            frame, done, t, count = found, done + steps, t + steps, count + 1
            if steps == length:  # an interval that a boundary ended early says less
                length = min(LONGEST, max(1, int(steps * change), steps + int(change > 1)))
            if t > transient and t == stops[len(noted)]:
                cut = ~inside[:, t].to(frame.bound.device).repeat(frames)
                noted.append(torch.where(torch.isinf(frame.bound) | cut[:, None], torch.nan, frame.log_growth))
    outside = (~inside).cpu().numpy()
    grown = torch.stack(noted, dim=1).unflatten(0, (frames, samples)).cpu().numpy()
    return Growth(
        grown[0],
        torch.where(inside[:, -1].to(log_det.device), log_det, torch.nan).cpu().numpy(),
        frame.bound[:samples].cpu().numpy(),
        np.where(outside.any(axis=1), outside.argmax(axis=1), np.inf),
        driven.states[:, stops].double().cpu().numpy(),
        driven.steps / count,
        grown[1:, :, -1],
    )


def _until_first_false(true: Tensor) -> Tensor:
    return true.to(torch.uint8).cummin(dim=1).values.bool()


def _steps(factors: Factors, done: int, wanted: int) -> int:
    """How many factors come next: an exactly singular one is the last of its interval."""
    (ends,) = np.nonzero(factors.singular[done : done + wanted])
    return min(wanted, len(factors.jacobians) - done, int(ends[0]) + 1 if len(ends) else wanted)


def _advanced(frame: Frame, factors: Factors, start: int, steps: int) -> tuple[Frame, float]:
    """The frame after the next factors, and the largest error of a growth factor."""
    total, n, _ = frame.columns.shape
    eps = n * np.finfo(float).eps
    begun, stop, worst = start, start + steps, 0.0
    image, repeats = frame.columns, total // len(factors.jacobians[start])
    for index in range(start, stop):
        if factors.blind[index]:
            # A column of zeros takes a dimension away, exactly so where the projection is a factor of its own.
            before = factors.log_norms[:, start:index].sum(dim=1).repeat(repeats)
            projected = torch.where(factors.seen[:, index].unsqueeze(-1).repeat(repeats, 1, 1), image, 0)
            frame, worst = stretched(frame, projected, before, eps * (index - start))
            image, start = frame.columns, index
        image = _image(factors.jacobians[index], image)
    size = factors.log_norms[:, start:stop].sum(dim=1).repeat(repeats)
    found, last = stretched(frame, image, size, eps * (stop - start))
    shrunk = factors.log_shrunk[:, begun:stop].sum(dim=1).repeat(repeats)
    return replace(found, log_growth=found.log_growth - shrunk[:, None]), max(worst, last)


def _image(jacobian: Tensor, columns: Tensor) -> Tensor:
    """J times the columns of every frame: of several frames in one product, since J is the same for all."""
    samples, n, _ = jacobian.shape
    frames, k = len(columns) // samples, columns.shape[-1]
    beside = columns.unflatten(0, (frames, samples)).permute(1, 2, 0, 3).reshape(samples, n, frames * k)
    return (jacobian @ beside).reshape(samples, n, frames, k).permute(2, 0, 1, 3).flatten(0, 1)
