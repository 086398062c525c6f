"""One branch followed by pseudo-arclength steps.

References
----------
Keller, "Numerical solution of bifurcation and nonlinear eigenvalue problems" (1977); Kuznetsov, Elements of Applied
Bifurcation Theory, section 10.2.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynlab.diagnostics.bifurcation import crossings, extended
from dynlab.diagnostics.bifurcation.curve import Point, SolutionCurve

Vector = NDArray[np.float64]

FIRST_STEP = 1e-2  # of arclength, in which the parameter's range has length 1
# Two branches that pass each other at 1e-14 of a branch point turn within its square root: steps of 1e-8 follow them.
FINEST = 1e-9  # where no step so short is smooth, an activation has its kink
CORNER_STEP, AFTER_CORNER = 1e-6, 2e-3  # from one side of a kink to the other, and then
GROW, SHRINK = 1.4, 0.5
FAR = 0.5  # times ‖z‖, where that is above 1: far out steps are longer in proportion
EASY = 4  # corrector iterations: with at most so many the next step is longer
STRAIGHT = 0.97  # the cosine of the angle that a tangent turns by in a step, at least
JUMP = 5.0  # times the step 1e-6, from one side of a kink to the other
OFF = 0.3  # of the step: a corrector that moves the prediction farther has met something else
NUDGE = 1e-7  # of arclength, for the quotient of differences
ASTRAY = 0.5  # of the expected motion of an orbit: what differs by more belongs to another orbit
STEEP = 0.1  # a chord and a tangent nearly across each other do not make a cubic
BESIDE = 3.0  # times a step's length: a branch point farther from its middle is another one
UNCLEAR = 1e-5  # of arclength: a shorter step on which the orientation changes at no branch point is let be
NEIGHBOURS = 0.1  # of arclength: points of another branch that are nearer to each other stand for one pass
RETURNED = 0.6  # of a step: so near to where it began, and in the same direction, a branch is closed
FEWEST = 5  # points before that may be

AT_THE_END, LEFT, CLOSED, LOST, TOO_LONG = (
    "end of the range",
    "left the bound",
    "closed",
    "no way on",
    "too many points",
)
UPRIGHT, HIDDEN = "a continuum", "no way on is told from a continuum"
ENOUGH, FIXED = 10, 1e-9  # a branch whose first points differ in p by less than that part of the range is upright
STRETCH = 1e-3  # of arclength: over less of a branch steps may be so short that p hardly changes


class Traced(NamedTuple):
    """The points of a branch in order, why there are no more, and points of other branches that it nearly meets."""

    points: list[Point]
    end: str
    passed: list[Vector]


class TracingLimits(NamedTuple):
    """Where a branch is followed: the parameter's range, abs(h_i), how many points, and by which steps at most."""

    lowest: float
    highest: float
    largest_state: float
    points: int
    longest_step: float


def follow(
    curve: SolutionCurve,
    start: Point,
    limits: TracingLimits,
    first_step: float = FIRST_STEP,
    origin: Vector | None = None,
) -> Traced:
    """The points after `start` in the direction of its tangent, `start` included.

    Parameters
    ----------
    curve : SolutionCurve
    start : Point
    limits : TracingLimits
    first_step : float
    origin : ndarray, optional
        Where the branch began, where that is not `start`: returning there closes it.

    Notes
    -----
    Where the orientation changes in a step there is a branch point, or another branch passes so near that the step has
    landed on it. Then the steps are shortened until they follow the branch around the corner.
    """
    points, step = [start], first_step
    passed: list[Vector] = []
    begin = start.z if origin is None else origin
    while len(points) < limits.points:
        here = points[-1]
        found = _next(curve, here, step)
        strays = found is not None and found.orientation != here.orientation
        if found is not None and strays and (not passed or np.linalg.norm(found.z - passed[-1]) > NEIGHBOURS):
            strays = _is_passed(curve, here, found)
            passed += [found.z] if strays else []
        if (found is None or strays) and step * SHRINK > FINEST:
            step *= SHRINK
            continue
        if found is None:
            found, step = _around_corner(curve, here), AFTER_CORNER
            if found is None:
                return Traced(points, LOST, passed)
        p = curve.parameter(found.z)
        if not limits.lowest <= p <= limits.highest:
            last = _landed(curve, here, found, limits.lowest if p < limits.lowest else limits.highest)
            return Traced(points + ([last] if last else []), AT_THE_END, passed)
        if np.abs(curve.unit * curve.state(found.z)).max() > limits.largest_state:
            return Traced(points, LEFT, passed)
        points.append(found)
        near = np.linalg.norm(found.z - begin) < RETURNED * step and _ahead(found, begin)
        if near and len(points) > FEWEST and (origin is not None or found.tangent @ start.tangent > STRAIGHT):
            return Traced(points, CLOSED, passed)
        longest = limits.longest_step * max(1.0, FAR * float(np.linalg.norm(found.z)))
        if origin is not None and len(points) == ENOUGH and _upright(curve, points, origin):
            return Traced(points, UPRIGHT, passed)
        if len(points) > ENOUGH and _hidden(curve, points[-ENOUGH:]):
            return Traced(points[:-ENOUGH], HIDDEN, passed)
        step = min(longest, step * GROW) if found.iterations <= EASY else step
    return Traced(points, TOO_LONG, passed)


