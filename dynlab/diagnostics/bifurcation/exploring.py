"""All branches that searches, branch points and period doublings lead to."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynlab.diagnostics.bifurcation import extended, locating, normal_form, switching, tracing
from dynlab.diagnostics.bifurcation.curve import Point, SolutionCurve
from dynlab.diagnostics.bifurcation.equation import Equation
from dynlab.diagnostics.bifurcation.extended import Refined
from dynlab.diagnostics.bifurcation.locating import Found
from dynlab.diagnostics.bifurcation.normal_form import Coefficient
from dynlab.diagnostics.bifurcation.tracing import TracingLimits

Vector = NDArray[np.float64]

FLIP, NEIMARK_SACKER, HOPF = extended.FLIP, "Neimark–Sacker", "Hopf"
CUBIC = (FLIP, NEIMARK_SACKER, HOPF, switching.PITCHFORK)  # whose cubic term says whether what is born is stable
SAME_POINT = 1e-6  # of arclength: nearer points are on one branch
SAME_ROOT = 1e-8  # of arclength: nearer roots of one system are one; an imperfection of 1e-14 parts two by 4e-7
CONTINUUM, OF_ORBITS = "continuum", "continuum of orbits"  # of fixed points, and at a flip of orbits twice as long
NEARBY = 0.05  # of arclength: a branch's nearest point is not farther from what lies on the branch
AWAY = 0.5  # the cosine between a branch's direction at its bifurcation and its first chord, at least
FIRST_STEPS = (3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)  # of arclength off a bifurcation
NEAR_CRITICAL = 0.5  # how far the critical multiplier may have gone at the first point of a new branch
MOST_BRANCHES = 64
AT_BIFURCATION = "at a bifurcation"


class Bifurcation(NamedTuple):
    """A bifurcation point: what it is, where, on which branch it was found, and how well that is known."""

    kind: str
    z: Vector
    period: int
    branch: int
    refined: Refined | None
    width: float
    coefficient: Coefficient | None = None

    @property
    def parameter_error(self) -> float:
        """How well the parameter is known: the bound of what is refined, or the bracket."""
        return self.refined.parameter_error if self.refined else self.width

    @property
    def located(self) -> bool:
        """Whether it is a root that Newton's method has converged to."""
        return self.refined is not None and self.refined.converged


class Branch(NamedTuple):
    """A branch: its points in order, the bifurcations on it, and where both ends are.

    Attributes
    ----------
    period : int
    points : list of Point
    bifurcations : list of (int, int)
        The number of the point that it comes after, and its number; −1 before all points.
    origin : int
        The bifurcation that it was switched to at, −1 for one that a search found.
    ends : tuple of str
    """

    period: int
    points: list[Point]
    bifurcations: list[tuple[int, int]]
    origin: int
    ends: tuple[str, str]


