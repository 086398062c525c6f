"""Which ends of a search are fixed points, each once: isolated ones, continua, and what rounding does not tell."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import lil_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from dynlab.diagnostics.fixed_points.flat_pieces import flat_piece, rounds_to_zero, straight_between
from dynlab.diagnostics.fixed_points.root_set import RootSet
from dynlab.jacobians import cancelled, displacement_matrices, ungated_matrices
from dynlab.kinks import at_kink, jumps
from dynlab.numerics import local_roots as local
from dynlab.numerics import merging
from dynlab.numerics.continua import curve_of
from dynlab.numerics.isolation import Equations, Isolation, Work, isolation
from dynlab.numerics.joined import without_gap
from dynlab.numerics.roots import solve
from dynlab.systems.held import Held

# The status of a place.
FIXED, CONTINUUM, UNDECIDED, AT_JUMP, SLOW = "fixed point", "continuum", "undecided", "at a jump", "slow point"
NOWHERE, UNSEEN = -1, -2  # in place of a place's number; UNSEEN of an end that was not looked at

COPIES = 1e-10  # times max(1, ‖h‖): ends of a search this near are one before they are looked at
AT_ONCE = 4096  # ends whose distances from all places are held at once
APART = 10.0  # times the errors of two roots: farther from each other they are two
BESIDE = 0.2  # of the distance from where continua cross: how far one of them is looked at
MOST_DEGENERATE = 48  # ends with a singular f' that are looked at, each with a search about it
FRUITLESS = 2  # searches that found nothing, where f is rounding on the way from an end to each: as far out on a tail
MOST_WORK = 12_000.0  # of all those searches and walks together (`dynlab.numerics.isolation.Work`): some 12 s

Real = NDArray[np.float64]
Index = NDArray[np.int64]


@dataclass(frozen=True)
class Place:
    """A fixed point, a continuum of them by one of its states, or a state that is not told from a fixed point.

    Attributes
    ----------
    state : ndarray, shape (n,)
    status : str
        "fixed point", "continuum", "undecided", "at a jump" or "slow point".
    radius : float
        Of the ball about it that holds no other fixed point; 0 where none is known.
    error : float
        How far it may be off.
    weakest : ndarray, shape (n,)
        The direction in which it may be off most.
    directions : ndarray, shape (d, n)
        Orthonormal, along a continuum; (0, n) otherwise.
    simple : bool
        Whether f' is shown to be regular at it, so that the sign of its determinant is the point's index.
    layers : tuple of (Held, Place)
        Of a stack that was searched layer by layer: what each layer's search held, and the layer's own place.
    whole : int
        Of a continuum: another with the same number may be a part of the same one.
    goes_on : bool
        Of a continuum: whether it goes on farther than it was followed.
    """

    state: Real
    status: str
    radius: float
    error: float
    weakest: Real
    directions: Real
    simple: bool = False
    layers: "tuple[tuple[Held, Place], ...]" = ()
    whole: int = 0
    goes_on: bool = False


@dataclass(frozen=True)
class _Region:
    """The surroundings of a state with a singular f' that were looked at, and the places found there."""

    center: Real
    axes: Real
    reach: float
    places: list[int]

    def holds(self, states: Real) -> NDArray[np.bool_]:
        offset = states - self.center
        along = np.linalg.norm(offset @ self.axes.T, axis=1)
        near: NDArray[np.bool_] = np.linalg.norm(offset, axis=1) <= local.BENT * along + COPIES * self.reach
        return near & (along <= self.reach)


