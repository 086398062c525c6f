"""Starts whose orbits left, rest or repeat: their ends refined by Newton's method, as points and cycles."""

from dataclasses import replace

import numpy as np

from dynlab import schema
from dynlab.diagnostics.basins.attractor import CONTINUUM, Attractor, of_cycle, of_point
from dynlab.diagnostics.basins.continua import parted
from dynlab.diagnostics.basins.cycles import Cycle, cycles
from dynlab.diagnostics.basins.ends import GONE, Ends, tail
from dynlab.diagnostics.basins.known import DIVERGED, REFINED_SAME, SAME, UNDECIDED, Known, nearly
from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.diagnostics.fixed_points.places import UNDECIDED as MAYBE
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.threads import slices
from dynlab.systems.held import Held
from dynlab.systems.iterated import Iterated

# Relative to 1 + ‖h‖: ends this near are first taken for one, and decided by what they refine to. The last of these is
# used that makes at most `MOST_GROUPS` groups: roots may be as near to each other as their ends are not.
GROUPED = 1e-5, 1e-6, 1e-7, 1e-8, 1e-10, 1e-12, 1e-14
MOST_GROUPS, PASSES = 48, 8  # of ends that are refined at a time, and how often
MOST_PRODUCTS, FEWEST_REFINED = 2**32, 2  # multiplications of a product of Jacobians; but so many cycles at least
PASSED_BY = 4096  # steps: by then an orbit that only passes by a point has left it, as far as one is followed
AT_ONCE = 2**23  # numbers of the orbits that are followed at a time
MAYBE_NONE = "rounding does not tell whether there is a fixed point where they come to rest"


def settled(held: Held, found: Ends, which: Index, known: Known, seed: int) -> None:
    """Say of the starts `which` whose orbits left, rest or repeat where they ended."""
    known.assigned[which[found.period == GONE]] = DIVERGED
    for period in np.unique(found.period[found.period > 0]):
        of_period = found.period == period
        some = which[of_period]
        (_at_rest if period == 1 else on_cycles)(held, int(period), found.states[of_period], some, known, seed)


def _at_rest(held: Held, period: int, states: Real, which: Index, known: Known, seed: int) -> None:
    """Refine the ends of orbits at rest as fixed points, and say which start belongs to which."""
    left = np.arange(len(which))
    for _ in range(PASSES):
        some = _representatives(states[left])
        roots = fixed_points(Iterated(held, 1), starts=np.asarray(held.unit) * some, seed=seed)
        listed: list[Attractor] = []
        doubtful: list[Attractor] = []
        for root in range(roots.sizes[schema.FIXED_POINT]):
            one = of_point(roots, root, held.unit)
            if one.is_family:  # its other points are where starts ended
                ended = roots["assignment"].values[: len(some)] == root
                one = replace(one, points=np.concatenate([one.points, some[ended]]))
            (doubtful if roots["status"].values[root] == MAYBE else listed).append(one)
        known.assign(states[left], which[left], listed)
        for one in listed:
            _pass_by(held, one, states[left], which[left], known)
        for one in doubtful:
            near = [nearly(state, one.points) for state in states[left]]
            known.reasons[which[left[near]]] = MAYBE_NONE
        before, left = len(left), left[known.assigned[which[left]] == UNDECIDED]
        if len(left) in (0, before):
            return


def _pass_by(held: Held, point: Attractor, states: Real, which: Index, known: Known) -> None:
    """Say nothing of starts that only look as if they rested on an unstable point: one step led them so near to it.

    Where the point's coordinate is 0 to rounding and theirs is as small but not 0, they leave later, as in truth.
    """
    if point.stable != 0:
        return
    near = known.assigned[which] == known.number(point)
    beside = (np.maximum(np.abs(states), np.abs(point.state)) < np.finfo(float).eps) & (states != 0)
    some = np.flatnonzero(near & beside.any(axis=1))
    if not len(some):
        return
    steps = min(PASSED_BY, int(np.log(1 / np.finfo(float).tiny) / max(point.exponent, np.finfo(float).eps)) + 1)
    for part in slices(len(some), AT_ONCE / (steps * states.shape[1])):
        distances = np.linalg.norm(tail(held, states[some[part]], steps) - point.state, axis=2)
        known.assigned[which[some[part][~(distances <= SAME).all(axis=1)]]] = UNDECIDED


def on_cycles(held: Held, period: int, states: Real, which: Index, known: Known, seed: int) -> None:
    """Refine the ends of orbits that repeat after `period` steps as cycles, and say which start belongs to which."""
    found: list[Cycle] = []
    most = max(FEWEST_REFINED, MOST_PRODUCTS // (period * states.shape[1] ** 3))
    for cycle in cycles(held, period, _representatives(states)[:most]):
        if cycle is not None and not any(nearly(cycle.points[0], one.points, REFINED_SAME) for one in found):
            found.append(cycle)
    listed = [of_cycle(cycle) for cycle in found if not cycle.neutral]
    for group in parted(held, period, [cycle for cycle in found if cycle.neutral]):
        one = of_cycle(group[0])
        if len(group) > 1:  # of each start its own
            points = np.concatenate([cycle.points for cycle in group])
            one = replace(one, kind=f"{CONTINUUM} of period-{period} orbits", points=points)
        listed.append(one)
    known.assign(states, which, listed)


def _representatives(states: Real) -> Real:
    """One of the ends that are nearly equal, of the largest such groups."""
    order, size = np.arange(0), 1 + np.linalg.norm(states, axis=1).max()
    for grouped in GROUPED:
        _, first, counts = np.unique(np.round(states / (grouped * size)), axis=0, return_index=True, return_counts=True)
        if len(order) and len(first) > MOST_GROUPS:
            break
        order = first[np.argsort(-counts, kind="stable")[:MOST_GROUPS]]
    return states[order]
