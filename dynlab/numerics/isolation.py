"""The distance from a computed root to a true one, and a test whether that root is alone there.

With A = f'(h), Newton's error is e = |A⁻¹| (|f(h)| + what rounding leaves of f), coordinate by coordinate. Where
|A⁻¹ f' − I| e ≤ e/2 in a box of ten times e about h, h − A⁻¹ f(h) contracts there: the box holds exactly one root, and
all computed roots in it are copies. The change of f' is sampled at corners of the box.

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

from dynlab.numerics.roots import ROUNDINGS, rounding

NOISE = 2.0  # times `roots.rounding`: what rounding leaves of f(h), coordinate by coordinate
SEVERAL = 10.0  # times Newton's error: the box that is looked at, and the distance up to which two roots are one
CONTRACTION = 0.5  # by so much at least h − A⁻¹ f(h) must shorten distances in the box
OTHERS = 2  # corners beside that of the weakest direction, and as many opposite ones


class Equations(NamedTuple):
    """f, whose roots are looked for, and its derivative: `dynlab.numerics.roots.Function`, of points (k, n) alone too.

    Attributes
    ----------
    value : callable
        Shape (k, n).
    matrix : callable
        Shape (k, n, n).
    bounded : callable
        f and a bound on the rounding in it, of shape (k, n) each; None where no bound is known.
    """

    value: Callable[..., Tensor]
    matrix: Callable[..., Tensor]
    bounded: Callable[[Tensor], tuple[Tensor, Tensor] | None] = lambda points: None


class Isolation(NamedTuple):
    """The error of computed roots, and whether each is a root and alone.

    Attributes
    ----------
    errors : Tensor, shape (k,)
        Distance from the computed root to the true one, to first order; inf where f' is singular to rounding.
    alone : Tensor of bool, shape (k,)
        True where the box of `SEVERAL` errors holds exactly one root.
    roots : Tensor of bool, shape (k,)
        True where f is 0 to rounding, or the root is alone: else f may have a small minimum and no root.
    signs : Tensor, shape (k,)
        The sign of det f'.
    weakest : Tensor, shape (k, n)
        The unit vector along which the root is known worst.
    """

    errors: Tensor
    alone: Tensor
    roots: Tensor
    signs: Tensor
    weakest: Tensor


def isolation(equations: Equations, points: Tensor) -> Isolation:
    """Return Newton's error of roots of f computed at `points` (k, n), and whether each is alone."""
    values, matrices = equations.value(points), equations.matrix(points)
    u, sigma, v = torch.linalg.svd(matrices)
    eps = torch.finfo(points.dtype).eps
    regular = sigma[:, -1] > points.shape[1] * eps * sigma[:, 0]
    inverse = (v.mT / torch.where(regular[:, None], sigma, torch.inf).unsqueeze(1)) @ u.mT
    noise = rounding(points, values, matrices)
    slack = values.abs() + NOISE * noise
    bounded = equations.bounded(points)
    if bounded is not None:  # f may consist of large terms that cancel
        slack = torch.maximum(slack, (bounded[0].abs() + bounded[1]).nan_to_num(0.0, posinf=0.0))
    off = (inverse.abs() @ slack.unsqueeze(-1)).squeeze(-1).nan_to_num(0.0, posinf=0.0)
    box = off.clamp_min(eps)
    probes = points[:, None] + SEVERAL * box[:, None] * _corners(v[:, -1])
    change = equations.matrix(probes.flatten(0, 1)).unflatten(0, probes.shape[:2]) - matrices.unsqueeze(1)
    moved = (inverse.unsqueeze(1) @ change).abs() @ box[:, None, :, None]
    alone = regular & ((moved.squeeze(-1) / box[:, None]).amax(dim=(1, 2)) <= CONTRACTION)
    errors = torch.where(regular, off.norm(dim=-1), torch.inf)
    # in single coordinates little may be left of f where the root is not known at all
    errors = torch.where(alone | ~regular, errors, slack.norm(dim=-1) / sigma[:, -1])
    roots = alone | (values.norm(dim=-1) <= ROUNDINGS * noise.norm(dim=-1))
    return Isolation(errors, alone, roots, torch.linalg.slogdet(matrices).sign, v[:, -1])


def _corners(weakest: Tensor) -> Tensor:
    """Return signs, shape (k, corner, n): those of the weakest direction and of a few others, and the opposite ones."""
    others = np.random.default_rng(0).choice([-1.0, 1.0], (OTHERS, weakest.shape[1]))
    each = torch.as_tensor(others).to(weakest).expand(len(weakest), -1, -1)
    half = torch.cat([torch.where(weakest < 0, -1.0, 1.0).to(weakest).unsqueeze(1), each], dim=1)
    return torch.cat([half, -half], dim=1)
