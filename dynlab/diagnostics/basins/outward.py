"""Orbits that run away: whatever moves them now moves them alike at all distances ahead of them."""

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.numerics.arrays import Index, Real
from dynlab.systems.held import Held

AHEAD = 2.0 ** np.arange(-20, 21)  # times 1 + ‖h‖: the distances at which the step is asked for
SOON = 64  # steps: where it is asked for at least
ALIKE = 1e-3  # of its length: by at most this a step ahead differs from the one that is taken now
MOVES = 1e-9  # relative to 1 + ‖h‖: what moves no more than this in a step is at rest
ONE_WAY, MOST_WAYS = 0.02, 8  # unit vectors that are this near to each other are one direction; so many at most


def velocities(held: Held, states: Real) -> Real:
    """The step v = F(h) − h of the orbits that run away, of others NaN; shape (k, n) of the states and of it.

    Where F moves every h + s v, s = 0, 1, 2, …, by the same v, the orbit of h is h + t v, without end. That is asked at
    s = 1 and 64, and at distances that double up to a million times 1 + ‖h‖. A step that is not told from rounding
    there, or that shrinks, is not alike.
    """
    steps = _straight(held, states)
    some = np.flatnonzero(~np.isnan(steps).any(axis=1))
    h, v = states[some], steps[some]
    size, length = (np.linalg.norm(each, axis=1, keepdims=True) for each in (h, v))
    for distance in AHEAD.tolist():
        steps[some[~_alike(held, h, v, distance * (1 + size) / length)]] = np.nan
    return steps


def bend(held: Held, states: Real) -> NDArray[np.bool_]:
    """Which of the orbits from `states` (k, n) move straight outward for a while, on a way that bends or ends."""
    now, far = _straight(held, states), velocities(held, states)
    outward = np.linalg.norm(states + SOON * now, axis=1) > np.linalg.norm(states, axis=1)  # not true of NaN
    return np.asarray(outward & np.isnan(far).any(axis=1))


def _straight(held: Held, states: Real) -> Real:
    """The steps (k, n) of orbits that move and go on alike for `SOON` steps, of others NaN."""
    steps = _step(held, states)
    moves = np.linalg.norm(steps, axis=1) > MOVES * (1 + np.linalg.norm(states, axis=1))
    for ahead in (1.0, float(SOON)):
        moves &= _alike(held, states, steps, ahead)
    return np.where(moves[:, None], steps, np.nan)


def _alike(held: Held, states: Real, steps: Real, ahead: float | Real) -> NDArray[np.bool_]:
    """Whether the map moves h + s v as it moves h, by v, s being `ahead`."""
    off = np.linalg.norm(_step(held, states + ahead * steps) - steps, axis=1)
    return np.asarray(off <= ALIKE * np.linalg.norm(steps, axis=1))


def _step(held: Held, states: Real) -> Real:
    """F(h) − h."""
    now = torch.as_tensor(states).to(held.input)
    with torch.no_grad():
        step: Real = (held.moved(now) - now).double().cpu().numpy()
    return step


def ways(steps: Real) -> Index:
    """The number of each step's direction, 0 of that which most of (k, n) have; 0 of all where they are too many."""
    units = steps / np.linalg.norm(steps, axis=1, keepdims=True)
    numbers, left = np.full(len(units), -1), np.ones(len(units), dtype=bool)
    found: list[NDArray[np.bool_]] = []
    while left.any() and len(found) < MOST_WAYS:
        same = left & (np.linalg.norm(units - units[int(np.argmax(left))], axis=1) <= ONE_WAY)
        found.append(same)
        left &= ~same
    if left.any():
        return np.zeros(len(units), dtype=np.int64)
    for number, same in enumerate(sorted(found, key=lambda one: -int(one.sum()))):
        numbers[same] = number
    return numbers
