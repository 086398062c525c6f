"""Krawczyk's test: exactly one fixed point of a program lies within a ball.

With G(h) = F(h) − h, a matrix C ≈ (J − I)⁻¹ and a ball X of the maximum norm with centre m and radius r,

    ‖C G(m)‖ + ‖I − C (J(X) − I)‖ r < r

proves that F has one fixed point in X, and no other.

References
----------
Krawczyk, Computing 4 (1969); Rump, "Verification methods: rigorous results using floating-point arithmetic", Acta
Numerica 19 (2010), section 13.
"""

import functools
from typing import NamedTuple

import numpy as np
from flint import arb, arb_mat, ctx

from dynlab.program import Program
from dynlab.program.enclosure import Enclosure, doubles, enclose, exact_matrix, identity

ATTEMPTS = 4  # radii that are tried, each from the contraction that the last one showed
SLACK = 1.125  # times the least radius that a contraction allows
NEWTON_STEPS = 24  # each gains about as many digits as C is right to, so that three are enough for 128 bits
WELL_CONDITIONED = 1e9  # an inverse in double precision is then right to about seven digits


class NotProved(Exception):
    """The test does not hold; the sentence says why."""


class Ball(NamedTuple):
    """A ball of the maximum norm with exactly one fixed point in it.

    Attributes
    ----------
    center : list of arb
        Exact numbers.
    radius : arb
        Exact.
    inverse : arb_mat
        C, of exact numbers.
    contraction : float
        ‖I − C (J(X) − I)‖, below 1.
    jacobian : arb_mat
        J over the ball.
    """

    center: list[arb]
    radius: arb
    inverse: arb_mat
    contraction: float
    jacobian: arb_mat


def proved_ball(program: Program, center: list[arb], inverse: arb_mat | None = None) -> Ball:
    """The smallest ball about `center` for which the test was found to hold.

    Parameters
    ----------
    program : Program
    center : list of arb
    inverse : arb_mat, optional
        C, where it is known.

    Raises
    ------
    NotProved
        Where none was.
    NonSmooth
        Where a ReLU's argument may be 0 in the ball.
    """
    at = enclose(program, center, slopes=inverse is None)
    inverse = _inverse(at.derivative) if inverse is None else inverse
    correction = max_row_sum(_corrections(inverse, at, center))
    radius = _exact_above(max(2 * float(correction), _least_radius(center)))
    contraction = arb("inf")
    for _ in range(ATTEMPTS):
        over = enclose(program, [entry + arb(0, radius) for entry in center])
        one = identity(len(center))
        contraction = max_row_sum(one - inverse * (over.derivative - one))
        if correction + contraction * radius < radius:
            return Ball(center, radius, inverse, float(contraction.upper()), over.derivative)
        if not contraction < 1:
            break
        radius = _exact_above(SLACK * float((correction / (1 - contraction)).upper()))
    raise NotProved(
        f"no contraction: ‖I − C (J − I)‖ is up to {float(contraction.upper()):.2g} over a ball of radius "
        f"{float(radius):.2g}, so J − I is too near singular there"
    )


def refined(program: Program, ball: Ball) -> list[arb]:
    """The centre of `ball`, moved by Newton's method to the fixed point as far as the precision goes."""
    center, last = ball.center, arb("inf")
    for _ in range(NEWTON_STEPS):
        corrections = _corrections(ball.inverse, enclose(program, center, slopes=False), center)
        size = max_row_sum(corrections)
        if not size < last / 2:
            break
        center = [(entry - change).mid() for entry, change in zip(center, corrections.entries(), strict=True)]
        last = size
    return center


def within(inner: Ball, outer: Ball) -> bool:
    """Whether `inner` lies in `outer`, so that the fixed point of both is the same."""
    apart = max_row_sum(_column([a - b for a, b in zip(inner.center, outer.center, strict=True)]))
    return bool(apart + inner.radius <= outer.radius)


def _inverse(jacobian: arb_mat) -> arb_mat:
    """C ≈ (J − I)⁻¹ in double precision, which is as good as any where that matrix is not nearly singular."""
    n = jacobian.nrows()
    shifted = (jacobian - identity(n)).mid()
    matrix = doubles(shifted)
    try:
        found = np.linalg.inv(matrix)
        if np.linalg.norm(matrix, np.inf) * np.linalg.norm(found, np.inf) < WELL_CONDITIONED:
            return exact_matrix(found)
    except np.linalg.LinAlgError:
        pass
    try:
        return shifted.inv().mid()
    except ZeroDivisionError as error:
        raise NotProved("J − I is singular there, or not to be told from singular") from error


def _corrections(inverse: arb_mat, at: Enclosure, center: list[arb]) -> arb_mat:
    return inverse * _column([value - entry for value, entry in zip(at.value, center, strict=True)])


def _column(entries: list[arb]) -> arb_mat:
    return arb_mat(len(entries), 1, entries)


def max_row_sum(matrix: arb_mat) -> arb:
    """‖matrix‖_∞, from above, as an exact number."""
    sums = [sum((entry.abs_upper() for entry in row), arb(0)).upper() for row in matrix.tolist()]
    return functools.reduce(arb.max, sums, arb(0)).upper()  # Python's own would pass over what is no number


def _least_radius(center: list[arb]) -> float:
    """A radius that the precision still tells from 0 beside the centre."""
    return max(1.0, float(max_row_sum(_column(center)))) * 2.0 ** (-(3 * ctx.prec) // 4)


def _exact_above(value: float) -> arb:
    """A double as it is, a little above `value`."""
    return arb(value * (1 + 2**-40) if value < 1e300 else value)
