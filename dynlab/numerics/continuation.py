"""Pseudo-arclength continuation: follow the curve G(z) = 0 of n equations in n + 1 unknowns.

A step predicts along the tangent and corrects by Newton's method in the plane across it. Steps grow where the corrector
has little to do and shrink where the curve turns. All lengths are in z, whose scale the caller chooses: a curve of
interest has a length of about 1.

References
----------
Keller, "Numerical solution of bifurcation and nonlinear eigenvalue problems" (1977); Kuznetsov, Elements of Applied
Bifurcation Theory, section 10.2.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from dynlab.numerics.arrays import Real as Vector

MAX_NEWTON = 12
SETTLED = 1e-13  # times max(1, ‖z‖): a Newton step so small changes nothing more
ROUNDED = 1e-8  # the same: a step below it that does not shrink any more is rounding
FAST = 0.1  # a Newton step that shrinks by less renews the derivative
FARTHEST = 1e10  # a Newton step beyond has met a singular matrix
FIRST_STEP = 1e-2
GROW, SHRINK, EASY = 1.4, 0.5, 4  # of steps; corrections of at most EASY iterations let the next one grow
STRAIGHT = 0.97  # the cosine of the angle that a tangent turns by in a step, at least
OFF = 0.3  # times the step: a corrector that moves the prediction farther has met another curve
FINEST = 1e-9  # where no step so short succeeds the curve has a corner or ends
CORNER, AFTER_CORNER = 5e-6, 2e-3  # the step around a corner, and the next one
FAR = 0.5  # times ‖z‖, where that is above 1: far out, steps are longer in proportion
RETURNED, FEWEST = 0.6, 5  # times the step: a curve so near to its beginning, after a few points, is closed

AT_THE_END, LEFT, CLOSED, LOST, TOO_LONG = (
    "end of the range",
    "left the bound",
    "closed",
    "no way on",
    "too many points",
)


class Curve(Protocol):
    """The equations of a curve."""

    def residual(self, z: Vector) -> Vector:
        """Return G(z), shape (n,)."""

    def derivative(self, z: Vector) -> Vector:
        """Return ∂G/∂z, shape (n, n + 1)."""


class Point(NamedTuple):
    """One point of a curve.

    Attributes
    ----------
    z, tangent : ndarray, shape (n + 1,)
        The tangent has length 1.
    orientation : float
        The sign of det [∂G/∂z; tangent]. Along a curve it changes at simple branch points and nowhere else.
    iterations : int
        Iterations of the corrector.
    """

    z: Vector
    tangent: Vector
    orientation: float
    iterations: int


class Traced(NamedTuple):
    """The points of a curve in order, and why there are no more."""

    points: list[Point]
    end: str


def correct(curve: Curve, guess: Vector, row: Vector, before: Vector | None = None) -> Point | None:
    """Return the point of the curve in the plane row · (z − guess) = 0, or None where Newton's method fails.

    Parameters
    ----------
    curve : Curve
    guess, row : ndarray, shape (n + 1,)
    before : ndarray, optional
        The direction that the tangent continues; `row` where it is not given.
    """
    z, derivative, last, moved = guess, np.empty(0), 0.0, np.inf
    for iteration in range(1, MAX_NEWTON + 1):
        value = curve.residual(z)
        if moved > FAST * last:
            derivative = curve.derivative(z)
        step = _solve(np.vstack([derivative, row]), np.append(value, row @ (z - guess)))
        if step is None:
            return None
        last, moved, z = moved, float(np.linalg.norm(step)), z - step
        size = max(1.0, float(np.linalg.norm(z)))
        if moved <= SETTLED * size or FAST * last < moved <= ROUNDED * size:
            return point_at(curve, z, row if before is None else before, iteration)
    return None


def point_at(curve: Curve, z: Vector, before: Vector, iterations: int = 0) -> Point | None:
    """Return the point at `z` with its tangent in the direction of `before`, or None where the curve has none there."""
    derivative = curve.derivative(z)
    tangent = _solve(np.vstack([derivative, before]), np.append(np.zeros(len(z) - 1), 1.0))
    if tangent is None:
        return None
    tangent /= np.linalg.norm(tangent)
    return Point(z, tangent, float(np.linalg.slogdet(np.vstack([derivative, tangent]))[0]), iterations)


def between(curve: Curve, left: Point, right: Point, part: float = 0.5) -> Point | None:
    """Return a point of the curve between two neighbouring ones, predicted by the cubic through both."""
    chord = right.z - left.z
    length = float(np.linalg.norm(chord))
    row = chord / length
    slopes = [point.tangent / max(float(point.tangent @ row), FAST) for point in (left, right)]
    bend = part * (1 - part) * ((1 - part) * (slopes[0] - row) - part * (slopes[1] - row))
    found = correct(curve, left.z + part * chord + length * bend, row, left.tangent)
    return found if found is not None and np.linalg.norm(found.z - left.z - part * chord) < OFF * length else None


def follow(
    curve: Curve,
    start: Point,
    lowest: Vector,
    highest: Vector,
    *,
    longest: float = FIRST_STEP,
    first: float = FIRST_STEP,
    most: int = 2000,
    origin: Vector | None = None,
    strays: Callable[[Point, Point], bool] = lambda here, found: False,
) -> Traced:
    """Return the points from `start` on in the direction of its tangent.

    Parameters
    ----------
    curve : Curve
    start : Point
    lowest, highest : ndarray, shape (n + 1,)
        The box in which the curve is followed. The last point lies on its face where the last coordinate leaves it.
    longest, first : float
        The longest step, and the first one.
    most : int
        Points at most.
    origin : ndarray, optional
        Beginning of the curve, if that is not `start`: a curve that returns there is closed.
    strays : callable
        Test of a step on which the orientation changes: True where it has landed on another curve. It is shortened.
    """
    points, step = [start], first
    begin = start.z if origin is None else origin
    while len(points) < most:
        here = points[-1]
        found = _advanced(curve, here, step)
        if found is None or (found.orientation != here.orientation and strays(here, found)):
            if step * SHRINK > FINEST:
                step *= SHRINK
                continue
            found, step = _around_corner(curve, here), AFTER_CORNER
            if found is None:
                return Traced(points, LOST)
        outside = (found.z < lowest) | (found.z > highest)
        if outside[-1]:
            landed = _landed(curve, here, found, float(np.clip(found.z[-1], lowest[-1], highest[-1])))
            is_new = landed is not None and np.linalg.norm(landed.z - here.z) > FINEST
            return Traced([*points, landed] if landed is not None and is_new else points, AT_THE_END)
        if outside.any():
            return Traced(points, LEFT)
        points.append(found)
        near = np.linalg.norm(found.z - begin) < RETURNED * step
        if near and len(points) > FEWEST and (origin is not None or found.tangent @ start.tangent > STRAIGHT):
            chord = begin - found.z
            if abs(chord @ found.tangent) > STRAIGHT * np.linalg.norm(chord):
                return Traced(points, CLOSED)
        if found.iterations <= EASY:
            step = min(longest * max(1.0, FAR * float(np.linalg.norm(found.z))), step * GROW)
    return Traced(points, TOO_LONG)


def _advanced(curve: Curve, here: Point, step: float) -> Point | None:
    guess = here.z + step * here.tangent
    found = correct(curve, guess, here.tangent)
    if found is None or np.linalg.norm(found.z - guess) > OFF * step:
        return None
    return found if found.tangent @ here.tangent >= STRAIGHT else None


def _around_corner(curve: Curve, here: Point) -> Point | None:
    """Return a point on the other side of a corner, as a ReLU makes one, where the curve may also turn back.

    Beyond it the curve has the tangent of the derivative there, in one of two directions; the other leads back over the
    corner and solves nothing.
    """
    derivative = curve.derivative(here.z + CORNER * here.tangent)
    if not np.isfinite(derivative).all():
        return None
    tangent = np.linalg.svd(derivative)[2][-1]
    for row in sorted((tangent, -tangent), key=lambda row: -float(row @ here.tangent)):
        guess = here.z + CORNER * row
        found = correct(curve, guess, row)
        if found is None or np.linalg.norm(found.z - guess) > CORNER or found.tangent @ row < STRAIGHT:
            continue
        if found.tangent @ here.tangent > -STRAIGHT:
            return found
    return None


def _landed(curve: Curve, inside: Point, outside: Point, edge: float) -> Point | None:
    """Return the point where the last coordinate is at the edge of the box."""
    part = (edge - inside.z[-1]) / (outside.z[-1] - inside.z[-1])
    guess = inside.z + part * (outside.z - inside.z)
    guess[-1] = edge
    row = np.append(np.zeros(len(guess) - 1), np.sign(outside.z[-1] - inside.z[-1]))
    return correct(curve, guess, row, inside.tangent)


def _solve(matrix: Vector, right: Vector) -> Vector | None:
    """Return the solution of a square system, or None where it is singular or no number."""
    if not np.isfinite(matrix).all():
        return None
    try:
        found = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    return found if np.linalg.norm(found) < FARTHEST else None
