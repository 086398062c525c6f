"""The field of a planar system, and its equilibria within a window.

The field is a flow's velocity, or a map's displacement in one step, on arrays of states. Equilibria are found by least
squares from a grid of starts, one state for each.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.errors import UserError
from dynlab.jacobians import cancelled, displacement_matrices, finite_or_zero, held_matrices, ungated_matrices
from dynlab.numerics.roots import solve, tolerance
from dynlab.numerics.turning import turns
from dynlab.systems import System
from dynlab.systems.function import has_users_code
from dynlab.systems.held import Held


def without_input(system: System) -> Held:
    """The system with its input held at zero, in the dtype and on the device of its weights."""
    like = next(system.parameters(), torch.zeros(0, dtype=torch.float64))
    return Held(system, like.new_zeros(system.input_size))


def field(held: Held, states: NDArray[np.float64]) -> NDArray[np.float64]:
    """The displacement at `states` (..., 2), which vanishes at an equilibrium or fixed point."""
    return held.displacement(torch.as_tensor(states).to(held.input)).double().cpu().numpy()


def divergence(held: Held, states: NDArray[np.float64]) -> NDArray[np.float64]:
    """The trace of the field's Jacobian, shape (...)."""
    matrices = displacement_matrices(held, torch.as_tensor(states).to(held.input))
    return matrices.diagonal(dim1=-2, dim2=-1).sum(-1).double().cpu().numpy()


def area_factor(held: Held, states: NDArray[np.float64]) -> NDArray[np.float64]:
    """By what a step of a map multiplies a small area, |det J|, shape (...)."""
    matrices = displacement_matrices(held, torch.as_tensor(states).to(held.input))
    steps = matrices + torch.eye(matrices.shape[-1]).to(matrices)
    return torch.linalg.det(steps).abs().double().cpu().numpy()


STARTS = (9, 20, 41, 84)  # in each direction of the window, besides the origin: in rounds, until one finds no more
# Roots nearer to each other than this part of the window are one root as it comes out of different starts, and so
# are roots joined by states whose residual is rounding as well: a degenerate root, or a continuum.
SAME = 1e-8
NOTHING = 1e-30  # of the window: a smaller coordinate is 0, which nothing but underflow tells it from
CONTINUUM = 1e-3  # of the window: a set of roots longer than this is a continuum, a shorter one a degenerate root
WIDE = 0.5  # of the window: what a root of order 9 does not reach, whose neighbours pass for roots up to 0.05
ENDS = 0.05  # of the distance between two roots: what is sought between them and found nearer to one is that one
BETWEEN = (0.21, 0.5, 0.83)  # where between two roots the residual is looked at: a third root may lie in the middle
# Rounds in which states between so many pairs of roots are starts too; parts of their distance, as powers of 1/2 and
# evenly.
ROUNDS, PAIRS, NEAREST, EVEN = 3, 120, 40, 31
NEWTON_STEPS, WEAK, SMALL = 60, 1e-9, 1e-2  # of Newton's method to the last digit; singular values; its longest step
ROUNDINGS = 64
SMALL_SCALE, WIDER, AT_REST = 1e-3, 1.5, 1e-9  # of the window; times the states at rest; of these: what they move by
AXES = ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0))


class Equilibria(NamedTuple):
    """One state for each equilibrium, and how well it is known.

    Attributes
    ----------
    states : ndarray, shape (fixed_point, 2)
    jacobians : ndarray, shape (fixed_point, 2, 2)
        Of the flow's velocity, or of the map's step.
    errors : ndarray, shape (fixed_point,)
        A bound on that Jacobian's error in the 2-norm, from the error of the state.
    residuals : ndarray, shape (fixed_point,)
        The norm of the field there.
    continuum : ndarray of bool, shape (fixed_point,)
        Whether the state is one of a continuum.
    """

    states: NDArray[np.float64]
    jacobians: NDArray[np.float64]
    errors: NDArray[np.float64]
    residuals: NDArray[np.float64]
    continuum: NDArray[np.bool_]


class _Window(NamedTuple):
    """The field in a window: states in parts of its half width, and rates in parts of the largest one."""

    held: Held
    half_width: float
    rate: float

    def value(self, states: Tensor, rows: Tensor | None = None) -> Tensor:
        return self.held.ungated(self.half_width * states) / self.rate

    def matrices(self, states: Tensor, rows: Tensor | None = None) -> Tensor:
        gated = len(states) and self.held.system.ungated_residual(*self.held.given(states)) is not None
        of = ungated_matrices if gated else displacement_matrices
        return of(self.held, self.half_width * states) * (self.half_width / self.rate)

    def rounding(self, states: Tensor, matrices: Tensor) -> Tensor:
        """What rounding leaves of the value, coordinate by coordinate."""
        size = states.abs() + (matrices.abs() @ (1 + states.abs()).unsqueeze(-1)).squeeze(-1)
        own = cancelled(self.held, self.half_width * states) / self.rate
        return ROUNDINGS * torch.finfo(states.dtype).eps * size + own


