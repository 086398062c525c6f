"""All branches that fixed points, branch points and period doublings lead to, with the bifurcations on them."""

import itertools
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dynlab.diagnostics.bifurcation import extended, locating, normal_form
from dynlab.diagnostics.bifurcation.equation import SolutionCurve, Vector
from dynlab.diagnostics.bifurcation.extended import BRANCH_POINT, FLIP, PAIR
from dynlab.diagnostics.bifurcation.locating import Bifurcation, Solution, solution
from dynlab.diagnostics.bifurcation.normal_form import DEGENERATE, PITCHFORK, meeting
from dynlab.numerics import continuation
from dynlab.numerics.continuation import Point

NEIMARK_SACKER, HOPF = "Neimark–Sacker", "Hopf"
CONTINUUM, OF_ORBITS = "continuum", "continuum of orbits"  # of fixed points, and at a flip of orbits twice as long
CUBIC = (FLIP, NEIMARK_SACKER, HOPF, PITCHFORK)  # whose cubic term says whether what is born is stable
AT_BIFURCATION = "at a bifurcation"

SAME_POINT = 1e-6  # times max(1, ‖z‖): nearer points are on one branch
SAME_ROOT = 1e-7  # of arclength: nearer roots of one system are one
NEARBY = 0.05  # of arclength: a branch's nearest point is not farther from what lies on the branch
AWAY = 0.5  # the cosine between a branch's direction at its bifurcation and its first chord, at least
FIRST_STEPS = (3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)  # of arclength off a bifurcation
NEAR_CRITICAL = 0.5  # how far the critical multiplier may have gone at the first point of a new branch
ENOUGH, UPRIGHT = 10, 1e-9  # a branch whose first points differ in p by less than that part of the range is upright
UNCLEAR = 1e-5  # of arclength: a shorter step on which the orientation changes is let be
BESIDE = 3.0  # times a step's length: a branch point farther from its middle is another one
MOST_BRANCHES = 64


class Branch(NamedTuple):
    """A branch of one period: its solutions in order, bifurcations included, the one that it left, and both ends."""

    period: int
    solutions: list[Solution]
    origin: int
    ends: tuple[str, str]


