"""The ends of orbits: at rest, on a cycle, on a closed curve, on a torus or in chaos; or they drift, leave, or neither.

Every start is followed; its end is first held against the attractors that are known, then against what it does itself,
and otherwise it is followed on. A transient is no attractor: chaos from which orbits reach another one is "undecided".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from dynlab.numerics.arrays import Index, Real
from dynlab.program.compiled import Compiled
from dynlab.systems.autonomous import Held
from dynlab.systems.autonomous_jacobians import displacement_matrices
from dynlab.trajectories.aperiodic import aperiodic, distances, slow_cycle, with_neighbour
from dynlab.trajectories.cycles import CHAOS, CLOSED, CYCLE, REST, Attractor, continuum, cycles
from dynlab.trajectories.following import REPEATS, followed, scalar_code

LEAVES, UNDECIDED, DRIFTS = -1, -2, -3  # in place of an attractor's number; −4, −5, … drift in other directions
NEAR = 1e-6  # of an orbit's scale: an end so near to a point or cycle belongs to it
FIRST = 64  # steps after which orbits are looked at first; then after 128, 256, …
STEADY, FAR, DISTANCES = 1e-3, 1e6, 12  # a drift's step changes by less of its length, so far out, at so many places
ALIKE, MOST_DRIFTS = 1e-2, 16  # of its length: steps of one direction differ by less; directions are listed
COMING, HALVED = 1e-3, 0.5  # likewise of one that comes nearer; it is followed on while it halves its distance
LONGER = 10  # times `steps`: so long an orbit is followed that still comes nearer to an attractor
MOST_REFINED, MOST_SHOT = 64, 3  # ends that repeat, and periodic orbits of a flow, that are refined at a look
MOST_SETS, MOST_ESCAPES = 6, 2  # orbits that are followed to say what they are on; chaos that orbits escape from
STEPS = (4096, 16384)  # that one is followed for, the latter where the former do not decide
MOST_MOVED = 2**30  # numbers that are computed to see what comes to such a set: 10,000 orbits of 100 units, 1,000 steps
SAMPLED, WATCHED = 256, 8192  # orbits in chaos that are followed on, and for how many steps
MANY, LONG = 2**24, 1000  # steps of all orbits, or of one of a flow: so many are worth the start of compiled code
UNSEEN = 0.02  # of its width: ends so near to an orbit that is undecided are undecided too


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
        Size of the starts, 1 at most, which distances are relative to, or to the size of a larger state.
    fast : Held
    code : Compiled or None
        The system that orbits are followed by, and the same as compiled code.
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

    def live(self, some: Index | slice = slice(None)) -> Index:
        """Return those of some orbits about which nothing is known yet."""
        every = np.arange(len(self.labels))[some]
        return every[self.labels[every] == UNDECIDED]


def scale_of(ends: Ends, some: Index) -> Real:
    """Return what distances between states are relative to."""
    return np.maximum(np.abs(ends.states[some]).max(axis=1, initial=0.0), ends.size)


def classify(
    held: Held,
    starts: ArrayLike,
    *,
    steps: int = 2000,
    known: Sequence[Attractor] = (),
    bound: float = 1e6,
    sets: bool = True,
    seed: int = 0,
    followed_by: Held | None = None,
    compile: bool | None = None,
) -> Ends:
    """Return where orbits end, and the attractors that they end on.

    Parameters
    ----------
    held : Held
        A map or a flow with its input held. A step of a flow is a quarter of the time scale of its fastest eigenvalue.
    starts : array_like, shape (start, state)
    steps : int
        Steps that every start is followed; up to `LONGER` times as long of a flow, and where it comes nearer to an end.
    known : sequence of Attractor
        Attractors that ends are held against first, as of `cycles`.
    bound : float
        An orbit has left where max |h_i| exceeds it.
    sets : bool
        Follow orbits that do not repeat further, to say what they are on.
    seed : int
        Seed of all random numbers.
    followed_by : Held, optional
        The same system in the dtype and on the device in which orbits are followed.
    compile : bool, optional
        Follow small states in compiled code; by default where there are many steps, or a flow's orbits are long.

    Examples
    --------
    >>> from dynlab.systems import create
    >>> held = Held(create("henon", a=1.0).double(), torch.zeros(0).double())
    >>> ends = classify(held, [[0.1, 0.1], [9.0, 9.0]])
    >>> [one.kind for one in ends.attractors], ends.labels.tolist()
    (['stable period-4 orbit'], [0, -1])
    """
    begin = np.array(starts, dtype=float)
    count, size = len(begin), min(1.0, float(np.abs(begin).max(initial=0.0)) or 1.0)
    fast, many = followed_by or held, count * steps >= MANY if compile is None else compile
    labels, taken = np.full(count, UNDECIDED), np.zeros(count, dtype=np.int64)
    ends = Ends(list(known), labels, begin, taken, size, fast, scalar_code(fast) if many else None)
    with np.errstate(invalid="ignore", over="ignore"), torch.no_grad():
        age, longest = 0, LONGER * steps if held.is_flow else steps
        while age < longest and len(ends.live()):
            if held.is_flow and age >= LONG and ends.code is None and compile is None:
                ends.code = scalar_code(fast)
            length = min(age or FIRST, longest - age)
            _stretch(held, ends, ends.live(), length, bound)
            age += length
        _come_nearer(held, ends, steps, bound)
        assign(ends, ends.live(), REPEATS, attracting=False)
        if sets:
            _follow_sets(held, ends, steps, bound, seed)
    return ends


def _stretch(held: Held, ends: Ends, some: Index, count: int, bound: float) -> None:
    """Follow some of the orbits for so many steps, and say what has come to an end."""
    if not len(some):
        return
    begin = torch.as_tensor(ends.states[some]).to(ends.fast.input)
    found = followed(ends.fast, begin, count, bound, torch.as_tensor(scale_of(ends, some)).to(begin), ends.code)
    ends.states[some] = found.states.double().cpu().numpy()
    ends.steps[some] += found.taken.cpu().numpy()
    gone = found.gone.cpu().numpy()
    ends.labels[some[gone]] = LEAVES
    some, period = some[~gone], found.period.double().cpu().numpy()[~gone]
    assign(ends, some, NEAR)
    period, some = period[ends.labels[some] == UNDECIDED], some[ends.labels[some] == UNDECIDED]
    for p, members in _repeating(held, ends, some, period):
        _refine(held, ends, p, members)
    back = some[period > 0]
    shot = ends.labels[back[:: -(-len(back) // MOST_SHOT) or 1]]
    if len(shot) and all(label >= 0 and ends.attractors[label].kind == CLOSED for label in shot):
        ends.labels[ends.live(back)] = shot[0]  # as its neighbours
    assign_drifts(held, ends, some)


def _repeating(held: Held, ends: Ends, some: Index, period: Real) -> Iterator[tuple[float, Index]]:
    """Yield periods and the undecided orbits that repeat after each; of a flow 0 and those at rest first."""
    if not held.is_flow:
        yield from ((float(one), some[period == one]) for one in np.unique(period[period > 0]))
        return
    h = torch.as_tensor(ends.states[some]).to(held.input)
    step = torch.linalg.pinv(displacement_matrices(held, h)) @ held.moved(h).unsqueeze(-1)
    rests = step[..., 0].abs().amax(-1).double().cpu().numpy() <= NEAR * scale_of(ends, some)
    yield 0.0, some[rests]
    returned = np.flatnonzero(period > 0)
    for place in returned[:: -(-len(returned) // MOST_SHOT) or 1]:
        yield float(period[place]), some[place : place + 1]


def _refine(held: Held, ends: Ends, period: float, members: Index) -> None:
    """Refine ends that repeat as points or cycles, and assign those that come to one that attracts."""
    assign(ends, members, NEAR)
    members = ends.live(members)
    if not len(members):
        return
    if held.is_flow and period and ends.code is None:
        ends.code = scalar_code(ends.fast)
    rounded = np.round(ends.states[members] / (NEAR * scale_of(ends, members).max()))
    _, first, counts = np.unique(rounded, axis=0, return_index=True, return_counts=True)
    few = members[first[np.argsort(-counts, kind="stable")[:MOST_REFINED]]]  # one of each group that is nearly equal
    found = [one for one in cycles(held, period, ends.states[few], ends.code) if one is not None]
    loose = [number for number, one in zip([add(ends, one) for one in found], found, strict=True) if not one.isolated]
    assign(ends, members, NEAR)
    assign(ends, members, REPEATS, attracting=False)  # what lies on a saddle stays there
    if loose:
        ends.labels[ends.live(members)] = loose[0]


def _come_nearer(held: Held, ends: Ends, steps: int, bound: float) -> None:
    """Follow on what comes nearer to an attractor, for `LONGER` times as many steps in all."""
    some = ends.live()
    for _ in range(LONGER - 1):
        before = away(ends, some).min(axis=0)
        if not np.isfinite(before).any():
            return
        _stretch(held, ends, some, steps, bound)
        now = away(ends, some).min(axis=0)
        assign(ends, some[now < before], COMING)
        some = ends.live(some[now <= HALVED * before])


def _follow_sets(held: Held, ends: Ends, steps: int, bound: float, seed: int) -> None:
    """Say what orbits are on that do not repeat, one of them at a time; what stays undecided is left."""
    left, escapes, lengths = ends.live(), 0, list(STEPS)
    for _ in range(MOST_SETS):
        left = ends.live(left)
        if not len(left) or escapes > MOST_ESCAPES:
            return
        followed, found = left[len(left) // 2], None
        for length in lengths:
            trail, beside, dt = with_neighbour(held, ends.states[followed], length, seed, ends.code)
            found = slow_cycle(held, trail) or aperiodic(held, trail, beside, dt, seed)
            if found:
                break
        if found is None:
            lengths = lengths[:1]
            width = UNSEEN * float(np.ptp(trail, axis=0).max())
            tree, states = cKDTree(held.placed(np.nan_to_num(trail))), held.placed(ends.states[left])
            left = left[np.isinf(tree.query(states, distance_upper_bound=np.nextafter(width, np.inf))[0])]
        elif found.form in (REST, CYCLE):
            add(ends, found)
            _come_nearer(held, ends, steps, bound)
        else:
            on_it = left[distances(held, found, ends.states[left]) <= found.near]
            if found.form == CHAOS and _some_escape(held, ends, on_it, bound):
                escapes += 1
            else:
                ends.labels[[*on_it, followed]] = add(ends, found)
            left = ends.live(left)  # what comes to the same set slowly, or escapes
            _stretch(held, ends, left, min(2 * length, MOST_MOVED // max(1, ends.states[left].size)), bound)


def _some_escape(held: Held, ends: Ends, on_it: Index, bound: float) -> bool:
    """Follow orbits on a chaotic set further, and return whether some of them end elsewhere."""
    some = on_it[np.linspace(0, len(on_it) - 1, min(len(on_it), SAMPLED)).astype(int)]
    _stretch(held, ends, some, WATCHED, bound)
    return len(ends.live(some)) < len(some)


def away(ends: Ends, some: Index, attracting: bool = True) -> Real:
    """Return the distance of ends from each attractor, shape (attractor, k), inf from those that do not attract."""
    found = np.full((len(ends.attractors) + 1, len(some)), np.inf)  # one row more, for a minimum of none
    for row, one in zip(found, ends.attractors, strict=False):
        if len(some) and (one.stable == 1 or not attracting):
            row[:] = distances(ends.fast, one, ends.states[some])
    return found


def assign(ends: Ends, some: Index, near: float, attracting: bool = True) -> None:
    """Say of ends which attractor each is within `near` of, the nearest; those that do not attract too if asked."""
    some = ends.live(some)
    found, own = away(ends, some, attracting), np.array([*(one.near for one in ends.attractors), 0.0])
    found[found > np.maximum(near * scale_of(ends, some), own[:, None])] = np.inf
    here = np.isfinite(found.min(axis=0))
    ends.labels[some[here]] = found.argmin(axis=0)[here]


def add(ends: Ends, one: Attractor) -> int:
    """Return the number of an attractor, listed if none of its form and period is near; all of a continuum are one."""
    size = NEAR * max(float(np.abs(one.states).max()), ends.size)
    for number, other in enumerate(ends.attractors):
        alike = np.isclose(other.period, one.period, rtol=NEAR) or other.kind == one.kind == CLOSED
        if other.form == one.form and alike:
            if np.median(distances(ends.fast, other, one.states[-FIRST:])) <= max(size, other.near, one.near):
                return number
            if not other.isolated and not one.isolated:
                ends.attractors[number] = continuum(other, one)
                return number
    ends.attractors.append(one)
    return len(ends.attractors) - 1


def assign_drifts(held: Held, ends: Ends, some: Index) -> None:
    """Say which orbits move by one step for ever: h + s v moves by the same v however far out."""
    some = ends.live(some)
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
