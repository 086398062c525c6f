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
from dynlab.program.enclosure import NonSmooth, exact_matrix
from dynlab.progress import through
from dynlab.proofs.certify import above
from dynlab.proofs.common_norm import estimated_bound, proved_bound
from dynlab.proofs.structured import Structured, jacobian_over_box

PRECISION = 64  # bits
SMALLEST, LARGEST = 2.0**-30, 2.0**30  # in units of the first radius that is tried
MOST_TRIES = 40
SURE = 4  # every so many tries the interval is halved: the bound may be no straight line
CLOSE = 1.03  # the ratio of a radius that fails to one that does not, at which the search ends
WITHDRAWALS = 4  # smaller radii, each by that ratio, where the proof does not follow the estimate


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

        def over(radius: float, bound: Callable[[Structured, Real, bool], float]) -> float:
            box = [
                arb(float(c), above(arb(radius) * far + arb(uncertainty))) for c, far in zip(center, reach, strict=True)
            ]
            try:
                found = bound(jacobian_over_box(program, box)[1], weights, logarithmic)
            except NonSmooth:  # not even continuous over all of the box
                return np.inf
            return found if np.isfinite(found) else np.inf

        bracket, radius = Bracket(most, over(0.0, estimated_bound)), first
        for _ in through(range(MOST_TRIES)):
            hopeless = not bracket.at_point < most
            if hopeless or not bracket.is_wide or not first * SMALLEST <= radius <= first * LARGEST:
                break
            bracket.add(radius, over(radius, estimated_bound))
            radius = bracket.next()
        for radius in bracket.good / CLOSE ** np.arange(WITHDRAWALS if bracket.good else 0):
            rate = over(float(radius), proved_bound)
            if rate < most:
                return LevelSet(float(radius), rate, bracket.tried + 1)
    return LevelSet(0.0, np.nan, bracket.tried)


class Bracket:
    """The largest radius at which a bound is below a limit, and the smallest at which it is not.

    The bound grows with the radius, at first in proportion: next is the radius where a straight line reaches the limit,
    and a little more or less, so that both ends come near.
    """

    def __init__(self, limit: float, at_point: float) -> None:
        self.limit, self.at_point, self.of_good, self.of_bad = limit, at_point, at_point, np.inf
        self.good, self.bad, self.factor, self.tried, self.last_is_good = 0.0, np.inf, 1.0, 0, False

    @property
    def is_wide(self) -> bool:
        return self.bad > CLOSE * self.good

    def add(self, radius: float, bound: float) -> None:
        self.tried += 1
        self.last_is_good = bound < self.limit
        if self.last_is_good:
            self.good, self.of_good = radius, bound
        else:
            self.bad, self.of_bad = radius, bound

    def next(self) -> float:
        if np.isinf(self.bad):
            self.factor *= 4
            return self.good * self.factor
        middle = (self.good * self.bad) ** 0.5 if self.good else self.bad / 4
        if self.tried % SURE == 0 or (not self.good and np.isinf(self.of_bad)):
            return middle
        slack, is_far = self.limit - self.at_point, self.of_bad - self.limit > self.limit - self.at_point
        if self.good and is_far and self.of_good > self.at_point:
            reach = self.good * slack / (self.of_good - self.at_point)
        else:
            part = (self.limit - self.of_good) / (self.of_bad - self.of_good)
            reach = self.good + (self.bad - self.good) * part
        least, most = CLOSE**0.1 * self.good, CLOSE**-0.1 * self.bad
        beside = float(reach) * CLOSE ** (0.4 if self.last_is_good else -0.4)
        return beside if least < beside < most else middle


def _reach(weights: Real) -> list[arb]:
    """How far the set |T x| ≤ 1 reaches in each coordinate: the lengths of the rows of T⁻¹."""
    inverse = exact_matrix(weights).inv()
    return [sum((entry * entry for entry in row), arb(0)).sqrt().upper() for row in inverse.tolist()]
