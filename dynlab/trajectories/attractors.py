"""The ends of orbits: at rest, on a cycle, on a closed curve, on a torus or in chaos; or they drift, leave, or neither.

Every start is followed; its end is first held against the attractors that are known, then against what it does itself,
and otherwise it is followed on. A transient is no attractor: chaos from which orbits reach another one is "undecided".
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from dynlab.numerics.arrays import Index, Real
from dynlab.program.compiled import Compiled
from dynlab.systems.autonomous import Held
from dynlab.systems.autonomous_jacobians import displacement_matrices
from dynlab.trajectories.aperiodic import BESIDE, aperiodic
from dynlab.trajectories.assignment import (
    FIRST,
    LEAVES,
    NEAR,
    UNDECIDED,
    Ends,
    add,
    assign,
    assign_drifts,
    away,
    distances,
    representatives,
    scale_of,
)
from dynlab.trajectories.cycles import CHAOS, CYCLE, REST, Attractor, cycles
from dynlab.trajectories.following import REPEATS, followed, orbit, scalar_code

COMING, HALVED = 1e-3, 0.5  # likewise of one that comes nearer; it is followed on while it halves its distance
LONGER = 10  # times `steps`: so long an orbit is followed that still comes nearer to an attractor
MOST_SHOT = 3  # periodic orbits of a flow that are refined at a look
MOST_SETS, MOST_ESCAPES = 6, 2  # orbits that are followed to say what they are on; chaos that orbits escape from
STEPS = (4096, 16384)  # that one is followed for, the latter where the former do not decide
SAMPLED, WATCHED = 256, 8192  # orbits in chaos that are followed on, and for how many steps
LONGEST = 1024  # steps: the longest period of a cycle that an orbit is slowly coming to
CLOSEST, ALMOST, LAGS = 1e-2, 2.0, 3  # of its width, and of the least: it misses itself by less after so many periods
MANY, LONG = 2**24, 1000  # steps of all orbits, or of one of a flow: so many are worth the start of compiled code
UNSEEN = 0.02  # of its width: ends so near to an orbit that is undecided are undecided too


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
        A map or a flow with its input held. A step of a flow is a quarter of the time scale of its fastest eigenvalue,
        and what is undecided after `steps` is followed `LONGER` times as long.
    starts : array_like, shape (start, state)
    steps : int
        Steps that every start is followed; up to `LONGER` times as long where it still comes nearer to an attractor.
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
    blank = np.full(count, UNDECIDED), begin, np.zeros(count, dtype=np.int64)
    ends = Ends(list(known), *blank, size, fast, scalar_code(fast) if many else None)
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
    assign_drifts(held, ends, some)


def _repeating(held: Held, ends: Ends, some: Index, period: Real) -> Iterator[tuple[float, Index]]:
    """Yield periods and the undecided orbits that repeat after each; of a flow 0 and those at rest first."""
    if not held.is_flow:
        for one in np.unique(period[period > 0]):
            yield float(one), some[period == one]
        return
    h = torch.as_tensor(ends.states[some]).to(held.input)
    step = torch.linalg.pinv(displacement_matrices(held, h)) @ held.moved(h).unsqueeze(-1)
    rests = step[..., 0].abs().amax(-1).double().cpu().numpy() <= NEAR * scale_of(ends, some)
    yield 0.0, some[rests]
    for place in np.flatnonzero(period > 0)[:MOST_SHOT]:
        yield float(period[place]), some[place : place + 1]


def _refine(held: Held, ends: Ends, period: float, members: Index) -> None:
    """Refine ends that repeat as points or cycles, and assign those that come to one that attracts."""
    assign(ends, members, NEAR)
    members = members[ends.labels[members] == UNDECIDED]
    if not len(members):
        return
    if held.is_flow and period and ends.code is None:
        ends.code = scalar_code(ends.fast)
    few = members[representatives(ends.states[members], scale_of(ends, members))]
    found = [one for one in cycles(held, period, ends.states[few], ends.code) if one is not None]
    loose = [number for number, one in zip([add(ends, one) for one in found], found, strict=True) if not one.isolated]
    assign(ends, members, NEAR)
    assign(ends, members, REPEATS, attracting=False)  # what lies on a saddle stays there
    if loose:
        ends.labels[members[ends.labels[members] == UNDECIDED]] = loose[0]


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
        some = some[(now <= HALVED * before) & (ends.labels[some] == UNDECIDED)]


def _follow_sets(held: Held, ends: Ends, steps: int, bound: float, seed: int) -> None:
    """Say what orbits are on that do not repeat, one of them at a time; what stays undecided is left."""
    left, escapes, lengths = ends.live(), 0, list(STEPS)
    for _ in range(MOST_SETS):
        left = left[ends.labels[left] == UNDECIDED]
        if not len(left) or escapes > MOST_ESCAPES:
            return
        followed, found = left[len(left) // 2], None
        for length in lengths:
            trail, beside, dt = _with_neighbour(held, ends.states[followed], length, seed, ends.code)
            found = _coming(held, trail) or aperiodic(held, trail, beside, dt, seed)
            if found:
                break
        if found is None:
            lengths = lengths[:1]
            width = UNSEEN * float(np.ptp(trail, axis=0).max())
            beside = cKDTree(held.placed(np.nan_to_num(trail))).query(held.placed(ends.states[left]))[0] <= width
            left = left[~beside]
        elif found.form in (REST, CYCLE):
            add(ends, found)
            _come_nearer(held, ends, steps, bound)
        else:
            on_it = left[distances(held, found, ends.states[left]) <= found.near]
            if found.form == CHAOS and _some_escape(held, ends, on_it, bound):
                escapes += 1
            else:
                ends.labels[[*on_it, followed]] = add(ends, found)
            undecided = left[ends.labels[left] == UNDECIDED]
            _stretch(held, ends, undecided, 2 * length, bound)  # what comes to the same set more slowly, or escapes


def _with_neighbour(held: Held, begin: Real, length: int, seed: int, code: Compiled | None) -> tuple[Real, Real, float]:
    """Return an orbit from where a state (n,) is after `length` steps, one beside it, and a step's time."""
    begin = orbit(held, torch.as_tensor(begin).to(held.input)[None], length, code)[0][-1, 0].double().cpu().numpy()
    aside = np.random.default_rng(seed).standard_normal(len(begin))
    both = np.stack([begin, begin + BESIDE * np.abs(begin).max() * aside / np.linalg.norm(aside)])
    states, dt = orbit(held, torch.as_tensor(both).to(held.input), length, code)
    trail, beside = states.double().cpu().numpy().swapaxes(0, 1)
    return trail, beside, dt


