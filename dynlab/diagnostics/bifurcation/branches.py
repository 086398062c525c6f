"""All branches that fixed points, branch points and period doublings lead to, with the bifurcations on them."""

import itertools
from dataclasses import dataclass, field

import numpy as np

from dynlab.diagnostics.bifurcation import extended, locating
from dynlab.diagnostics.bifurcation.equation import SolutionCurve, Vector
from dynlab.diagnostics.bifurcation.extended import BRANCH_POINT, DEGENERATE, FLIP, PAIR, PITCHFORK, meeting
from dynlab.diagnostics.bifurcation.locating import Bifurcation, Solution, solution
from dynlab.numerics import continuation
from dynlab.numerics.continuation import Point

NEIMARK_SACKER, HOPF = "Neimark–Sacker", "Hopf"
CUBIC = (FLIP, NEIMARK_SACKER, HOPF, PITCHFORK)  # whose cubic term says whether what is born is stable
AT_BIFURCATION = "at a bifurcation"

SAME_POINT = 1e-6  # times max(1, ‖z‖): nearer points are on one branch
SAME_ROOT = 1e-7  # of arclength: nearer roots of one system are one
NEARBY = 0.05  # of arclength: a branch's nearest point is not farther from what lies on the branch
AWAY = 0.5  # the cosine between a branch's direction at its bifurcation and its first chord, at least
FIRST_STEPS = (3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)  # of arclength off a bifurcation
NEAR_CRITICAL = 0.5  # how far the critical multiplier may have gone at the first point of a new branch
UNCLEAR = 1e-5  # of arclength: a shorter step on which the orientation changes is let be
BESIDE = 3.0  # times a step's length: a branch point farther from its middle is another one
MOST_BRANCHES = 64


