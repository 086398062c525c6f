"""The largest set |T (h − h*)| ≤ r that is proved to contract: found by trying radii, each proved in ball arithmetic.

A box around the set encloses the Jacobian; where one norm of it stays below 1 (of a flow: one logarithmic norm below
0), then by the mean value theorem F(h) − h* = ∫ J(h* + s x) ds x, x = h − h*, is shorter than x in that norm.
"""

from typing import NamedTuple

import numpy as np
from flint import arb, ctx

from dynlab.numerics.arrays import Real
from dynlab.program import Program
from dynlab.proofs.balls import NonSmooth, exact_matrix
from dynlab.proofs.certify import above
from dynlab.proofs.common_norm import proved_bound
from dynlab.proofs.structured import jacobian_over_box

PRECISION = 64  # bits
SMALLEST, LARGEST = 2.0**-30, 2.0**30  # in units of the first radius that is tried
CLOSE = 1.03  # the ratio of a radius that fails to one that is proved, at which the search ends


class LevelSet(NamedTuple):
    """What is proved.

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
        Of the map F, or of the flow's velocity.
    center : ndarray, shape (n,)
    uncertainty : float
        How far h* may be from `center` in any coordinate.
    weights : ndarray, shape (n, n)
        T.
    first : float
        The radius that is tried first.
    logarithmic : bool
        Of a flow.
    """
    most = 0.0 if logarithmic else 1.0
    with ctx.workprec(PRECISION):
        reach = _reach(weights)

        def rate(radius: float) -> float:
            box = [
                arb(float(c), above(arb(radius) * far + arb(uncertainty))) for c, far in zip(center, reach, strict=True)
            ]
            try:
                found = proved_bound(jacobian_over_box(program, box)[1], weights, logarithmic)
            except NonSmooth:  # not even continuous over all of the box
                return np.inf
            return found if np.isfinite(found) else np.inf

        good, bad, tried = (0.0, most), np.inf, 0
        radius = first
        while first * SMALLEST <= radius <= first * LARGEST and bad > CLOSE * good[0]:
            found = rate(radius)
            tried += 1
            if found < most:
                good = (radius, found)
            else:
                bad = radius
            # by factors of 4 until both are known, then halfway
            radius = (good[0] * bad) ** 0.5 if good[0] and np.isfinite(bad) else radius * 4 if good[0] else radius / 4
    return LevelSet(good[0], good[1] if good[0] else np.nan, tried)


def _reach(weights: Real) -> list[arb]:
    """How far the set |T x| ≤ 1 reaches in each coordinate: the lengths of the rows of T⁻¹."""
    inverse = exact_matrix(weights).inv()
    return [sum((entry * entry for entry in row), arb(0)).sqrt().upper() for row in inverse.tolist()]
