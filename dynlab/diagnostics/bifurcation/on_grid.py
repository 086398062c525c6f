"""Fixed points and what orbits settle to, at many values of two parameters at once."""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.bifurcation.orbits import batched, cut, recorded
from dynlab.diagnostics.bifurcation.parameter import Varied
from dynlab.kinks import derivative_jumps
from dynlab.numerics.eigenvalues import eigenvalues as eigenvalues_of
from dynlab.numerics.grids import blocks
from dynlab.numerics.kinds import kind_of_flow, kind_of_map
from dynlab.progress import through

MAX_NEWTON = 50
SETTLED = 1e-11  # times max(1, ‖h‖): the residual ‖G‖₂ up to which a state is a fixed point
SHORTER = 0.5  # a step of Newton's method that leads to the nearest fixed point, beside the one before
PARTS = 8  # of the way between two points of the grid, where one step leads elsewhere
MISSED = 1e-6  # times the way and max(1, ‖h‖): so near Newton's method leads back to where it came from
TRANSIENT = 2000  # steps before an orbit is looked at
RETURNS, STAYS_AWAY = 1e-7, 1e-3  # times max(1, ‖h‖): an orbit that comes back so near is periodic; nearer than the
# second and not than the first it may still be on its way
APERIODIC, CUT, UNDECIDED = 0, -1, -2  # in place of a period
COPIES = 6  # of a Jacobian and a state that a step holds at once


class Fixed(NamedTuple):
    """Of the fixed point reached at each value: the state, ‖G‖₂, Newton's iterations, and what its eigenvalues say.

    `leading` is the largest modulus of a map's multipliers, of a flow's eigenvalues the largest real part; `stable` is
    1, 0, or −1 where the eigenvalues' error does not tell or no fixed point was reached (`leading` is NaN then).
    """

    states: NDArray[np.float64]
    residual: NDArray[np.float64]
    iterations: NDArray[np.int64]
    converged: NDArray[np.bool_]
    leading: NDArray[np.float64]
    stable: NDArray[np.int8]
    unstable: NDArray[np.int64]


def fixed_point(
    varied: Varied, is_map: bool, values: NDArray[np.float64], start: NDArray[np.float64], grid: int, max_memory: float
) -> tuple[Fixed, int]:
    """One fixed point at each of `values` (value, parameter), which are a square grid, and where it is followed from.

    Newton's method from `start` (n,) finds one at every point that it can. The one that is nearest to `start`, in what
    `start` and it are large, is followed from there over the grid, from each point to its neighbours.
    """
    ends = [
        _newton(varied, is_map, values[part], _all(start, values[part]), near=False)
        for part in _blocks(varied, len(values), max_memory)
    ]
    states, iterations, converged = (
        np.concatenate([getattr(end, name) for end in ends]) for name in ("states", "iterations", "converged")
    )
    size = np.maximum(1.0, np.linalg.norm(start))
    away = np.where(converged, np.linalg.norm(states - start, axis=1), np.inf) / size
    first = int(away.argmin())
    if converged[first]:
        reached = np.arange(len(values)) == first
        states, iterations = np.where(reached[:, None], states, np.nan), np.where(reached, iterations, 0)
        _follow(varied, is_map, values, states, iterations, reached, grid, max_memory)
        converged = reached
    parts = [
        _judged_block(varied, is_map, values[part], states[part], iterations[part], converged[part])
        for part in _blocks(varied, len(values), max_memory)
    ]
    return Fixed(*(np.concatenate(each) for each in zip(*parts, strict=True))), first


def _follow(
    varied: Varied,
    is_map: bool,
    values: NDArray[np.float64],
    states: NDArray[np.float64],
    iterations: NDArray[np.int64],
    reached: NDArray[np.bool_],
    grid: int,
    max_memory: float,
) -> None:
    """Fill in the states of all points of the grid that the fixed point is followed to from where it is `reached`."""
    fresh, places = np.flatnonzero(reached), np.arange(len(values)).reshape(grid, grid)
    for _ in through(range(2 * grid)):
        pairs, fresh = _neighbours(fresh, places), np.array([], dtype=np.int64)
        while len(pairs := pairs[~reached[pairs[:, 1]]]):
            tried = np.unique(pairs[:, 1], return_index=True)[1]  # each new point from one neighbour, then from others
            for part in _blocks(varied, len(tried), max_memory):
                known, new = pairs[tried[part]].T
                end = _stepped(varied, is_map, values[known], values[new], states[known])
                new, found = new[end.converged], end.states[end.converged]
                states[new], iterations[new], reached[new] = found, end.iterations[end.converged], True
                fresh = np.concatenate([fresh, new])
            pairs = np.delete(pairs, tried, axis=0)
        if not len(fresh):
            break


