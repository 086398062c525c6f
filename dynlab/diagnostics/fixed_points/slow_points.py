"""Slow points: local minima of the squared speed q(h) = ½ ‖F(h) − h‖² that are no fixed points.

∇q = (J − I)ᵀ(F(h) − h) is zero there though F(h) − h is not: J has the left eigenvector F(h) − h, with the eigenvalue
1. So J − I itself may be as small as ∇q, as beside a fold of one dimension, and says nothing of how small ∇q must be.
What says it is q: where the quadratic model of q has no more than a small part of q to gain, q is stationary.

References
----------
Sussillo and Barak, "Opening the black box: low-dimensional dynamics in high-dimensional recurrent neural networks",
Neural Computation 25 (2013), section 2; Boyd and Vandenberghe, Convex Optimization, section 9.5.1 (Newton's decrement).
"""

from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from dynlab.diagnostics.fixed_points import starting_states as where
from dynlab.diagnostics.fixed_points.distinct_roots import SLOW, Root
from dynlab.diagnostics.fixed_points.layers import Layer, Point
from dynlab.diagnostics.fixed_points.rounds import GIVEN, VISITED, Search, outside, starts_table
from dynlab.numerics import merging
from dynlab.numerics.roots import solve, tolerance
from dynlab.systems.autonomous import Held
from dynlab.systems.autonomous_jacobians import displacement_matrices

FLAT = 1e-9  # times its largest modulus: an eigenvalue of q's Hessian below that is not told from zero
STATIONARY = 1e-6  # times q: a decrement ½ gᵀ|H|⁻¹g below that leaves nothing to gain
NEAR = 1e-4  # times max(1, ‖h‖): minima this near are one, as q is flat beside a fold


def with_slow_points(
    held: Held,
    found: Search,
    given: Tensor | None,
    visited: Tensor | None,
    count: int,
    largest_speed: float,
    seed: int,
) -> Search:
    """Add slow points with q up to `largest_speed` to what a search found, and the starts that they were reached from.

    These are `given`, or half of them `visited` states, half random ones; parameters are those of `layers.search`.
    """
    generator, begun = np.random.default_rng(seed), given
    if begun is None:
        seen = where.bounded(where.orbits(held, generator) if visited is None else visited)
        picked = seen[torch.as_tensor(generator.integers(len(seen), size=count - count // 2))]
        begun = torch.cat([picked, where.random_starts(held, count // 2, where.reach_of(held, seen), generator)])
    states = _ends(held, begun, largest_speed)
    if not len(states):
        return found
    labels, speeds = merging.merged(states, NEAR), held.displacement(torch.as_tensor(states)).norm(dim=-1).numpy()
    slowest = [states[labels == number][speeds[labels == number].argmin()] for number in range(labels.max() + 1)]
    roots = [Root(state, SLOW, 0.0, 0 * state) for state in slowest]
    rows = starts_table(len(found.points) + labels, SLOW, VISITED if given is None else GIVEN, 1, speeds)
    points = [*found.points, *(Point((Layer(held, held, root),)) for root in roots)]
    return replace(found, points=points, starts=np.concatenate([found.starts, rows]))


def _ends(exact: Held, starts: Tensor, largest_speed: float) -> np.ndarray:
    """Return the slow points (k, n) that starts (start, n) lead to, one for each such start.

    The search for roots stops at local minima of ‖F(h) − h‖; Newton's method on ∇q goes on from there.
    """

    def speed(h: Tensor) -> Tensor:
        return exact.displacement(h.unsqueeze(0))[0].square().sum() / 2

    q, slope = torch.func.vmap(speed), torch.func.vmap(torch.func.jacrev(speed))
    curvature = torch.func.vmap(torch.func.jacrev(torch.func.jacrev(speed)))
    ended = solve(exact.displacement, partial(displacement_matrices, exact), starts)
    states = ended.states[~ended.converged & torch.isfinite(ended.states).all(-1)]
    if not len(states):
        return states.numpy()
    unit = q(states).unsqueeze(-1)
    states = solve(
        lambda h, rows: slope(h) / unit[rows], lambda h, rows: curvature(h) / unit[rows].unsqueeze(-1), states, 0
    ).states
    gradient, hessian, fastest = slope(states), curvature(states), q(states)
    known = torch.isfinite(hessian).all(-1).all(-1) & (fastest <= largest_speed)
    known &= (exact.displacement(states).norm(dim=-1) > tolerance(states)) & ~torch.as_tensor(outside(exact, states))
    bends, axes = torch.linalg.eigh(torch.where(known[:, None, None], hessian, 0.0))
    flat = FLAT * bends.abs().amax(dim=-1, keepdim=True)
    along = (axes.mT @ gradient.unsqueeze(-1)).squeeze(-1)
    decrement = (along.square() / bends.abs().clamp_min(flat)).nan_to_num(0.0).sum(-1) / 2  # 0/0 where q is constant
    known &= (bends >= -flat).all(-1) & (decrement <= STATIONARY * fastest)
    return states[known].numpy()
