"""Solutions on a branch with their eigenvalues, and the bifurcations between two of them as roots."""

from typing import NamedTuple

import numpy as np

from dynlab.diagnostics.bifurcation import extended
from dynlab.diagnostics.bifurcation.equation import SolutionCurve, Vector, Vectors
from dynlab.diagnostics.bifurcation.extended import BRANCH_POINT, DEGENERATE, FLIP, FOLD, PAIR, Coefficient, Refined
from dynlab.numerics import continuation
from dynlab.numerics.continuation import Point
from dynlab.numerics.kinds import Kind, kind_of

SEVERAL = "several"
TINY = 1e-100  # a state of 0 is known as well as one of that size: beside a kink there the Jacobian is another
FARTHEST = 1e-3  # of arclength: the error of a state is at most taken to be that
SURE = 2.0  # times the first-order estimate of the error of a state: where a kink lies within, its slopes differ
BORDER_COLLISION = "border collision"
PARTS = (0.4571, 0.6183)  # of an interval: a second part where the branch is not solved for at the first
SHORTEST = 1e-6  # of arclength: a shorter interval is not parted
AGAIN = 0.125  # of an interval in which nothing was solved for: in longer parts of it that is not tried anew
ASIDE, BEYOND = 0.6, 0.02  # of an interval's length: a root farther off its chord, or beyond its ends, is another one
SAME = 1e-8  # of arclength: what rounding may move a root by
BESIDE = 10.0  # times an interval: a Jacobian that jumps changes less over that
ROUNDED = 1e-8  # times ‖J‖: a smaller change is no jump
AT_ONCE = 1e-3  # of arclength: nearer to each other a fold and a branch point may be one pitchfork of a bent branch


class Solution(NamedTuple):
    """One solution on a branch.

    Attributes
    ----------
    point : Point
    residual : float
        ‖G‖₂ in the units of the state.
    eigenvalues, errors : ndarray, shape (n,)
    kind : Kind
    flip : int
        The sign of det (J + 1) of a map; where its error does not tell that of the solution before, at first 0.
    unstable : int
        Number of eigenvalues beyond the border of stability, in the same way, at first −1.
    bifurcation : int
        The number of the bifurcation that it is, or −1.
    """

    point: Point
    residual: float
    eigenvalues: Vectors
    errors: Vector
    kind: Kind
    flip: int
    unstable: int
    bifurcation: int = -1

    @property
    def z(self) -> Vector:
        """Return the point's coordinates, shape (n + 1,)."""
        return self.point.z


class Bifurcation(NamedTuple):
    """A bifurcation.

    Attributes
    ----------
    kind : str
        Between two solutions of `extended`; "border collision" where the Jacobian jumps; "degenerate" where several
        things happen at once.
    z, tangent : ndarray, shape (n + 1,)
        Refined, or the middle of the last interval, and the tangent of the branch close by.
    refined : Refined or None
        None where no extended system has a regular root here.
    error : float
        Error of the parameter: over the last interval where nothing is refined.
    period, branch : int
        The period, and the number, of the branch on which it was found first.
    coefficient : Coefficient or None
        The cubic one of its normal form.
    """

    kind: str
    z: Vector
    tangent: Vector
    refined: Refined | None
    error: float
    period: int = 1
    branch: int = -1
    coefficient: Coefficient | None = None


def solution(curve: SolutionCurve, point: Point, before: Solution | None = None, error: float = 0.0) -> Solution:
    """Return the solution at a point of a branch, which continues `before`.

    `error` is what its Jacobian is wrong by beside rounding and what the error of the state makes of it.
    """
    eps, n, value = float(np.finfo(np.float64).eps), len(curve.scale), curve.residual(point.z)
    known = SURE * max(float(np.linalg.norm(value)), eps * max(TINY, float(np.linalg.norm(point.z[:-1]))))
    _, sigma, right = np.linalg.svd(np.vstack([curve.derivative(point.z), point.tangent]))
    weakest = right[-1][:-1] * min(known / max(sigma[-1], eps), FARTHEST)
    values, errors = curve.spectrum(point.z, np.stack([weakest, np.linspace(1, 2, n) * min(known, FARTHEST)]), error)
    kind = kind_of(values, errors, not curve.is_map)
    flip, unstable = (before.flip, before.unstable) if before else (0, -1)
    if curve.is_map and (np.abs(values + 1) > errors).all():
        flip = 1 - 2 * int(((values.imag == 0) & (values.real < -1)).sum() % 2)
    unstable = unstable if kind.undecided else kind.unstable
    return Solution(point, float(np.linalg.norm(value * curve.scale)), values, errors, kind, flip, unstable)


