"""What orbits have come to: points and cycles refined by Newton, and what does not repeat, by one orbit for each."""

from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from dynlab import schema
from dynlab.diagnostics.basins.attractor import CONTINUUM, Attractor, of_cycle, of_point
from dynlab.diagnostics.basins.continua import extended, on_continuum, parted
from dynlab.diagnostics.basins.cycles import Cycle, carried_with_jacobian, cycles, periods
from dynlab.diagnostics.basins.ends import GONE, SETTLED, Ends, carried, ends, tail
from dynlab.diagnostics.basins.families import family
from dynlab.diagnostics.basins.motion import DRIFTS, motion
from dynlab.diagnostics.basins.outward import bend, velocities, ways
from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.diagnostics.fixed_points.places import UNDECIDED as MAYBE
from dynlab.jacobians import finite_or_zero
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.flat_orbits import FlatSpaces
from dynlab.numerics.threads import cores, slices
from dynlab.systems.held import Held
from dynlab.systems.iterated import Iterated

DIVERGED, UNDECIDED, OUTWARD = -1, -2, -3  # in place of an attractor's number; −4, … run away in other directions
# Relative to 1 + ‖h‖: ends this near are first taken for one, and decided by what they refine to. The last of these is
# used that makes at most `MOST_GROUPS` groups: roots may be as near to each other as their ends are not.
GROUPED = 1e-5, 1e-6, 1e-7, 1e-8, 1e-10, 1e-12, 1e-14
MOST_GROUPS, PASSES = 48, 8  # of ends that are refined at a time, and how often
MOST_PRODUCTS, FEWEST_REFINED = 2**32, 2  # multiplications of a product of Jacobians; but so many cycles at least
SAME = 1e-3  # relative to 1 + ‖h‖: an end belongs to a root at most this far from it
PARTING, MOST_LOOKED_AT = 1 + 1e-6, 32  # a spectral radius beyond which nearby orbits part; states of a map looked at
ROUNDED = 1e-10  # the same of coordinates that are small beside others, in two refined fixed points
REFINED_SAME = 1e-7  # the same of two refined roots or cycles: nearer ones are one
FOLLOWED = 4096  # steps of the orbit that stands for a moving attractor
SOON, NEARER = 64, 0.9  # steps that ends are carried on by at a time, while half of them come nearer to an orbit so
BEYOND, LEAST = 1 + 1e-9, 1e-150  # times the distance that is near: beyond that, and beyond the least, is not near
MANY = 2**12  # states, of which the median stands for that of more, and more are looked at in threads
LONGER, MOST_VALUES = 4, 2**23  # times as many where these do not decide, so far as that many numbers hold them
PATIENCE = 2  # orbits that stay undecided are followed for so long, and no further ones
MOST_MOVING = 6  # such orbits are followed, twice: each takes seconds where the state is large
LEFT_OUT = "following orbits of a network this large is left out (--follow, follow=True, brings it back)"
MAYBE_NONE = "rounding does not tell whether there is a fixed point where they come to rest"
NOT_FOLLOWED = (
    f"basins follows {MOST_MOVING} moving orbits for longer, and these starts are near none of them: larger --steps "
    f"(steps=) may leave fewer that still move"
)

BENDS = "they move straight outward, on a way that bends or ends farther out"


