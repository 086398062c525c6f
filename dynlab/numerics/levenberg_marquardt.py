"""Roots of f(h) = 0 from many starts at once, by the method of Levenberg and Marquardt on exact Jacobians.

The step solves (JᵀJ + μ I) δ = −Jᵀf with μ = λ ‖f‖₂ ‖J‖_F / √n. As f → 0 it becomes Newton's step, so that roots
are reached quadratically, those on a continuum of roots too; where J is nearly singular it stays short.

References
----------
Nocedal and Wright, Numerical Optimization, section 10.3; Fan and Yuan, Computing 74 (2005) (μ in proportion to ‖f‖).
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import torch
from torch import Tensor

# f or its Jacobian at points (k, n); `rows` (k,) says which of the starts the points belong to.
Function = Callable[[Tensor, Tensor], Tensor]

MAX_ITERATIONS = 300
FIRST_DAMPING = 0.05  # λ; random RNN, GRU and LSTM of all gains give up as many roots between 0.003 and 1
SMALLEST_DAMPING, LARGEST_DAMPING = 1e-8, 1e12
ACCEPT = 1e-4  # a step is taken where it brings this part of what the linear model promised
POOR, GOOD = 0.25, 0.75  # of the promise: below, λ grows fourfold; above, it shrinks to a fifth
GROW, SHRINK = 4.0, 0.2
PATIENCE, PROGRESS = 15, 0.9  # a start whose residual falls by less than a tenth in 15 iterations is in a local minimum
HALVING = 0.5  # within the tolerance a start goes on while a step still halves its residual: down to rounding
SMALLEST_RESIDUAL = 1e-12  # in float64
ROUNDINGS = 10  # times n ε ‖h‖: what rounding makes of a residual
CHUNK_BYTES = 2**25  # of Jacobians that a thread works on at once
WORKERS = 2


class Roots(NamedTuple):
    """Where the starts ended.

    Attributes
    ----------
    states : Tensor, shape (start, n)
    residuals : Tensor, shape (start,)
        ‖f‖₂ there.
    converged : Tensor of bool, shape (start,)
    iterations : Tensor of int, shape (start,)
    """

    states: Tensor
    residuals: Tensor
    converged: Tensor
    iterations: Tensor


def tolerance(states: Tensor) -> Tensor:
    """The ‖f‖₂ up to which a state (..., n) counts as a root: max(1e-12, 10 n ε ‖h‖₂), in float32 in proportion."""
    eps = torch.finfo(states.dtype).eps
    smallest = SMALLEST_RESIDUAL * eps / torch.finfo(torch.float64).eps
    return (ROUNDINGS * states.shape[-1] * eps * states.norm(dim=-1)).clamp_min(smallest)


def solve(f: Function, jacobian: Function, starts: Tensor) -> Roots:
    """Where the iteration ends from each start.

    Parameters
    ----------
    f, jacobian : callable
        Of points (k, n) and their starts' numbers (k,): values (k, n) and matrices (k, n, n).
    starts : Tensor, shape (start, n)

    Returns
    -------
    Roots
        `converged` where ‖f‖₂ is within `tolerance`.
    """
    return Roots(*in_chunks(lambda rows: _iterate(f, jacobian, starts[rows], rows), starts))


def in_chunks(work: Callable[[Tensor], tuple[Tensor, ...]], starts: Tensor) -> tuple[Tensor, ...]:
    """`work` on the rows of `starts` in chunks of bounded memory, in a pool of threads, its results joined.

    Torch's operations use one thread each meanwhile: faster for many small matrices than several threads each.
    """
    chunks = torch.arange(len(starts), device=starts.device).split(max(1, CHUNK_BYTES // (8 * starts.shape[-1] ** 2)))
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(WORKERS) as pool:
            found = list(pool.map(work, chunks))
    finally:
        torch.set_num_threads(before)
    return tuple(torch.cat(parts) for parts in zip(*found, strict=True))


def _iterate(f: Function, jacobian: Function, starts: Tensor, rows: Tensor) -> Roots:
    """`solve` for one chunk; `live` holds the places of the starts that still move."""
    h, value = starts.clone(), f(starts, rows)
    norm = value.norm(dim=-1)
    damping = torch.full_like(norm, FIRST_DAMPING)
    remembered = norm.clone()
    live = torch.isfinite(norm).nonzero()[:, 0]
    taken_by = torch.zeros_like(norm, dtype=torch.int64)
    for iteration in range(1, MAX_ITERATIONS + 1):
        live = live[norm[live] > 0]
        if len(live) == 0:
            break
        taken_by[live] += 1
        before = norm[live]
        step, promised = _step(jacobian(h[live], rows[live]), value[live], damping[live])
        trial = h[live] + step
        trial_value = f(trial, rows[live])
        trial_norm = trial_value.norm(dim=-1).nan_to_num(torch.inf)
        gain = ((before - trial_norm) * (before + trial_norm) / promised).nan_to_num(-1.0)
        taken = (gain > ACCEPT) & (trial_norm < before)
        factor = torch.where(gain < POOR, GROW, torch.where(gain > GOOD, SHRINK, 1.0))
        damping[live] = (damping[live] * factor).clamp(SMALLEST_DAMPING, LARGEST_DAMPING)
        moved = live[taken]
        h[moved], value[moved], norm[moved] = trial[taken], trial_value[taken], trial_norm[taken]
        within = before <= tolerance(h[live])
        done = within & (trial_norm > HALVING * before)
        if iteration % PATIENCE == 0:
            done |= ~within & (norm[live] > PROGRESS * remembered[live])
            remembered = norm.clone()
        live = live[~done]
    return Roots(h, norm, norm <= tolerance(h), taken_by)


def _step(matrix: Tensor, value: Tensor, damping: Tensor) -> tuple[Tensor, Tensor]:
    """The step δ, and by how much the linear model says that it lowers ‖f‖²; NaN where J is not finite."""
    gradient = matrix.mT @ value.unsqueeze(-1)
    size = torch.linalg.matrix_norm(matrix) / matrix.shape[-1] ** 0.5
    normal = matrix.mT @ matrix
    normal.diagonal(dim1=-2, dim2=-1).add_((damping * value.norm(dim=-1) * size).unsqueeze(-1))
    factor, _ = torch.linalg.cholesky_ex(normal)
    step = -torch.cholesky_solve(gradient, factor)
    model = value + (matrix @ step).squeeze(-1)
    return step.squeeze(-1), value.square().sum(-1) - model.square().sum(-1)
