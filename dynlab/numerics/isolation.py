"""Whether a computed root is one: a ball about it in which there is exactly one root, and how far off that may be.

With A = f'(h) and q = max ‖I − A⁻¹ f'(y)‖ over a ball of radius r about h, y − A⁻¹ f(y) contracts there, and where
‖A⁻¹ f(h)‖ ≤ (1 − q) r it maps the ball into itself: the ball holds one root and no second one. What rounding leaves of
f(h) is added to f(h), so that a root which a rounding could take away is not shown. q is sampled along the weakest
direction of A and along others: this is a check, and no proof.

References
----------
Deuflhard, Newton Methods for Nonlinear Problems (2004), section 2.1; Rump, "Verification methods", Acta Numerica 19
(2010), section 13.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dynlab.numerics.roots import ROUNDINGS, Roots, tolerance
from dynlab.numerics.threads import in_threads

NOISE = 2.0  # times ε (|h| + |f| + |A| |h|): what rounding leaves of f(h), coordinate by coordinate
ENTRIES = 16.0  # times ε (1 + ‖A‖): a smallest singular value below that may be rounding alone
LARGEST, SMALLER, LEVELS = 0.1, 0.25, 24  # radii that are tried: a tenth of max(1, ‖h‖), a quarter of that, …
CONTRACTION = 0.5  # q must be below
COARSE = 100.0  # times the least tolerance: above it a state's size may hide what is left of f in a coordinate
WHOLE_STEPS = 20  # of Newton's
OF_A_WALK = 0.25  # of the work that is left: a walk may spend so much
ENTRIES_A_CALL = 2000  # of matrices: computing and decomposing so many takes as long as the call itself
OTHERS = 2  # directions beside the weakest
ALONG = (1.0, 0.618, 0.271, 0.113, -1.0, -0.791, -0.437, -0.189)  # of the radius, where along the weakest one


@dataclass
class Work:
    """What is `left` to spend: a call costs 1, and every matrix in it its share of entries."""

    left: float

    def counted(self, equations: "Equations") -> "Equations":
        """The same equations, whose evaluations of f' are taken off what is left."""

        def matrix(points: Tensor, *rows: Tensor) -> Tensor:
            self.left -= 1 + points.numel() * points.shape[-1] / ENTRIES_A_CALL
            return equations.matrix(points, *rows)

        return equations._replace(matrix=matrix, work=self)


class Equations(NamedTuple):
    """f, whose roots are looked for, and its derivative: `dynlab.numerics.roots.Function`, of points (k, n) alone too.

    Attributes
    ----------
    value : callable
        Shape (k, n).
    matrix : callable
        Shape (k, n, n).
    cancelled : callable, optional
        What rounding leaves of f beyond its share of |h| and |f|, shape (k, n): of code that subtracts large numbers.
    work : Work, optional
        What may still be spent on evaluations of f'; without it there is no end.
    least : float
        What a walk leaves of it.
    """

    value: Callable[..., Tensor]
    matrix: Callable[..., Tensor]
    cancelled: Callable[[Tensor], Tensor] | None = None
    work: Work | None = None
    least: float = 0.0

    def walking(self) -> "Equations":
        """The same equations for one walk, which leaves most of the work to others."""
        return self if self.work is None else self._replace(least=(1 - OF_A_WALK) * max(self.work.left, 0.0))

    def spent(self) -> bool:
        """Whether a walk has to stop where it is."""
        return self.work is not None and self.work.left <= self.least


class Isolation(NamedTuple):
    """What is known about computed roots.

    Attributes
    ----------
    radii : Tensor, shape (k,)
        Of the ball about each in which there is exactly one root; 0 where none was shown.
    errors : Tensor, shape (k,)
        How far the root may be from where it was computed, to first order; inf where f' is singular.
    smallest : Tensor, shape (k,)
        σ_min of f'.
    weakest : Tensor, shape (k, n)
        The unit vector v with ‖f' v‖ = σ_min.
    """

    radii: Tensor
    errors: Tensor
    smallest: Tensor
    weakest: Tensor


def rounding(equations: Equations, points: Tensor, values: Tensor, matrices: Tensor) -> Tensor:
    """What rounding leaves of f at points (k, n), coordinate by coordinate, where `values` and `matrices` are known."""
    sizes = points.abs() + values.abs() + (matrices.abs() @ points.abs().unsqueeze(-1)).squeeze(-1)
    left = NOISE * torch.finfo(points.dtype).eps * sizes
    return left if equations.cancelled is None else left + equations.cancelled(points)


