"""Solutions on a branch with their eigenvalues, and the test functions that tell what happens between two of them."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.diagnostics.bifurcation.equation import SolutionCurve, Vector
from dynlab.diagnostics.bifurcation.extended import BRANCH_POINT, FLIP, FOLD, PAIR, beyond
from dynlab.numerics.continuation import Point
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.kinds import Kind, kind_of_flow, kind_of_map

SEVERAL = "several"
TINY = 1e-100  # a state of 0 is known as well as one of that size: beside a kink there the Jacobian is another
FARTHEST = 1e-3  # of arclength: the error of a state is at most taken to be that


class Solution(NamedTuple):
    """One solution on a branch.

    Attributes
    ----------
    z, tangent : ndarray, shape (n + 1,)
    orientation : float
        As in `dynlab.numerics.continuation.Point`.
    iterations : int
    residual : float
        ‖G‖₂.
    eigenvalues, errors : ndarray, shape (n,)
    kind : Kind
    flip : int
        The sign of det (J + 1) of a map; where its error does not tell that of the solution before, at first 0.
    unstable : int
        How many eigenvalues lie beyond the border of stability, in the same way, at first −1.
    bifurcation : int
        The number of the bifurcation that it is, or −1.
    """

    z: Vector
    tangent: Vector
    orientation: float
    iterations: int
    residual: float
    eigenvalues: NDArray[np.complex128]
    errors: Vector
    kind: Kind
    flip: int
    unstable: int
    bifurcation: int = -1


def solution(curve: SolutionCurve, point: Point, before: Solution | None = None, error: float = 0.0) -> Solution:
    """Return the solution at a point of a branch, which continues `before`.

    `error` is what its Jacobian is wrong by beside rounding and what the error of the state makes of it.
    """
    is_map, eps = curve.equation.is_map, float(np.finfo(np.float64).eps)
    residual = curve.residual(point.z)
    _, sigma, right = np.linalg.svd(np.vstack([curve.derivative(point.z), point.tangent]))
    state, p = curve.tensors(point.z)
    known = max(float(np.linalg.norm(residual)), eps * max(TINY, float(state.norm())))
    away = torch.from_numpy(right[-1][:-1] * curve.scale * min(known / max(sigma[-1], eps), FARTHEST))
    matrix, *beside = curve.equation.jacobian(torch.stack([state, state + away, state - away]), p).numpy()
    size = float(np.linalg.norm(matrix))
    error += (
        max(float(np.linalg.norm(each - matrix)) for each in beside) + curve.equation.period * len(matrix) * eps * size
    )
    values, errors, _ = eigenvalues(matrix, error)
    kind = (kind_of_map if is_map else kind_of_flow)(values, errors)
    sign = (
        0
        if not is_map or (np.abs(values + 1) <= errors).any()
        else 1 - 2 * int(((values.imag == 0) & (values.real < -1)).sum() % 2)
    )
    return Solution(
        point.z,
        point.tangent,
        point.orientation,
        point.iterations,
        float(np.linalg.norm(residual)),
        values,
        errors,
        kind,
        sign or (before.flip if before else 0),
        kind.unstable if not kind.undecided else before.unstable if before else -1,
    )


def happened(left: Solution, right: Solution) -> list[str]:
    """Return the bifurcations between two solutions: folds, branch points, flips, pairs that cross, or several at once.

    A fold turns p around, a branch point changes the orientation, a flip det (J + 1). Where more or fewer eigenvalues
    have crossed the border of stability than these explain, by two, a complex pair has.
    """
    turns, meets = bool(left.tangent[-1] * right.tangent[-1] < 0), left.orientation != right.orientation
    flips = left.flip * right.flip < 0
    found = [BRANCH_POINT] * meets + [FOLD] * turns + [FLIP] * flips
    if min(left.unstable, right.unstable) >= 0:
        rest = abs(right.unstable - left.unstable) - (turns != meets) - flips
        found += [PAIR] * (abs(rest) == 2) + [SEVERAL] * (abs(rest) not in (0, 2))
    return found


def nearest(one: Solution, is_map: bool) -> float:
    """Return how far the eigenvalue nearest to the border of stability lies beyond it, 0 within its error."""
    excess = beyond(one.eigenvalues, is_map)
    first = int(np.abs(excess).argmin())
    return float(excess[first]) if abs(excess[first]) > one.errors[first] else 0.0


def may_return(three: tuple[Solution, Solution, Solution], is_map: bool) -> bool:
    """Return whether the eigenvalue nearest to the border may cross it and come back between the outer two of three.

    So it may where it is nearest in the middle, on one side of it at all three, and the parabola through them gets
    across or nearly so.
    """
    at = [nearest(one, is_map) for one in three]
    if not at[0] * at[2] > 0 or not (0 <= at[1] / at[0] < 1 and 0 <= at[1] / at[2] <= 1):
        return False
    left, right = (float(np.linalg.norm(one.z - three[1].z)) for one in (three[0], three[2]))
    slope = ((at[2] - at[1]) * left / right + (at[1] - at[0]) * right / left) / (left + right)
    bend = ((at[2] - at[1]) / right + (at[0] - at[1]) / left) / (left + right)
    lowest = at[1] - slope**2 / (4 * bend) if bend else at[1]
    return bool(lowest * np.sign(at[0]) < NEARLY * max(abs(at[0]), abs(at[2])))


NEARLY = 0.2  # times how far an eigenvalue is from the border at the sides: what may come nearer is looked at closer
