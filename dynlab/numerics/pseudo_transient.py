"""Pseudo-transient continuation: follow h' = f(h) by implicit Euler steps that grow as f falls, towards a stable root.

Where the method of Levenberg and Marquardt ends in a local minimum of ‖f‖, a slow region as a rule, this goes through.

References
----------
Kelley and Keyes, "Convergence analysis of pseudo-transient continuation", SIAM J. Numer. Anal. 35 (1998).
"""

import torch
from torch import Tensor

from dynlab.numerics.levenberg_marquardt import Function, Roots, in_chunks, solve, tolerance

MAX_ITERATIONS = 60
FIRST_STEP = 1.0  # of time: the fastest rates of a map's h' = F(h) − h and of ERNN's inner flow are of order 1
SMALLEST_STEP, LARGEST_STEP = 1e-3, 1e8
FASTEST_GROWTH = 10.0  # of the step, which else grows as ‖f‖ falls (switched evolution relaxation)
WORST_RISE = 2.0  # of ‖f‖ in a step that is kept: a flow may pass a hill
RETREAT = 0.25  # times the step where one is not kept


def solve_or_follow(f: Function, jacobian: Function, starts: Tensor) -> Roots:
    """`levenberg_marquardt.solve`, and from the starts where that fails once more from where the flow leads.

    Parameters and result as in `levenberg_marquardt.solve`; iterations are those of all that was tried.
    """
    found = solve(f, jacobian, starts)
    lost = (~found.converged & torch.isfinite(starts).all(-1)).nonzero()[:, 0]
    if len(lost) == 0:
        return found
    followed, steps = follow(lambda h, rows: f(h, lost[rows]), lambda h, rows: jacobian(h, lost[rows]), starts[lost])
    again = solve(lambda h, rows: f(h, lost[rows]), lambda h, rows: jacobian(h, lost[rows]), followed)
    total = found.iterations[lost] + steps + again.iterations
    better = again.residuals < found.residuals[lost]
    for old, new in zip(found, again, strict=True):
        old[lost[better]] = new[better]
    found.iterations[lost] = total
    return found


def follow(f: Function, jacobian: Function, starts: Tensor) -> tuple[Tensor, Tensor]:
    """Where h' = f(h) leads from each start, shape (start, n), and after how many steps."""
    ended, steps = in_chunks(lambda rows: _follow(f, jacobian, starts[rows], rows), starts)
    return ended, steps


def _follow(f: Function, jacobian: Function, starts: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    h, value = starts.clone(), f(starts, rows)
    step = torch.full_like(h[:, 0], FIRST_STEP)
    live = torch.arange(len(h), device=h.device)
    steps = torch.zeros_like(live)
    for _ in range(MAX_ITERATIONS):
        live = live[value[live].norm(dim=-1) > tolerance(h[live])]
        if len(live) == 0:
            break
        steps[live] += 1
        matrix = -jacobian(h[live], rows[live])
        matrix.diagonal(dim1=-2, dim2=-1).add_(1 / step[live].unsqueeze(-1))
        move, _ = torch.linalg.solve_ex(matrix, value[live].unsqueeze(-1))
        trial = h[live] + move.squeeze(-1)
        trial_value = f(trial, rows[live])
        fall = (value[live].norm(dim=-1) / trial_value.norm(dim=-1)).nan_to_num(0.0, posinf=FASTEST_GROWTH)
        kept = fall > 1 / WORST_RISE
        moved = live[kept]
        h[moved], value[moved] = trial[kept], trial_value[kept]
        factor = torch.where(kept, fall.clamp_max(FASTEST_GROWTH), RETREAT)
        step[live] = (step[live] * factor).clamp(SMALLEST_STEP, LARGEST_STEP)
    return h, steps
