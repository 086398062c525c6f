"""Bifurcation points between neighbouring points of a branch, found by the eigenvalues that cross and refined."""

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynlab.diagnostics.bifurcation import crossings, extended, tracing
from dynlab.diagnostics.bifurcation.crossings import Crossing
from dynlab.diagnostics.bifurcation.curve import Curve, Point
from dynlab.diagnostics.bifurcation.extended import Refined

BORDER_COLLISION, DEGENERATE = "border collision", "degenerate"
SHORTEST = 1e-5  # of arclength: a shorter interval is halved no more; across a kink points are 5e-6 apart
JUMPS = 1e-2  # times max(1, |λ|): an eigenvalue that changes by more than that over such an interval does so at a kink
ASIDE = 0.6  # of the interval's length: a root farther off the chord belongs to something else
BEYOND = 0.02  # of it: and so does one beyond its ends


class Found(NamedTuple):
    """A bifurcation between two points of a branch.

    Attributes
    ----------
    after : int
        The number of the point that it comes after.
    kind : str
        Of `extended`; "border collision" where eigenvalues jump at a kink of the activation; "degenerate" where several
        cross at once.
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


def along(curve: Curve, points: list[Point]) -> list[Found]:
    """Every bifurcation on these points, in their order."""
    found = []
    for number, (left, right) in enumerate(itertools.pairwise(points)):
        found += [one._replace(after=number) for one in _between(curve, left, right)]
    return found


def _between(curve: Curve, left: Point, right: Point) -> list[Found]:
    sides = [(point.eigenvalues, point.signs, float(point.tangent[-1])) for point in (left, right)]
    crossing = crossings.between(sides[0], sides[1], curve.equation.is_map)
    if crossing is None:
        return []
    length = float(np.linalg.norm(right.z - left.z))
    width = abs(curve.parameter(right.z) - curve.parameter(left.z))
    middle = tracing.between(curve, left, right) if length > SHORTEST else None
    guess = 0.5 * (left.z + right.z) if middle is None else middle.z
    if crossing.what != crossings.SEVERAL:
        for kind in _kinds(crossing):
            refined = extended.refine(curve, kind, guess)
            if refined is not None and refined.converged and _inside(refined, left, right):
                if kind == extended.PAIR and not refined.turns:
                    return [Found(0, DEGENERATE, crossing, None, refined.z, left.tangent, refined.parameter_error)]
                return [Found(0, kind, crossing, refined, refined.z, left.tangent, width)]
    if middle is None:
        kind = BORDER_COLLISION if _jumps(left, right) else DEGENERATE
        return [Found(0, kind, crossing, None, guess, left.tangent, width)]
    parts = _between(curve, left, middle) + _between(curve, middle, right)
    # where the middle's own signs are not decided the halves may show nothing: then it lies there
    return parts or [Found(0, DEGENERATE, crossing, None, middle.z, middle.tangent, width)]


def _jumps(left: Point, right: Point) -> bool:
    change = crossings.change(left.eigenvalues, right.eigenvalues)
    return bool(change > JUMPS * max(1.0, float(np.abs(left.eigenvalues).max())))


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
