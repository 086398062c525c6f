"""Which attractor each end of an orbit belongs to, and which attractors are known."""

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
    """Where orbits ended.

    Attributes
    ----------
    attractors : list of Attractor
        The known ones first.
    labels : ndarray of int, shape (start,)
        The number of the attractor, `LEAVES`, `UNDECIDED`, `DRIFTS` or below.
    states : ndarray, shape (start, state)
        The last states.
    steps : ndarray of int, shape (start,)
        How many were taken until the end was known.
    size : float
        Of the starts, 1 at most: distances are relative to it, or to the size of a larger state.
    fast : Held
        What orbits are followed by.
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
        """The orbits about which nothing is known yet."""
        return np.flatnonzero(self.labels == UNDECIDED)


def scale_of(ends: Ends, some: Index) -> Real:
    """What distances between states are relative to."""
    return np.maximum(np.abs(ends.states[some]).max(axis=1, initial=0.0), ends.size)


def distances(one: Attractor, states: Real) -> Real:
    """How far each of the states (k, n) is from the attractor's."""
    return np.asarray(cKDTree(one.states).query(states)[0])


def assign(ends: Ends, some: Index, near: float, attracting: bool = True) -> None:
    """Say of ends which attractor each is within `near` of, the nearest; those that do not attract too if asked."""
    some = some[ends.labels[some] == UNDECIDED]
    nearest, scale = np.full(len(some), np.inf), scale_of(ends, some)
    for number, one in enumerate(ends.attractors):
        if len(some) and (one.stable == 1 or not attracting):
            away = distances(one, ends.states[some])
            here = (away <= np.maximum(near * scale, one.near)) & (away < nearest)
            nearest[here] = away[here]
            ends.labels[some[here]] = number


def representatives(states: Real, scale: Real) -> Index:
    """One of each group of states that are nearly equal, of the largest groups."""
    rounded = np.round(states / (NEAR * scale.max()))
    _, first, counts = np.unique(rounded, axis=0, return_index=True, return_counts=True)
    return np.asarray(first[np.argsort(-counts, kind="stable")[:MOST_REFINED]])


def add(ends: Ends, one: Attractor) -> None:
    """List an attractor that is not listed yet; those of one period that are not isolated are one continuum."""
    size = NEAR * max(float(np.abs(one.states).max()), ends.size)
    for number, other in enumerate(ends.attractors):
        if other.form == one.form and np.isclose(other.period, one.period, rtol=NEAR):
            if distances(other, one.states[:1])[0] <= max(size, other.near):
                return
            if not other.isolated and not one.isolated:
                states = np.concatenate([other.states, one.states])
                what = "fixed points" if one.form == REST else f"period-{one.period:g} orbits"
                ends.attractors[number] = replace(other, states=states, kind=f"continuum of {what}", stable=-1)
                return
    ends.attractors.append(one)


def assign_drifts(held: Held, ends: Ends, some: Index) -> None:
    """Say which orbits move by one step for ever: h + s v moves by the same v however far out."""
    some = some[ends.labels[some] == UNDECIDED]
    h = torch.as_tensor(ends.states[some]).to(held.input)
    step = held.displacement(h)
    moves = step.abs().amax(-1) > REPEATS * torch.as_tensor(scale_of(ends, some)).to(h)
    for part in np.linspace(0, 1, DISTANCES).tolist():
        some, h, step = some[moves.cpu().numpy()], h[moves], step[moves]
        length = step.abs().amax(-1, keepdim=True)
        ahead = held.displacement(h + (FAR * (1 + h.abs().amax(-1, keepdim=True)) / length) ** part * step)
        moves = ((ahead - step).abs() <= STEADY * length).all(-1)
    for place in moves.nonzero()[:, 0].tolist():
        way = step[place].double().cpu().numpy()
        apart = [float(np.abs(way - other).max()) for other in ends.drifts]
        if not apart or (min(apart) > ALIKE * np.abs(way).max() and len(apart) < MOST_DRIFTS):
            ends.drifts.append(way)
            apart.append(0.0)
        ends.labels[some[place]] = DRIFTS - int(np.argmin(apart))


def nearest(ends: Ends, some: Index) -> Real:
    """The distance of ends from the nearest attractor."""
    found = np.full(len(some), np.inf)
    for one in ends.attractors:
        if one.stable == 1 and len(some):
            found = np.minimum(found, distances(one, ends.states[some]))
    return found


def number_of(ends: Ends, found: Attractor) -> int:
    """The number of a set, which is listed if none of its form is near its last states."""
    for number, one in enumerate(ends.attractors):
        if one.form == found.form and np.median(distances(one, found.states[-FIRST:])) <= max(one.near, found.near):
            return number
    ends.attractors.append(found)
    return len(ends.attractors) - 1
