"""The proof about one fixed point: it exists, it is the only one in its ball, and where its eigenvalues lie.

Krawczyk's test: with G(h) = F(h) − h, a matrix C ≈ (J − I)⁻¹ and a ball X of the maximum norm with centre m and radius
r,

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

from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.eigenvalue_sets import matched
from dynlab.program import Program
from dynlab.program.enclosure import Enclosure, NonSmooth, doubles, enclose, exact_matrix, identity
from dynlab.proofs.discs import Counts, ProvedDiscs, count, eigenvalue_discs

PRECISIONS = (128, 256, 512)  # bits, tried in turn until every eigenvalue is decided
LARGE = 64  # states beyond which the last precision is left out: it costs a minute for n = 128, and seldom decides
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
        If none was.
    NonSmooth
        If a ReLU's argument may be 0 in the ball.
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
    """Tell whether `inner` lies in `outer`, so that the fixed point of both is the same."""
    apart = max_row_sum(_column([a - b for a, b in zip(inner.center, outer.center, strict=True)]))
    return bool(apart + inner.radius <= outer.radius)


def _inverse(jacobian: arb_mat) -> arb_mat:
    """C ≈ (J − I)⁻¹ in double precision, which is as good as any where that matrix is not nearly singular."""
    shifted = (jacobian - identity(jacobian.nrows())).mid()
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


class Certificate(NamedTuple):
    """The proof about one fixed point.

    Attributes
    ----------
    certified : bool
        True if exactly one fixed point lies within `radius` of the point in the maximum norm, with all eigenvalues of
        the Jacobian there enclosed.
    radius : float
        NaN where nothing is proved.
    counts : Counts
        Numbers of eigenvalues outside and inside the unit circle and undecided; all undecided without a proof.
    reason : str
        Why something is not proved, or not decided; empty where all is.
    precision : int
        The bits that were needed; 0 where nothing is proved.
    ball, tight : Ball or None
        About the point as it was given, and about the refined one.
    discs : ProvedDiscs or None
    """

    certified: bool
    radius: float
    counts: Counts
    reason: str
    precision: int
    ball: Ball | None
    tight: Ball | None
    discs: ProvedDiscs | None


def certify(program: Program, point: Real) -> Certificate:
    """Prove what can be proved about the fixed point near `point`.

    Parameters
    ----------
    program : Program
        Program of a map.
    point : ndarray, shape (n,)
        The point in float64; the proved ball is about it as it is.
    """
    best, reason = None, ""
    for precision in PRECISIONS:
        if best is not None and (not program.is_exact or (precision == PRECISIONS[-1] and program.size > LARGE)):
            break
        for thorough in (False, True) if precision == PRECISIONS[0] else (True,):
            with ctx.workprec(precision):
                try:
                    found = _attempt(program, point, thorough, precision)
                except NonSmooth as error:
                    return refused(program.size, str(error))
                except NotProved as error:
                    reason = str(error)
                    break
            best = max(found, best or found, key=lambda each: (each.certified, -each.counts.undecided))
            if found.counts.undecided == 0:
                return found
    return best or refused(program.size, reason)


def eigenvalue_radii(certificate: Certificate, eigenvalues: Complex) -> Real:
    """Return, for each approximate eigenvalue, the radius of a disc that surely holds its eigenvalue, shape (n,).

    Approximate eigenvalues are matched with the discs; one whose disc is connected with others gets a radius that
    reaches over all of them.
    """
    discs = certificate.discs
    if discs is None:
        return np.full(len(eigenvalues), np.nan)
    with ctx.workprec(PRECISIONS[0]):
        places = np.array([complex(center) for center in discs.centers])
        radii = np.empty(len(eigenvalues))
        for row, column in enumerate(matched(eigenvalues, places)):
            members = np.flatnonzero(discs.component == discs.component[column])
            reach = [abs(discs.centers[k] - complex(eigenvalues[row])) + discs.radii[k] for k in members]
            radii[row] = max(above(value) for value in reach)
    return radii


def refused(size: int, reason: str) -> Certificate:
    """Nothing is proved, for that reason."""
    return Certificate(False, np.nan, Counts(0, 0, size), reason, 0, None, None, None)


def above(value: arb) -> float:
    """A double that is not smaller than any number of the ball."""
    return float(np.nextafter(float(value.upper()), np.inf))


def _attempt(program: Program, point: Real, thorough: bool, precision: int) -> Certificate:
    ball = proved_ball(program, [arb(float(entry)) for entry in point])
    tight = proved_ball(program, refined(program, ball), ball.inverse)
    if not within(tight, ball):
        tight = ball
    discs = eigenvalue_discs(tight.jacobian, thorough)
    counts = Counts(0, 0, program.size) if discs is None else count(discs)
    reason = _undecided(discs, counts)
    return Certificate(discs is not None, above(ball.radius), counts, reason, precision, ball, tight, discs)


def _undecided(discs: ProvedDiscs | None, counts: Counts) -> str:
    if discs is None:
        return "the fixed point is proved, its eigenvalues are not enclosed: no basis of approximate eigenvectors"
    if not counts.undecided:
        return ""
    pairs = zip(discs.centers, discs.radii, strict=True)
    near = [above(r) for c, r in pairs if not abs(c) - r > 1 and not abs(c) + r < 1]
    widest = max(near, default=0.0)
    return f"undecided: {counts.undecided} eigenvalues in discs that meet the unit circle, of radius up to {widest:.1g}"