def _neighbours(of: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each of these points of the grid with each of its four neighbours, (pair, 2)."""
    row, column = np.divmod(of, places.shape[1])
    found = []
    for down, right in ((0, 1), (0, -1), (1, 0), (-1, 0)):
        to = np.stack([row + down, column + right])
        inside = ((to >= 0) & (to < len(places))).all(axis=0)
        found.append(np.stack([of[inside], places[tuple(to[:, inside])]], axis=1))
    return np.concatenate(found)


def _stepped(
    varied: Varied,
    is_map: bool,
    known: NDArray[np.float64],
    new: NDArray[np.float64],
    states: NDArray[np.float64],
) -> "_End":
    """Where the fixed points `states` at `known` values are at `new` ones, in as few parts of the way as needed.

    Newton's method leads to the nearest fixed point where each step is at most half as long as the one before (the
    natural monotonicity test) and it leads back from there. Where that fails the way is parted, and at last not gone.
    """
    found = _there_and_back(varied, is_map, known, new, states)
    lost = np.flatnonzero(~found.converged)
    if len(lost):
        ahead, gone, count = states[lost], np.ones(len(lost), dtype=bool), found.iterations[lost]
        way = [known[lost] + number / PARTS * (new[lost] - known[lost]) for number in range(PARTS + 1)]
        for before, after in itertools.pairwise(way):
            end = _there_and_back(varied, is_map, before, after, ahead)
            gone &= end.converged
            ahead, count = np.where(end.converged[:, None], end.states, ahead), count + end.iterations
            if not gone.any():
                break
        found.states[lost], found.iterations[lost], found.converged[lost] = ahead, count, gone
    return found


def _there_and_back(
    varied: Varied,
    is_map: bool,
    known: NDArray[np.float64],
    new: NDArray[np.float64],
    states: NDArray[np.float64],
) -> "_End":
    there = _newton(varied, is_map, new, states)
    back = _newton(varied, is_map, known, np.where(there.converged[:, None], there.states, states))
    moved = np.linalg.norm(there.states - states, axis=1)
    missed = np.linalg.norm(back.states - states, axis=1)
    returns = back.converged & (missed <= MISSED * np.maximum(moved, np.maximum(1.0, np.linalg.norm(states, axis=1))))
    return there._replace(converged=there.converged & returns)


def periods(
    varied: Varied,
    values: NDArray[np.float64],
    starts: NDArray[np.float64],
    longest: int,
    largest: float,
    max_memory: float,
) -> NDArray[np.int64]:
    """The period, up to `longest`, of what the orbit from each of `starts` (value, n) settles to, or a code above."""
    found = np.empty(len(values), dtype=np.int64)
    for block in through(_blocks(varied, len(values), max_memory)):
        states = torch.from_numpy(starts[block][:, None].copy())
        step = recorded(batched(varied, values[block], "step"), states)
        for _ in range(TRANSIENT):
            states = cut(step(states), largest)
        reference, away = states, []
        for _ in range(longest):
            states = cut(step(states), largest)
            away.append((states - reference).norm(dim=-1)[:, 0] / reference.norm(dim=-1)[:, 0].clamp_min(1))
        found[block] = _period(torch.stack(away))
    return found


def _period(away: Tensor) -> NDArray[np.int64]:
    """From the distances (step, value) to where the orbit was."""
    near = (away <= RETURNS).numpy()
    period = np.where(near.any(axis=0), near.argmax(axis=0) + 1, APERIODIC)
    closest = away.nan_to_num(np.inf).amin(dim=0).numpy()
    period[(period == APERIODIC) & (closest < STAYS_AWAY)] = UNDECIDED
    period[torch.isnan(away).any(dim=0).numpy()] = CUT
    return period.astype(np.int64)


class _End(NamedTuple):
    states: NDArray[np.float64]
    iterations: NDArray[np.int64]
    converged: NDArray[np.bool_]


def _all(start: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.tile(start, (len(values), 1))


def _equations(
    varied: Varied, is_map: bool, values: NDArray[np.float64]
) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor], Tensor]:
    """G(h) and ∂F/∂h of states (value, 1, n), and what is taken off the latter."""
    moved, jacobian = (batched(varied, values, name) for name in ("step" if is_map else "velocity", "jacobian"))
    n = varied.system.state_size
    identity = torch.eye(n, dtype=torch.float64) if is_map else torch.zeros(n, n, dtype=torch.float64)
    return (lambda h: moved(h) - h if is_map else moved(h)), jacobian, identity


def _newton(
    varied: Varied, is_map: bool, values: NDArray[np.float64], starts: NDArray[np.float64], near: bool = True
) -> _End:
    """Newton's method from each of `starts` (value, n); with `near` it must lead to what is nearest."""
    residual, jacobian, identity = _equations(varied, is_map, values)
    states = torch.from_numpy(starts[:, None].copy())
    iterations = torch.zeros(len(values), dtype=torch.int64)
    before = torch.full((len(values), 1), torch.inf, dtype=torch.float64)
    direct = torch.ones(len(values), 1, dtype=torch.bool)
    for _ in range(MAX_NEWTON):
        value = residual(states)
        live = ~_small(value, states)
        if not live.any():
            break
        step, info = torch.linalg.solve_ex(jacobian(states) - identity, value.unsqueeze(-1))
        usable, length = live & (info == 0), step.squeeze(-1).norm(dim=-1)
        direct &= ~live | ~(length > SHORTER * before)
        before = torch.where(usable, length, before)
        states = torch.where(usable.unsqueeze(-1), states - step.squeeze(-1), states)
        iterations += live[:, 0]
    converged = _small(residual(states), states) & torch.isfinite(states).all(-1)
    return _End(states[:, 0].numpy(), iterations.numpy(), (converged & (direct | (not near)))[:, 0].numpy())


