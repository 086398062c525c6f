"""The largest set |T (h − h*)| ≤ r that is proved to contract: sought in floating point, proved in ball arithmetic.

A box around the set encloses the Jacobian; where one norm of it stays below 1 (of a flow: one logarithmic norm below
0), then by the mean value theorem F(h) − h* = ∫ J(h* + s x) ds x, x = h − h*, is shorter than x in that norm.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from flint import arb, ctx

from dynlab.numerics.arrays import Real
from dynlab.program import Program
from dynlab.program.enclosure import NonSmooth, Structured, exact_matrix, jacobian_over_box
from dynlab.proofs.certify import above
from dynlab.proofs.common_norm import estimated_bound, proved_bound

PRECISION = 64  # bits
SMALLEST, LARGEST = 2.0**-30, 2.0**30  # in units of the first radius that is tried
GROWTH = 8.0  # from one radius to the next, until one fails and one does not; then the interval is halved
CLOSE = 1.03  # the ratio of a radius that fails to one that does not, at which the search ends
WITHDRAWALS = 4  # smaller radii, each by that ratio, where the proof does not follow the estimate


class LevelSet(NamedTuple):
    """A proved set.

    Attributes
    ----------
    radius : float
        r; 0 where none was proved.
    rate : float
        A bound on |T (F(h) − h*)|/|T (h − h*)| over the set, or of a flow on the rate of ln |T (h − h*)| in 1/s; NaN
        where none was proved.
    tried : int
        Radii.
    """

    radius: float
    rate: float
    tried: int


def proved_level_set(
    program: Program, center: Real, uncertainty: float, weights: Real, first: float, logarithmic: bool
) -> LevelSet:
    """Search the largest radius.

    Parameters
    ----------
    program : Program
        Program of the map F, or of the flow's velocity.
    center : ndarray, shape (n,)
    uncertainty : float
        Distance in any coordinate up to which h* may be from `center`.
    weights : ndarray, shape (n, n)
        T.
    first : float
        The radius that is tried first.
    logarithmic : bool
        Use the logarithmic norm, for a flow.
    """
    most = 0.0 if logarithmic else 1.0
    with ctx.workprec(PRECISION):
        reach = _reach(weights)

        def over(radius: float, bound: Callable[[Structured, Real, bool], float]) -> float:
            box = [
                arb(float(c), above(arb(radius) * far + arb(uncertainty))) for c, far in zip(center, reach, strict=True)
            ]
            try:
                found = bound(jacobian_over_box(program, box)[1], weights, logarithmic)
            except NonSmooth:  # not even continuous over all of the box
                return np.inf
            return found if np.isfinite(found) else np.inf

        good, bad, radius, tried = 0.0, np.inf, first, 0
        holds_at_point = over(0.0, estimated_bound) < most
        while holds_at_point and bad > CLOSE * good and first * SMALLEST <= radius <= first * LARGEST:
            tried += 1
            if over(radius, estimated_bound) < most:
                good = radius
            else:
                bad = radius
            radius = good * GROWTH if np.isinf(bad) else (good * bad) ** 0.5 if good else bad / GROWTH
        for withdrawn in good / CLOSE ** np.arange(WITHDRAWALS if good else 0):
            rate = over(float(withdrawn), proved_bound)
            if rate < most:
                return LevelSet(float(withdrawn), rate, tried + 1)
    return LevelSet(0.0, np.nan, tried)


def _reach(weights: Real) -> list[arb]:
    """Return the reach of the set |T x| ≤ 1 in each coordinate: the lengths of the rows of T⁻¹."""
    inverse = exact_matrix(weights).inv()
    return [sum((entry * entry for entry in row), arb(0)).sqrt().upper() for row in inverse.tolist()]
