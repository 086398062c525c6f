"""The judgement of measured numbers by bounds, as far as their errors tell."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dynlab.numerics.arrays import Real
from dynlab.words import first_that_holds

HOLDS, AT_THE_BOUND, VIOLATED, UNDECIDED = "holds", "at the bound", "violated", "undecided"
# The outcome of the whole set: the first of these that any number of it has.
WORST_FIRST = (VIOLATED, UNDECIDED, AT_THE_BOUND, HOLDS)


def overall(outcomes: Iterable[str], *, strict: bool) -> str:
    """Return what all bounds together are: ``violated``, ``undecided`` or ``holds``.

    A value at its bound passes; with `strict` it is undecided, since which side it is on is not known.
    """
    found = set(outcomes)
    undecided = UNDECIDED in found or (strict and AT_THE_BOUND in found)
    return first_that_holds({VIOLATED: VIOLATED in found, UNDECIDED: undecided, HOLDS: True})


@np.errstate(invalid="ignore")
def judged(
    values: Real,
    errors: ArrayLike,
    low: ArrayLike = -np.inf,
    high: ArrayLike = np.inf,
    *,
    strict: bool = False,
    only_above: bool = False,
    widest: float = np.inf,
) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Judge numbers by a closed interval, or by one for each of them.

    Parameters
    ----------
    values : ndarray
        −inf and inf are numbers here: the logarithm of an exact zero is below every bound. NaN is not known.
    errors : array_like, broadcast to that shape
        A bound on the error of each; NaN or inf where there is none. That of an infinite value does not matter.
    low, high : array_like, broadcast to that shape
        Ends of the interval; `low` is NaN for numbers that the bound is not about.
    strict : bool
        The ends do not belong to the interval: a number within its error of one is undecided, one exactly there is out.
    only_above : bool
        The values are themselves bounds from above, and nothing is known from below.
    widest : float
        A value near the bound with a larger error is undecided, not at the bound.

    Returns
    -------
    columns : dict
        ``outcome``: ``violated`` where a number is beyond the bound by more than its error; else ``undecided`` where a
        number or its error is not known; else ``at the bound`` where a number is within its error of it; else
        ``holds``. ``measured``, ``error`` and ``margin``: the number that shows it, its error, and how far inside the
        bound it lies, negative where it is outside. ``violations``, ``unknown`` and ``compared``: how many numbers
        violate the bound, are not known well enough to say, and are there.
    index : tuple of int
        The number that shows the outcome: of those that have it the one farthest out, where that is known.
    """
    low, high, errors = (np.broadcast_to(np.asarray(each, dtype=float), values.shape) for each in (low, high, errors))
    about, margins = ~np.isnan(low), np.fmin(values - low, high - values)
    reach = np.where(np.isinf(values) | only_above, 0.0, errors)
    known = about & ~np.isnan(margins) & (np.isneginf(low) & (margins > 0) if only_above else np.isfinite(reach))
    near = known & (np.abs(margins) <= reach)
    classes = {
        VIOLATED: known & ((margins < -reach) | (strict & (margins == 0) & (reach == 0))),
        UNDECIDED: about & ~known | (near & (strict | (reach > widest))),
        AT_THE_BOUND: near,
        HOLDS: about,
    }
    outcome = next(name for name in WORST_FIRST if classes[name].any())
    farthest = int(np.nan_to_num(margins[classes[outcome]], nan=np.inf).argmin())
    index = tuple(np.argwhere(classes[outcome])[farthest].tolist())
    shown = {"measured": values, "error": errors, "margin": margins}
    counts = {"violations": classes[VIOLATED], "unknown": classes[UNDECIDED], "compared": about}
    return (
        {"outcome": outcome}
        | {name: float(each[index]) for name, each in shown.items()}
        | {name: int(each.sum()) for name, each in counts.items()}
    ), index
