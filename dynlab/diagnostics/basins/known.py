"""What is known so far of the starts: the attractors that were found, and which start ends on which."""

from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from dynlab.diagnostics.basins.attractor import CONTINUUM, Attractor
from dynlab.diagnostics.basins.cloud import Cloud
from dynlab.diagnostics.basins.continua import extended, on_continuum
from dynlab.diagnostics.basins.cycles import carried_with_jacobian
from dynlab.jacobians import finite_or_zero
from dynlab.numerics.arrays import Index, Real
from dynlab.systems.held import Held

DIVERGED, UNDECIDED, OUTWARD = -1, -2, -3  # in place of an attractor's number; −4, … run away in other directions
SAME = 1e-3  # relative to 1 + ‖h‖: an end belongs to a root at most this far from it
REFINED_SAME = 1e-7  # the same of two refined roots or cycles: nearer ones are one
ROUNDED = 1e-10  # the same of coordinates that are small beside others, in two refined fixed points
PARTING, MOST_LOOKED_AT = 1 + 1e-6, 32  # a spectral radius beyond which nearby orbits part; states of a map looked at


@dataclass
class Known:
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
    clouds: list[Cloud] = field(default_factory=list)

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
            return nearly(other.state, one.points, REFINED_SAME if one.period else SAME)
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

    def belongs(self, cloud: Cloud, states: Real, which: Index) -> None:
        """Say of those starts that are on an orbit that was followed what was found of it."""
        self.take(cloud, which[cloud.holds(states[which])])

    def take(self, cloud: Cloud, which: Index) -> None:
        """Say of those starts that they are on it."""
        self.assigned[which], self.reasons[which] = cloud.number, cloud.reason


def nearly(state: Real, points: Real, same: float = SAME) -> bool:
    """Whether a state (n,) is one of the points (k, n), relative to 1 + ‖h‖."""
    return bool(np.linalg.norm(points - state, axis=1).min() <= same * (1 + np.linalg.norm(state)))