def planar_equilibria(held: Held, half_widths: Sequence[float]) -> Equilibria:
    """Where the field vanishes, with both coordinates within the first of ±`half_widths`.

    Smaller windows in it, in decreasing order, are searched as well: what is a point in a large one may be several.
    """
    if _is_affine_without(held):
        return Equilibria(np.empty((0, 2)), np.empty((0, 2, 2)), np.empty(0), np.empty(0), np.empty(0, dtype=bool))
    found = _within(held, half_widths[0])
    for half_width in half_widths[1:]:
        farther = np.abs(found.states).max(axis=1) > half_width
        inner = _within(held, half_width)
        found = Equilibria(*(np.concatenate([one, more[farther]]) for one, more in zip(inner, found, strict=True)))
    return found


def _is_affine_without(held: Held) -> bool:
    """Whether a user's code is affine and vanishes nowhere, as h + c: a small c is more than rounding."""
    if not has_users_code(held.system) or held.input.dtype != torch.float64 or held.input.device.type != "cpu":
        return False
    from dynlab.diagnostics.fixed_points.affine import affine_answer  # here: the search takes long to load

    affine = affine_answer(held)
    return affine is not None and not affine.exists


def small_scales(held: Held, ends: NDArray[np.float64], half_width: float) -> list[float]:
    """Half the widths of windows about states (k, 2) at rest that are small beside ±`half_width`, decreasing."""
    sizes = np.abs(ends).max(axis=1)
    small = (sizes > 0) & (sizes < SMALL_SCALE * half_width)  # not true of NaN
    moved = np.linalg.norm(field(held, ends[small]), axis=1)
    widths = WIDER * sizes[small][moved <= AT_REST * sizes[small]]
    return sorted({float(10 ** np.ceil(np.log10(width))) for width in widths}, reverse=True)


def _within(held: Held, half_width: float) -> Equilibria:
    starts = torch.cat([torch.zeros(1, 2, dtype=torch.float64), _grid(STARTS[0])]).to(held.input)
    window = _Window(held, half_width, 1.0)
    rates = window.value(starts).abs()
    fastest = float(torch.where(rates.isfinite(), rates, 0.0).max()) or half_width
    window = window._replace(rate=fastest if held.is_flow else half_width)  # of a map states of that size are rounded
    roots, spreads = _roots(window, starts)
    for count in STARTS[1:]:
        before, alone = roots, roots[spreads <= CONTINUUM]
        roots, spreads = _roots(window, torch.cat([before, _grid(count).to(held.input)]))
        if len(roots[spreads <= CONTINUUM]) == len(alone):
            break
    for _ in range(ROUNDS):
        before, alone = roots, roots[spreads <= CONTINUUM]
        between = _between(window, alone)
        if not len(between):
            break
        roots, spreads = _roots(window, torch.cat([before, between]))
        if len(roots[spreads <= CONTINUUM]) == len(alone):
            break
    # one set alone may be a root of so high an order that states along its centre manifold pass for roots
    continuum = spreads > (CONTINUUM if len(roots) > 1 else WIDE)
    moved = _displacement(window, roots) + torch.where(continuum, 0.0, spreads)
    states = half_width * torch.where(roots.abs() < NOTHING, 0.0, roots)
    matrices = held_matrices(held, states)
    unknown = states[~torch.isfinite(matrices).all(-1).all(-1)]
    if len(unknown):
        raise UserError(
            f"The derivative at {unknown[0].tolist()}, a point at rest, is no number, so that its kind is unknown: "
            f"write the step with functions that have a derivative there."
        )
    errors = _variation(held, states, matrices, half_width * moved)
    parts = (states, matrices, errors, held.displacement(states).norm(dim=-1))
    known, linear, wrong, left = (part.double().cpu().numpy() for part in parts)
    return Equilibria(known, linear, wrong, left, continuum.cpu().numpy())


def _between(window: _Window, roots: Tensor) -> Tensor:
    """States between two roots where the field turns from towards the one to towards the other, (state, 2)."""
    one, other = torch.triu_indices(len(roots), len(roots), offset=1)[:, :PAIRS]
    if not len(one):
        return roots[:0]
    from_one = torch.logspace(-NEAREST, -1, NEAREST, base=2, dtype=roots.dtype, device=roots.device)
    even = torch.linspace(0, 1, EVEN + 2, dtype=roots.dtype, device=roots.device)[1:-1]
    parts = torch.cat([from_one, even, 1 - from_one]).sort().values
    return turns(window.value, roots[one], roots[other], parts)


def _grid(count: int) -> Tensor:
    line = torch.linspace(-1, 1, count, dtype=torch.float64)
    return torch.cartesian_prod(line, line)