@dataclass
class Places:
    """What has been found of a map whose input is held; `numbers` adds what is new.

    Attributes
    ----------
    held : Held
        In float64 on the CPU.
    found : list of Place
    """

    held: Held
    found: list[Place] = field(default_factory=list)
    _sets: dict[int, RootSet] = field(default_factory=dict)
    _regions: list[_Region] = field(default_factory=list)
    _work: Work = field(default_factory=lambda: Work(MOST_WORK))

    @property
    def equations(self) -> Equations:
        """What vanishes at a fixed point and is not made small by a closed gate."""
        return self._work.counted(equations(self.held))

    def indices(self) -> Index | None:
        """Sign det(I − J) of each point; None where its sum is not known, or not all of them have such a sign.

        Of a map of a bounded convex set into itself it is 1 (Brouwer's fixed-point theorem, with Lefschetz's count).
        An LSTM is one too: its memory comes nearer to 0 from far away, since its forget gates stay below 1.
        """
        alone = all(place.status == FIXED and place.simple for place in self.found)
        if self.held.system.state_bound() is None or not alone:
            return None
        n = self.held.system.state_size
        states = torch.as_tensor(np.array([place.state for place in self.found]).reshape(-1, n))
        signs = torch.linalg.slogdet(self.equations.matrix(states)).sign.numpy() if len(states) else np.zeros(0)
        return np.asarray(signs.astype(np.int64) * (1 if is_gated(self.held) else (-1) ** n))

    def numbers(self, ends: Real) -> Index:
        """The number of the place that each of these roots (k, n), as computed, belongs to; `NOWHERE` for no root.

        `UNSEEN` for one at which f' is singular, and whose surroundings were not looked at, to end in time.
        """
        labels = self._known(ends)
        left = np.flatnonzero(labels == NOWHERE)
        if len(left) == 0:
            return labels
        groups = merging.merged(ends[left], same=COPIES)
        first = self._best(ends[left], groups)
        reps = ends[left][first]
        shown = isolation(equations(self.held), torch.as_tensor(reps))
        named = np.full(len(reps), NOWHERE)
        singular = shown.radii.numpy() == 0
        kinked = np.zeros_like(singular)
        looked, unseen = 0, []
        # what is alone first, then what has a singular f', and at last kinks, where either may end
        residuals = np.linalg.norm(self.equations.value(torch.as_tensor(reps)).numpy(), axis=1)
        order, place = np.lexsort((np.linalg.norm(reps, axis=1), residuals, singular)), 0
        while place < len(order):
            index, place = order[place], place + 1
            if named[index] != NOWHERE:
                continue
            if singular[index] and not kinked[index] and at_kink(self.held, reps[index]):
                kinked[index], order = True, np.append(order, index)
                continue
            if self._refused(reps[index]):
                continue
            if singular[index] and not kinked[index]:
                looked += 1
                if looked > MOST_DEGENERATE or self._work.left <= 0:
                    unseen.append(index)
                    continue
            places, regions = len(self.found), len(self._regions)
            if not singular[index]:
                named[index] = self._add(_place(reps[index], shown, int(index)))
            elif kinked[index]:
                named[index] = self._at_a_kink(reps[index], shown, int(index))
            else:
                named[index] = self._look_about(reps[index], ends)
            later = order[place:][named[order[place:]] == NOWHERE]
            named[later] = self._known(reps[later], places, regions)
        named[unseen] = np.where(named[unseen] == NOWHERE, UNSEEN, named[unseen])
        labels[left] = named[groups]
        return labels

    def united(self) -> tuple[list[Place], Index]:
        """The places, those that meet as one, and of each of `found` the number that it has among them."""
        numbers = [n for n, place in enumerate(self.found) if place.status == CONTINUUM]
        # sparse, as there may be thousands of points that meet nothing
        meeting, unsure = (lil_array((len(self.found), len(self.found)), dtype=bool) for _ in range(2))
        for one, other in itertools.combinations(numbers, 2):
            told = self._sets[one].meets(self.equations, self._sets[other])
            meeting[one, other], unsure[one, other] = bool(told), told is not False
        # what was taken for a point, since f' is singular there, before the curve was found that it lies on
        points = np.array([n for n, place in enumerate(self.found) if place.status == FIXED and not place.simple], int)
        for n in numbers if len(points) else ():
            states = np.array([self.found[point].state for point in points])
            held = points[self._sets[n].holds(self.equations, states)]
            meeting[n, held] = unsure[n, held] = True
        for n in numbers:
            if self._work.left <= 0 or not self._sets[n].is_whole:
                unsure[n, numbers] = True
        labels, wholes = (connected_components(each, directed=False)[1] for each in (meeting, unsure))
        # a surface and a curve that meet are a surface
        sizes = np.array([len(place.directions) for place in self.found], dtype=np.int64)
        order = np.lexsort((np.arange(len(labels)), -sizes, labels))
        first = order[np.unique(labels[order], return_index=True)[1]]
        far = labels[[n for n in numbers if self._sets[n].goes_on]]
        united = [replace(self.found[n], whole=int(wholes[n]), goes_on=bool((far == labels[n]).any())) for n in first]
        return united, labels.astype(np.int64)

    def _known(self, ends: Real, places: int = 0, regions: int = 0) -> Index:
        """The place that is already known for each end, of those after the first so many places and regions."""
        labels: Index = np.full(len(ends), NOWHERE)
        newer = self.found[places:]
        radii = np.array([place.radius for place in newer])
        states = np.array([place.state for place in newer])
        for rows in np.split(np.arange(len(ends)), range(AT_ONCE, len(ends), AT_ONCE)) if (radii > 0).any() else ():
            distance = cdist(ends[rows], states)
            nearest = np.where(distance <= radii, distance, np.inf)
            inside = np.flatnonzero(np.isfinite(nearest).any(axis=1))
            owner = nearest[inside].argmin(axis=1)
            copies = self._copies(ends[rows[inside]], places + owner, nearest[inside, owner])
            labels[rows[inside[copies]]] = places + owner[copies]
        for number in range(places, len(self.found)):
            left = np.flatnonzero(labels == NOWHERE)
            if number in self._sets and len(left):
                labels[left[self._sets[number].holds(self.equations, ends[left])]] = number
        for region in self._regions[regions:]:
            left = np.flatnonzero(labels == NOWHERE)
            there = left[region.holds(ends[left])]
            if len(there) and region.places:
                states = np.array([self.found[number].state for number in region.places])
                distance = cdist(ends[there], states)
                numbers, nearest = np.array(region.places)[distance.argmin(axis=1)], distance.min(axis=1)
                copies = self._copies(ends[there], numbers, nearest)
                labels[there[copies]] = numbers[copies]
        return labels

    def _copies(self, ends: Real, numbers: Index, distances: Real) -> NDArray[np.bool_]:
        """Whether each end is the place in whose ball it lies; the ball of a place shrinks where it holds another root.

        A ball is sampled, and what f' does between the samples is not seen. An end that is a root of its own, farther
        off than the errors of both, shows that the ball is too large.
        """
        if len(ends) == 0:
            return np.zeros(0, dtype=bool)
        states = torch.as_tensor(np.array([self.found[number].state for number in numbers]).reshape(-1, ends.shape[1]))
        exact = ~self.equations.value(states).any(dim=1).numpy()
        errors = np.where(exact, 0.0, [self.found[number].error for number in numbers])
        known: NDArray[np.bool_] = ~(distances > np.maximum(COPIES * merging.scale(ends), APART * errors))
        asked = np.flatnonzero(~known)
        if len(asked) == 0:
            return known
        groups = merging.merged(ends[asked], same=COPIES)
        _, first = np.unique(groups, return_index=True)
        shown = isolation(self.equations, torch.as_tensor(ends[asked[first]]))
        alone, least = shown.radii.numpy()[groups] > 0, np.where(shown.radii > 0, shown.errors, 0.0)[groups]
        own = APART * (least + errors[asked]) < distances[asked]
        degenerate = np.flatnonzero(own & ~alone)
        own[degenerate] = ~without_gap(self.equations, ends[asked[degenerate]], states.numpy()[asked[degenerate]])
        known[asked] = ~own
        for end in np.flatnonzero(~known):
            place = self.found[numbers[end]]
            self.found[numbers[end]] = replace(place, radius=min(place.radius, float(distances[end]) / 2))
        return known

    def _refused(self, end: Real) -> bool:
        """Whether the end lies where nothing was found though it was looked for, or f is rounding on the ways there."""
        empty = [region for region in self._regions if not region.places]
        if any(region.holds(end[None])[0] for region in empty):
            return True
        nearest = sorted((region.center for region in empty), key=lambda center: float(np.linalg.norm(center - end)))
        joins = [straight_between(self.equations, end[None], center[None])[0] for center in nearest[:FRUITLESS]]
        return len(joins) == FRUITLESS and all(joins)

    def _at_a_kink(self, end: Real, shown: Isolation, index: int) -> int:
        """The number of the place of an end at a kink: where a continuum ends or bends, or a point of its own."""
        for number, place in enumerate(self.found):
            if place.status == CONTINUUM and straight_between(self.equations, end[None], place.state[None])[0]:
                return number
        along, near = flat_piece(self.equations, end), merging.SAME * float(merging.scale(end))
        if len(along) == 0 and jumps(self.held, end) and self.held.displacement(torch.as_tensor(end)).any():
            return self._add(replace(_place(end, shown, index, radius=near), status=AT_JUMP))
        if len(along) == 0 and not rounds_to_zero(self.equations, end):
            return NOWHERE
        if len(along) == 0:
            return self._add(_place(end, shown, index, radius=near))
        self._sets[len(self.found)] = RootSet(end[None], len(along), len(along), is_flat=True)
        return self._add(Place(end, CONTINUUM, 0.0, 0.0, along[0], along))

    def _look_about(self, end: Real, ends: Real, reach: float = local.REACH) -> int:
        """The number of the place of an end at which f' is singular, once its surroundings have been looked at."""
        near = local.local_roots(self.equations, torch.as_tensor(end), reach)
        found: list[int] = []
        if self._work.left <= 0:
            return UNSEEN  # a walk may have been stopped
        if local.CROSSING in near.kinds:
            return self._of_crossing(end, near, ends) if reach == local.REACH else NOWHERE
        apart = cdist(near.states, near.states)
        np.fill_diagonal(apart, 2 * near.reach)
        for index, radius in enumerate((apart.min(axis=1) / 2).tolist() if len(apart) else ()):
            found.append(self._of_local(near, index, radius))
        if near.kinds not in ([local.CONTINUUM], [local.STRETCH]):
            self._regions.append(_Region(end, near.directions.numpy(), near.reach, found))
        if not found:
            return NOWHERE
        return found[int(np.linalg.norm(np.array([self.found[n].state for n in found]) - end, axis=1).argmin())]

    def _of_crossing(self, end: Real, near: local.LocalRoots, ends: Real) -> int:
        """The number of the continuum whose branches cross at an end; one branch is looked at beside the crossing."""
        beside = near.states.numpy()
        number = int(self._known(beside).max())
        if number < 0:
            number = self._look_about(beside[0], ends, BESIDE * local.REACH)
        followed = self._sets.get(number)
        if followed and followed.curves:
            for state in beside:
                if all(cdist(state[None], curve.states).min() > near.reach / 2 for curve in followed.curves):
                    followed.add_branch(self.equations, state)
        if number != UNSEEN:
            self._regions.append(_Region(end, near.directions.numpy(), near.reach, [number] if number >= 0 else []))
        return number

    def _of_local(self, near: local.LocalRoots, index: int, radius: float) -> int:
        """The number of what was found about a state with a singular f'."""
        state, kind, error, curve = near.states[index], near.kinds[index], float(near.errors[index]), near.curves[index]
        axes = near.directions.numpy()
        if kind in (local.UNDECIDED, local.STRETCH) and not state.any() and not self.equations.value(state[None]).any():
            kind = local.ROOT  # f(0) = 0 is no matter of rounding
        if kind == local.ROOT:
            polished = solve(self.equations.value, self.equations.matrix, state[None]).states
            if float((polished[0] - state).norm()) > max(2 * error, COPIES * float(merging.scale(state.numpy()))):
                polished = state[None]
            shown = isolation(self.equations, polished)
            known = self._known(polished.numpy())[0]
            if known != NOWHERE:
                return int(known)
            if float(shown.radii[0]) > 0:
                return self._add(_place(polished[0].numpy(), shown, 0))
        status = {local.ROOT: FIXED, local.CONTINUUM: CONTINUUM}.get(kind, UNDECIDED)
        along = axes if status == CONTINUUM else axes[:0]
        if status == CONTINUUM:
            error = 0.0
        radius = radius if status == FIXED else 0.0
        number = self._add(Place(state.numpy(), status, radius, error, axes[0], along))
        if curve is None and status == CONTINUUM and len(axes) == 1:
            curve = curve_of(self.equations, state.numpy(), axes[0], near.plane)
        curves = [curve] if curve is not None else []
        if status == CONTINUUM:
            self._sets[number] = RootSet(state[None].numpy(), len(axes), max(near.plane, len(axes)), curves=curves)
        elif curves:
            self._sets[number] = RootSet(state[None].numpy(), curves=curves)
        return number

    def _add(self, place: Place) -> int:
        self.found.append(place)
        return len(self.found) - 1

    def _best(self, states: Real, groups: Index) -> Index:
        """For each group the index of the state with the smallest residual."""
        order = np.lexsort((np.linalg.norm(self.equations.value(torch.as_tensor(states)).numpy(), axis=1), groups))
        return order[np.unique(groups[order], return_index=True)[1]]


