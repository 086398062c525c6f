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
CORRECTIONS = 4  # with one factorisation; the step is halved where these do not settle
SETTLED = 1e-3  # times the step: a correction below that ends them
CONTRACTS = 0.5  # times the one before, and first times the step, a correction is at most
EASY, LONGER = 0.15, 2.0  # times the step: after first corrections below that, the next step is longer


def end_of_path(equations: Equations, sign: float, center: Tensor, root: Tensor | None = None) -> Tensor:
    """Where the path from `center` (n,) ends, to be finished by `roots.solve`; where it was given up it may be no root.

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
    row = torch.zeros_like(point)
    row[n] = 1.0 if root is None else -1.0  # λ grows, or falls
    length = FIRST_STEP
    for _ in range(MOST_STEPS):
        bordered = point.new_zeros(n + 1, n + 1)
        value = sign * equations.value(point[None, :n])[0]
        bordered[:n, :n] = -point[n] * sign * equations.matrix(point[None, :n])[0]
        bordered.diagonal()[:n] += 1 - point[n]
        bordered[:n, n], bordered[n] = center - point[:n] - value, row
        factors, pivots, _ = torch.linalg.lu_factor_ex(bordered)

        def solved(right: Tensor, factors: Tensor = factors, pivots: Tensor = pivots) -> Tensor:
            return torch.linalg.lu_solve(factors, pivots, right.unsqueeze(-1)).squeeze(-1)

        tangent = torch.zeros_like(point)
        tangent[n] = 1.0
        tangent = solved(tangent)
        tangent = tangent / tangent.norm()
        while length > SHORTEST_STEP:
            trial, before = point + length * tangent, length
            first = None
            for _ in range(CORRECTIONS):
                h, part = trial[:n], trial[n]
                off = (1 - part) * (h - center) - part * sign * equations.value(h[None])[0]
                move = solved(torch.cat([-off, length * (row @ tangent)[None] - (row @ (trial - point))[None]]))
                size = float(move.norm())
                if not size <= CONTRACTS * before:
                    break
                trial, before, first = trial + move, size, size if first is None else first
                if size <= SETTLED * length:
                    break
            if before <= SETTLED * length:
                break
            length /= 2
        else:
            return point[:n]
        if trial[n] <= 0:
            return center
        if trial[n] >= 1:
            return point[:n] + (1 - point[n]) / (trial[n] - point[n]) * (trial[:n] - point[:n])
        length = min(LONGEST_STEP, LONGER * length) if first is not None and first <= EASY * length else length
        point, row = trial, tangent
    return point[:n]
