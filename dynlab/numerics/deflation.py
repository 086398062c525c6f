"""Newton's method on f times what is infinite at the roots already known: it does not end at these again.

With m(h) = Π_k (1/‖h − h_k‖² + 1) the roots of m f are those of f but the h_k, and Newton's step of m f is Newton's
step δ of f times 1/(1 − δ · ∇ln m).

References
----------
Farrell, Birkisson and Funke, "Deflation techniques for finding distinct solutions of nonlinear partial differential
equations", SIAM J. Sci. Comput. 37 (2015), section 2.
"""

import torch
from torch import Tensor

from dynlab.numerics.isolation import Equations

ITERATIONS = 30
LONGEST = 1.0  # times max(1, max |h_i|): no coordinate moves farther in a step
CLOSE = 1e-12  # a squared distance to a known root counts as this at least


def deflated(equations: Equations, starts: Tensor, known: Tensor) -> Tensor:
    """Where the iteration leads from each start, shape (start, n); to be finished by `roots.solve`.

    Parameters
    ----------
    equations : Equations
    starts : Tensor, shape (start, n)
    known : Tensor, shape (k, n)
    """
    h = starts
    for _ in range(ITERATIONS):
        step, _ = torch.linalg.solve_ex(equations.matrix(h), -equations.value(h).unsqueeze(-1))
        offset = h.unsqueeze(1) - known
        squared = offset.square().sum(-1, keepdim=True).clamp_min(CLOSE)
        slope = -2 * (offset / (squared * (1 + squared))).sum(1)  # ∇ln m
        moved = (step / (1 - (slope.unsqueeze(1) @ step))).squeeze(-1)
        longest = LONGEST * h.abs().amax(dim=-1, keepdim=True).clamp_min(1)
        moved = moved * (longest / moved.abs().amax(dim=-1, keepdim=True)).clamp_max(1)
        h = torch.where(torch.isfinite(moved).all(-1, keepdim=True), h + moved, h)
    return h