def happened(left: Solution, right: Solution) -> list[str]:
    """Return the bifurcations between two solutions: folds, branch points, flips, pairs that cross, or several at once.

    A fold turns p around, a branch point changes the orientation, a flip det (J + 1). Where more or fewer eigenvalues
    have crossed the border of stability than these explain, by two, a complex pair has.
    """
    one, other = left.point, right.point
    turns, meets = bool(one.tangent[-1] * other.tangent[-1] < 0), one.orientation != other.orientation
    flips = left.flip * right.flip < 0
    found = [BRANCH_POINT] * meets + [FOLD] * turns + [FLIP] * flips
    if min(left.unstable, right.unstable) >= 0:
        rest = abs(right.unstable - left.unstable) - (turns != meets) - flips
        found += [PAIR] * (abs(rest) == 2) + [SEVERAL] * (abs(rest) not in (0, 2))
    return found


def without_critical(solutions: list[Solution]) -> list[Solution]:
    """Return the solutions but those at a bifurcation itself, where no sign is decided; they are solved for anew."""
    sides = zip(solutions[:-2], solutions[1:-1], solutions[2:], strict=True)
    inner = [one for before, one, after in sides if not one.kind.undecided or not happened(before, after)]
    return solutions[:1] + inner + solutions[1:][-1:]


def between(
    curve: SolutionCurve, left: Solution, right: Solution, tried: float = np.inf
) -> list[Bifurcation | Solution]:
    """Return the bifurcations between two solutions in their order, with a solution between each two of them.

    `tried` is the length of the last interval around this one in which nothing was solved for.
    """
    events, length = happened(left, right), float(np.linalg.norm(right.z - left.z))
    if not events:
        return []
    if events == [BRANCH_POINT, FOLD] and length < AT_ONCE:
        events = events[:1]
    if len(events) == 1 and events[0] != SEVERAL and length <= AGAIN * tried:
        tried = length
        refined = extended.refine(curve, events[0], 0.5 * (left.z + right.z))
        if refined is not None and not refined.splits and _inside(refined.z - left.z, right.z - left.z):
            kind, root = (DEGENERATE, None) if refined.degenerate else (events[0], refined)
            return [Bifurcation(kind, refined.z, left.point.tangent, root, refined.error)]
    points = (continuation.between(curve, left.point, right.point, part) for part in PARTS if length > SHORTEST)
    found = next((each for each in points if each is not None), None)
    if found is not None:
        middle = solution(curve, found, left)
        parts = between(curve, left, middle, tried), between(curve, middle, right, tried)
        if any(parts):
            return [*parts[0], *([middle] if all(parts) else []), *parts[1]]
    steep = max(abs(one.point.tangent[-1]) for one in (left, right))  # where p turns, it goes on beyond both ends
    error = curve.width * (abs(float(right.z[-1] - left.z[-1])) + float(steep) * length)
    kind = BORDER_COLLISION if _jumps(curve, left.z, right.z) else DEGENERATE
    return [Bifurcation(kind, 0.5 * (left.z + right.z), left.point.tangent, None, error)]


def _jumps(curve: SolutionCurve, left: Vector, right: Vector) -> bool:
    """Return whether the Jacobian changes by more between two places than over stretches beside, `BESIDE` as long."""
    chord = BESIDE * (right - left)
    before, first, last, after = (curve.jacobian(z) for z in (left - chord, left, right, right + chord))
    beside = max(np.linalg.norm(first - before), np.linalg.norm(after - last), ROUNDED * np.linalg.norm(first))
    return bool(np.linalg.norm(last - first) > beside)


def _inside(offset: Vector, chord: Vector) -> bool:
    """Return whether a root, `offset` from the beginning of an interval, belongs to it."""
    length = float(np.linalg.norm(chord))
    along = float(offset @ chord) / length
    aside = float(np.linalg.norm(offset - along * chord / length))
    slack = BEYOND * length + SAME
    return -slack <= along <= length + slack and aside <= ASIDE * length + SAME
