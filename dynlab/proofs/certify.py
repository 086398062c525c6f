"""The proof about one fixed point: it exists, it is the only one in its ball, and where its eigenvalues lie."""

from typing import NamedTuple

import numpy as np
from flint import arb, ctx

from dynlab.numerics.arrays import Complex, Real
from dynlab.numerics.eigenvalue_sets import matched
from dynlab.program import Program
from dynlab.program.enclosure import NonSmooth
from dynlab.proofs.discs import Counts, ProvedDiscs, count, eigenvalue_discs
from dynlab.proofs.krawczyk import Ball, NotProved, proved_ball, refined, within

PRECISIONS = (128, 256, 512)  # bits, tried in turn until every eigenvalue is decided
LARGE = 64  # states beyond which the last precision is left out: it costs a minute for n = 128, and seldom decides


class Certificate(NamedTuple):
    """What is proved about one fixed point.

    Attributes
    ----------
    certified : bool
        Whether exactly one fixed point lies within `radius` of the point in the maximum norm, with all eigenvalues of
        the Jacobian there enclosed.
    radius : float
        NaN where nothing is proved.
    counts : Counts
        Of eigenvalues outside and inside the unit circle and undecided; all undecided where nothing is proved.
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
        Of a map.
    point : ndarray, shape (n,)
        In float64; the proved ball is about it as it is.
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
            if best is None or _better(found, best):
                best = found
            if found.counts.undecided == 0:
                return found
    return best or refused(program.size, reason)


def eigenvalue_radii(certificate: Certificate, eigenvalues: Complex) -> Real:
    """For each approximate eigenvalue, the radius of a disc about it that surely holds its eigenvalue, shape (n,).

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
    n = program.size
    counts = Counts(0, 0, n) if discs is None else count(discs)
    reason = _undecided(discs, counts)
    return Certificate(discs is not None, above(ball.radius), counts, reason, precision, ball, tight, discs)


def _better(found: Certificate, best: Certificate) -> bool:
    return (found.certified, -found.counts.undecided) >= (best.certified, -best.counts.undecided)


def _undecided(discs: ProvedDiscs | None, counts: Counts) -> str:
    if discs is None:
        return "the fixed point is proved, its eigenvalues are not enclosed: no basis of approximate eigenvectors"
    if not counts.undecided:
        return ""
    pairs = zip(discs.centers, discs.radii, strict=True)
    near = [above(r) for c, r in pairs if not abs(c) - r > 1 and not abs(c) + r < 1]
    widest = max(near, default=0.0)
    return f"undecided: {counts.undecided} eigenvalues in discs that meet the unit circle, of radius up to {widest:.1g}"
