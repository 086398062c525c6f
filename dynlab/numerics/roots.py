"""Roots of f(h) = 0 from many starts at once: Newton's method, then one that goes on where it stops.

Newton's step is halved until it lowers ‖f‖₂. Where that ends at no root, the method of Levenberg and Marquardt begins:
its step solves (JᵀJ + μ I) δ = −Jᵀf with μ = λ ‖f‖₂ ‖J‖_F / √n, which becomes Newton's as f → 0, on a continuum of
roots too, and stays short where J is nearly singular.

References
----------
Nocedal and Wright, Numerical Optimization, sections 3.1 and 10.3; Fan and Yuan, Computing 74 (2005) (μ in proportion to
‖f‖); Kelley and Keyes, "Convergence analysis of pseudo-transient continuation", SIAM J. Numer. Anal. 35 (1998).
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from dynlab.numerics.threads import in_threads

# f or its Jacobian at points (k, n); `rows` (k,) says which of the starts the points belong to.
Function = Callable[[Tensor, Tensor], Tensor]

NEWTON_ITERATIONS, HALVINGS = 60, 6
LONGEST = 1.0  # times max(1, max |h_i|): no coordinate moves farther in a step of Newton's
SUFFICIENT = 1e-4  # of ‖f‖: a step of Newton's, or a part of it, is taken where it lowers ‖f‖ by this times that part
MAX_ITERATIONS = 300  # of Levenberg and Marquardt's
FIRST_DAMPING = 0.05  # λ; random RNN, GRU and LSTM of all gains give up as many roots between 0.003 and 1
SMALLEST_DAMPING, LARGEST_DAMPING = 1e-8, 1e12
ACCEPT = 1e-4  # a step is taken where it brings this part of what the linear model promised
POOR, GOOD = 0.25, 0.75  # of the promise: below, λ grows fourfold; above, it shrinks to a fifth
GROW, SHRINK = 4.0, 0.2
PATIENCE, PROGRESS = 15, 0.9  # a start whose residual falls by less than a tenth in 15 iterations is in a local minimum
HALVING = 0.5  # within the tolerance a start goes on while a step still halves its residual: down to rounding
SMALLEST_RESIDUAL = 1e-12  # in float64
ROUNDINGS = 10  # times n ε ‖h‖: what rounding makes of a residual
EULER_STEPS = 60  # of the continuation
FIRST_STEP, SMALLEST_STEP, LARGEST_STEP = 1.0, 1e-3, 1e8  # of time: the fastest rates are of order 1
FASTEST_GROWTH = 10.0  # of the step, which else grows as ‖f‖ falls (switched evolution relaxation)
WORST_RISE = 2.0  # of ‖f‖ in a step that is kept: a flow may pass a hill
RETREAT = 0.25  # times the step where one is not kept
STEEP = 1e8  # times the tolerance: a residual above that is no rounding, however steep f is


class Roots(NamedTuple):
    """The points at which the starts ended.

    Attributes
    ----------
    states : Tensor, shape (start, n)
    residuals : Tensor, shape (start,)
        ‖f‖₂ there.
    converged : Tensor of bool, shape (start,)
    iterations : Tensor of int, shape (start,)
        Iterations of all methods that were tried.
    """

    states: Tensor
    residuals: Tensor
    converged: Tensor
    iterations: Tensor


def tolerance(states: Tensor) -> Tensor:
    """Return the ‖f‖₂ up to which a state (..., n) is a root: max(1e-12, 10 n ε ‖h‖₂), in float32 in proportion."""
    eps = torch.finfo(states.dtype).eps
    smallest = SMALLEST_RESIDUAL * eps / torch.finfo(torch.float64).eps
    return (ROUNDINGS * states.shape[-1] * eps * states.norm(dim=-1)).clamp_min(smallest)


def rounding(points: Tensor, values: Tensor, matrices: Tensor) -> Tensor:
    """Return ε (|h| + |f| + |f'| |h|): what one rounding of each argument leaves of f at points (k, n), by coordinate.

    `values` (k, n) are f there and `matrices` (k, n, n) its derivatives.
    """
    sizes = points.abs() + values.abs() + (matrices.abs() @ points.abs().unsqueeze(-1)).squeeze(-1)
    return torch.finfo(points.dtype).eps * sizes


def solve(f: Function, jacobian: Function, starts: Tensor, most: int | None = None) -> Roots:
    """Return where Newton's method and, where it ends at no root, that of Levenberg and Marquardt end from each start.

    Parameters
    ----------
    f, jacobian : callable
        From points (k, n) and their starts' numbers (k,) to values (k, n) and matrices (k, n, n).
    starts : Tensor, shape (start, n)
    most : int, optional
        Number of starts that the second method takes up: those at which the first left the smallest ‖f‖₂.

    Returns
    -------
    Roots
        `converged` where ‖f‖₂ is within `tolerance`, or within `ROUNDINGS` times `rounding`, as where f is steep.
    """
    found = _in_chunks(lambda rows: _newton(f, jacobian, starts[rows], rows), starts)
    lost = (~found.converged & torch.isfinite(starts).all(-1)).nonzero()[:, 0]
    lost = lost[found.residuals[lost].argsort()[:most]]
    if len(lost):
        led = _in_chunks(lambda some: _levenberg_marquardt(f, jacobian, starts[lost[some]], lost[some]), starts[lost])
        better = led.residuals < found.residuals[lost]
        for old, new in zip(found[:3], led[:3], strict=True):
            old[lost[better]] = new[better]
        found.iterations[lost] += led.iterations
    near = (~found.converged & (found.residuals <= STEEP * tolerance(found.states))).nonzero()[:, 0]
    if len(near):
        points = found.states[near]
        noise = rounding(points, f(points, near), jacobian(points, near)).norm(dim=-1)
        found.converged[near] = found.residuals[near] <= ROUNDINGS * noise
    return found


def newton_roots(f: Function, jacobian: Function, starts: Tensor) -> Tensor:
    """Return the roots that Newton's method finds from the starts (k, n), NaN where it finds none; see `solve`.

    Where gradients are asked for, one more step of Newton's has those of the root, by the implicit function theorem.
    """
    rows = torch.arange(len(starts), device=starts.device)
    with torch.no_grad():
        found = _newton(f, jacobian, starts, rows)
        root = torch.where(found.converged.unsqueeze(-1), found.states, torch.nan)
    if not torch.is_grad_enabled():
        return root
    step = torch.linalg.solve_ex(jacobian(root, rows), f(root, rows).unsqueeze(-1))[0].squeeze(-1)
    return root - step.nan_to_num(0.0, 0.0, 0.0)  # none where the derivative is singular


def _in_chunks(work: Callable[[Tensor], Roots], starts: Tensor) -> Roots:
    """Return `work` on the rows of `starts`, in chunks and threads."""
    rows = torch.arange(len(starts), device=starts.device)
    return Roots(*in_threads(lambda some: work(rows[some]), len(starts), 8 * starts.shape[-1] ** 2))


def _newton(f: Function, jacobian: Function, starts: Tensor, rows: Tensor) -> Roots:
    """Run Newton's method with halved steps; `live` holds the places of the starts that still move."""
    h, value = starts.clone(), f(starts, rows)
    norm = value.norm(dim=-1).nan_to_num(torch.inf, torch.inf)
    live = torch.isfinite(norm).nonzero()[:, 0]
    taken_by = torch.zeros_like(norm, dtype=torch.int64)
    for _ in range(NEWTON_ITERATIONS):
        live = live[norm[live] > 0]
        if len(live) == 0:
            break
        taken_by[live] += 1
        before, within = norm[live], norm[live] <= tolerance(h[live])
        step = torch.linalg.solve_ex(jacobian(h[live], rows[live]), -value[live].unsqueeze(-1))[0].squeeze(-1)
        longest = LONGEST * h[live].abs().amax(dim=-1, keepdim=True).clamp_min(1)
        step *= (longest / step.abs().amax(dim=-1, keepdim=True)).clamp_max(1)
        waiting = torch.isfinite(step).all(-1).nonzero()[:, 0]
        for halving in range(HALVINGS):
            trial = h[live[waiting]] + 0.5**halving * step[waiting]
            trial_value = f(trial, rows[live[waiting]])
            trial_norm = trial_value.norm(dim=-1).nan_to_num(torch.inf)
            taken = trial_norm < (1 - SUFFICIENT * 0.5**halving) * before[waiting]
            moved = live[waiting[taken]]
            h[moved], value[moved], norm[moved] = trial[taken], trial_value[taken], trial_norm[taken]
            waiting = waiting[~taken & ~within[waiting]]  # what is at a root is not sought along shorter steps
            if len(waiting) == 0:
                break
        live = live[torch.where(within, norm[live] <= HALVING * before, norm[live] < before)]
    return Roots(h, norm, norm <= tolerance(h), taken_by)


def _levenberg_marquardt(f: Function, jacobian: Function, starts: Tensor, rows: Tensor) -> Roots:
    """Run the method of Levenberg and Marquardt on one chunk."""
    h, value = starts.clone(), f(starts, rows)
    norm = value.norm(dim=-1).nan_to_num(torch.inf, torch.inf)
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
        step, promised = _damped_step(jacobian(h[live], rows[live]), value[live], damping[live])
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


def _damped_step(matrix: Tensor, value: Tensor, damping: Tensor) -> tuple[Tensor, Tensor]:
    """Return the step δ, and by how much the linear model says that it lowers ‖f‖²; NaN where J is not finite."""
    gradient = matrix.mT @ value.unsqueeze(-1)
    size = torch.linalg.matrix_norm(matrix) / matrix.shape[-1] ** 0.5
    normal = matrix.mT @ matrix
    normal.diagonal(dim1=-2, dim2=-1).add_((damping * value.norm(dim=-1) * size).unsqueeze(-1))
    factor, _ = torch.linalg.cholesky_ex(normal)
    step = -torch.cholesky_solve(gradient, factor)
    model = value + (matrix @ step).squeeze(-1)
    return step.squeeze(-1), value.square().sum(-1) - model.square().sum(-1)


def led_by_flow(f: Function, jacobian: Function, starts: Tensor, first: float = FIRST_STEP) -> Tensor:
    """Return where h' = f(h) leads from the starts (k, n): implicit Euler steps that grow as ‖f‖ falls.

    That passes slow regions, where ‖f‖ has local minima that end Newton's and Levenberg and Marquardt's methods.
    """
    rows = torch.arange(len(starts), device=starts.device)
    h, value = starts.clone(), f(starts, rows)
    step, live = torch.full_like(h[:, 0], first), rows
    for _ in range(EULER_STEPS):
        live = live[value[live].norm(dim=-1) > tolerance(h[live])]
        if len(live) == 0:
            break
        matrix = -jacobian(h[live], live)
        matrix.diagonal(dim1=-2, dim2=-1).add_(1 / step[live].unsqueeze(-1))
        trial = h[live] + torch.linalg.solve_ex(matrix, value[live].unsqueeze(-1))[0].squeeze(-1)
        trial_value = f(trial, live)
        fall = (value[live].norm(dim=-1) / trial_value.norm(dim=-1)).nan_to_num(0.0, posinf=FASTEST_GROWTH)
        kept = fall > 1 / WORST_RISE
        h[live[kept]], value[live[kept]] = trial[kept], trial_value[kept]
        factor = torch.where(kept, fall.clamp_max(FASTEST_GROWTH), RETREAT)
        step[live] = (step[live] * factor).clamp(SMALLEST_STEP, LARGEST_STEP)
    return h
