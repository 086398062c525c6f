"""One fixed point followed over a grid of two parameters, and the periods of what orbits beside it settle to."""

import itertools
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.bifurcation.locating import JUMP, TINY
from dynlab.diagnostics.bifurcation.orbit_diagram import batched, cut
from dynlab.diagnostics.bifurcation.parameters import Varied
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.grids import blocks
from dynlab.numerics.kinds import kind_of_flow, kind_of_map
from dynlab.progress import through

Real = NDArray[np.float64]
Index = NDArray[np.int64]

MAX_NEWTON = 50
SETTLED = 1e-11  # times the size of the state: the residual ‖G‖₂ up to which it is a fixed point
PARTS = 8  # of the way between two values, where one step leads elsewhere
SHORTER = 0.5  # times the step of Newton's method before: so short it is where the way leads to the nearest fixed point
MISSED = 1e-6  # times the way and the size: so near Newton's method leads back to where it came from
TRANSIENT = 2000  # steps before an orbit is looked at
RETURNS = 1e-7  # times the size: an orbit that comes back so near repeats
STAYS_AWAY = 1e-3  # likewise: one that never comes so near has no period up to the longest
APERIODIC, CUT, UNDECIDED = 0, -1, -2  # in place of a period
COPIES = 8  # of a Jacobian and a state that a step holds at once


class Fixed(NamedTuple):
    """The fixed point at each value: the state, ‖G‖₂, Newton's iterations, and what its eigenvalues say.

    `leading` is the largest modulus of a map's multipliers, of a flow's eigenvalues the largest real part, NaN where no
    fixed point was reached or it lies at a kink; `stable` is 1, 0, or −1 where that is not told.
    """

    states: Real
    residual: Real
    iterations: Index
    converged: NDArray[np.bool_]
    leading: Real
    stable: NDArray[np.int8]
    unstable: Index


class Root(NamedTuple):
    """Where Newton's method ended at each value."""

    states: Real
    iterations: Index
    converged: NDArray[np.bool_]


def fixed_point(varied: Varied, values: Real, start: Real, grid: int, max_memory: float) -> tuple[Fixed, int]:
    """Return one fixed point at each of `values` (value, 2), which are a square grid, and where it is followed from.

    Newton's method from `start` (n,) finds one at every value that it can. The one that is nearest to `start` is
    followed over the grid, from each value to its neighbours: a step is believed where Newton's method goes straight
    there and straight back.
    """
    parts = _blocks(varied, len(values), max_memory)
    ends = [_newton(varied, values[part], np.tile(start, (len(values[part]), 1)), near=False) for part in parts]
    states, iterations, converged = (np.concatenate(each) for each in zip(*ends, strict=True))
    away = np.where(converged, np.linalg.norm(states - start, axis=1), np.inf)
    first = int(away.argmin())
    reached = converged & (np.arange(len(values)) == first)
    fresh, places = np.flatnonzero(reached), np.arange(len(values)).reshape(grid, grid)
    for _ in through(range(2 * grid)):
        pairs, fresh = _neighbours(fresh, places), fresh[:0]
        while len(pairs := pairs[~reached[pairs[:, 1]]]):
            tried = np.unique(pairs[:, 1], return_index=True)[1]  # each new value from one neighbour, then from others
            for part in _blocks(varied, len(tried), max_memory):
                known, new = pairs[tried[part]].T
                end = _followed(varied, values[known], values[new], states[known])
                new = new[end.converged]
                states[new], iterations[new] = end.states[end.converged], end.iterations[end.converged]
                reached[new], fresh = True, np.concatenate([fresh, new])
            pairs = np.delete(pairs, tried, axis=0)
    states = np.where(reached[:, None] | ~reached.any(), states, np.nan)
    told = [_judged(varied, values[part], states[part], reached[part]) for part in parts]
    residual, leading, stable, unstable = (np.concatenate(each) for each in zip(*told, strict=True))
    return Fixed(states, residual, np.where(reached, iterations, 0), reached, leading, stable, unstable), first


