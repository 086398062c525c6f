"""What is known of each fixed point's Lyapunov function, and the sentence about all of them."""

from typing import NamedTuple

import numpy as np

from dynlab.numerics.arrays import Real
from dynlab.wording import agree, at_most, counted, interval, number

NOT_STABLE = "not stable"  # a status, as the next ones
PROVED, NO_SET = "proved", "no set is proved: the Jacobian over every box that was tried may expand"
SAMPLED = "sampled, not proved"  # a status
V = "V = (h − h*)ᵀ P (h − h*)"
SOLVES = "P solves Lyapunov's equation."


class AtPoint(NamedTuple):
    """What is known of one fixed point."""

    status: str
    weights: Real
    residual: float
    radius: float
    rate: float
    tried: int
    sampled_radius: float
    sampled_rate: float
    ratio: Real
    extent: float
    levels: Real
    largest: Real


def verdict(rows: list[AtPoint], continua: int, of_flow: bool, euler: str = "") -> str:
    """What was found at all points, in a sentence or two.

    `euler` says of an Euler step, whose flow's equilibria are all stable where its own fixed points are not, up to
    which step it is stable too.
    """
    proved = [row for row in rows if row.status == PROVED]
    if not rows and continua:
        there = f"There {agree(continua)} {counted(continua, 'continuum', 'continua')} of fixed points"
        return f"{there} and no isolated one: no V decreases all around a point of a continuum."
    if not rows:
        return "No fixed point was found."
    points = counted(len(rows), "fixed point")
    sampled = [row for row in rows if row.status == SAMPLED]
    if sampled:
        widest = max(sampled, key=lambda row: row.sampled_radius / np.linalg.norm(row.weights, 2))
        axes = widest.sampled_radius / np.linalg.svd(widest.weights, compute_uv=False)
        falls = f"It decreases at every state drawn out to semi-axes of {interval(axes)}, the widest"
        falls = falls if widest.sampled_radius > 0 else "It grows somewhere on every level"
        return f"At {len(sampled)} of {points} {V} was sampled around h*. {SOLVES} {falls} (observed, not proved)."
    if not proved:
        if len(rows) == 1 and rows[0].status == NOT_STABLE:
            return euler or "The fixed point is not stable, so it has no Lyapunov function."
        reasons = sorted({row.status for row in rows})
        if reasons == [NOT_STABLE]:
            return f"None of {points} is stable, so none has a Lyapunov function."
        where = f"none of {points}" if len(rows) > 1 else "the one fixed point no"
        said = "is a Lyapunov function proved" if len(rows) > 1 else "Lyapunov function is proved"
        return f"At {where} {said}: {'; '.join(reasons)}."
    widest = max(proved, key=lambda row: row.radius / np.linalg.norm(row.weights, 2))
    axes = widest.radius / np.linalg.svd(widest.weights, compute_uv=False)
    bound = at_most(widest.rate, 3 if of_flow else 6)
    seen = at_most(widest.sampled_rate, 3 if of_flow else 6)
    if of_flow:
        bound, seen = bound.lstrip("−"), seen.lstrip("−")
        how = f"√V falls at the rate {bound} per second or faster, which is proved"
        how += f", and at {seen} or faster in samples" * (seen != bound)
    else:
        how = f"a step multiplies √V by at most {bound}, which is proved"
        how += f", and by at most {seen} in samples" * (seen != bound)
    every = ", all that are stable," if len(proved) == sum(row.status != NOT_STABLE for row in rows) < len(rows) else ""
    where = f"{len(proved)} of {points}" if len(rows) > 1 else "the one fixed point"
    slowest = "" if of_flow else ", in the long run as fast as the eigenvalues there say"
    which = "The widest ellipsoid has" if len(proved) > 1 else "The ellipsoid has"
    around = "around that point " if len(proved) > 1 else ""
    return (
        f"At {where}{every} {V} is proved to decrease along every orbit in an ellipsoid around h*. {SOLVES} {which} "
        f"semi-axes of {interval(axes)}. In it {how}. So every start in it ends at h*{slowest}. In "
        f"samples V decreases {around}out to "
        f"{_farther(widest)} these semi-axes (observed, not proved)."
    )


def left_out(proving: bool, asked: bool | None, states: int) -> str:
    """What a verdict says where nobody asked for samples alone."""
    if proving or asked is not None:
        return ""
    return f" At {states:,} states V is sampled alone: --prove (prove=True) proves, which takes hours at this size."


def _farther(row: AtPoint) -> str:
    """How far V falls as sampled, in proved radii."""
    times = row.sampled_radius / row.radius
    return f"{'at least ' * bool(row.sampled_radius == row.levels[-1])}{number(times, 3)} times"