@dataclass(frozen=True)
class Branch:
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
        begin = continuation.correct(self.curve, self.curve.z(state, p), np.append(np.zeros(len(state)), 1.0))
        if begin is None or not self._is_new(self.curve, begin.z):
            return
        ahead, back = (self._traced(self.curve, one, None) for one in (begin, _reversed(begin)))
        points = [_reversed(point) for point in back.points[:0:-1]] + ahead.points
        self._add(self.curve, [points], [back.end, ahead.end], -1)
        while self.waiting:
            self._switch(*self.waiting.pop(0))

    def _switch(self, number: int, direction: Vector, period: int) -> None:
        """Follow what leaves a bifurcation along ±`direction`, of a flip one side: the other is its image."""
        curve, origin = self.curve.of_period(period), self.bifurcations[number]
        sides = (1.0,) if period > origin.period else (1.0, -1.0)
        firsts = (self._first(curve, origin.z, side * direction) for side in sides)
        new = [first for first in firsts if first is not None and self._is_new(curve, first.z)]
        halves = [self._traced(curve, first, origin.z) for first in new]
        if len(halves) > 1 and halves[0].end == continuation.CLOSED:
            halves = halves[:1]
        if halves:
            self._add(curve, [half.points for half in halves], [half.end for half in halves], number)

    def _add(self, curve: SolutionCurve, parts: list[list[Point]], ends: list[str], origin: int) -> None:
        """Note a branch of one part, or of one or two that leave its origin, with all bifurcations on it."""
        number = len(self.branches)
        self.branches.append(Branch(curve.period, [], origin, ("", "")))
        solved = [self._solved(curve, part, number) for part in parts]
        if origin < 0:
            self.branches[number] = Branch(curve.period, solved[0], origin, (ends[0], ends[1]))
            return
        cut = [one[-1].point is not part[-1] for one, part in zip(solved, parts, strict=True)]
        ends = [AT_BIFURCATION if each else end for each, end in zip(cut, ends, strict=True)]
        middle = self._at(curve, origin, solved[0][0].point.tangent)
        other = solved[1][::-1] if len(solved) > 1 else []
        first = ends[-1] if len(ends) > 1 or ends[0] == continuation.CLOSED else AT_BIFURCATION
        self.branches[number] = Branch(curve.period, [*other, middle, *solved[0]], origin, (first, ends[0]))

    def _traced(self, curve: SolutionCurve, first: Point, origin: Vector | None) -> continuation.Traced:
        def strays(here: Point, found: Point) -> bool:
            """Return whether a step has left the branch for one that passes it, as no branch point lies between."""
            middle, length = 0.5 * (here.z + found.z), float(np.linalg.norm(found.z - here.z))
            refined = extended.refine(curve, BRANCH_POINT, middle)
            if refined is None or np.linalg.norm(refined.z - middle) > BESIDE * length:
                return length > UNCLEAR
            return refined.splits

        step = continuation.FIRST_STEP if origin is None else float(np.linalg.norm(first.z - origin))
        box = self.lowest, self.highest
        return continuation.follow(curve, first, *box, longest=self.longest, first=step, origin=origin, strays=strays)

    def _first(self, curve: SolutionCurve, origin: Vector, direction: Vector) -> Point | None:
        """Return the first point of a new branch, so near that nothing but the critical eigenvalue can have changed."""
        for step in FIRST_STEPS:
            point = continuation.correct(curve, origin + step * direction, direction)
            chord = direction if point is None else point.z - origin
            if point is None or chord @ direction < AWAY * np.linalg.norm(chord):
                continue
            point = continuation.point_at(curve, point.z, chord, point.iterations)
            if point is not None:
                moved = np.abs(np.linalg.eigvals(curve.jacobian(point.z)) - curve.critical).min()
                if not curve.is_map or moved <= NEAR_CRITICAL:
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
            for one in locating.between(curve, left, right):
                if isinstance(one, Solution):
                    passed.append(one)
                    continue
                if curve.period > 1 and self._halves(curve, one.z):
                    return passed
                noted = self._note(curve, one, branch)
                if passed[-1].bifurcation != noted:
                    passed.append(self._at(curve, noted, one.tangent))
            passed.append(right)
        return passed

    def _at(self, curve: SolutionCurve, number: int, tangent: Vector) -> Solution:
        """Return the solution at a bifurcation, where the critical eigenvalue is undecided."""
        z, refined = self.bifurcations[number].z, self.bifurcations[number].refined
        error = np.linalg.norm(curve.jacobian(z)) * np.finfo(float).eps ** 0.5 if refined else 0.0
        point = Point(z, tangent, 0.0, refined.iterations if refined else 0)
        return solution(curve, point, None, float(error))._replace(bifurcation=number)

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
            refined = None if kind == DEGENERATE else refined
            self.waiting += [] if other is None else [(number, other, period)]
        elif kind == PAIR:
            kind = NEIMARK_SACKER if curve.is_map else HOPF
        elif refined is not None and kind == FLIP and 2 * period <= self.max_period:
            self.waiting.append((number, np.append(refined.null.real, 0.0), 2 * period))
        cubic = extended.coefficient(curve, refined) if refined is not None and kind in CUBIC else None
        noted = found._replace(kind=kind, refined=refined, period=period, branch=branch, coefficient=cubic)
        self.bifurcations.append(noted)
        return number

    def _halves(self, curve: SolutionCurve, z: Vector) -> bool:
        """Return whether the orbit at `z` has half the period."""
        half = curve.of_period(curve.period // 2)
        return float(np.linalg.norm(half.residual(z))) < SAME_POINT * max(1.0, float(np.linalg.norm(z)))

    def _is_new(self, curve: SolutionCurve, z: Vector) -> bool:
        """Return whether there is room for a branch, and no phase of the orbit at `z` lies on one that is there."""
        every = [curve.z(state, curve.parameter(z)) for state in curve.orbit(z)]
        same = [branch for branch in self.branches if branch.period == curve.period and branch.solutions]
        if any(_on(curve, one, branch) for one in every for branch in same):
            return False
        self.cut_short = self.cut_short or len(self.branches) >= MOST_BRANCHES
        return not self.cut_short


def _on(curve: SolutionCurve, z: Vector, branch: Branch) -> bool:
    """Return whether the branch passes through `z`, seen in the plane across its nearest solution's tangent."""
    listed = [one.point for one in branch.solutions if one.bifurcation < 0]
    near = listed[int(np.linalg.norm(np.array([one.z for one in listed]) - z, axis=1).argmin())]
    size = max(1.0, float(np.linalg.norm(z)))
    if np.linalg.norm(near.z - z) > NEARBY * size:
        return False
    ahead = float(near.tangent @ (z - near.z))
    there = continuation.correct(curve, near.z + ahead * near.tangent, near.tangent)
    if there is None or np.linalg.norm(there.z - z) >= SAME_POINT * size:
        return False
    return there.orientation == near.orientation  # another branch may nearly meet this one


def _reversed(point: Point) -> Point:
    return point._replace(tangent=-point.tangent, orientation=-point.orientation)
