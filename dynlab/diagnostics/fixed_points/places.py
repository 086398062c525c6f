"""The fixed points that a search has found, each once: two computed roots within Newton's error are one."""

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch
from scipy.spatial.distance import cdist
from torch import Tensor

from dynlab.numerics import merging
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.isolation import SEVERAL, Equations, isolation
from dynlab.program.differentiation import step_and_error
from dynlab.systems.held import Held
from dynlab.systems.held_jacobians import displacement_matrices, ungated_matrices

FIXED, SLOW = "fixed point", "slow point"
NOT_ISOLATED = "not isolated"  # I − J is singular within its error: a line of points, a multiple one, or a near miss
AT_KINK, UNVERIFIED = "at a kink", "unverified"
STATUSES = (FIXED, AT_KINK, NOT_ISOLATED, UNVERIFIED, SLOW)  # in the order of the Dataset

NOWHERE = -1  # in place of a place's number
COPIES = 1e-10  # times max(1, ‖h‖): ends of a search this near are one before they are looked at
AT_ONCE = 4096  # ends whose distances from all places are held at once


@dataclass(frozen=True)
class Place:
    """A fixed point as a search found it, not verified yet.

    Attributes
    ----------
    state : ndarray, shape (n,)
    status : str
        `FIXED`, `NOT_ISOLATED` or `SLOW`.
    error : float
        How far it may be off, to first order; inf where I − J is singular to rounding.
    weakest : ndarray, shape (n,)
        The direction in which it may be off most.
    index : int
        sign det(I − J), 0 where it is not known.
    dimension : int
        Of the affine set of fixed points that an affine map has; 0 of other maps.
    """

    state: Real
    status: str
    error: float
    weakest: Real
    index: int = 0
    dimension: int = 0


@dataclass
class Places:
    """What has been found of a system whose input is held; `numbers` adds what is new.

    Attributes
    ----------
    held : Held
        In float64 on the CPU.
    found : list of Place
        One of them stands for all whose place rounding leaves open by more than 1e-7: the one with the smallest
        residual, of equal ones the one nearest to 0.
    """

    held: Held
    found: list[Place] = field(default_factory=list)

    def isolated(self) -> Real:
        """Return the states (k, n) of those that are alone."""
        states = [place.state for place in self.found if place.status == FIXED]
        return np.array(states).reshape(-1, self.held.system.state_size)

    def index_sum(self) -> int | None:
        """Return Σ sign det(I − J), which is 1 if no point is missing; None where that theorem does not hold.

        A map of a bounded convex set into itself has the sum 1 (Brouwer's theorem, with Lefschetz's count). An LSTM
        is one too: its memory comes nearer to 0 from far away, since its forget gates stay below 1.
        """
        if self.held.is_flow or self.held.system.state_bound() is None:
            return None
        indices = [place.index for place in self.found]
        return None if 0 in indices else sum(indices)

    def numbers(self, ends: Real) -> Index:
        """Return the number of the place that each of these roots (k, n), as computed, belongs to; −1 of none."""
        labels = self._known(ends)
        left = np.flatnonzero(labels == NOWHERE)
        if len(left) == 0:
            return labels
        groups = merging.merged(ends[left], same=COPIES)
        residuals = np.linalg.norm(equations(self.held).value(torch.as_tensor(ends[left])).numpy(), axis=1)
        best = np.lexsort((np.linalg.norm(ends[left], axis=1), residuals, groups))
        first = best[np.unique(groups[best], return_index=True)[1]]
        added = self._places(ends[left][first])
        order = np.lexsort((np.linalg.norm(ends[left][first], axis=1), residuals[first]))
        named = np.full(len(first), NOWHERE)
        for index in order:
            if (new := added[index]) is not None:
                named[index] = self._number(new)
        labels[left] = named[groups]
        return labels

    def _known(self, ends: Real) -> Index:
        """Return the place within whose error each end lies."""
        labels: Index = np.full(len(ends), NOWHERE)
        if not self.found:
            return labels
        states = np.array([place.state for place in self.found])
        errors = np.array([place.error if np.isfinite(place.error) else 0.0 for place in self.found])
        reach = np.maximum(COPIES * merging.scale(states), SEVERAL * errors)
        for rows in np.split(np.arange(len(ends)), range(AT_ONCE, len(ends), AT_ONCE)):
            distance = cdist(ends[rows], states)
            nearest = distance.argmin(axis=1)
            near = distance[np.arange(len(rows)), nearest] <= reach[nearest]
            labels[rows[near]] = nearest[near]
        return labels

    def _places(self, states: Real) -> list[Place | None]:
        shown = isolation(equations(self.held), torch.as_tensor(states))
        sign = 1 if is_gated(self.held) else (-1) ** states.shape[1]
        found: list[Place | None] = []
        for number, state in enumerate(states):
            if not shown.roots[number]:
                found.append(None)
                continue
            alone, error = bool(shown.alone[number]), float(shown.errors[number])
            status, index = (FIXED, sign * int(shown.signs[number])) if alone else (NOT_ISOLATED, 0)
            found.append(Place(state, status, error, shown.weakest[number].numpy(), index))
        return found

    def _number(self, new: Place) -> int:
        """Return the number of the place that a new one is, which is added unless it is known."""
        scale = float(merging.scale(new.state))
        for number, place in enumerate(self.found):
            open_ = [each.status == NOT_ISOLATED and each.error > merging.SAME * scale for each in (new, place)]
            reach = merging.SAME * scale if any(open_) else SEVERAL * max(new.error, place.error)
            if all(open_) or np.linalg.norm(new.state - place.state) <= max(reach, COPIES * scale):
                if new.status == FIXED and (place.status != FIXED or new.error < place.error):
                    self.found[number] = new
                return number
        self.found.append(new)
        return len(self.found) - 1


def equations(held: Held) -> Equations:
    """Return the ungated residual of a map that has one, with its derivative; else F(h) − h with J − I, or f with J."""
    if is_gated(held):
        return Equations(held.ungated, partial(ungated_matrices, held), partial(_bounded, held, "ungated_residual"))
    return Equations(held.displacement, partial(displacement_matrices, held), partial(_bounded, held, "evolve"))


def _bounded(held: Held, method: str, points: Tensor) -> tuple[Tensor, Tensor] | None:
    found = step_and_error(held.system, *held.given(points), method=method)
    if found is None or held.is_flow or method != "evolve":
        return found
    value, error = found
    return value - points, error + torch.finfo(points.dtype).eps * (value - points).abs()


def is_gated(held: Held) -> bool:
    """Return whether the map has an ungated residual, which is h − F(h) times what is positive, unlike F(h) − h."""
    zero = torch.zeros(1, held.system.state_size, dtype=held.input.dtype, device=held.input.device)
    return held.system.ungated_residual(*held.given(zero)) is not None