def told_apart(places: Sequence[Place]) -> int:
    """How many fixed points these are at least: those that are nearer to each other than their errors may be one."""
    if not places:
        return 0
    states = np.array([place.state for place in places])
    errors = np.array([min(place.error, place.radius or np.inf) for place in places])
    return int(connected_components(cdist(states, states) <= errors + errors[:, None])[0])


def equations(held: Held) -> Equations:
    """The ungated residual of a map that has one, with its derivative; else F(h) − h with J − I."""
    if is_gated(held):
        return Equations(held.ungated, partial(ungated_matrices, held))
    return Equations(held.displacement, partial(displacement_matrices, held), partial(cancelled, held))


def is_gated(held: Held) -> bool:
    """Whether the map has an ungated residual, which is h − F(h) times what is positive, unlike F(h) − h."""
    zero = torch.zeros(1, held.system.state_size, dtype=held.input.dtype, device=held.input.device)
    return held.system.ungated_residual(*held.given(zero)) is not None


def _place(state: Real, shown: Isolation, index: int, radius: float | None = None) -> Place:
    radius = float(shown.radii[index]) if radius is None else radius
    weakest = shown.weakest[index].numpy()
    simple = float(shown.radii[index]) > 0
    return Place(state, FIXED, radius, float(shown.errors[index]), weakest, np.zeros((0, len(state))), simple)
