"""What is followed beyond one state: a continuum of fixed points, or a stretch on which rounding hides f."""

import itertools
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from dynlab.diagnostics.fixed_points.flat_pieces import straight_between
from dynlab.numerics.arrays import Real
from dynlab.numerics.continua import FARTHEST, Curve, curve_of, nearest_on, on_curve
from dynlab.numerics.isolation import Equations
from dynlab.numerics.joined import joined
from dynlab.numerics.meeting import SECOND, meet, singular_states
from dynlab.numerics.merging import scale

MOST_CURVES = 16  # of one set: one behind each kink
MOST_MEMBERS = 256  # that are remembered, to walk to the nearest from others


@dataclass
class RootSet:
    """A set of roots that are joined with each other.

    Attributes
    ----------
    members : ndarray, shape (k, n)
        Some of them.
    dimension : int
        Of the set, as far as it is known.
    plane : int
        In how many directions f is not told from 0: beside a root of high order more than the set has.
    is_flat : bool
        Whether it is a piece of an affine space, between kinks.
    curves : list of Curve
        What has been walked along; none of a surface.
    """

    members: Real
    dimension: int = 1
    plane: int = 1
    is_flat: bool = False
    curves: list[Curve] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether all walks came to their ends."""
        return all(curve.finished for curve in self.curves)

    @property
    def is_simple(self) -> bool:
        """Whether f' is singular along the set alone."""
        return self.plane == self.dimension

    @property
    def goes_on(self) -> bool:
        """Whether it goes on farther than it was followed."""
        return any(curve.goes_on for curve in self.curves)

    def holds(self, equations: Equations, ends: Real) -> NDArray[np.bool_]:
        """Whether each of the ends (k, n) belongs to it, shape (k,)."""
        if self.curves:
            return self._along_curves(equations, ends)
        lies = np.zeros(len(ends), dtype=bool)
        members = self.members
        while not lies.all():
            rest = np.flatnonzero(~lies)
            goals = members[cdist(ends[rest], members).argmin(axis=1)]
            if self.is_flat:
                reached = straight_between(equations, ends[rest], goals)
            else:
                reached = joined(equations, ends[rest], goals, self.plane, simple=self.is_simple)
            if not reached.any():
                break
            lies[rest] = reached
            members = np.concatenate([members, ends[rest[reached]]])
        self.members = members[:MOST_MEMBERS]
        return lies

    def _along_curves(self, equations: Equations, ends: Real) -> NDArray[np.bool_]:
        """Whether each end lies on a curve, on its continuation, or where f stays 0 on the way to it.

        A continuation behind a kink is a curve of its own, which is added.
        """
        lies = np.any([on_curve(equations, curve, ends) for curve in self.curves], axis=0)
        for number in range(MOST_CURVES):
            if number == len(self.curves):
                break
            curve = self.curves[number]
            outside = ((ends < curve.states.min(axis=0)) | (ends > curve.states.max(axis=0))).any(axis=1)
            beyond = np.flatnonzero(~lies & ((self.plane > 1) | outside))
            beyond = beyond[~_is_on_a_larger_set(equations, ends[beyond], self.plane)]
            goals = nearest_on(curve, ends[beyond])
            reached = beyond[joined(equations, ends[beyond], goals, self.plane, simple=self.is_simple)]
            lies[reached] = True
            if len(reached) and self.plane == 1 and curve.finished and not curve.closed:
                for branch in self.add_branch(equations, ends[reached[0]]):
                    lies |= on_curve(equations, branch, ends)
        return lies

    def add_branch(self, equations: Equations, state: Real) -> list[Curve]:
        """Walk along the curve through a root too; not where f' is singular in a second direction, as on a surface."""
        if _is_on_a_larger_set(equations, state[None], 1)[0]:
            return []
        v = np.linalg.svd(equations.matrix(torch.as_tensor(state)[None])[0].numpy())[2]
        self.curves.append(curve_of(equations, state, v[-1]))
        return self.curves[-1:]

    def meets(self, equations: Equations, other: "RootSet") -> bool | None:
        """Whether both have a state in common; None where it is not known, as of two surfaces."""
        if self.curves and other.curves:
            farthest = FARTHEST * min(float(scale(each.members[0])) for each in (self, other))
            told = [meet(equations, *pair, farthest) for pair in itertools.product(self.curves, other.curves)]
            return any(told) or (None if None in told else False)
        if other.curves:
            return other.meets(equations, self)
        if not self.curves:
            return None
        singular = np.concatenate([singular_states(equations, curve) for curve in self.curves])
        if not len(singular):
            return False
        nearest = other.members[cdist(singular, other.members).argmin(axis=1)]
        return bool(joined(equations, nearest, singular, other.dimension).any()) or None


def _is_on_a_larger_set(equations: Equations, states: Real, plane: int) -> NDArray[np.bool_]:
    """Whether f' is singular in more than `plane` directions at each state (k, n), as on a surface beside a curve."""
    if plane >= states.shape[1] or not len(states):
        return np.zeros(len(states), dtype=bool)
    sigma = np.linalg.svd(equations.matrix(torch.as_tensor(states)).numpy(), compute_uv=False)
    larger: NDArray[np.bool_] = sigma[:, -plane - 1] <= SECOND * (1 + sigma[:, 0])
    return larger