def periods(varied: Varied, values: Real, starts: Real, longest: int, largest: float, max_memory: float) -> Index:
    """Return the period, up to `longest`, of what the orbit from each of `starts` (value, n) settles to, or a code.

    An orbit that repeats is refined by Newton's method, whose root says the period: just before a flip an orbit still
    goes to and fro about the fixed point that it comes to.
    """
    found = np.empty(len(values), dtype=np.int64)
    for block in through(_blocks(varied, len(values), max_memory)):
        move, states = batched(varied, values[block], "step"), torch.from_numpy(starts[block][:, None].copy())
        for _ in range(TRANSIENT):
            states = cut(move(states), largest)
        orbit = [states]
        for _ in range(longest):
            orbit.append(cut(move(orbit[-1]), largest))
        size = torch.stack(orbit).norm(dim=-1).amax(dim=0)[:, 0]
        away = torch.stack([(each - states).norm(dim=-1)[:, 0] / size.clamp_min(TINY) for each in orbit[1:]]).numpy()
        near = away <= RETURNS
        period = np.where(near.any(axis=0), near.argmax(axis=0) + 1, APERIODIC)
        period[(period == APERIODIC) & (np.nan_to_num(away, nan=np.inf).min(axis=0) < STAYS_AWAY)] = UNDECIDED
        period[np.isnan(away).any(axis=0)] = CUT
        for m in np.unique(period[period > 1]).tolist():
            some = np.flatnonzero(period == m)
            period[some] = _refined(varied, values[block][some], states[torch.from_numpy(some)][:, 0].numpy(), m)
        found[block] = period
    return found


def _refined(varied: Varied, values: Real, states: Real, period: int) -> Index:
    """Return the least period of the cycles of `period` steps that Newton's method finds from states (value, n)."""
    end = _newton(varied, values, states, near=False, period=period)
    move, at = batched(varied, values, "step"), torch.from_numpy(end.states[:, None])
    found, moved = np.where(end.converged, period, UNDECIDED), at
    for m in range(1, period):
        moved = move(moved)
        back = ((moved - at).norm(dim=-1) <= MISSED * at.norm(dim=-1))[:, 0].numpy()
        found = np.where(back & (found == period) & (period % m == 0), m, found)
    return found


def _neighbours(of: Index, places: Index) -> Index:
    """Return each of these places of the grid with each of its four neighbours, (pair, 2)."""
    row, column = np.divmod(of, places.shape[1])
    found = []
    for down, right in ((0, 1), (0, -1), (1, 0), (-1, 0)):
        to = np.stack([row + down, column + right])
        inside = ((to >= 0) & (to < len(places))).all(axis=0)
        found.append(np.stack([of[inside], places[tuple(to[:, inside])]], axis=1))
    return np.concatenate(found)


def _followed(varied: Varied, known: Real, new: Real, states: Real) -> Root:
    """Return where the fixed points `states` at `known` values are at `new` ones, in `PARTS` where one step misses."""
    found = _there_and_back(varied, known, new, states)
    lost = np.flatnonzero(~found.converged)
    if len(lost):
        ahead, gone = states[lost], np.ones(len(lost), dtype=bool)
        for before, after in itertools.pairwise(np.linspace(known[lost], new[lost], PARTS + 1)):
            end = _there_and_back(varied, before, after, ahead)
            ahead, gone = np.where(end.converged[:, None], end.states, ahead), gone & end.converged
        found.states[lost], found.converged[lost] = ahead, gone
    return found


def _there_and_back(varied: Varied, known: Real, new: Real, states: Real) -> Root:
    there = _newton(varied, new, states)
    back = _newton(varied, known, np.where(there.converged[:, None], there.states, states))
    moved, missed = (np.linalg.norm(each.states - states, axis=1) for each in (there, back))
    returns = missed <= MISSED * np.maximum(moved, np.linalg.norm(states, axis=1))
    return there._replace(converged=there.converged & back.converged & returns)


