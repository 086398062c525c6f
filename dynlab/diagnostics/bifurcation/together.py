"""Places where several branches come too near to each other for tracing to tell them apart, and what is beside."""

import itertools
from collections import Counter
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from dynlab.diagnostics.bifurcation import crossings
from dynlab.diagnostics.bifurcation.curve import Point
from dynlab.diagnostics.bifurcation.exploring import SAME_POINT, Bifurcation, Diagram
from dynlab.diagnostics.bifurcation.result import Row
from dynlab.diagnostics.bifurcation.switching import DEGENERATE
from dynlab.diagnostics.bifurcation.tracing import pinned
from dynlab.wording import joined, number, plural_of, with_error

STRETCH, TOUCHES = 0.1, 1e-8  # of arclength; of an eigenvalue that is as good as on the border of stability
TOGETHER = 0.03  # of arclength: branches that meet may part so slowly that a step changes from one to another
DIGITS = 7  # of the parameter
BESIDE, WIDER = 5e-3, 3.0  # of the range, or times the place's own extent: so far from it fixed points are counted


class JointPlace(NamedTuple):
    """Bifurcations of fixed points that are not told apart, by number, and the parameters that they lie between."""

    bifurcations: frozenset[int]
    lowest: float
    highest: float

    @property
    def where(self) -> str:
        """The parameter, with how far the bifurcations may be apart."""
        return with_error((self.lowest + self.highest) / 2, (self.highest - self.lowest) / 2)


def gathered(diagram: Diagram) -> list[JointPlace]:
    """Each degenerate point with all that is near it, where more than one branch passes; as one where they overlap.

    A bifurcation there may be at any parameter of its place: its error becomes what covers that.
    """
    listed = diagram.bifurcations
    for branch in diagram.branches:
        for _, index in branch.bifurcations:
            if listed[index].refined is None:
                listed[index] = listed[index]._replace(width=_width(diagram, branch.points, listed[index]))
    found: list[set[int]] = []
    for seed in (i for i, one in enumerate(listed) if one.kind == DEGENERATE and one.period == 1):
        center = listed[seed].z
        members = {i for i, one in enumerate(listed) if one.period == 1 and np.linalg.norm(one.z - center) <= TOGETHER}
        met = [other for other in found if other & members]
        found = [other for other in found if not other & members] + [members.union(*met)]
    places: list[JointPlace] = []
    for members in found:
        if _is_met(diagram, members):
            _add(diagram, places, _place(diagram, members))
    for place in places:
        for index in place.bifurcations:
            one = listed[index]
            at = diagram.curve.parameter(one.z)
            error = max(at - place.lowest, place.highest - at)
            refined = one.refined and one.refined._replace(converged=False, parameter_error=error)
            listed[index] = one._replace(width=error, refined=refined)
    return places


def _width(diagram: Diagram, points: list[Point], one: Bifurcation) -> float:
    """The error of a bifurcation that no system was solved for: it may be wherever an eigenvalue all but touches.

    Where several are not told from the border, as one of multiplicity 3 is not within ε^(1/3) of it, it may be anywhere
    up to the points on both sides at which they are told: between these the signs are those of points before.
    """
    curve, at = diagram.curve, diagram.curve.parameter(one.z)
    away = [np.abs(crossings.beyond(point.eigenvalues, curve.equation.is_map)) for point in points]
    reached: set[int] = set()
    for index, (point, off) in enumerate(zip(points, away, strict=True)):
        if np.linalg.norm(point.z - one.z) <= STRETCH:
            blurred = (off <= point.errors).sum() > 1 and point.errors.max() > TOUCHES
            beside = 1 if blurred else 0 if off.min() <= TOUCHES else -1
            reached.update(range(max(0, index - beside), min(len(points), index + beside + 1)))
    return max([one.width, *(abs(curve.parameter(points[index].z) - at) for index in reached)])


def _is_met(diagram: Diagram, members: set[int]) -> bool:
    """Whether more than one branch passes; one may pass without a bifurcation of its own, whose rounding hides it."""
    centers = np.array([diagram.bifurcations[number].z for number in members])
    through = [
        branch
        for branch in diagram.branches
        if any(number in members for _, number in branch.bifurcations)
        or (branch.period == 1 and cdist(centers, np.array([each.z for each in branch.points])).min() <= TOGETHER)
    ]
    return len(through) > 1


def _add(diagram: Diagram, places: list[JointPlace], place: JointPlace) -> None:
    """Add a place, together with those whose parameters are not told from its own."""
    while met := [one for one in places if one.lowest <= place.highest and place.lowest <= one.highest]:
        places[:] = [one for one in places if one not in met]
        place = _place(diagram, place.bifurcations.union(*(one.bifurcations for one in met)))
    places.append(place)


def _place(diagram: Diagram, members: AbstractSet[int]) -> JointPlace:
    some = [diagram.bifurcations[number] for number in members]
    at = np.array([diagram.curve.parameter(one.z) for one in some])
    errors = np.array([one.parameter_error for one in some])
    return JointPlace(frozenset(members), float((at - errors).min()), float((at + errors).max()))


def said(diagram: Diagram, points: list[Row], place: JointPlace, name: str, noun: str) -> str:
    """What stands on both sides of a place: which branch goes on as which is not said."""
    beside = max(BESIDE * diagram.curve.parameter_scale, WIDER * (place.highest - place.lowest))
    sides = []
    for edge, room in ((place.lowest, diagram.limits.lowest), (place.highest, diagram.limits.highest)):
        p = edge + np.clip((room - edge) / 2, -beside, beside)
        if diagram.limits.lowest < p < diagram.limits.highest:
            kinds = Counter(one.kind.stable for one in _standing_at(diagram, points, p))
            words = [f"{kinds[code]} {word}" for code, word in ((1, "stable"), (0, "unstable"), (-1, "undecided"))]
            sides.append(f"{joined(words if kinds[-1] else words[:2])} at {number(p, DIGITS)}")
    counts = f"; of the {plural_of(noun)} that were found there are {', and '.join(sides)}" if sides else ""
    return f"Near {name} = {place.where} branches meet that could not be told apart{counts}"


def _standing_at(diagram: Diagram, points: list[Row], p: float) -> list[Point]:
    """The fixed points at `p` that Newton's method reaches from all branches, each once."""
    found: list[Point] = []
    for before, after in itertools.pairwise(points):
        low, high = sorted((before.parameter, after.parameter))
        if before.branch == after.branch and low <= p < high and len(before.orbit) == 1:
            part = (p - before.parameter) / (after.parameter - before.parameter)
            one = pinned(diagram.curve, before.orbit[0] + part * (after.orbit[0] - before.orbit[0]), p)
            if one and all(np.linalg.norm(one.z - other.z) > SAME_POINT for other in found):
                found.append(one)
    return found
