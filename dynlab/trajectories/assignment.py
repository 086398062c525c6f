"""The attractors that are known, and to which of them each end of an orbit belongs."""

from dataclasses import dataclass, field, replace

import numpy as np
import torch
from scipy.spatial import cKDTree

from dynlab.numerics.arrays import Index, Real
from dynlab.program.compiled import Compiled
from dynlab.systems.autonomous import Held
from dynlab.trajectories.cycles import REST, Attractor
from dynlab.trajectories.following import REPEATS

LEAVES, UNDECIDED, DRIFTS = -1, -2, -3  # in place of an attractor's number; −4, −5, … drift in other directions
NEAR = 1e-6  # of an orbit's scale: an end so near to a point or cycle belongs to it
FIRST = 64  # steps after which orbits are looked at first; then after 128, 256, …
MOST_REFINED = 64  # ends that repeat are refined at a look
STEADY, FAR, DISTANCES = 1e-3, 1e6, 12  # a drift's step changes by less of its length, so far out, at so many places
ALIKE, MOST_DRIFTS = 1e-2, 16  # of its length: steps of one direction differ by less; directions are listed


@dataclass
class Ends:
    """The ends of orbits.

    Attributes
    ----------
    attractors : list of Attractor
        The known ones first.
    labels : ndarray of int, shape (start,)
        The number of the attractor, `LEAVES`, `UNDECIDED`, `DRIFTS` or below.
    states : ndarray, shape (start, state)
        The last states.
    steps : ndarray of int, shape (start,)
        Steps until the end was known.
    size : float
        Size of the starts, 1 at most: distances are relative to it, or to the size of a larger state.
    fast : Held
        The system that orbits are followed by.
    code : Compiled or None
        The same as compiled code.
    drifts : list of ndarray, shape (state,)
        The step (velocity) of those that drift: the k-th of the label `DRIFTS` − k.
    """

    attractors: list[Attractor]
    labels: Index
    states: Real
    steps: Index
    size: float
    fast: Held
    code: Compiled | None
    drifts: list[Real] = field(default_factory=list)

    def live(self) -> Index:
        """Return the orbits about which nothing is known yet."""
        return np.flatnonzero(self.labels == UNDECIDED)


def scale_of(ends: Ends, some: Index) -> Real:
    """Return what distances between states are relative to."""
    return np.maximum(np.abs(ends.states[some]).max(axis=1, initial=0.0), ends.size)


def distances(held: Held, one: Attractor, states: Real) -> Real:
    """Return how far each of the states (k, n) is from the attractor's."""
    return np.asarray(cKDTree(held.placed(one.states)).query(held.placed(states))[0])


def away(ends: Ends, some: Index, attracting: bool = True) -> Real:
    """Return the distance of ends from each attractor, shape (attractor, k), inf from those that do not attract."""
    found = np.full((len(ends.attractors) + 1, len(some)), np.inf)  # one row more, for a minimum of none
    for row, one in zip(found, ends.attractors, strict=False):
        if len(some) and (one.stable == 1 or not attracting):
            row[:] = distances(ends.fast, one, ends.states[some])
    return found


def assign(ends: Ends, some: Index, near: float, attracting: bool = True) -> None:
    """Say of ends which attractor each is within `near` of, the nearest; those that do not attract too if asked."""
    some = some[ends.labels[some] == UNDECIDED]
    found, own = away(ends, some, attracting), np.array([*(one.near for one in ends.attractors), 0.0])
    found[found > np.maximum(near * scale_of(ends, some), own[:, None])] = np.inf
    here = np.isfinite(found.min(axis=0))
    ends.labels[some[here]] = found.argmin(axis=0)[here]


def representatives(states: Real, scale: Real) -> Index:
    """Return one of each group of states that are nearly equal, of the largest groups."""
    rounded = np.round(states / (NEAR * scale.max()))
    _, first, counts = np.unique(rounded, axis=0, return_index=True, return_counts=True)
    return np.asarray(first[np.argsort(-counts, kind="stable")[:MOST_REFINED]])


def add(ends: Ends, one: Attractor) -> int:
    """Return the number of an attractor, which is listed if none of its form and period is near its last states.

    Points or cycles of one period that are not isolated are one continuum.
    """
    size = NEAR * max(float(np.abs(one.states).max()), ends.size)
    for number, other in enumerate(ends.attractors):
        if other.form == one.form and np.isclose(other.period, one.period, rtol=NEAR):
            if np.median(distances(ends.fast, other, one.states[-FIRST:])) <= max(size, other.near, one.near):
                return number
            if not other.isolated and not one.isolated:
                states = np.concatenate([other.states, one.states])
                what = "fixed points" if one.form == REST else f"period-{one.period:g} orbits"
                ends.attractors[number] = replace(other, states=states, kind=f"continuum of {what}", stable=-1)
                return number
    ends.attractors.append(one)
    return len(ends.attractors) - 1


def assign_drifts(held: Held, ends: Ends, some: Index) -> None:
    """Say which orbits move by one step for ever: h + s v moves by the same v however far out."""
    some = some[ends.labels[some] == UNDECIDED]
    h = torch.as_tensor(ends.states[some]).to(held.input)
    step = held.outward(h)
    moves = step.abs().amax(-1) > REPEATS * torch.as_tensor(scale_of(ends, some)).to(h)
    for part in np.linspace(0, 1, DISTANCES)[::-1].tolist():  # the farthest first: most fail there
        some, h, step = some[moves.cpu().numpy()], h[moves], step[moves]
        if not len(some):
            return
        length = step.abs().amax(-1, keepdim=True)
        ahead = held.outward(h + (FAR * (1 + h.abs().amax(-1, keepdim=True)) / length) ** part * step)
        moves = ((ahead - step).abs() <= STEADY * length).all(-1)
    for place in moves.nonzero()[:, 0].tolist():
        way = step[place].double().cpu().numpy()
        apart = [float(np.abs(way - other).max()) for other in ends.drifts]
        if not apart or (min(apart) > ALIKE * np.abs(way).max() and len(apart) < MOST_DRIFTS):
            ends.drifts.append(way)
            apart.append(0.0)
        ends.labels[some[place]] = DRIFTS - int(np.argmin(apart))