def to_the_last_digit(equations: Equations, ended: Roots) -> tuple[Tensor, Tensor]:
    """The ends (k, n) of a search, and whether each is a root in every coordinate, shape (k,).

    A forget gate that is almost open makes the memory of an LSTM so large that its rounding hides what is left of f in
    other coordinates, or f' so large that rounding alone is more than the tolerance. There every coordinate of f is
    held against its own rounding; where Newton's method had stopped too early, its whole steps, which no scale of a
    coordinate changes, go on.
    """
    states, converged = ended.states.clone(), ended.converged.clone()
    least = tolerance(states.new_zeros(states.shape[1]))
    hidden = (torch.isfinite(ended.residuals) & (~converged | (tolerance(states) > COARSE * least))).nonzero()[:, 0]

    def finished(rows: slice) -> tuple[Tensor, Tensor]:
        points, began = states[hidden[rows]], converged[hidden[rows]]
        told = began.clone()
        for _ in range(WHOLE_STEPS):
            values, matrices = equations.value(points), equations.matrix(points)
            noise = ROUNDINGS * points.shape[1] * rounding(equations, points, values, matrices)
            told = (values.abs() <= torch.maximum(noise, least)).all(-1)
            step = torch.linalg.solve_ex(matrices, -values.unsqueeze(-1))[0].squeeze(-1)
            going = began & ~told & torch.isfinite(step).all(-1)
            if not going.any():
                break
            points = torch.where(going[:, None], points + step, points)
        return points, told

    if len(hidden):
        states[hidden], converged[hidden] = in_threads(finished, len(hidden), 8 * states.shape[1] ** 2)
    return states, converged


def isolation(equations: Equations, points: Tensor) -> Isolation:
    """What can be shown of the roots of f near `points` (k, n)."""
    values, matrices = equations.value(points), equations.matrix(points)
    u, sigma, v = torch.linalg.svd(matrices)
    smallest, weakest = sigma[:, -1], v[:, -1]
    eps = torch.finfo(points.dtype).eps
    regular = smallest > ENTRIES * eps * (1 + sigma[:, 0])
    inverse = (v.mT / torch.where(regular[:, None], sigma, torch.inf).unsqueeze(1)) @ u.mT
    slack = (values.abs() + rounding(equations, points, values, matrices)).unsqueeze(-1)
    errors = torch.where(regular, (inverse.abs() @ slack).squeeze(-1).norm(dim=-1), torch.inf)
    scale = points.norm(dim=-1).clamp_min(1)
    directions = _directions(weakest)
    radii = torch.zeros_like(smallest)
    radius = LARGEST * scale
    waiting = regular.nonzero()[:, 0]
    for _ in range(LEVELS):
        waiting = waiting[errors[waiting] <= radius[waiting]]
        if len(waiting) == 0:
            break
        probes = points[waiting, None] + radius[waiting, None, None] * directions[waiting]
        flat = equations.matrix(probes.reshape(-1, points.shape[1]))
        change = flat.reshape(*probes.shape, -1) - matrices[waiting, None]
        q = torch.linalg.matrix_norm(inverse[waiting, None] @ change).amax(dim=1)
        # where f jumps its derivative may be the same on both sides
        q = torch.maximum(
            q, _bent(equations, probes, points[waiting], values[waiting], inverse[waiting]) / radius[waiting]
        )
        shown = (q <= CONTRACTION) & (errors[waiting] <= (1 - q) * radius[waiting])
        radii[waiting[shown]] = radius[waiting[shown]]
        waiting = waiting[~shown]
        radius = radius * SMALLER
    return Isolation(radii, errors, smallest, weakest)


def _bent(equations: Equations, probes: Tensor, points: Tensor, values: Tensor, inverse: Tensor) -> Tensor:
    """The largest ‖A⁻¹ (f(y) − f(h)) − (y − h)‖ over the probes y (k, direction, n) of each point h (k, n)."""
    moved = equations.value(probes.reshape(-1, points.shape[1])).reshape(probes.shape) - values.unsqueeze(1)
    linear = (inverse.unsqueeze(1) @ moved.unsqueeze(-1)).squeeze(-1)
    return (linear - probes + points.unsqueeze(1)).norm(dim=-1).amax(dim=1).nan_to_num(torch.inf)


def _directions(weakest: Tensor) -> Tensor:
    """Vectors in the unit ball, shape (k, direction, n): both ways along the weakest direction and along a few others.

    Along the weakest one also nearer ones: an f' that oscillates may look the same on the sphere as in its center.
    """
    others = np.random.default_rng(0).standard_normal((OTHERS, weakest.shape[1]))
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    each = torch.as_tensor(np.concatenate([others, -others])).to(weakest).expand(len(weakest), -1, -1)
    return torch.cat([torch.tensor(ALONG).to(weakest)[:, None] * weakest.unsqueeze(1), each], dim=1)
