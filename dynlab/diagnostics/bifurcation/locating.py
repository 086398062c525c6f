"""Bifurcation points between neighbouring points of a branch, found by the eigenvalues that cross and refined."""

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynlab.diagnostics.bifurcation import crossings, extended, switching, tracing
from dynlab.diagnostics.bifurcation.crossings import Crossing
from dynlab.diagnostics.bifurcation.curve import Point, SolutionCurve
from dynlab.diagnostics.bifurcation.extended import Refined

BORDER_COLLISION = "border collision"
TOUCHING = 1e-7  # of arclength: between points so near no eigenvalue is looked for that crosses and comes back
NEARLY = (
    0.2  # times how far an eigenvalue is from the border beside: where it may come nearer than that, one looks closer
)
APART = 0.1  # of arclength: over a longer stretch an eigenvalue may lie on the border, as where areas are kept
SHORTEST = 1e-5  # of arclength: a shorter interval is halved no more; across a kink points are 5e-6 apart
FINER = 1e-9  # the same where several eigenvalues cross: they may do so one after another
COMPANY = 10.0  # times as far from the border of stability as the eigenvalue that crosses it
SHRINKS = 0.95  # an interval at least, where it is parted
AGAIN = 0.125  # of an interval in which nothing was solved for: in longer parts of it that is not tried anew
JUMPS = 1e-2  # times max(1, ‖J‖): a Jacobian that changes by more than that however short the interval has a kink
HALVINGS = 40  # of an interval, in search of a kink: to 1e-12 of its length
PARTS = (0.5, 0.375)  # of an interval: where its middle cannot be solved for, as at an identity, a point beside it can
ASIDE = 0.6  # of the interval's length: a root farther off the chord belongs to something else
BEYOND = 0.02  # of it: and so does one beyond its ends


class Found(NamedTuple):
    """A bifurcation between two points of a branch.

    Attributes
    ----------
    after : int
        The number of the point that it comes after.
    kind : str
        Of `extended`; "border collision" where eigenvalues jump at a kink of the activation; where nothing is solved
        for, or the Jacobian's rank deficiency is 2, "degenerate", and of a single real eigenvalue at 1 "undecided: a
        branch point or a fold nearby".
    crossing : Crossing
    refined : Refined or None
        None where no extended system has a root here.
    z : ndarray, shape (n + 1,)
        Refined, or the middle of the last interval.
    tangent : ndarray, shape (n + 1,)
        Of the branch close by.
    width : float
        How well p is known where `refined` is None: over the last interval, or by the bound where a pair was solved for
        that turned out not to turn.
    """

    after: int
    kind: str
    crossing: Crossing
    refined: Refined | None
    z: NDArray[np.float64]
    tangent: NDArray[np.float64]
    width: float


def closer(curve: SolutionCurve, points: list[Point]) -> list[Point]:
    """The points, and more of them where an eigenvalue may cross the border and come back between two of them."""
    inner = [_closer(curve, *points[number - 1 : number + 2]) for number in range(1, len(points) - 1)]
    return points[:1] + list(itertools.chain.from_iterable(inner)) + points[1:][-1:]


def _closer(curve: SolutionCurve, before: Point, point: Point, after: Point) -> list[Point]:
    """What lies strictly between `before` and `after`."""
    if not _returns(curve, (before, point, after)) or np.linalg.norm(after.z - before.z) < TOUCHING:
        return [point]
    left, right = tracing.between(curve, before, point), tracing.between(curve, point, after)
    if left is None or right is None:
        return [point]
    five = [before, left, point, right, after]
    nearest = min((1, 2, 3), key=lambda number: abs(_nearest(curve, five[number])))
    return five[1:nearest] + _closer(curve, *five[nearest - 1 : nearest + 2]) + five[nearest + 1 : 4]


def _returns(curve: SolutionCurve, three: tuple[Point, Point, Point]) -> bool:
    """Whether the eigenvalue nearest to the border may cross it twice between the first and the last of three points.

    So it may where it is nearest in the middle, on one side of it at all three, and the parabola through them gets
    across or nearly so.
    """
    at = [_nearest(curve, point) for point in three]
    if not (0 < at[1] / at[0] < 1 and 0 < at[1] / at[2] <= 1):
        return False
    left, right = (float(np.linalg.norm(one.z - three[1].z)) for one in (three[0], three[2]))
    slope = ((at[2] - at[1]) * left / right + (at[1] - at[0]) * right / left) / (left + right)
    bend = ((at[2] - at[1]) / right + (at[0] - at[1]) / left) / (left + right)
    lowest = at[1] - slope**2 / (4 * bend) if bend else at[1]
    return bool(lowest * np.sign(at[1]) < NEARLY * max(abs(at[0]), abs(at[2])))


