"""A root that surely exists: the path from a state that is known to one of the roots of a bounded map.

Of φ, which maps a bounded convex set into itself, (1 − λ)(h − a) = λ (φ(h) − h) has the root a for λ = 0 and the fixed
points of φ for λ = 1. From almost every a in the set a path of roots leads from the one to one of the others without
turning back to λ = 0, since no root leaves the set. From any other fixed point it leads, while λ falls and grows again,
to one more, whose index det(I − φ') has the other sign: so that all indices sum to 1. It is followed by its length,
with λ as one more coordinate.

References
----------
Chow, Mallet-Paret and Yorke, "Finding zeroes of maps: homotopy methods that are constructive with probability one",
Mathematics of Computation 32 (1978); Allgower and Georg, Introduction to Numerical Continuation Methods (2003),
chapters 2 and 6.
"""

import torch
from torch import Tensor

from dynlab.numerics.isolation import Equations

MOST_STEPS = 400
FIRST_STEP, LONGEST_STEP, SHORTEST_STEP = 0.1, 1.0, 1e-8
CORRECTIONS = 4  # of Newton's; the step is halved where these do not settle
SETTLED = 1e-4  # times the step: a correction below that ends them
CONTRACTS = 0.5  # times the one before, and first times the step, a correction is at most
STRAIGHT = 0.8  # the least cosine between tangents of neighbouring points: the path may not jump to another one
AT_END = 1e-9  # of λ = 1: the path may be steep there, so that only its own end is near the root
EASY, LONGER = 0.15, 2.0  # times the step: after first corrections below that, the next step is longer


def end_of_path(equations: Equations, sign: float, center: Tensor, root: Tensor | None = None) -> Tensor:
    """Return where the path from `center` (n,) ends, for `roots.solve` to finish; given up, it may end at no root.

    From a `root` (n,) it is followed the other way: to another one, or to the center, whose path ends at that root.

    Parameters
    ----------
    equations : Equations
        φ(h) − h with its derivative, or h − φ(h).
    sign : float
        1 for the first, −1 for the second.
    center : Tensor, shape (n,)
    root : Tensor, shape (n,), optional
    """
    n = len(center)
    point = torch.cat([center, center.new_zeros(1)]) if root is None else torch.cat([root, center.new_ones(1)])
    last = torch.zeros_like(point)
    last[n] = 1.0

    def newton(at: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
        """Return Newton's correction of a point (n + 1,) across the direction `row`, and the path's tangent there."""
        h, part = at[:n], at[n]
        value, matrix = sign * equations.value(h[None])[0], sign * equations.matrix(h[None])[0]
        bordered = at.new_zeros(n + 1, n + 1)
        bordered[:n, :n] = -part * matrix
        bordered.diagonal()[:n] += 1 - part
        bordered[:n, n], bordered[n] = center - h - value, row
        off = torch.cat([part * value - (1 - part) * (h - center), at.new_zeros(1)])
        solved = torch.linalg.solve_ex(bordered, torch.stack([off, last], dim=1))[0]
        return solved[:, 0], solved[:, 1] / solved[:, 1].norm()

    tangent = newton(point, last if root is None else -last)[1]  # λ grows, or falls
    length = FIRST_STEP
    for _ in range(MOST_STEPS):
        while length > SHORTEST_STEP:
            trial, before, first = point + length * tangent, length, None
            for _ in range(CORRECTIONS):
                move, ahead = newton(trial, tangent)
                size = float(move.norm())
                if not size <= CONTRACTS * before:
                    break
                trial, before, first = trial + move, size, size if first is None else first
                if size <= SETTLED * length:
                    break
            if before <= SETTLED * length and ahead @ tangent >= STRAIGHT:
                break
            length /= 2
        else:
            return point[:n]
        if trial[n] <= 0:
            return center
        if abs(trial[n] - 1) <= AT_END:
            return trial[:n]
        if trial[n] > 1:
            length *= float((1 - point[n]) / (trial[n] - point[n]))
            continue
        length = min(LONGEST_STEP, LONGER * length) if first is not None and first <= EASY * length else length
        point, tangent = trial, ahead
    return point[:n]
