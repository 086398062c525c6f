"""Where F or its Jacobian is that of one side alone: no one matrix says there what orbits do."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from dynlab.jacobians import held_matrices
from dynlab.numerics.arrays import Real
from dynlab.numerics.kinds import Kind
from dynlab.numerics.switches import turning_directions
from dynlab.numerics.threads import slices
from dynlab.systems.function import has_users_code
from dynlab.systems.held import Held

AT_KINK = Kind("undecided, at a kink", -1, 0, 0)  # of the activation
PROBES = 16  # directions in which J is looked at next to a state
REACH = 4 * float(np.finfo(np.float64).eps)  # times max(1, |h_i|): how far away, in each coordinate
FARTHER = (1.0, 4.0, 16.0)  # times as far: what is smooth and steep changes about as many times as much there
ASIDE = 1e-10  # the same where F itself may jump: a root beside a jump is found to the tolerance of the search only
JUMP = 1e-6  # times max(1, ‖J‖): a smooth step's J changes by less over so short a way, rounding included
STEEPEST = 4  # the power of the distance with which a smooth step may move on
AT_ONCE = 2**22  # entries of Jacobians


def at_kink(exact: Held, state: Real) -> bool:
    """Whether F or J jumps next to a state, as at the argument 0 of a ReLU: no one matrix says then what orbits do.

    Parameters
    ----------
    exact : Held
        Of another number type than float64, or on another device than the CPU, none is told.
    state : ndarray, shape (n,)
    """
    if not _told(exact):
        return False
    if jumps(exact, state) or derivative_jumps(lambda states: held_matrices(exact, states), state, _ordinary(exact)):
        return True
    if not has_users_code(exact.system):  # of a layer's own ReLUs each leaves half of all directions to either side
        return False
    size = ASIDE * np.maximum(_ordinary(exact), np.abs(state))
    towards = turning_directions(exact.displacement, state, size) / FARTHER[-1]
    return len(towards) > 0 and (
        _jumps_along(exact, state, towards) or _bends_along(lambda states: held_matrices(exact, states), state, towards)
    )


def some_at_kink(exact: Held, states: Real) -> bool:
    """Whether any of the states (k, n) is `at_kink`: only those are asked beside which F or J changes by much."""
    n = states.shape[1]
    for some in slices(len(states) if _told(exact) else 0, AT_ONCE // (PROBES * n * n)):
        given = torch.as_tensor(states[some])
        probes = torch.as_tensor(np.array([probes_of(state, _ordinary(exact)) for state in states[some]]))
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
    return _bends_along(matrices, state, probes_of(state, least))


def _bends_along(matrices: Callable[[Tensor], Tensor], state: Real, probes: Real) -> bool:
    """Whether J jumps towards any of these probes (k, n), from a state (n,) on."""
    matrix = matrices(torch.as_tensor(state)[None])[0].numpy()
    points = torch.as_tensor((state + np.multiply.outer(FARTHER, probes)).reshape(-1, len(state)))
    changed = np.abs(matrices(points).numpy() - matrix).reshape(len(FARTHER), -1).max(axis=1)
    steep = (np.diff(np.log(changed)) > np.log(FARTHER[1]) / 2).all() if (changed > 0).all() else False
    return bool(changed[0] > JUMP * max(1.0, float(np.abs(matrix).max()))) and not steep


def jumps(exact: Held, state: Real) -> bool:
    """Whether F itself jumps next to a state (n,), as h mod 1 does: a limit of F there need not be its value."""
    return _jumps_along(exact, state, ASIDE / REACH / FARTHER[-1] * probes_of(state, _ordinary(exact)))


def _jumps_along(exact: Held, state: Real, probes: Real) -> bool:
    """The same towards these probes (k, n)."""
    point = torch.as_tensor(state)[None]
    around = torch.as_tensor((state + np.multiply.outer(FARTHER, probes)).reshape(-1, len(state)))
    moved = (exact.displacement(around) - exact.displacement(point)).abs().numpy()
    by_distance = moved.reshape(len(FARTHER), -1).max(axis=1)
    least = JUMP * float(np.maximum(1.0, np.abs(state)).max())
    if not by_distance[-1] > least:  # whatever J is
        return False
    if not by_distance[-1] > least * max(1.0, float(held_matrices(exact, point).abs().max())):
        return False
    growth = by_distance[1:] / np.maximum(by_distance[:-1], np.finfo(np.float64).tiny)
    return not ((growth > FARTHER[1] ** 0.5) & (growth < FARTHER[1] ** STEEPEST)).all()


def _told(held: Held) -> bool:
    return held.input.dtype == torch.float64 and held.input.device.type == "cpu"


def _ordinary(exact: Held) -> Real:
    """What 1 is in the unit of each coordinate, or 1: of the memory of an LSTM whose unit is 1e16 it is not 1."""
    return np.minimum(1.0, 1 / np.asarray(exact.unit))


def probes_of(state: Real, least: ArrayLike = 1.0) -> Real:
    """States relative to this one, so near that a smooth step's J changes by rounding alone; shape (PROBES, n).

    They are so small a part of abs(h_i), or of `least` where that is larger.
    """
    probes = np.random.default_rng(0).standard_normal((PROBES, len(state)))
    scaled: Real = probes * (REACH * np.maximum(least, np.abs(state)) / np.abs(probes).max(axis=1, keepdims=True))
    return scaled