def _nearest(curve: SolutionCurve, point: Point) -> float:
    """How far the eigenvalue nearest to the border of stability is beyond it; NaN where its error does not tell."""
    excess = crossings.beyond(point.eigenvalues, curve.equation.is_map)
    nearest = int(np.abs(excess).argmin())
    return float(excess[nearest]) if abs(excess[nearest]) > point.errors[nearest] else np.nan


def along(curve: SolutionCurve, points: list[Point]) -> tuple[list[Point], list[Found]]:
    """The points, and every bifurcation on them, in their order; one more point between two where none is decided.

    Where an eigenvalue touches the border of stability, branches may meet, or one of them turn: that is degenerate.
    """
    passed: list[Point] = points[:1]
    found: list[Found] = []
    decided = True  # whether there is a decided point after the last bifurcation
    touching = _touching(curve, points)
    for number, (left, right) in enumerate(itertools.pairwise(points)):
        if number in touching:
            found.append(touching[number]._replace(after=len(passed) - 1))
        for one in _between(curve, left, right):
            beside = None if decided else _halfway(curve, found[-1].z, one.z, left)
            passed += [beside] if beside else []
            found.append(one._replace(after=len(passed) - 1))
            decided = False
        passed.append(right)
        decided = decided or right.kind.stable >= 0
    return passed, found


