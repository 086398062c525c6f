"""Whether measured numbers keep a bound, as far as their errors tell."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dynlab.numerics.arrays import Real

HOLDS, AT_THE_BOUND, VIOLATED, UNDECIDED = "holds", "at the bound", "violated", "undecided"
# The outcome of the whole set: the first of these that any number of it has.
WORST_FIRST = (VIOLATED, UNDECIDED, AT_THE_BOUND, HOLDS)


def overall(outcomes: Iterable[str], *, strict: bool) -> str:
    """Return what all bounds together are: ``violated``, ``undecided`` or ``holds``.

    A value at its bound passes; with `strict` it is undecided, since which side it is on is not known.
    """
    found = set(outcomes)
    if VIOLATED in found:
        return VIOLATED
    return UNDECIDED if UNDECIDED in found or (strict and AT_THE_BOUND in found) else HOLDS


@dataclass(frozen=True)
class Judgement:
    """The outcome of one bound.

    Attributes
    ----------
    outcome : str
        ``violated`` where a number is beyond the bound by more than its error; else ``undecided`` where a number or its
        error is not known; else ``at the bound`` where a number is within its error of it; else ``holds``.
    index : tuple of int
        The number that shows it: of those of that outcome the one that lies farthest out, where that is known.
    measured, error, margin : float
        That number, its error, and how far inside the bound it lies; negative where it is outside.
    violations, unknown, compared : int
        How many numbers violate the bound, how many are not known well enough to say, and how many there are.
    """

    outcome: str
    index: tuple[int, ...]
    measured: float
    error: float
    margin: float
    violations: int
    unknown: int
    compared: int


def judged(
    values: Real, errors: Real, limit: float, is_upper: bool, only_above: bool = False, widest: float = np.inf
) -> Judgement:
    """Judge numbers by an upper bound, or by a lower one.

    Parameters
    ----------
    values : ndarray
        −inf and inf are numbers here: the logarithm of an exact zero is below every bound. NaN is not known.
    errors : ndarray, of the same shape
        A bound on the error of each; NaN or inf where there is none. That of an infinite value does not matter.
    limit : float
    is_upper : bool
        Whether values must not be above `limit`; else they must not be below it.
    only_above : bool
        Whether `values` are themselves bounds from above, and nothing is known from below.
    widest : float
        Times max(1, abs(limit)): a value near the bound with a larger error is undecided, not at the bound.
    """
    margins = limit - values if is_upper else values - limit
    known = ~np.isnan(values) & (is_upper & (margins > 0) if only_above else np.isfinite(errors) | np.isinf(values))
    reach = np.where(np.isinf(values) | only_above, 0.0, errors)
    with np.errstate(invalid="ignore"):
        near, wide = known & (np.abs(margins) <= reach), reach > widest * max(1.0, abs(limit))
        classes = {
            VIOLATED: known & (margins < -reach),
            UNDECIDED: ~known | (near & wide),
            AT_THE_BOUND: near & ~wide,
            HOLDS: known & (margins > reach),
        }
    outcome = next(name for name in WORST_FIRST if classes[name].any())
    # among numbers that are NaN themselves none lies farthest out: the first shows it
    ranked = np.where(classes[outcome], np.where(np.isnan(margins), np.finfo(float).max, margins), np.inf)
    index = tuple(int(i) for i in np.unravel_index(int(ranked.argmin()), values.shape))
    if not classes[outcome][index]:  # margins of inf among those that hold
        index = tuple(int(i) for i in np.argwhere(classes[outcome])[0])
    shown = (float(values[index]), float(errors[index]), float(margins[index]))
    return Judgement(outcome, index, *shown, int(classes[VIOLATED].sum()), int(classes[UNDECIDED].sum()), values.size)