def _ahead(found: Point, begin: Vector) -> bool:
    """Whether a point lies where the tangent points, or back: another turn of a wave may pass as near, and does not."""
    chord = begin - found.z
    length = float(np.linalg.norm(chord))
    return length <= CORNER_STEP or abs(float(chord @ found.tangent)) > STRAIGHT * length


def _is_passed(curve: SolutionCurve, here: Point, found: Point) -> bool:
    """Whether a step may have left the branch for another one that passes it, as no branch point lies between.

    Where no branch point is solved for and the step is short, more happens at once than one crossing: it is let be.
    """
    middle = 0.5 * (here.z + found.z)
    length = float(np.linalg.norm(found.z - here.z))
    refined = extended.refine(curve, extended.BRANCH_POINT, middle)
    if refined is None or not refined.converged or np.linalg.norm(refined.z - middle) > BESIDE * length:
        return length > UNCLEAR
    return refined.splits


def _upright(curve: SolutionCurve, points: list[Point], origin: Vector) -> bool:
    """Whether the parameter has not changed since a branch left another one: a continuum of solutions at one value."""
    parameters = [point.z[-1] for point in points] + [origin[-1]]
    return bool(np.ptp(parameters) <= FIXED)


def _hidden(curve: SolutionCurve, points: list[Point]) -> bool:
    """Whether rounding alone says where a branch goes: p stands still, and an eigenvalue is not told from the border.

    Beside a Jordan block the state may still move by 0.4 while p is within rounding of its last value.
    """
    told = [crossings.decided(point.eigenvalues, point.errors, curve.equation.is_map).all() for point in points]
    moves = np.linalg.norm(points[-1].z - points[0].z) > STRETCH
    return bool(moves) and not any(told) and _upright(curve, points, points[0].z)


def between(curve: SolutionCurve, left: Point, right: Point, part: float = 0.5) -> Point | None:
    """A point of the branch between two neighbouring ones."""
    chord = right.z - left.z
    length = float(np.linalg.norm(chord))
    row = chord / length
    # a cubic through both points and tangents, which the corrector then need not move far
    h1, h2 = part * (1 - part) ** 2, -(part**2) * (1 - part)
    slopes = [point.tangent / max(float(point.tangent @ row), STEEP) for point in (left, right)]
    bend = h1 * (slopes[0] - row) + h2 * (slopes[1] - row)
    corrected = curve.correct(left.z + part * chord + length * bend, row)
    return None if corrected is None else curve.point(*corrected, left)


def pinned(curve: SolutionCurve, state: Vector, p: float, upward: bool = True) -> Point | None:
    """The point at the parameter `p` near `state`, its tangent towards larger p, or smaller."""
    row = np.zeros(len(state) + 1)
    row[-1] = 1.0 if upward else -1.0
    corrected = curve.correct(curve.z(state, p), row)
    return None if corrected is None else curve.point(*corrected, row)


def _next(curve: SolutionCurve, here: Point, step: float) -> Point | None:
    guess = here.z + step * here.tangent
    corrected = curve.correct(guess, here.tangent)
    if corrected is None or np.linalg.norm(corrected[0] - guess) > OFF * step:
        return None
    found = curve.point(*corrected, here)
    if found is None or found.tangent @ here.tangent < STRAIGHT:
        return None
    return found if curve.equation.period == 1 or _moves_along(curve, here, found) else None


def _moves_along(curve: SolutionCurve, here: Point, found: Point) -> bool:
    """Whether every point of the orbit has moved as the tangent says: another orbit may be near in one of them."""
    before = curve.orbit(here.z)
    slope = (curve.orbit(here.z + NUDGE * here.tangent) - before) / NUDGE
    expected = slope * float((found.z - here.z) @ here.tangent)
    moved = curve.orbit(found.z) - before
    return bool(np.linalg.norm(moved - expected) <= ASTRAY * np.linalg.norm(expected))


def _around_corner(curve: SolutionCurve, here: Point) -> Point | None:
    """The point on the other side of a kink, where the branch goes on in another direction, which may be back in p.

    Beyond the kink the branch has the tangent that the Jacobian there gives; of its two directions one leads back over
    the kink, where it solves nothing.
    """
    beyond = here.z + JUMP * CORNER_STEP * here.tangent
    derivative = curve.linear(beyond)[0]
    if not np.isfinite(derivative).all():
        return None
    tangent = np.linalg.svd(derivative)[2][-1]
    for side in sorted((-1.0, 1.0), key=lambda side: -side * float(tangent @ here.tangent)):
        row = side * tangent
        guess = here.z + JUMP * CORNER_STEP * row
        corrected = curve.correct(guess, row)
        if corrected is None or np.linalg.norm(corrected[0] - guess) > JUMP * CORNER_STEP:
            continue
        found = curve.point(*corrected, here)
        if found is None:
            continue
        if found.tangent @ row < 0:
            found = found._replace(tangent=-found.tangent)
        if found.tangent @ row >= STRAIGHT and found.tangent @ here.tangent > -STRAIGHT:
            return found
    return None


def _landed(curve: SolutionCurve, inside: Point, outside: Point, p: float) -> Point | None:
    """The point where the branch leaves the range."""
    edge = p / curve.parameter_scale
    part = (edge - inside.z[-1]) / (outside.z[-1] - inside.z[-1])
    guess = inside.z + part * (outside.z - inside.z)
    guess[-1] = edge
    row = np.zeros(len(guess))
    row[-1] = 1.0
    corrected = curve.correct(guess, row)
    return None if corrected is None else curve.point(*corrected, inside)
