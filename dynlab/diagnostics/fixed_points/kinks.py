"""Where the Jacobian is that of one side alone, and the flat pieces of roots that end or bend there."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from dynlab.jacobians import held_matrices
from dynlab.numerics.isolation import Equations, rounding
from dynlab.numerics.kinds import Kind
from dynlab.numerics.threads import slices
from dynlab.systems.held import Held

AT_KINK = Kind("undecided, at a kink", -1, 0, 0)  # of the activation
PROBES = 16  # directions in which J is looked at next to a state
REACH = 4 * float(np.finfo(np.float64).eps)  # times max(1, |h_i|): how far away, in each coordinate
FARTHER = (1.0, 4.0, 16.0)  # times as far: what is smooth and steep changes about as many times as much there
ASIDE = 1e-10  # the same where F itself may jump: a root beside a jump is found to the tolerance of the search only
JUMP = 1e-6  # times max(1, ‖J‖): a smooth step's J changes by less over so short a way, rounding included
AT_ONCE = 2**22  # entries of Jacobians
NULL = 1e-8  # times 1 + ‖f'‖: singular values of directions along which a flat piece may begin
WIDTH = 1e-3  # a piece is looked at so far beside the direction into it, along each null direction
FLAT = 1e-5  # singular values of what stays 0 above that are its dimensions
ALONG = (1e-6, 1e-5, 1e-4)  # times max(1, ‖h‖): how far along these f must be rounding
BETWEEN = (0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875)  # of the way between two roots, where f must be rounding

Real = NDArray[np.float64]


def at_kink(exact: Held, state: Real) -> bool:
    """Whether F or J jumps next to a state, as at the argument 0 of a ReLU: no one matrix says then what orbits do.

    Parameters
    ----------
    exact : Held
        In float64 on the CPU.
    state : ndarray, shape (n,)
    """
    return jumps(exact, state) or derivative_jumps(lambda states: held_matrices(exact, states), state, _ordinary(exact))


def some_at_kink(exact: Held, states: Real) -> bool:
    """Whether any of the states (k, n) is `at_kink`: only those are asked beside which F or J changes by much."""
    n = states.shape[1]
    for some in slices(len(states), AT_ONCE // (PROBES * n * n)):
        given = torch.as_tensor(states[some])
        probes = torch.as_tensor(np.array([_probes(state, _ordinary(exact)) for state in states[some]]))
        matrices = held_matrices(exact, given)
        beside = held_matrices(exact, (given[:, None] + probes).flatten(end_dim=1)).unflatten(0, probes.shape[:2])
        around = exact.displacement((given[:, None] + ASIDE / REACH * probes).flatten(end_dim=1))
        moved = around.unflatten(0, probes.shape[:2]) - exact.displacement(given)[:, None]
        size = matrices.abs().amax(dim=(1, 2)).clamp(min=1)
        doubtful = (beside - matrices[:, None]).abs().amax(dim=(1, 2, 3)) > JUMP * size
        doubtful |= moved.abs().amax(dim=(1, 2)) > JUMP * size * given.abs().amax(dim=1).clamp(min=1)
        if any(at_kink(exact, state) for state in given[doubtful].numpy()):
            return True
    return False


def derivative_jumps(matrices: Callable[[Tensor], Tensor], state: Real, least: ArrayLike = 1.0) -> bool:
    """Whether J, from states (k, n) to (k, n, n), jumps next to a state (n,); `least` is what 1 is in its unit."""
    matrix = matrices(torch.as_tensor(state)[None])[0].numpy()
    points = torch.as_tensor((state + np.multiply.outer(FARTHER, _probes(state, least))).reshape(-1, len(state)))
    changed = np.abs(matrices(points).numpy() - matrix).reshape(len(FARTHER), -1).max(axis=1)
    steep = (np.diff(np.log(changed)) > np.log(FARTHER[1]) / 2).all() if (changed > 0).all() else False
    return bool(changed[0] > JUMP * max(1.0, float(np.abs(matrix).max()))) and not steep


def jumps(exact: Held, state: Real) -> bool:
    """Whether F itself jumps next to a state (n,), as h mod 1 does: a limit of F there need not be its value."""
    matrix = held_matrices(exact, torch.as_tensor(state)[None])[0].numpy()
    around = torch.as_tensor(state + ASIDE / REACH * _probes(state, _ordinary(exact)))
    moved = exact.displacement(around) - exact.displacement(torch.as_tensor(state)[None])
    least = JUMP * max(1.0, float(np.abs(matrix).max())) * float(np.maximum(1.0, np.abs(state)).max())
    return bool(moved.abs().max() > least)


def flat_piece(equations: Equations, state: Real) -> Real:
    """Orthonormal directions (d, n) of the largest flat piece of roots that the root at a kink belongs to.

    Every side of a kink has a matrix of its own. A direction of its null space that points to that side is one along
    which f stays 0; those of several sides belong to one piece where f also stays 0 between them. None is found where
    the root is alone.
    """
    probes = _probes(state)
    beside = equations.matrix(torch.as_tensor(state + probes)).numpy()
    pieces = [_rays(equations, state, matrix, probe) for matrix, probe in zip(beside, probes, strict=True)]
    largest = max(pieces, key=_rank)
    if len(largest) == 0:
        return largest
    rays = np.concatenate(pieces)
    together = rays[_vanishes_from(equations, state, largest.mean(axis=0) + WIDTH * rays)]
    return np.linalg.svd(together, full_matrices=False)[2][: _rank(together)]


def _rays(equations: Equations, state: Real, matrix: Real, probe: Real) -> Real:
    """Directions (k, n) on one side of a kink, the side of the probe, along which f stays 0."""
    _, sigma, v = np.linalg.svd(matrix)
    null = v[sigma <= NULL * (1 + sigma[0])]
    inward = null.T @ (null @ probe)
    if not inward.any():
        return null[:0]
    around = inward / np.linalg.norm(inward) + np.concatenate([np.zeros((1, len(state))), WIDTH * null])
    return around[_vanishes_from(equations, state, around)]


def _rank(rays: Real) -> int:
    return int((np.linalg.svd(rays, compute_uv=False) > FLAT).sum()) if len(rays) else 0


def _vanishes_from(equations: Equations, state: Real, directions: Real) -> NDArray[np.bool_]:
    """Whether f is rounding from `state` a little way along each direction (k, n), shape (k,)."""
    unit = max(1.0, float(np.linalg.norm(state)))
    ways = unit * np.array(ALONG)[None, :, None] * directions[:, None]
    return _vanishes(equations, state, state + ways)


def rounds_to_zero(equations: Equations, state: Real) -> bool:
    """Whether f at a kink is no more than rounding leaves of it, of the steepest side's: else there is no root."""
    point = torch.as_tensor(state)[None]
    beside = equations.matrix(torch.as_tensor(state + _probes(state))).abs().amax(dim=0)
    values = equations.value(point)
    return bool((values.abs() <= len(state) * rounding(equations, point, values, beside[None])).all())