def _newton(varied: Varied, values: Real, starts: Real, near: bool = True, period: int = 1) -> Root:
    """Return where Newton's method leads from each of `starts` (value, n); with `near` to what is nearest."""
    move, jacobian = (batched(varied, values, method) for method in (varied.method, "jacobian"))
    states, is_map = torch.from_numpy(starts[:, None].copy()), not varied.held.is_flow
    identity = is_map * torch.eye(states.shape[-1], dtype=torch.float64)
    size = torch.from_numpy(np.linalg.norm(starts, axis=1, keepdims=True))
    iterations, before = torch.zeros(len(values), dtype=torch.int64), torch.full((len(values), 1), torch.inf)
    direct = torch.ones(len(values), 1, dtype=torch.bool)
    for number in range(MAX_NEWTON + 1):
        last, matrix = states, identity if is_map else torch.zeros_like(identity)
        visited = []
        for _ in range(period):
            visited.append(last)
            last = move(last)
        value = last - states if is_map else last
        live = ~_small(value, states, size)
        if number == MAX_NEWTON or not live.any():
            break
        matrix = jacobian(visited[0])
        for each in visited[1:]:
            matrix = jacobian(each) @ matrix
        step, info = torch.linalg.solve_ex(matrix - identity, value.unsqueeze(-1))
        usable, length = live & (info == 0), step.squeeze(-1).norm(dim=-1)
        direct &= ~live | ~(length > SHORTER * before)
        before = torch.where(usable, length, before)
        states = torch.where(usable.unsqueeze(-1), states - step.squeeze(-1), states)
        iterations += live[:, 0]
    converged = ~live & torch.isfinite(states).all(-1) & (direct | (not near))
    return Root(states[:, 0].numpy(), iterations.numpy(), converged[:, 0].numpy())


def _judged(
    varied: Varied, values: Real, found: Real, reached: NDArray[np.bool_]
) -> tuple[Real, Real, NDArray[np.int8], Index]:
    """Return ‖G‖₂ at states (value, n), and what their eigenvalues say: leading, stable and unstable directions."""
    is_map, (count, n), eps = not varied.held.is_flow, found.shape, float(np.finfo(np.float64).eps)
    states = torch.from_numpy(found[:, None])
    moved = batched(varied, values, varied.method)(states)
    residual = (moved - states if is_map else moved).norm(dim=-1)[:, 0].numpy()
    at = torch.where(torch.isfinite(states), states, 0.0)
    aside = eps * at.norm(dim=-1, keepdim=True).clamp_min(TINY) * torch.linspace(1, 2, n, dtype=torch.float64)
    three = torch.cat([at, at + aside, at - aside], dim=1)
    matrices = batched(varied, values, "jacobian")(three).numpy()
    change = np.linalg.norm(matrices[:, 1:] - matrices[:, :1], axis=(2, 3)).max(axis=1)
    norms = np.linalg.norm(matrices[:, 0], axis=(1, 2))
    leading, stable, unstable = np.full(count, np.nan), np.full(count, -1, np.int8), np.zeros(count, np.int64)
    some = np.flatnonzero(reached & (change <= JUMP * norms) & np.isfinite(norms))
    if not len(some):
        return residual, leading, stable, unstable
    told, errors, _ = eigenvalues(matrices[some, 0], change[some] + n * eps * norms[some])
    for place, own, wrong in zip(some, told, errors, strict=True):
        kind = (kind_of_map if is_map else kind_of_flow)(own, wrong)
        leading[place] = np.abs(own).max() if is_map else own.real.max()
        stable[place], unstable[place] = kind.stable, kind.unstable
    return residual, leading, stable, unstable


def _small(value: Tensor, states: Tensor, size: Tensor) -> Tensor:
    return value.norm(dim=-1) <= SETTLED * torch.maximum(states.norm(dim=-1), size).clamp_min(TINY)


def _blocks(varied: Varied, count: int, max_memory: float) -> list[slice]:
    n = varied.system.state_size
    weights = varied.changed(torch.zeros(len(varied.parameters_varied), dtype=torch.float64))[1]
    own = sum(weight.numel() for weight in weights.values())
    return blocks(count, 8 * (COPIES * (n * n + n) + 2 * own), max_memory, 8 * count * (n + 8))
