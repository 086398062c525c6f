"""How tangent vectors grow along the orbits of a map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.lyapunov.entry_errors import certain_zeros, relative_errors
from dynlab.driven import NUMBERS_AT_ONCE, Driven, in_float64
from dynlab.numerics.frame import (
    SAFETY,
    UNRESOLVED,
    Frame,
    Growth,
    alike,
    beyond,
    change_of_length,
    orthonormal,
    passed,
    random_frame,
    renewed,
    stacked,
    stretched,
)
from dynlab.program.jacobian import Dense, Operator

AIM = 1e-8  # of the largest error of a growth factor between two orthonormalisations
TOLERANCE = 1e-7  # of the same: an interval beyond it is taken back, which costs as much again
FAR = 20.0  # |ln ‖J‖₂| beyond which a Jacobian is scaled before it is multiplied
TOGETHER = 64  # intervals at most whose errors are computed at once; fewer where their length is still found
AT_ONCE = 2**21  # entries of dense Jacobians: 16 MiB, and the arrays beside them are ten times as much
LONGEST = 64  # steps between two orthonormalisations, however little the frame changes
# Above so many states tangent vectors go through a Jacobian's factors, and its matrix is never made: of n² numbers a
# step that costs more than the product with a few vectors.
DENSE = 128
NUMBERS = 64  # for each unit, that the factors of a cell's Jacobian and their moduli take at most


@dataclass(frozen=True)
class Factors:
    """Consecutive Jacobians, and what is known of each.

    `block` has leading dimensions (sample, step), and counts as the identity where `valid` (sample, step) is false.
    Very large and very small ones are multiplied by 2 to the power of `doublings` (sample, step), so that no product of
    several over- or underflows. `log_norms` (sample, step) bound ln ‖J‖₂ of what is multiplied. `log_dets` are ln
    abs(det J), NaN where they would need the matrix. `lost` (sample, step) says whether J has a row or column of
    zeros, and none that only rounding made 0. `singular` marks the steps where one of them has, `blind` those with a
    column, `seen` (sample, step, state) the columns that are not zero. `wrong` (sample, step) are the `relative_errors`
    of what is multiplied. Where they reach its size it is `drowned` (sample, step): of its growth no more is known than
    that it is below ‖J‖₂ and that error together. `regular` marks the steps where nothing of this is to be minded,
    `sorted_rows` those where a QR needs its rows in order.
    """

    block: Operator
    valid: Tensor
    doublings: Tensor
    log_norms: Tensor
    log_dets: Tensor
    lost: Tensor
    singular: NDArray[np.bool_]
    blind: NDArray[np.bool_]
    seen: Tensor
    wrong: Tensor
    drowned: Tensor
    regular: NDArray[np.bool_]
    sorted_rows: NDArray[np.bool_]

    @classmethod
    def of(cls, block: Operator, inside: Tensor, dense: bool, driven: Driven, start: int) -> Factors:
        """The factors of a block from step `start` on, whose orbits are `inside` (sample, step).

        They are valid up to the first that is not finite.
        """
        shape = (*inside.shape, block.columns)
        moduli, ones = block.absolute(), inside.new_ones(block.columns, 1, dtype=torch.float64)
        columns, rows = (
            found.squeeze(-1).expand(shape) for found in (moduli.apply_transpose(ones), moduli.apply(ones))
        )
        # ‖J‖₂ ≤ √(‖J‖₁ ‖J‖_∞)
        norms = (columns.amax(dim=-1).log() + rows.amax(dim=-1).log()) / 2
        valid = _until_first_false(inside & ~norms.isnan() & ~norms.isposinf())
        norms = torch.where(valid, norms, 0)
        dets = block.log_abs_det() if dense else torch.full_like(norms, torch.nan)
        zeros = ((rows == 0) & valid.unsqueeze(-1), (columns == 0) & valid.unsqueeze(-1))
        looked_at = torch.ones_like(valid) if dense else norms.isneginf()
        exact = certain_zeros(driven, start, *(each & looked_at.unsqueeze(-1) for each in zeros))
        seen = ~exact[1]
        doubtful = (zeros[0] ^ exact[0] | zeros[1] ^ exact[1]).any(dim=-1)  # of some that are 0 to rounding
        lost = (exact[0] | exact[1]).any(dim=-1) & ~doubtful
        dets = torch.where(dets.isneginf() & doubtful, torch.nan, dets)
        wrong = torch.zeros_like(norms)
        if dense:
            wrong, norms = relative_errors(driven, start, norms, lost)
        drowned = SAFETY * wrong >= UNRESOLVED
        blind = ~seen.all(dim=-1).all(dim=0) | drowned.any(dim=0)
        singular = (lost.any(dim=0) | blind).cpu().numpy()
        far = torch.isfinite(norms) & (norms.abs() > FAR)
        doublings = torch.where(far, (-norms / math.log(2)).round(), 0.0)
        if dense:
            matrices = block.dense().expand(*shape, block.columns)
            eye = torch.eye(block.columns, dtype=matrices.dtype, device=matrices.device)
            block = Dense(matrices if valid.all() else torch.where(valid[..., None, None], matrices, eye))
        return cls(
            block,
            valid,
            doublings,
            norms + doublings * math.log(2),
            torch.where(valid, dets, 0),
            lost,
            singular,
            blind.cpu().numpy(),
            seen,
            wrong,
            drowned,
            ~singular & (valid & ~drowned & (doublings == 0)).all(dim=0).cpu().numpy(),
            (~alike(rows)).any(dim=0).cpu().numpy(),
        )

    def image(self, index: int, vectors: Tensor) -> Tensor:
        """What the Jacobian number `index` makes of vectors (sample, state, k)."""
        doublings, valid = self.doublings[:, index], self.valid[:, index]
        if doublings.any():
            vectors = torch.ldexp(vectors, doublings[:, None, None])
        found = self.block[:, index].apply(vectors)
        return (
            found if isinstance(self.block, Dense) or valid.all() else torch.where(valid[:, None, None], found, vectors)
        )


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
    sizes = torch.maximum(driven.states.amax(dim=-1), -driven.states.amin(dim=-1))  # without a copy of all states
    inside = _until_first_false(sizes <= largest_state)
    like = in_float64(driven.states[:, :1])
    frame = stacked([random_frame(samples, n, k, seed + number, like) for number in range(frames)])
    log_det = torch.zeros(samples, dtype=torch.float64, device=frame.columns.device)
    below = torch.zeros_like(log_det)  # inf where no growth is known from below
    noted: list[Tensor] = []
    t, length, count, together = 0, 1, 0, 2
    dense = n <= DENSE or k == n or not driven.has_closed_form
    at_once = max(1, (AT_ONCE // n if dense else NUMBERS_AT_ONCE // NUMBERS) // (samples * n))
    for block in driven.operators(np.arange(1, driven.steps + 1), at_once):
        within = slice(t + 1, min(t + at_once, driven.steps) + 1)
        factors = Factors.of(block, inside[:, within].to(frame.columns.device), dense, driven, t)
        inside[:, within] = factors.valid.to(inside.device)  # an orbit is cut at its first Jacobian that is not finite
        inside = _until_first_false(inside)
        log_det = log_det + factors.log_dets[:, max(0, transient - t) :].sum(dim=1)
        below = below.masked_fill(factors.drowned[:, max(0, transient - t) :].any(dim=1), torch.inf)
        done, steps_here = 0, within.stop - within.start
        while done < steps_here:
            if t == transient and not noted:
                frame = renewed(frame, seed)
            ahead = [transient] if t < transient else stops[len(noted) :][:TOGETHER].tolist()
            ends = _ends(factors, done, length, [stop - t for stop in ahead], together)
            several = _several(frame, factors, done, ends) if len(ends) > 1 else None
            found, worst, growths, bounds = several or _advanced(frame, factors, done, ends[0])
            before = length
            steps = int(np.diff(ends[: len(growths)], prepend=0).max())
            change = change_of_length(worst, AIM, SAFETY * n * np.finfo(float).eps)
            if worst > TOLERANCE and steps > 1:
                length = max(1, min(steps - 1, int(steps * change)))
                continue
            frame, count = found, count + len(growths)
            if steps == length or worst > AIM:  # an interval that a boundary ended early says less
                length = min(LONGEST, max(1, int(steps * change)))
            together = 2 if length != before or len(growths) < len(ends) else min(TOGETHER, 2 * len(ends))
            for end, growth, bound in zip(ends, growths, bounds, strict=False):
                if t >= transient and t + end == stops[len(noted)]:
                    cut = ~inside[:, t + end].to(bound.device).repeat(frames)
                    unknown = torch.isinf(bound) | cut[:, None] | torch.isposinf(growth)
                    unknown |= torch.isneginf(growth) & torch.isinf(below).repeat(frames)[:, None]  # 0, or a kink
                    noted.append(torch.where(unknown, torch.nan, growth))
            done, t = done + ends[len(growths) - 1], t + ends[len(growths) - 1]
    outside = (~inside).cpu().numpy()
    first = outside.argmax(axis=1)
    grown = torch.stack(noted, dim=1).unflatten(0, (frames, samples)).cpu().numpy()
    return Growth(
        grown[0],
        torch.where(inside[:, -1].to(log_det.device) & (below == 0), log_det, torch.nan).cpu().numpy(),
        (frame.bound[:samples] + below[:, None]).cpu().numpy(),
        np.where(outside.any(axis=1), first, np.inf),
        outside.any(axis=1) & ~beyond(driven.states[range(samples), first], largest_state),
        driven.states[:, stops].double().cpu().numpy(),
        driven.steps / count,
        grown[1:, :, -1],
    )


def _until_first_false(true: Tensor) -> Tensor:
    return true.to(torch.uint8).cummin(dim=1).values.bool()


def _ends(factors: Factors, done: int, length: int, stops: list[int], most: int) -> list[int]:
    """After how many of the next factors the frame is made orthonormal: at every stop, and after `length` at most.

    Several only as far as factors are regular; an exactly singular factor is the last of its interval.
    """
    left = min(len(factors.regular) - done, stops[-1])
    (irregular,) = np.nonzero(~factors.regular[done : done + left])
    ahead = int(irregular[0]) if len(irregular) else left
    if ahead < length or most == 1:
        ahead = min(length, left, stops[0])
        (last,) = np.nonzero(factors.singular[done : done + ahead])
        return [int(last[0]) + 1 if len(last) else ahead]
    found: list[int] = []
    at = 0
    for stop in stops:
        while at < min(stop, ahead) and len(found) < most:
            at = min(at + length, stop, ahead)
            found.append(at)
    return found


Several = tuple[Frame, float, Sequence[Tensor] | Tensor, Sequence[Tensor] | Tensor]


def _several(frame: Frame, factors: Factors, start: int, ends: list[int]) -> Several | None:
    """What `_advanced` returns, of several intervals that end after so many of the next factors, all of them regular.

    None where the growth of a mode vanishes in one of them. Errors are computed after all, since many small operations
    take as long as the products.
    """
    if torch.isneginf(frame.log_growth).any():
        return None
    repeats = len(frame.columns) // len(factors.valid)
    columns, triangles, at = frame.columns, [], start
    for end in ends:
        image = _beside(columns, repeats)
        for index in range(at, start + end):
            image = factors.block[:, index].apply(image)
        at = start + end
        image = _apart(image, repeats)
        columns, R = orthonormal(image) if factors.sorted_rows[at - 1] else torch.linalg.qr(image)
        triangles.append(R)
    whole = torch.stack(triangles)
    if not bool((whole.diagonal(dim1=-2, dim2=-1).abs() > 0).all()):  # a NaN is no number either
        return None
    last = torch.tensor(ends) - 1
    sizes, wrong = (
        torch.diff(each[:, start:at].cumsum(dim=1)[:, last].T, dim=0, prepend=each.new_zeros(1, len(each))).repeat(
            1, repeats
        )
        for each in (factors.log_norms, factors.wrong)
    )
    steps = torch.diff(last, prepend=last.new_full((1,), -1)).unsqueeze(-1)
    eps = frame.columns.shape[1] * np.finfo(float).eps
    grown, bound, errors = passed(frame, whole, sizes, wrong + eps * steps.to(wrong))
    return Frame(columns, grown[-1], bound[-1]), float(errors.max()), grown, bound


def _advanced(frame: Frame, factors: Factors, start: int, steps: int) -> Several:
    """The frame after the next factors, the largest error of a growth factor, and the growth and bound of each end."""
    total, n, _ = frame.columns.shape
    eps = n * np.finfo(float).eps
    begun, stop, worst = start, start + steps, 0.0
    repeats = total // len(factors.valid)
    image = _beside(frame.columns, repeats)
    for index in range(start, stop):
        if factors.blind[index]:
            # A column of zeros takes a dimension away, exactly so where the projection is a factor of its own.
            seen = factors.seen[:, index].unsqueeze(-1)
            size = factors.log_norms[:, start:index].sum(dim=1)
            rounded = eps * (index - start) + factors.wrong[:, start:index].sum(dim=1)
            projected = _apart(torch.where(seen, image, 0), repeats)
            lost = _repeated(factors.lost[:, index], repeats)
            frame, worst = stretched(frame, projected, _repeated(size, repeats), _repeated(rounded, repeats), lost)
            image, start = _beside(frame.columns, repeats), index
        image = factors.image(index, image)
    drowned, wrong = factors.drowned[:, stop - 1], factors.wrong[:, start:stop].sum(dim=1)
    size = _repeated(factors.log_norms[:, start:stop].sum(dim=1), repeats)
    rounded = _repeated(eps * (stop - start) + torch.where(drowned, 0, wrong), repeats)
    found, last = stretched(frame, _apart(image, repeats), size, rounded, _repeated(factors.lost[:, stop - 1], repeats))
    if drowned.any():  # it is the only factor since the frame was orthonormal
        here = _repeated(drowned, repeats).unsqueeze(-1)
        most = frame.log_growth + (size + _repeated(wrong.log1p(), repeats)).unsqueeze(-1)
        gone = torch.isneginf(found.log_growth) & _repeated(factors.lost[:, stop - 1], repeats).unsqueeze(-1)
        most = torch.where(gone | torch.isneginf(frame.log_growth), -torch.inf, most)
        bound = torch.where(here, frame.bound, found.bound)
        found = replace(found, log_growth=torch.where(here, most, found.log_growth), bound=bound)
    doubled = factors.doublings[:, begun:stop].sum(dim=1)
    if doubled.any():
        shrunk = _repeated(doubled * math.log(2), repeats).unsqueeze(-1)
        found = replace(found, log_growth=found.log_growth - shrunk)
    return found, max(worst, last), [found.log_growth], [found.bound]


def _repeated(values: Tensor, frames: int) -> Tensor:
    return values.repeat(frames) if frames > 1 else values


def _beside(columns: Tensor, frames: int) -> Tensor:
    """The columns of all frames of a sample as one matrix: a Jacobian is the same for all."""
    if frames == 1:
        return columns
    samples, n, k = len(columns) // frames, *columns.shape[1:]
    return columns.unflatten(0, (frames, samples)).permute(1, 2, 0, 3).reshape(samples, n, frames * k)


def _apart(image: Tensor, frames: int) -> Tensor:
    """The other way round."""
    return image if frames == 1 else image.unflatten(-1, (frames, -1)).permute(2, 0, 1, 3).flatten(0, 1)
