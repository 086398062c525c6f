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

import numpy as np
import torch
from torch import Tensor

from dynlab.numerics import continuation
from dynlab.numerics.arrays import Real
from dynlab.numerics.isolation import Equations

MOST_POINTS = 400


class Path:
    """The curve λ (φ(h) − h) = (1 − λ)(h − a) of points (h, λ); the arguments are those of `end_of_path`."""

    def __init__(self, equations: Equations, sign: float, center: Tensor) -> None:
        self.equations, self.sign, self.center = equations, sign, center

    def residual(self, z: Real) -> Real:
        """Return the left side less the right one, shape (n,)."""
        h, part = torch.from_numpy(z[:-1]), float(z[-1])
        return (part * self.sign * self.equations.value(h[None])[0] - (1 - part) * (h - self.center)).numpy()

    def derivative(self, z: Real) -> Real:
        """Return its derivative, shape (n, n + 1)."""
        h, part = torch.from_numpy(z[:-1]), float(z[-1])
        value, matrix = (self.sign * each(h[None])[0] for each in (self.equations.value, self.equations.matrix))
        by_state = part * matrix - (1 - part) * torch.eye(len(h), dtype=h.dtype)
        return torch.cat([by_state, (value + h - self.center)[:, None]], dim=1).numpy()


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
    curve, begin = Path(equations, sign, center), center if root is None else root
    z, across = np.append(begin.numpy(), float(root is not None)), np.zeros(len(center) + 1)
    across[-1] = 1.0 if root is None else -1.0  # λ grows, or falls
    start = continuation.point_at(curve, z, across)
    if start is None:
        return begin
    lowest, highest = (np.append(np.full(len(center), side * np.inf), end) for side, end in ((-1, 0.0), (1, 1.0)))
    path = continuation.follow(curve, start, lowest, highest, longest=1.0, first=0.1, most=MOST_POINTS)
    return torch.from_numpy(path.points[-1].z[:-1])