def straight_between(equations: Equations, roots: Real, goals: Real) -> NDArray[np.bool_]:
    """Whether f is rounding on the straight way from each root (k, n) to its goal (k, n), shape (k,)."""
    ways = np.array(BETWEEN)[None, :, None] * (goals - roots)[:, None]
    return np.array([_vanishes(equations, root, (root + way)[None])[0] for root, way in zip(roots, ways, strict=True)])


def _vanishes(equations: Equations, root: Real, states: Real) -> NDArray[np.bool_]:
    """Whether f is rounding, of the steepest side there, or what it is at the root, at all (k, m, n) of each row."""
    points = torch.as_tensor(states.reshape(-1, states.shape[-1]))
    values = equations.value(points)
    near = torch.as_tensor(np.array([point + _probes(point) for point in points.numpy()]))
    beside = equations.matrix(near.flatten(end_dim=1)).abs().reshape(*near.shape, -1).amax(dim=1)
    noise = rounding(equations, points, values, beside)
    left = 2 * equations.value(torch.as_tensor(root)[None]).abs()
    vanishes: NDArray[np.bool_] = (values.abs() <= noise + left).all(-1).reshape(states.shape[:-1]).all(-1).numpy()
    return vanishes


def _ordinary(exact: Held) -> Real:
    """What 1 is in the unit of each coordinate, or 1: of the memory of an LSTM whose unit is 1e16 it is not 1."""
    return np.minimum(1.0, 1 / np.asarray(exact.unit))


def _probes(state: Real, least: ArrayLike = 1.0) -> Real:
    """States relative to this one, so near that a smooth step's J changes by rounding alone; shape (PROBES, n).

    They are so small a part of abs(h_i), or of `least` where that is larger.
    """
    probes = np.random.default_rng(0).standard_normal((PROBES, len(state)))
    scaled: Real = probes * (REACH * np.maximum(least, np.abs(state)) / np.abs(probes).max(axis=1, keepdims=True))
    return scaled
