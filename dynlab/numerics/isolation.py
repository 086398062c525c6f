"""Whether a computed root is one: a ball about it in which there is exactly one root, and how far off that may be.

With A = f'(h) and q = max ‖I − A⁻¹ f'(y)‖ over a ball of radius r about h, y − A⁻¹ f(y) contracts there, and where
‖A⁻¹ f(h)‖ ≤ (1 − q) r it maps the ball into itself: the ball holds one root and no second one. What rounding leaves of
f(h) is added to f(h), so that a root which a rounding could take away is not shown. q is sampled on the sphere, along
the weakest direction of A and along others: this is a check, and no proof.

References
----------
Deuflhard, Newton Methods for Nonlinear Problems (2004), section 2.1; Rump, "Verification methods", Acta Numerica 19
(2010), section 13.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dynlab.numerics.roots import ROUNDINGS, Roots, tolerance

NOISE = 2.0  # times ε (|h| + |f| + |A| |h|): what rounding leaves of f(h), coordinate by coordinate
ENTRIES = 16.0  # times ε (1 + ‖A‖): a smallest singular value below that may be rounding alone
LARGEST, SMALLER, LEVELS = 0.1, 0.25, 24  # radii that are tried: a tenth of max(1, ‖h‖), a quarter of that, …
CONTRACTION = 0.5  # q must be below
COARSE = 100.0  # times the least tolerance: above it a state's size may hide what is left of f in a coordinate
WHOLE_STEPS = 20  # of Newton's
OTHERS = 2  # directions beside the weakest


class Equations(NamedTuple):
    """f, whose roots are looked for, and its derivative: `dynlab.numerics.roots.Function`, of points (k, n) alone too.

    Attributes
    ----------
    value : callable
        Shape (k, n).
    matrix : callable
        Shape (k, n, n).
    """

    value: Callable[..., Tensor]
    matrix: Callable[..., Tensor]


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


def rounding(points: Tensor, values: Tensor, matrices: Tensor) -> Tensor:
    """What rounding leaves of f at points (k, n), coordinate by coordinate."""
    sizes = points.abs() + values.abs() + (matrices.abs() @ points.abs().unsqueeze(-1)).squeeze(-1)
    return NOISE * torch.finfo(points.dtype).eps * sizes


def to_the_last_digit(equations: Equations, ended: Roots) -> tuple[Tensor, Tensor]:
    """The ends (k, n) of a search, and whether each is a root in every coordinate, shape (k,).

    Where one coordinate is so large that its rounding hides what is left of f in another, as the memory of an LSTM
    whose forget gate is almost open, ‖f‖₂ says nothing of that other. Newton's whole steps, which no scale of a
    coordinate changes, go on from there, and every coordinate of f must be rounding.
    """
    states, converged = ended.states.clone(), ended.converged.clone()
    hidden = (converged & (tolerance(states) > COARSE * tolerance(torch.zeros_like(states)))).nonzero()[:, 0]
    for _ in range(WHOLE_STEPS if len(hidden) else 0):
        points = states[hidden]
        step = torch.linalg.solve_ex(equations.matrix(points), -equations.value(points).unsqueeze(-1))[0].squeeze(-1)
        states[hidden] = torch.where(torch.isfinite(step).all(-1, keepdim=True), points + step, points)
    if len(hidden):
        points = states[hidden]
        values = equations.value(points)
        noise = ROUNDINGS * points.shape[1] * rounding(points, values, equations.matrix(points))
        converged[hidden] = (values.abs() <= noise.clamp_min(float(tolerance(torch.zeros_like(points[0]))))).all(-1)
    return states, converged


def isolation(equations: Equations, points: Tensor) -> Isolation:
    """What can be shown of the roots of f near `points` (k, n)."""
    values, matrices = equations.value(points), equations.matrix(points)
    u, sigma, v = torch.linalg.svd(matrices)
    smallest, weakest = sigma[:, -1], v[:, -1]
    eps = torch.finfo(points.dtype).eps
    regular = smallest > ENTRIES * eps * (1 + sigma[:, 0])
    inverse = (v.mT / torch.where(regular[:, None], sigma, torch.inf).unsqueeze(1)) @ u.mT
    slack = (values.abs() + rounding(points, values, matrices)).unsqueeze(-1)
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
        shown = (q <= CONTRACTION) & (errors[waiting] <= (1 - q) * radius[waiting])
        radii[waiting[shown]] = radius[waiting[shown]]
        waiting = waiting[~shown]
        radius = radius * SMALLER
    return Isolation(radii, errors, smallest, weakest)


def _directions(weakest: Tensor) -> Tensor:
    """Unit vectors, shape (k, direction, n): both ways along the weakest one and along a few others."""
    others = np.random.default_rng(0).standard_normal((OTHERS, weakest.shape[1]))
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    each = torch.as_tensor(others).to(weakest).expand(len(weakest), -1, -1)
    one_way = torch.cat([weakest.unsqueeze(1), each], dim=1)
    return torch.cat([one_way, -one_way], dim=1)