def _roots(window: _Window, starts: Tensor) -> tuple[Tensor, Tensor]:
    """One root of each connected set that is reached from the starts, and how far its set spreads."""
    found = solve(window.value, window.matrices, starts)
    inside = found.converged & (found.states.abs() <= 1).all(-1)
    roots, residuals = _not_slow(window, found.states[inside])
    # Of a set of roots the one with the smallest residual stands for it: the origin, where that is exact.
    order = np.lexsort((roots.norm(dim=-1).cpu(), residuals.cpu()))
    roots = roots[order.tolist()]
    _, first = np.unique((roots / SAME).round().cpu().numpy(), axis=0, return_index=True)  # most are alike to rounding
    return _merged(window, roots[np.sort(first).tolist()])


def _not_slow(window: _Window, states: Tensor) -> tuple[Tensor, Tensor]:
    """Those states that rounding alone keeps from being roots, or that Newton's method leads to such, and what is left.

    A field that is nearly 0 everywhere, as a slow drift, has small values and no root.
    """
    values, matrices = window.value(states), window.matrices(states)
    for _ in range(NEWTON_STEPS):
        step = -(torch.linalg.pinv(finite_or_zero(matrices), rtol=WEAK) @ values.unsqueeze(-1)).squeeze(-1)
        ahead = states + torch.where((step.norm(dim=-1) <= SMALL)[:, None], step, 0.0)
        there = window.value(ahead)
        nearer = there.norm(dim=-1) < values.norm(dim=-1)
        if not nearer.any():
            break
        states, values = torch.where(nearer[:, None], ahead, states), torch.where(nearer[:, None], there, values)
        matrices = window.matrices(states)
    told = (values.abs() <= window.rounding(states, matrices)).all(-1)
    return states[told], values[told].norm(dim=-1)


def _merged(window: _Window, roots: Tensor) -> tuple[Tensor, Tensor]:
    """One root of each connected set, and how far the farthest of its set is from it."""
    states, spreads = [roots[:0]], [roots[:0].sum(-1)]
    while len(roots):
        offsets = roots - roots[0]
        between = torch.stack([roots[0] + part * offsets for part in BETWEEN])
        connected = (window.value(between).norm(dim=-1) <= tolerance(between)).all(0)
        same = connected | (offsets.norm(dim=-1) <= SAME)
        same = same | (~same & _on_one_curve(window, roots, between))
        states.append(roots[:1])
        spreads.append(offsets[same].norm(dim=-1).max()[None])
        roots = roots[~same]
    return torch.cat(states), torch.cat(spreads)


def _on_one_curve(window: _Window, roots: Tensor, between: Tensor) -> Tensor:
    """Whether a root is joined to the first by a bent curve of states whose residual is rounding, shape (root,).

    Only where the residuals that count as rounding leave both positions open by more than the distance: the roots of a
    degenerate fixed point, h ← tanh([[1, 1], [0, 1]] h) for one, lie along its centre manifold.
    """
    distance = (roots - roots[0]).norm(dim=-1)
    weakest = torch.linalg.svdvals(window.matrices(roots))[:, -1]
    room = tolerance(roots)
    found = (room >= weakest * distance) & (room[0] >= weakest[0] * distance)
    if not found[1:].any():
        return torch.zeros_like(found)
    sought = between[:, found].reshape(-1, roots.shape[-1])
    ended = solve(window.value, window.matrices, sought)
    states = ended.states.reshape(len(BETWEEN), -1, roots.shape[-1])
    nearest = torch.minimum((states - roots[0]).norm(dim=-1), (states - roots[found]).norm(dim=-1))
    apart = ended.converged.reshape(len(BETWEEN), -1) & (nearest >= ENDS * distance[found])
    return found.masked_scatter(found, apart.all(0))


def _displacement(window: _Window, states: Tensor) -> Tensor:
    """How far the root may be from where it was found: residual and rounding over the weakest direction."""
    eps = torch.finfo(states.dtype).eps
    singular = torch.linalg.svdvals(window.matrices(states))
    weakest = torch.maximum(singular[:, -1], np.sqrt(eps) * singular[:, 0]).clamp_min(torch.finfo(states.dtype).tiny)
    wrong = window.value(states).norm(dim=-1) + 2 * eps * states.norm(dim=-1)
    return torch.where(wrong > 0, wrong / weakest, 0.0)


def _variation(held: Held, states: Tensor, matrices: Tensor, moved: Tensor) -> Tensor:
    """Twice what the Jacobian changes by, at most, over the distance `moved` along the axes, and its own rounding."""
    shifted = held_matrices(held, states + states.new_tensor(AXES)[:, None] * moved[:, None])
    rounding = torch.finfo(states.dtype).eps * torch.linalg.matrix_norm(matrices, 2)
    return 2 * torch.linalg.matrix_norm(shifted - matrices, 2).amax(0) + rounding