@dataclass(frozen=True)
class _Cloud:
    """An orbit that was followed: its states, how near an end must be, and the number or the code that it has.

    Where orbits beside it leave, `inside` are the spaces that hold it, and an end must be in one of them too.
    """

    tree: cKDTree
    near: float
    number: int
    reason: str = ""
    inside: FlatSpaces | None = None

    def holds(self, states: Real) -> NDArray[np.bool_]:
        most = max(BEYOND * self.near, LEAST)  # what is farther away is not looked for
        near: NDArray[np.bool_] = np.asarray(np.isfinite(states).all(axis=1))
        workers = cores() if len(states) > MANY else 1
        near[near] = self.tree.query(states[near], distance_upper_bound=most, workers=workers)[0] <= self.near
        return near if self.inside is None else near & self.inside.hold(states)

    def distance(self, states: Real) -> float:
        """How far away half of the states are, by every so many of them."""
        return float(np.median(self.tree.query(states[:: max(1, len(states) // MANY)])[0]))


@dataclass
class Recognised:
    """What the starts have come to.

    Attributes
    ----------
    held : Held
    attractors : list of Attractor
    assigned : ndarray of int, shape (start,)
        The number of the attractor, `DIVERGED`, `UNDECIDED`, or `OUTWARD` and below by direction.
    reasons : ndarray of str, shape (start,)
        Why a start is undecided.
    velocities : ndarray, shape (start, state)
        The step of each orbit that runs away; NaN of others.
    """

    held: Held
    attractors: list[Attractor]
    assigned: Index
    reasons: NDArray[np.object_]
    velocities: Real
    clouds: list[_Cloud] = field(default_factory=list)

    def left(self) -> Index:
        """The starts that nothing is said about yet."""
        return np.flatnonzero((self.assigned == UNDECIDED) & (self.reasons == ""))

    def number(self, attractor: Attractor) -> int:
        """The number of an attractor, which is listed if it is not yet."""
        for number, one in enumerate(self.attractors):
            if one.period == attractor.period and self._is_same(one, attractor):
                if one.kind.startswith(CONTINUUM):
                    points = np.concatenate([one.points, attractor.points])
                    self.attractors[number] = replace(one, points=points)
                return number
        self.attractors.append(attractor)
        return len(self.attractors) - 1

    def _is_same(self, one: Attractor, other: Attractor) -> bool:
        if (one.is_family or other.is_family) and one.kind != other.kind:
            return False
        if one.kind.startswith(CONTINUUM):
            return bool(on_continuum(self.held, one.period, other.state[None], one.points)[0])
        if one.is_family:
            return True
        if not one.period and one.stable != other.stable:
            return False
        if one.period != 1:
            return _nearly(other.state, one.points, REFINED_SAME if one.period else SAME)
        larger = np.maximum(np.abs(one.state), np.abs(other.state))
        least = ROUNDED * (1 + np.linalg.norm(other.state))
        return bool((np.abs(one.state - other.state) <= REFINED_SAME * larger + least).all())

    def assign(self, states: Real, which: Index, listed: list[Attractor]) -> None:
        """Each end (k, n) of the starts `which` belongs to the nearest of them, if near, or if they are a continuum."""
        if not listed:
            return
        listed = extended(self.held, listed, states)
        numbers = np.repeat([self.number(one) for one in listed], [len(one.points) for one in listed])
        distance, nearest = cKDTree(np.concatenate([one.points for one in listed])).query(states)
        near = distance <= SAME * (1 + np.linalg.norm(states, axis=1))
        owner = np.repeat(np.arange(len(listed)), [len(one.points) for one in listed])[nearest]
        for number, one in enumerate(listed):
            if one.is_family:  # each start ends at a point of its own
                some = np.flatnonzero((owner == number) & ~near)
                near[some[~self._repels(one, states[some])]] = True
        self.assigned[which[near]] = numbers[nearest[near]]

    def _repels(self, one: Attractor, states: Real) -> NDArray[np.bool_]:
        """At which of the states (k, n) at rest nearby orbits part, while at the continuum they do not."""
        n = states.shape[1]
        if not one.period or n > MOST_LOOKED_AT or not len(states):
            return np.zeros(len(states), dtype=bool)
        both = torch.as_tensor(np.concatenate([one.state[None], states])).to(self.held.input)
        matrices = finite_or_zero(carried_with_jacobian(self.held, one.period, both)[1])
        radius = torch.linalg.eigvals(matrices).abs().amax(dim=-1).cpu().numpy()
        return np.asarray((radius[1:] > PARTING) & (radius[0] <= PARTING))

    def belongs(self, cloud: _Cloud, states: Real, which: Index) -> None:
        """Say of those starts that are on an orbit that was followed what was found of it."""
        self.take(cloud, which[cloud.holds(states[which])])

    def take(self, cloud: _Cloud, which: Index) -> None:
        """Say of those starts that they are on it."""
        self.assigned[which], self.reasons[which] = cloud.number, cloud.reason


def recognised(
    held: Held, found: Ends, largest_state: float, max_memory: float, seed: int, follow: bool = True
) -> Recognised:
    """The attractors, and which start ends on which; what neither rests nor repeats by following it, if so asked."""
    count = len(found.states)
    none = np.full_like(found.states, np.nan)
    known = Recognised(held, [], np.full(count, UNDECIDED), np.full(count, "", dtype=object), none)
    states, every = found.states.copy(), np.arange(count)
    _settled(held, found, every, known, seed)
    _outward(held, states, known)
    _as_a_family(held, states, known, seed)
    if follow:
        _moving(held, states, known, largest_state, seed)
        left = known.left()
        if len(left):  # what has not yet come near is given more time, once
            later = ends(held, states[left], FOLLOWED, largest_state, max_memory)
            states[left] = later.states
            _settled(held, later, left, known, seed)
            _outward(held, states, known)
            _moving(held, states, known, largest_state, seed)
    many = f"they end at more than the {MOST_GROUPS * PASSES} places that are looked at"
    reason = many if len(known.attractors) >= MOST_GROUPS * PASSES else NOT_FOLLOWED
    left = np.flatnonzero((known.assigned == UNDECIDED) & np.isin(known.reasons, ("", DRIFTS)))
    known.reasons[left[bend(held, states[left])]] = BENDS
    known.reasons[known.left()] = reason if follow else LEFT_OUT
    away = np.flatnonzero(known.assigned == OUTWARD)
    known.assigned[away] = OUTWARD - ways(known.velocities[away])
    return known


def _outward(held: Held, states: Real, known: Recognised) -> None:
    """Say of those starts whose orbits run away that they do."""
    left = known.left()
    found = velocities(held, states[left])
    runs = ~np.isnan(found).any(axis=1)
    known.assigned[left[runs]] = OUTWARD
    known.velocities[left[runs]] = np.asarray(held.unit) * found[runs]


def _settled(held: Held, found: Ends, which: Index, known: Recognised, seed: int) -> None:
    """Say of the starts `which` whose orbits left, rest or repeat where they ended."""
    known.assigned[which[found.period == GONE]] = DIVERGED
    for period in np.unique(found.period[found.period > 0]):
        of_period = found.period == period
        some = which[of_period]
        (_at_rest if period == 1 else _on_cycles)(held, int(period), found.states[of_period], some, known, seed)


def _at_rest(held: Held, period: int, states: Real, which: Index, known: Recognised, seed: int) -> None:
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
            near = [_nearly(state, one.points) for state in states[left]]
            known.reasons[which[left[near]]] = MAYBE_NONE
        before, left = len(left), left[known.assigned[which[left]] == UNDECIDED]
        if len(left) in (0, before):
            return


def _pass_by(held: Held, point: Attractor, states: Real, which: Index, known: Recognised) -> None:
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
    steps = min(FOLLOWED, int(np.log(1 / np.finfo(float).tiny) / max(point.exponent, np.finfo(float).eps)) + 1)
    for part in slices(len(some), MOST_VALUES / (steps * states.shape[1])):
        distances = np.linalg.norm(tail(held, states[some[part]], steps) - point.state, axis=2)
        known.assigned[which[some[part][~(distances <= SAME).all(axis=1)]]] = UNDECIDED


def _on_cycles(held: Held, period: int, states: Real, which: Index, known: Recognised, seed: int) -> None:
    """The same of orbits that repeat after `period` steps."""
    found: list[Cycle] = []
    most = max(FEWEST_REFINED, MOST_PRODUCTS // (period * states.shape[1] ** 3))
    for cycle in cycles(held, period, _representatives(states)[:most]):
        if cycle is not None and not any(_nearly(cycle.points[0], one.points, REFINED_SAME) for one in found):
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


def _nearly(state: Real, points: Real, same: float = SAME) -> bool:
    return bool(np.linalg.norm(points - state, axis=1).min() <= same * (1 + np.linalg.norm(state)))


def _as_a_family(held: Held, states: Real, known: Recognised, seed: int) -> None:
    """Make one family of the starts that move on, and of those on points and cycles that nothing is attracted to."""
    neutral = [number for number, one in enumerate(known.attractors) if one.stable < 0]
    if not len(known.left()) and all(known.attractors[number].period == 1 for number in neutral):
        return
    members = np.sort(np.concatenate([known.left(), np.flatnonzero(np.isin(known.assigned, neutral))]))
    found = family(held, states[members], seed)
    if found is not None:
        members = members[found.members]
        orbits = states[members]
        known.assigned[members] = len(known.attractors)
        known.attractors.append(Attractor(found.kind, 0, orbits[0], orbits, -1, np.nan, found.exponent, found.error))


def _moving(held: Held, states: Real, known: Recognised, largest_state: float, seed: int) -> None:
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


def _coming(held: Held, states: Real, known: Recognised, cloud: _Cloud, largest_state: float) -> None:
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


def _beside(held: Held, period: int, states: Real, left: Index, known: Recognised, seed: int) -> None:
    """Where nothing attracts to a cycle, starts may each have one of their own: ask those that repeat like it."""
    missed = np.linalg.norm(carried(held, states[left], period) - states[left], axis=1)
    which = left[missed <= SETTLED * (1 + np.linalg.norm(states[left], axis=1))]
    if len(which) > 1:
        _on_cycles(held, period, states[which], which, known, seed)


def _followed(held: Held, orbit: Real, known: Recognised, largest_state: float, seed: int) -> _Cloud:
    """What an orbit is on, followed longer where that is not decided."""
    longer = min(LONGER * FOLLOWED, MOST_VALUES // orbit.shape[1])
    if sum(cloud.number == UNDECIDED for cloud in known.clouds) >= PATIENCE:
        longer = 0
    while True:
        with np.errstate(over="ignore", invalid="ignore"):
            stays = np.linalg.norm(np.asarray(held.unit) * orbit, axis=1) <= largest_state
        if not stays.all():
            return _Cloud(cKDTree(orbit[:0]), 0.0, DIVERGED)  # nothing else is near it
        attractor = _repeating(held, orbit)
        if attractor is not None:
            near = SAME * (1 + float(np.linalg.norm(attractor.state)))
            return _Cloud(cKDTree(attractor.points), near, known.number(attractor))
        found = motion(held, orbit, seed)
        if found.kind:
            rate = found.exponent, found.error
            attractor = Attractor(found.kind, 0, orbit[-1], orbit, found.stable, np.nan, *rate)
            return _Cloud(cKDTree(orbit), found.near, known.number(attractor), inside=found.inside)
        if longer <= len(orbit):
            return _Cloud(cKDTree(orbit), found.near, UNDECIDED, found.reason)
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
        if found is not None and (exact or found.stable != 0) and _nearly(orbit[-1], found.points):
            return found
    return None