def _coming(held: Held, trail: Real) -> Attractor | None:
    """Return the stable cycle of a map that an orbit (m, n) comes to; None where it comes nearer to none."""
    if held.is_flow or not np.isfinite(trail).all():
        return None
    half, width = len(trail) // 2, float(np.ptp(trail, axis=0).max())
    missed, before = (np.abs(part[-1 - LONGEST : -1] - part[-1]).max(axis=1)[::-1] for part in (trail, trail[:half]))
    near = missed <= min(CLOSEST * width, max(ALMOST * missed.min(), REPEATS * width))
    near &= (missed <= HALVED * before) | (missed <= REPEATS * width)
    for lag in (np.flatnonzero(near) + 1)[:LAGS].tolist():
        for one in cycles(held, lag, trail[-1:]):
            if one is not None and one.stable == 1:
                late, early = (distances(held, one, part).max() for part in (trail[-FIRST:], trail[:half]))
                if late <= CLOSEST * width and (late < HALVED * early or late <= NEAR * width):
                    return one
    return None


def _some_escape(held: Held, ends: Ends, on_it: Index, bound: float) -> bool:
    """Follow orbits on a chaotic set further, and return whether some of them end elsewhere."""
    some = on_it[np.linspace(0, len(on_it) - 1, min(len(on_it), SAMPLED)).astype(int)]
    _stretch(held, ends, some, WATCHED, bound)
    return bool((ends.labels[some] != UNDECIDED).any())