def _touching(curve: SolutionCurve, points: list[Point]) -> dict[int, Found]:
    """Where an eigenvalue comes up to the border of stability, as far as it is told, and goes back: after which point.

    So it does where `closer` still found that it may cross twice, and at points where its error does not tell, between
    two at which it is on the same side.
    """
    off = np.array([_nearest(curve, point) for point in points])
    found: dict[int, Found] = {}
    numbers = np.flatnonzero(np.isfinite(off))
    for before, after in itertools.pairwise(numbers.tolist()):
        length = float(np.linalg.norm(points[after].z - points[before].z))
        if after > before + 1 and off[before] * off[after] > 0 and length < APART:
            found[(before + after) // 2] = _touch(curve, points, before, after)
    for number in range(1, len(points) - 1):
        three = (points[number - 1], points[number], points[number + 1])
        if np.linalg.norm(three[2].z - three[0].z) < SHORTEST and _returns(curve, three):
            found[number] = _touch(curve, points, number - 1, number + 1)
    return {
        number: one
        for number, one in found.items()
        if crossings.between(*_sides(points[number - 1], points[number + 1]), curve.equation.is_map) is None
    }


def _touch(curve: SolutionCurve, points: list[Point], before: int, after: int) -> Found:
    middle = points[(before + after) // 2]
    width = abs(curve.parameter(points[after].z) - curve.parameter(points[before].z))
    nothing = Crossing(crossings.SEVERAL, False, 0)
    return Found(0, switching.DEGENERATE, nothing, None, middle.z, middle.tangent, width)


def _sides(left: Point, right: Point) -> tuple[crossings.Side, crossings.Side]:
    """What `crossings.between` compares."""
    first, second = ((point.eigenvalues, point.signs, float(point.tangent[-1])) for point in (left, right))
    return first, second


def _halfway(
    curve: SolutionCurve, first: NDArray[np.float64], second: NDArray[np.float64], before: Point
) -> Point | None:
    """A decided point of the branch between two bifurcations, none where they are too near to each other."""
    length = float(np.linalg.norm(second - first))
    if length == 0:
        return None
    corrected = curve.correct(0.5 * (first + second), (second - first) / length)
    found = None if corrected is None else curve.point(*corrected, before)
    return found if found is not None and found.kind.stable >= 0 else None


def _between(curve: SolutionCurve, left: Point, right: Point, tried: float = np.inf) -> list[Found]:
    """`tried` is the length of the last interval around this one in which nothing was solved for."""
    crossing = crossings.between(*_sides(left, right), curve.equation.is_map)
    if crossing is None:
        return []
    length = float(np.linalg.norm(right.z - left.z))
    steep = max(abs(left.tangent[-1]), abs(right.tangent[-1]))  # where p turns, it goes on beyond both
    width = abs(curve.parameter(right.z) - curve.parameter(left.z)) + curve.parameter_scale * float(steep) * length
    several = crossing.what == crossings.SEVERAL
    middles = (tracing.between(curve, left, right, part) for part in PARTS if length > (FINER if several else SHORTEST))
    most = _untold(curve, right) if several else len(right.signs)  # beyond where rounding hides several they are told
    middle = next(
        (each for each in middles if each and _untold(curve, each) <= most and _parts(left, each, right)), None
    )
    guess = 0.5 * (left.z + right.z) if middle is None else middle.z
    if not several and length <= AGAIN * tried:
        tried = length
        for kind in _kinds(crossing):
            refined = extended.refine(curve, kind, guess)
            if refined is not None and refined.converged and not refined.splits and _inside(refined, left, right):
                if refined.degenerate or (kind == extended.PAIR and not refined.turns):
                    error = refined.parameter_error + curve.parameter_scale * refined.beside
                    return [Found(0, switching.DEGENERATE, crossing, None, refined.z, left.tangent, error)]
                return [Found(0, kind, crossing, refined, refined.z, left.tangent, width)]
    alone = crossing.what == crossings.FOLD_OR_BRANCH and not _company(curve, left, right)
    unsolved = switching.UNDECIDED if alone else switching.DEGENERATE
    if middle is None:
        kind = BORDER_COLLISION if jumps(curve, left.z, right.z) else unsolved
        return [Found(0, kind, crossing, None, guess, left.tangent, width)]
    parts = _between(curve, left, middle, tried) + _between(curve, middle, right, tried)
    # where the middle's own signs are not decided the halves may show nothing: then it lies there
    return parts or [Found(0, unsolved, crossing, None, middle.z, middle.tangent, width)]


def _parts(left: Point, middle: Point, right: Point) -> bool:
    """Whether a point parts an interval: a correction may lead to one of its ends."""
    length = SHRINKS * float(np.linalg.norm(right.z - left.z))
    return bool(np.linalg.norm(middle.z - left.z) < length and np.linalg.norm(right.z - middle.z) < length)


def _company(curve: SolutionCurve, left: Point, right: Point) -> bool:
    """Whether a second eigenvalue comes about as near to the border of stability as the one that crosses it."""
    ends = [np.sort(np.abs(crossings.beyond(end.eigenvalues, curve.equation.is_map))) for end in (left, right)]
    nearest = np.minimum(*ends)
    return len(nearest) > 1 and bool(nearest[1] <= COMPANY * max(ends[0][0], ends[1][0]))


def _untold(curve: SolutionCurve, point: Point) -> int:
    """How many eigenvalues are within their own errors of the border of stability."""
    return int((crossings.decided(point.eigenvalues, point.errors, curve.equation.is_map) == 0).sum())


def jumps(curve: SolutionCurve, left: NDArray[np.float64], right: NDArray[np.float64]) -> bool:
    """Whether the Jacobian jumps on the chord: a smooth one changes ever less over the half where it changes more."""
    first, last = curve.linear(left)[1], curve.linear(right)[1]
    least = JUMPS * max(1.0, float(np.linalg.norm(first)))
    for _ in range(HALVINGS):
        if not np.linalg.norm(last - first) > least:
            return False
        middle = 0.5 * (left + right)
        matrix = curve.linear(middle)[1]
        if np.linalg.norm(matrix - first) > np.linalg.norm(last - matrix):
            right, last = middle, matrix
        else:
            left, first = middle, matrix
    return True


def _kinds(crossing: Crossing) -> tuple[str, ...]:
    if crossing.what == crossings.FLIP:
        return (extended.FLIP,)
    if crossing.what == crossings.PAIR:
        return (extended.PAIR,)
    if crossing.turns and crossing.eigenvalues:
        return (extended.FOLD,)
    return (extended.BRANCH_POINT, extended.FOLD) if crossing.turns else (extended.BRANCH_POINT,)


def _inside(refined: Refined, left: Point, right: Point) -> bool:
    chord = right.z - left.z
    length = float(np.linalg.norm(chord))
    offset = refined.z - left.z
    along_chord = float(offset @ chord) / length
    aside = float(np.linalg.norm(offset - along_chord * chord / length))
    slack = BEYOND * length + extended.TOLERANCE
    return -slack <= along_chord <= length + slack and aside <= ASIDE * length + extended.TOLERANCE