@dataclass
class Diagram:
    """What is known so far, and what is still to be followed."""

    curve: SolutionCurve
    limits: TracingLimits
    max_period: int
    symmetries: list[Vector]
    branches: list[Branch] = field(default_factory=list)
    bifurcations: list[Bifurcation] = field(default_factory=list)
    waiting: list[tuple[int, Vector, int]] = field(default_factory=list)
    beside: list[tuple[Vector, SolutionCurve]] = field(default_factory=list)
    cut_short: bool = False

    def start(self, state: Vector, p: float) -> None:
        """Follow the branch through a fixed point, both ways, all that leaves it, and all that it nearly meets."""
        self._start(self.curve, state, p)
        while self.waiting or self.beside:
            if self.waiting:
                self._switch(*self.waiting.pop(0))
            else:
                z, curve = self.beside.pop(0)
                self._start(curve, curve.state(z), curve.parameter(z))

    def _start(self, curve: SolutionCurve, state: Vector, p: float) -> None:
        up = None if self.cut_short else tracing.pinned(curve, state, p)
        if up is None or self._known(curve, up.z):
            return
        if len(self.branches) >= MOST_BRANCHES:
            self.cut_short = True
            return
        halves: list[tuple[Point, Vector | None]] = [(up, None)]
        down = tracing.pinned(curve, state, p, upward=False)
        if down is not None:
            halves.insert(0, (down, None))
        self._add(curve, halves, -1)

    def curve_of(self, period: int) -> SolutionCurve:
        """The curve of orbits of that period."""
        equation = Equation(self.curve.equation.varied, self.curve.equation.is_map, period)
        return SolutionCurve(equation, self.curve.state_scale, self.curve.parameter_scale)

    def _switch(self, number: int, direction: Vector, period: int) -> None:
        """Follow what leaves a bifurcation along ±`direction`, of a flip one side: the other is its image."""
        if len(self.branches) >= MOST_BRANCHES:
            self.cut_short = True
            return
        curve, origin = self.curve_of(period), self.bifurcations[number]
        sides = (1.0,) if period > origin.period else (-1.0, 1.0)
        halves: list[tuple[Point, Vector | None]] = []
        for side in sides:
            first = self._first(curve, origin, side * direction)
            if first is not None and not self._known(curve, first.z):
                halves.append((first, origin.z))
        if halves:
            self._add(curve, halves, number)
            if tracing.UPRIGHT in self.branches[-1].ends:
                self.bifurcations[number] = origin._replace(kind=OF_ORBITS if period > origin.period else CONTINUUM)

    def _first(self, curve: SolutionCurve, origin: Bifurcation, direction: Vector) -> Point | None:
        """The first point of a new branch, so near that nothing but the critical eigenvalue can have changed."""
        for step in FIRST_STEPS:
            corrected = curve.correct(origin.z + step * direction, direction)
            if corrected is None:
                continue
            chord = corrected[0] - origin.z
            point = curve.point(*corrected, chord / np.linalg.norm(chord))
            if point is None or chord @ direction < AWAY * np.linalg.norm(chord):
                continue
            critical = np.abs(point.eigenvalues - curve.equation.critical).min()
            if not curve.equation.is_map or critical <= NEAR_CRITICAL:
                return point
        return None

    def _add(self, curve: SolutionCurve, halves: list[tuple[Point, Vector | None]], origin: int) -> None:
        number = len(self.branches)
        traced = []
        self.branches.append(Branch(curve.equation.period, [], [], origin, ("", "")))  # its number is taken
        for first, begin in halves:
            step = tracing.FIRST_STEP if begin is None else min(tracing.FIRST_STEP, _distance(first.z, begin))
            points, end, passed = tracing.follow(curve, first, self.limits, step, begin)
            self.beside += [(z, curve) for z in passed]
            points = points if end == tracing.UPRIGHT else locating.closer(curve, points)
            marks: list[tuple[int, int]] = []
            points, listed = (points, []) if end == tracing.UPRIGHT else locating.along(curve, points)
            for found in listed:
                if curve.equation.period > 1 and self._shorter(curve, found.z):
                    points, end = points[: found.after + 1], AT_BIFURCATION
                    break
                noted = self._note(curve, found, number)
                if not marks or marks[-1][1] != noted:
                    marks.append((found.after, noted))
            traced.append((points, marks, end))
            if end == tracing.CLOSED:
                break
        self.branches[number] = _joined(curve.equation.period, traced, origin)

    def _note(self, curve: SolutionCurve, found: Found, branch: int) -> int:
        """The number of this bifurcation; a new one is waited on for the branches that leave it."""
        period = curve.equation.period
        for number, one in enumerate(self.bifurcations):
            exact = one.refined is not None and found.refined is not None
            if one.period == period and _distance(one.z, found.z) < (SAME_ROOT if exact else SAME_POINT):
                return number
        number = len(self.bifurcations)
        kind, refined = found.kind, found.refined
        if refined is not None and found.kind == extended.BRANCH_POINT:
            met = switching.meeting(curve, refined, found.tangent, self.symmetries)
            kind = met.kind
            if kind in (switching.UNDECIDED, switching.DEGENERATE):
                refined = refined._replace(converged=False, parameter_error=refined.parameter_error + met.reach)
            if met.other is not None:
                self.waiting.append((number, met.other, period))
        elif found.kind == extended.PAIR:
            kind = NEIMARK_SACKER if curve.equation.is_map else HOPF
        elif refined is not None and found.kind == extended.FLIP and 2 * period <= self.max_period:
            scaled = np.append(refined.null.real / curve.state_scale, 0.0)
            self.waiting.append((number, scaled / np.linalg.norm(scaled), 2 * period))
        cubic = normal_form.coefficient(curve, refined) if refined is not None and kind in CUBIC else None
        self.bifurcations.append(Bifurcation(kind, found.z, period, branch, refined, found.width, cubic))
        return number

    def _shorter(self, curve: SolutionCurve, z: Vector) -> bool:
        """Whether the orbit at `z` has half the period."""
        half = self.curve_of(curve.equation.period // 2)
        return float(np.linalg.norm(half.residual(z))) < SAME_POINT * max(1.0, float(np.linalg.norm(half.state(z))))

    def _known(self, curve: SolutionCurve, z: Vector) -> bool:
        """Whether some phase of the orbit at `z` lies on a branch that is there already."""
        every = [curve.z(state, curve.parameter(z)) for state in curve.orbit(z)]
        same = [branch for branch in self.branches if branch.period == curve.equation.period]
        return any(_on(curve, one, branch) for one in every for branch in same)


def _on(curve: SolutionCurve, z: Vector, branch: Branch) -> bool:
    """Whether the branch passes through `z`, seen in the plane through z across its nearest point's tangent."""
    if not branch.points:
        return False
    near = branch.points[int(np.linalg.norm(np.array([point.z for point in branch.points]) - z, axis=1).argmin())]
    if _distance(near.z, z) > NEARBY:
        return False
    ahead = float(near.tangent @ (z - near.z))
    corrected = curve.correct(near.z + ahead * near.tangent, near.tangent)
    if corrected is None or _distance(corrected[0], z) >= SAME_POINT * max(1.0, float(np.linalg.norm(z))):
        return False
    there = curve.point(*corrected, near)
    return there is not None and there.orientation == near.orientation  # another branch may nearly meet this one


def _distance(first: Vector, second: Vector) -> float:
    return float(np.linalg.norm(first - second))


def _joined(period: int, traced: list[tuple[list[Point], list[tuple[int, int]], str]], origin: int) -> Branch:
    """The halves of a branch as one: the first one backwards, then the second."""
    if len(traced) == 1:
        points, marks, end = traced[0]
        before = [] if origin < 0 else [(-1, origin)]
        return Branch(period, points, before + marks, origin, (end if end == tracing.CLOSED else AT_BIFURCATION, end))
    (back, back_marks, back_end), (ahead, marks, end) = traced
    same = origin < 0  # both halves then begin with the same point
    backward = list(reversed(back[1:] if same else back))
    length = len(backward)
    if same:
        turned = [(length - 1 - after, number) for after, number in reversed(back_marks)]
    else:
        turned = [(length - 2 - after, number) for after, number in reversed(back_marks)]
        turned.append((length - 1, origin))
    return Branch(period, backward + ahead, turned + [(length + a, b) for a, b in marks], origin, (back_end, end))
