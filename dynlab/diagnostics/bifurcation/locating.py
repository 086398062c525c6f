"""The bifurcations between neighbouring solutions of a branch, each solved for as the root of an extended system."""

from typing import NamedTuple

import numpy as np

from dynlab.diagnostics.bifurcation import extended
from dynlab.diagnostics.bifurcation.branch_points import DEGENERATE
from dynlab.diagnostics.bifurcation.equation import SolutionCurve, Vector
from dynlab.diagnostics.bifurcation.extended import Refined
from dynlab.diagnostics.bifurcation.stability import SEVERAL, Solution, happened, may_return, solution
from dynlab.numerics import continuation

BORDER_COLLISION = "border collision"
PARTS = (0.4571, 0.6183)  # of an interval: a second part where the branch is not solved for at the first
SHORTEST = 1e-6  # of arclength: a shorter interval is not parted
AGAIN = 0.125  # of an interval in which nothing was solved for: in longer parts of it that is not tried anew
ASIDE, BEYOND = 0.6, 0.02  # of an interval's length: a root farther off its chord, or beyond its ends, is another one
SAME = 1e-8  # of arclength: what rounding may move a root by
NEAR, BESIDE = 5e-5, 10.0  # of arclength, and times an interval: in a shorter one a Jacobian that jumps has a kink
ROUNDED = 1e-8  # times ‖J‖: a smaller change is no jump
AT_ONCE = 1e-3  # of arclength: nearer to each other a fold and a branch point may be one pitchfork of a bent branch


class Found(NamedTuple):
    """A bifurcation between two solutions.

    Attributes
    ----------
    kind : str
        Of `extended`; "border collision" where the Jacobian jumps; "degenerate" where several things happen at once.
    z, tangent : ndarray, shape (n + 1,)
        Refined, or the middle of the last interval, and the tangent of the branch close by.
    refined : Refined or None
        None where no extended system has a regular root here.
    error : float
        Of the parameter: over the last interval where nothing is refined.
    """

    kind: str
    z: Vector
    tangent: Vector
    refined: Refined | None
    error: float


def between(curve: SolutionCurve, left: Solution, right: Solution) -> Solution | None:
    """Return a solution of the branch between two neighbouring ones."""
    points = (continuation.between(curve, _point(left), _point(right), part) for part in PARTS)
    found = next((each for each in points if each is not None), None)
    return None if found is None else solution(curve, found, left)


def denser(curve: SolutionCurve, solutions: list[Solution]) -> list[Solution]:
    """Return the solutions, and more of them where an eigenvalue may cross the border and come back between two."""
    inner = [_denser(curve, *solutions[number - 1 : number + 2]) for number in range(1, len(solutions) - 1)]
    return solutions[:1] + [one for some in inner for one in some] + solutions[1:][-1:]


def _denser(curve: SolutionCurve, before: Solution, one: Solution, after: Solution) -> list[Solution]:
    """Return what lies strictly between `before` and `after`."""
    is_map = curve.equation.is_map
    if _length(before, after) < SHORTEST or not may_return((before, one, after), is_map):
        return [one]
    left, right = between(curve, before, one), between(curve, one, after)
    if left is None or right is None:
        return [one]
    five = [before, left, one, right, after]
    middle = min((1, 2, 3), key=lambda number: float(np.abs(extended.beyond(five[number].eigenvalues, is_map)).min()))
    return five[1:middle] + _denser(curve, *five[middle - 1 : middle + 2]) + five[middle + 1 : 4]


def without_critical(solutions: list[Solution]) -> list[Solution]:
    """Return the solutions but those at a bifurcation itself, where no sign is decided; they are solved for anew."""
    sides = zip(solutions[:-2], solutions[1:-1], solutions[2:], strict=True)
    inner = [one for before, one, after in sides if not one.kind.undecided or not happened(before, after)]
    return solutions[:1] + inner + solutions[1:][-1:]


def touches(curve: SolutionCurve, before: Solution, one: Solution, after: Solution) -> list[Found]:
    """Return a degenerate point where an eigenvalue comes to the border of stability and goes back."""
    near = _length(before, after) < SHORTEST and may_return((before, one, after), curve.equation.is_map)
    if not near or happened(before, after):
        return []
    return [Found(DEGENERATE, one.z, one.tangent, None, curve.width * abs(float(after.z[-1] - before.z[-1])))]


def bifurcations(curve: SolutionCurve, left: Solution, right: Solution, tried: float = np.inf) -> list[Found]:
    """Return the bifurcations between two solutions, in their order.

    `tried` is the length of the last interval around this one in which nothing was solved for.
    """
    events = happened(left, right)
    if not events:
        return []
    length = _length(left, right)
    if events == [extended.BRANCH_POINT, extended.FOLD] and length < AT_ONCE:
        events = events[:1]
    if len(events) == 1 and events[0] != SEVERAL and length <= AGAIN * tried:
        tried = length
        refined = extended.refine(curve, events[0], 0.5 * (left.z + right.z))
        if refined is not None and not refined.splits and _inside(refined, left, right):
            kind = DEGENERATE if refined.degenerate else events[0]
            return [Found(kind, refined.z, left.tangent, None if refined.degenerate else refined, refined.error)]
    middle = between(curve, left, right) if length > SHORTEST else None
    if middle is not None:
        parts = bifurcations(curve, left, middle, tried) + bifurcations(curve, middle, right, tried)
        if parts:
            return parts
    steep = max(abs(left.tangent[-1]), abs(right.tangent[-1]))  # where p turns, it goes on beyond both ends
    error = curve.width * (abs(float(right.z[-1] - left.z[-1])) + float(steep) * length)
    kind = BORDER_COLLISION if length < NEAR and _jumps(curve, left.z, right.z) else DEGENERATE
    return [Found(kind, 0.5 * (left.z + right.z), left.tangent, None, error)]


def _jumps(curve: SolutionCurve, left: Vector, right: Vector) -> bool:
    """Return whether the Jacobian changes by more between two places than over stretches beside, `BESIDE` as long."""
    chord = BESIDE * (right - left)
    before, first, last, after = (curve.jacobian(z) for z in (left - chord, left, right, right + chord))
    beside = max(np.linalg.norm(first - before), np.linalg.norm(after - last), ROUNDED * np.linalg.norm(first))
    return bool(np.linalg.norm(last - first) > beside)


def _inside(refined: Refined, left: Solution, right: Solution) -> bool:
    chord, length = right.z - left.z, _length(left, right)
    offset = refined.z - left.z
    along = float(offset @ chord) / length
    aside = float(np.linalg.norm(offset - along * chord / length))
    slack = BEYOND * length + SAME
    return -slack <= along <= length + slack and aside <= ASIDE * length + SAME


def _length(left: Solution, right: Solution) -> float:
    return float(np.linalg.norm(right.z - left.z))


def _point(one: Solution) -> continuation.Point:
    return continuation.Point(one.z, one.tangent, one.orientation, one.iterations)
