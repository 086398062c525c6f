"""Starts whose orbits neither rest nor repeat soon: one of them is followed, and stands for those that come near it."""

import numpy as np
from scipy.spatial import cKDTree

from dynlab.diagnostics.basins.attractor import Attractor, of_cycle, of_point
from dynlab.diagnostics.basins.cloud import Cloud
from dynlab.diagnostics.basins.cycles import cycles, periods
from dynlab.diagnostics.basins.ends import SETTLED, carried, tail
from dynlab.diagnostics.basins.known import DIVERGED, SAME, UNDECIDED, Known, nearly
from dynlab.diagnostics.basins.motion import motion
from dynlab.diagnostics.basins.settled import on_cycles
from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.diagnostics.fixed_points.places import UNDECIDED as MAYBE
from dynlab.numerics.arrays import Index, Real
from dynlab.systems.held import Held
from dynlab.systems.iterated import Iterated

FOLLOWED = 4096  # steps of the orbit that stands for a moving attractor
SOON, NEARER = 64, 0.9  # steps that ends are carried on by at a time, while half of them come nearer to an orbit so
LONGER, MOST_VALUES = 4, 2**23  # times as many where these do not decide, so far as that many numbers hold them
PATIENCE = 2  # orbits that stay undecided are followed for so long, and no further ones
MOST_MOVING = 6  # such orbits are followed, twice: each takes seconds where the state is large


def moving(held: Held, states: Real, known: Known, largest_state: float, seed: int) -> None:
    """Attractors that do not repeat soon: one orbit stands for each, and ends near it belong to it."""
    for cloud in known.clouds:
        known.belongs(cloud, states, known.left())
    for _ in range(MOST_MOVING):
        left = known.left()
        if not len(left):
            return
        orbit = tail(held, states[left[:1]], 2 * FOLLOWED)[0, FOLLOWED:]
        same = [one for one in known.clouds if one.holds(orbit[-FOLLOWED // 8 :]).all()]
        if same:
            known.take(same[0], left[:1])
            continue
        cloud = _followed(held, orbit, known, largest_state, seed)
        known.take(cloud, left[:1])  # the orbit is its own
        known.belongs(cloud, states, left[1:])
        known.clouds.append(cloud)
        _coming(held, states, known, cloud, largest_state)
        one = known.attractors[cloud.number] if cloud.number >= 0 else None
        if one is not None and one.period > 1 and one.stable < 0:
            _beside(held, one.period, states, left, known, seed)


def _coming(held: Held, states: Real, known: Known, cloud: Cloud, largest_state: float) -> None:
    """Carry the ends on that nothing is said about yet, for at most `FOLLOWED` steps, while they near an orbit.

    All are compared with it when half of them are near, or come no nearer: that takes longer than the steps.
    """
    before, left = np.inf, known.left()
    for ahead in range(FOLLOWED // SOON if cloud.number >= 0 else 0, 0, -1):
        if not len(left):
            return
        moved = carried(held, states[left], SOON)
        with np.errstate(over="ignore", invalid="ignore"):
            stays = np.linalg.norm(np.asarray(held.unit) * moved, axis=1) <= largest_state  # not true of NaN
        states[left[stays]] = moved[stays]
        median = cloud.distance(states[left])
        comes = median <= NEARER * before and ahead > 1
        if median <= cloud.near or not comes:
            known.belongs(cloud, states, left)
            left, median = known.left(), np.inf  # of those that are left it is another one
        if not comes:
            return
        before = median


def _beside(held: Held, period: int, states: Real, left: Index, known: Known, seed: int) -> None:
    """Where nothing attracts to a cycle, starts may each have one of their own: ask those that repeat like it."""
    missed = np.linalg.norm(carried(held, states[left], period) - states[left], axis=1)
    which = left[missed <= SETTLED * (1 + np.linalg.norm(states[left], axis=1))]
    if len(which) > 1:
        on_cycles(held, period, states[which], which, known, seed)


def _followed(held: Held, orbit: Real, known: Known, largest_state: float, seed: int) -> Cloud:
    """What an orbit is on, followed longer where that is not decided."""
    longer = min(LONGER * FOLLOWED, MOST_VALUES // orbit.shape[1])
    if sum(cloud.number == UNDECIDED for cloud in known.clouds) >= PATIENCE:
        longer = 0
    while True:
        with np.errstate(over="ignore", invalid="ignore"):
            stays = np.linalg.norm(np.asarray(held.unit) * orbit, axis=1) <= largest_state
        if not stays.all():
            return Cloud(cKDTree(orbit[:0]), 0.0, DIVERGED)  # nothing else is near it
        attractor = _repeating(held, orbit)
        if attractor is not None:
            near = SAME * (1 + float(np.linalg.norm(attractor.state)))
            return Cloud(cKDTree(attractor.points), near, known.number(attractor))
        found = motion(held, orbit, seed)
        if found.kind:
            rate = found.exponent, found.error
            attractor = Attractor(found.kind, 0, orbit[-1], orbit, found.stable, np.nan, *rate)
            return Cloud(cKDTree(orbit), found.near, known.number(attractor), inside=found.inside)
        if longer <= len(orbit):
            return Cloud(cKDTree(orbit), found.near, UNDECIDED, found.reason)
        orbit = tail(held, orbit[-1:], longer)[0]


def _repeating(held: Held, orbit: Real) -> Attractor | None:
    """The fixed point or cycle that an orbit is on, or one, not told to be unstable, that it comes to."""
    exact, coming = periods(orbit)
    for period in [exact] if exact else coming:
        if period == 1:
            roots = fixed_points(Iterated(held, 1), starts=np.asarray(held.unit) * orbit[-1:])
            told = (roots["status"].values != MAYBE).any()  # not so of a place that is not told to be a fixed point
            found = of_point(roots, 0, held.unit) if told else None
        else:
            (cycle,) = cycles(held, period, orbit[-1:])
            found = None if cycle is None else of_cycle(cycle)
        if found is not None and (exact or found.stable != 0) and nearly(orbit[-1], found.points):
            return found
    return None