@dataclass
class Diagram:
    """All branches that are known, and what is still to be followed.

    Attributes
    ----------
    curve : SolutionCurve
    lowest, highest : ndarray, shape (n + 1,)
        The box of z in which branches are followed.
    longest : float
        The longest step, of arclength.
    max_period : int
    """

    curve: SolutionCurve
    lowest: Vector
    highest: Vector
    longest: float
    max_period: int
    branches: list[Branch] = field(default_factory=list)
    bifurcations: list[Bifurcation] = field(default_factory=list)
    waiting: list[tuple[int, Vector, int]] = field(default_factory=list)
    cut_short: bool = False

    def start(self, state: Vector, p: float) -> None:
        """Follow the branch through a fixed point, both ways, and all that leaves it."""
        upward = np.append(np.zeros(len(state)), 1.0)
        begin = continuation.correct(self.curve, self.curve.z(state, p), upward)
        if begin is None or self._known(self.curve, begin.z) or self._full():
            return
        halves = [self._traced(self.curve, one) for one in (_reversed(begin), begin)]
        back = [_reversed(point) for point in halves[0].points[:0:-1]]
        number = self._number(1, -1)
        solutions, ends = self._solved(self.curve, back + halves[1].points, number), tuple(half.end for half in halves)
        self.branches[number] = Branch(1, solutions, -1, (ends[0], ends[1]))
        while self.waiting:
            self._switch(*self.waiting.pop(0))

    def _full(self) -> bool:
        self.cut_short = self.cut_short or len(self.branches) >= MOST_BRANCHES
        return self.cut_short

    def _number(self, period: int, origin: int) -> int:
        """Return the number of a new branch, whose solutions are yet to come."""
        self.branches.append(Branch(period, [], origin, ("", "")))
        return len(self.branches) - 1

    def _traced(
        self, curve: SolutionCurve, first: Point, origin: Vector | None = None, most: int = 2000
    ) -> continuation.Traced:
        step = continuation.FIRST_STEP if origin is None else float(np.linalg.norm(first.z - origin))

        def strays(here: Point, found: Point) -> bool:
            """Return whether a step has left the branch for one that passes it, as no branch point lies between."""
            middle, length = 0.5 * (here.z + found.z), float(np.linalg.norm(found.z - here.z))
            refined = extended.refine(curve, BRANCH_POINT, middle)
            if refined is None or np.linalg.norm(refined.z - middle) > BESIDE * length:
                return length > UNCLEAR
            return refined.splits

        return continuation.follow(
            curve,
            first,
            self.lowest,
            self.highest,
            longest=self.longest,
            first=step,
            most=most,
            origin=origin,
            strays=strays,
        )

    def _switch(self, number: int, direction: Vector, period: int) -> None:
        """Follow what leaves a bifurcation along ±`direction`, of a flip one side: the other is its image."""
        curve, origin = self.curve.of_period(period), self.bifurcations[number]
        halves = []
        for side in (1.0,) if period > origin.period else (-1.0, 1.0):
            first = self._first(curve, origin.z, side * direction)
            if first is None or self._known(curve, first.z) or self._full():
                continue
            short = self._traced(curve, first, origin.z, ENOUGH).points
            if len(short) == ENOUGH and np.ptp([point.z[-1] for point in short] + [origin.z[-1]]) <= UPRIGHT:
                self.bifurcations[number] = origin._replace(kind=OF_ORBITS if period > origin.period else CONTINUUM)
                return
            halves.append(self._traced(curve, first, origin.z))
            if halves[-1].end == continuation.CLOSED:
                break
        if not halves:
            return
        branch = self._number(period, number)
        parts = [self._solved(curve, half.points, branch) for half in halves]
        cut = [part[-1].z is not half.points[-1].z for part, half in zip(parts, halves, strict=True)]
        ends = [AT_BIFURCATION if each else half.end for each, half in zip(cut, halves, strict=True)]
        at_origin = self._at(curve, number, parts[-1][0].tangent)
        before = parts[0][::-1] if len(parts) > 1 else []
        first_end = (
            ends[0] if len(parts) > 1 else continuation.CLOSED if ends[0] == continuation.CLOSED else AT_BIFURCATION
        )
        self.branches[branch] = Branch(period, [*before, at_origin, *parts[-1]], number, (first_end, ends[-1]))

    def _first(self, curve: SolutionCurve, origin: Vector, direction: Vector) -> Point | None:
        """Return the first point of a new branch, so near that nothing but the critical eigenvalue can have changed."""
        for step in FIRST_STEPS:
            point = continuation.correct(curve, origin + step * direction, direction)
            if point is None:
                continue
            chord = point.z - origin
            if chord @ direction < AWAY * np.linalg.norm(chord):
                continue
            point = continuation.point_at(curve, point.z, chord, point.iterations)
            if point is None:
                continue
            critical = np.abs(np.linalg.eigvals(curve.jacobian(point.z)) - curve.critical).min()
            if not curve.is_map or critical <= NEAR_CRITICAL:
                return point
        return None

    def _solved(self, curve: SolutionCurve, points: list[Point], branch: int) -> list[Solution]:
        """Return the solutions at these points and the bifurcations between them, up to where the period halves."""
        solutions: list[Solution] = []
        for point in points:
            solutions.append(solution(curve, point, solutions[-1] if solutions else None))
        dense = locating.without_critical(solutions)
        passed = dense[:1]
        for left, right in itertools.pairwise(dense):
            for one in locating.bifurcations(curve, left, right):
                if curve.period > 1 and self._halves(curve, one.z):
                    return passed
                if passed[-1].bifurcation >= 0:
                    passed += self._halfway(curve, passed[-1], one)
                noted = self._note(curve, one, branch)
                if passed[-1].bifurcation != noted:
                    passed.append(self._at(curve, noted, one.tangent))
            passed.append(right)
        return passed

    def _halfway(self, curve: SolutionCurve, first: Solution, second: Bifurcation) -> list[Solution]:
        """Return a solution between two bifurcations, none where they are too near to each other."""
        chord = second.z - first.z
        if np.linalg.norm(chord) <= SAME_ROOT:
            return []
        point = continuation.correct(curve, 0.5 * (first.z + second.z), chord / np.linalg.norm(chord))
        return [] if point is None else [solution(curve, point, first)]

    def _at(self, curve: SolutionCurve, number: int, tangent: Vector) -> Solution:
        """Return the solution at a bifurcation, where the critical eigenvalue is undecided."""
        found = self.bifurcations[number]
        error = (
            0.0
            if found.refined is None
            else float(np.linalg.norm(curve.jacobian(found.z)) * np.finfo(float).eps ** 0.5)
        )
        iterations = found.refined.iterations if found.refined else 0
        return solution(curve, Point(found.z, tangent, 0.0, iterations), None, error)._replace(bifurcation=number)

    def _note(self, curve: SolutionCurve, found: Bifurcation, branch: int) -> int:
        """Return the number of this bifurcation; a new one is waited on for the branches that leave it."""
        period = curve.period
        for number, one in enumerate(self.bifurcations):
            reach = SAME_ROOT if found.refined and one.refined else 10 * continuation.CORNER
            if one.period == period and np.linalg.norm(one.z - found.z) < reach:
                return number
        number, kind, refined = len(self.bifurcations), found.kind, found.refined
        if refined is not None and kind == BRANCH_POINT:
            kind, other = meeting(curve, refined, found.tangent)
            if kind == DEGENERATE:
                refined = None
            if other is not None:
                self.waiting.append((number, other, period))
        elif kind == PAIR:
            kind = NEIMARK_SACKER if curve.is_map else HOPF
        elif refined is not None and kind == FLIP and 2 * period <= self.max_period:
            scaled = np.append(refined.null.real / curve.scale, 0.0)
            self.waiting.append((number, scaled / np.linalg.norm(scaled), 2 * period))
        cubic = normal_form.coefficient(curve, refined) if refined is not None and kind in CUBIC else None
        noted = found._replace(kind=kind, refined=refined, period=period, branch=branch, coefficient=cubic)
        self.bifurcations.append(noted)
        return number

    def _halves(self, curve: SolutionCurve, z: Vector) -> bool:
        """Return whether the orbit at `z` has half the period."""
        half = curve.of_period(curve.period // 2)
        return float(np.linalg.norm(half.residual(z) / curve.scale)) < SAME_POINT * max(1.0, float(np.linalg.norm(z)))

    def _known(self, curve: SolutionCurve, z: Vector) -> bool:
        """Return whether some phase of the orbit at `z` lies on a branch that is there already."""
        every = [curve.z(state, curve.parameter(z)) for state in curve.orbit(z)]
        same = [branch for branch in self.branches if branch.period == curve.period and branch.solutions]
        return any(_on(curve, one, branch) for one in every for branch in same)


def _on(curve: SolutionCurve, z: Vector, branch: Branch) -> bool:
    """Return whether the branch passes through `z`, seen in the plane across its nearest solution's tangent."""
    listed = [one for one in branch.solutions if one.bifurcation < 0]
    near = listed[int(np.linalg.norm(np.array([one.z for one in listed]) - z, axis=1).argmin())]
    if np.linalg.norm(near.z - z) > NEARBY * max(1.0, float(np.linalg.norm(z))):
        return False
    ahead = float(near.tangent @ (z - near.z))
    there = continuation.correct(curve, near.z + ahead * near.tangent, near.tangent)
    if there is None or np.linalg.norm(there.z - z) >= SAME_POINT * max(1.0, float(np.linalg.norm(z))):
        return False
    return there.orientation == near.orientation  # another branch may nearly meet this one


def _reversed(point: Point) -> Point:
    return point._replace(tangent=-point.tangent, orientation=-point.orientation)
