"""Which eigenvalues cross the border of stability between two points of a branch."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynlab.numerics.eigenvalue_sets import matched

FOLD_OR_BRANCH, FLIP, PAIR, SEVERAL = "real at 1", "real at −1", "complex pair", "several"

ON_CIRCLE = 1e-8  # from 1: the modulus of a pair, and the product of a pair on the real axis, where areas are preserved

Complex = NDArray[np.complex128]
Signs = NDArray[np.int64]
Side = tuple[Complex, Signs, float]


class Crossing(NamedTuple):
    """What happens between two points.

    Attributes
    ----------
    what : str
        One of the four above: one real eigenvalue through 1 (of a flow: 0) or a turning parameter, one through −1, one
        complex pair, or more than that.
    turns : bool
        Whether the parameter turns around.
    eigenvalues : int
        How many eigenvalues cross.
    """

    what: str
    turns: bool
    eigenvalues: int


def beyond(eigenvalues: Complex, is_map: bool) -> NDArray[np.float64]:
    """How far each eigenvalue lies beyond the border of stability, negative inside."""
    return np.abs(eigenvalues) - 1 if is_map else eigenvalues.real


def decided(eigenvalues: Complex, errors: NDArray[np.float64], is_map: bool) -> Signs:
    """1 where an eigenvalue certainly grows, −1 where it certainly decays, 0 where its error does not tell."""
    excess = beyond(eigenvalues, is_map)
    return (excess > errors).astype(np.int64) - (excess < -errors)


def inherited(old: Complex, old_signs: Signs, new: Complex, new_signs: Signs) -> Signs:
    """The signs of the new eigenvalues, where they are 0 those of the old ones they have come from."""
    if new_signs.all():
        return new_signs
    return np.where(new_signs == 0, old_signs[matched(new, old)], new_signs)


def between(left: Side, right: Side, is_map: bool) -> Crossing | None:
    """What happens between two points, each given by its eigenvalues, signs, and the tangent's parameter component."""
    turns = left[2] * right[2] < 0
    after_of = matched(left[0], right[0])
    changed = left[1] * right[1][after_of] < 0
    count = int(changed.sum())
    if count == 0:
        split = _split(left[0], right[0][after_of]) if is_map and not turns else None
        return split or (Crossing(FOLD_OR_BRANCH, True, 0) if turns else None)
    before, after = left[0][changed], right[0][after_of][changed]
    both = np.concatenate([before, after])
    if count == 1 and (both.imag == 0).all() and (not is_map or (both.real > 0).all()):
        return Crossing(FOLD_OR_BRANCH, turns, 1)
    if turns:
        return Crossing(SEVERAL, True, count)
    if count == 1 and is_map and (both.imag == 0).all() and (both.real < 0).all():
        return Crossing(FLIP, False, 1)
    if count == 2 and (both.imag != 0).all() and abs(before.sum().imag) < 1e-6 * np.abs(before).max():
        return Crossing(PAIR, False, 2)
    return Crossing(SEVERAL, turns, count)


def _split(before: Complex, after: Complex) -> Crossing | None:
    """Where a pair on the unit circle meets and leaves it along the real axis, or comes back: areas are preserved.

    None of the two has a sign on the circle. Beyond it they are μ and 1/μ, one of which grows.
    """
    for circle, line in ((before, after), (after, before)):
        pair = (circle.imag != 0) & (np.abs(np.abs(circle) - 1) <= ON_CIRCLE) & (line.imag == 0)
        if pair.sum() == 2 and abs(line[pair].prod() - 1) <= ON_CIRCLE:
            return Crossing(FLIP if (line[pair].real < 0).all() else FOLD_OR_BRANCH, False, 1)
    return None