def _judged_block(
    varied: Varied,
    is_map: bool,
    values: NDArray[np.float64],
    found: NDArray[np.float64],
    iterations: NDArray[np.int64],
    converged: NDArray[np.bool_],
) -> tuple[NDArray[np.generic], ...]:
    residual, jacobian, _ = _equations(varied, is_map, values)
    states = torch.from_numpy(found[:, None])
    norm = residual(states).norm(dim=-1)[:, 0].numpy()
    matrices = jacobian(torch.where(torch.isfinite(states), states, 0.0))[:, 0].numpy()
    judged = [
        _judged(matrix, is_map) if ok else (np.nan, -1, 0) for matrix, ok in zip(matrices, converged, strict=True)
    ]
    leading, stable, unstable = (np.array(part) for part in zip(*judged, strict=True))
    resting = converged & ~found.any(axis=1)
    if resting.any() and _kinked_at_zero(varied, is_map, values[resting][:1]):
        leading[resting], stable[resting], unstable[resting] = np.nan, -1, 0
    return (
        found,
        norm,
        iterations,
        converged,
        leading.astype(float),
        stable.astype(np.int8),
        unstable.astype(np.int64),
    )


def _kinked_at_zero(varied: Varied, is_map: bool, value: NDArray[np.float64]) -> bool:
    """Whether the state 0 is on a kink, as in a ReLU network without biases, at one value (1, parameter)."""
    _, jacobian, _ = _equations(varied, is_map, value)
    return derivative_jumps(lambda states: jacobian(states[None])[0], np.zeros(varied.system.state_size))


def _judged(matrix: NDArray[np.float64], is_map: bool) -> tuple[float, int, int]:
    eigenvalues, errors, _ = eigenvalues_of(matrix)
    kind = (kind_of_map if is_map else kind_of_flow)(eigenvalues, errors)
    leading = np.abs(eigenvalues).max() if is_map else eigenvalues.real.max()
    return float(leading), kind.stable, kind.unstable


def _small(value: Tensor, states: Tensor) -> Tensor:
    return value.norm(dim=-1) <= SETTLED * states.norm(dim=-1).clamp_min(1)


def _blocks(varied: Varied, count: int, max_memory: float) -> list[slice]:
    n = varied.system.state_size
    weights = varied.changed(torch.zeros(len(varied.parameters_varied), dtype=torch.float64))[1]
    own = sum(weight.numel() for weight in weights.values())
    return blocks(count, 8 * (COPIES * (n * n + n) + 2 * own), max_memory, 8 * count * (n + 8))
