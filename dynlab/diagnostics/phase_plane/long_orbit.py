"""Where the orbits of a planar map end: on a point, on a closed curve, or nowhere yet."""

import numpy as np
from numpy.typing import NDArray

FIXED_POINT = "fixed point"
CLOSED_CURVE = "invariant closed curve"
OUTWARD = "still moving outward"
INWARD = "still moving inward"
PERIODIC = "periodic orbit"
NEARING = "still coming nearer to a repetition"
UNSETTLED = "not settled on a point, a cycle or a curve"
GONE = "beyond floating-point numbers"
MOVING = (OUTWARD, INWARD, NEARING, UNSETTLED)  # what may settle yet

SETTLED = 1e-9  # of the window: an orbit that stays so near to its equilibrium, and comes nearer, is at it
NEARER = 0.9  # times: how much farther from it than in the second half of the kept steps the first half reaches
STILL = 1e-12  # of the window: an orbit that moves no more in all the steps that are kept stands still
ROUNDED = 1e-14  # of ‖h‖, and so does one that moves no more than that; more would be a drift
REPEATS = 1e-9  # of its size: an orbit that is so near to its last period in all the steps that are kept repeats
SAME_CURVE = 2e-3  # of the radius: the two halves of an orbit on one closed curve agree to this as functions of angle
WIDEST_GAP = 0.7  # rad: an orbit whose angles leave no gap wider than this winds around a curve
TREND = 1e-4  # of the distance from the centre: by more than this the last steps reach farther, or less far
MUCH = 0.5  # the same where an orbit turns too slowly for one of its parts to see how far it reaches
PERIODS = 3  # at least so many of a period are in the steps that are kept
CLOSING = 0.8  # times: an orbit's distance from where it was a period before falls by more, over half of its later half
QUARTERS, STEADY = 4, 0.8  # of these the last falls, in the logarithm, by so much of what the second falls at least
CLOSE = 0.02  # of its size: that distance is less then
ROUND, QUARTER = 2 * np.pi, np.pi / 2  # rad: over so much at least an orbit is compared with its round before
PARTS = 8  # of the later three quarters of an orbit: each reaches farther than the one before, or less far


def outcome(states: NDArray[np.float64], kept: int, centre: NDArray[np.float64] | None) -> str:
    """What an orbit has come to.

    Parameters
    ----------
    states : ndarray, shape (iteration, 2)
        The whole orbit, in parts of the window's half width.
    kept : int
        How many of its last states tell a point, a cycle or a curve.
    centre : ndarray, shape (2,), or None
        The equilibrium that it may wind around, approach or leave. Without one it may wind around the middle of its
        last states, and leave or approach 0.

    Returns
    -------
    str
        One of the names of this module.
    """
    if not np.isfinite(states).all():
        return GONE
    last = states[-kept:]
    radius, angle = polar(last, _centre(last, centre))
    early, late = radius[: kept // 2].max(), radius[kept // 2 :].max()
    half = last[kept // 2]
    slows = length(last[-1] - half) <= length(half - last[0]) / 2  # what does not drifts
    still = _spread(last) <= STILL * slows + ROUNDED * length(last[-1])
    if still or (early <= SETTLED and late <= NEARER * early):
        return FIXED_POINT
    if period(last):
        return PERIODIC
    if nearing(states[len(states) // 2 :], _centre(last, centre), kept // PERIODS):
        return NEARING
    if _on_one_curve(radius, angle) or _on_one_curve(*polar(states[-len(states) // 2 :], _centre(last, centre))):
        return CLOSED_CURVE
    distance = polar(states[len(states) // 4 :], np.zeros(2) if centre is None else centre)[0]
    reached = np.array([part.max() for part in np.array_split(distance, PARTS)])
    for name, from_first in ((OUTWARD, reached / reached[0]), (INWARD, reached[0] / reached)):
        if _goes_on(from_first):
            return name
    return {1: OUTWARD, -1: INWARD, 0: UNSETTLED}[_winds(states, np.zeros(2) if centre is None else centre)]


def _goes_on(reached: NDArray[np.float64]) -> bool:
    """Whether the parts of an orbit reach farther and farther, from 1 on; where much farther, one of them may not."""
    least = TREND if (np.diff(reached) > 0).all() else MUCH
    falls = int((np.diff(reached) <= 0).sum())
    return falls <= 1 and bool(reached[-1] == reached.max() and reached[0] == reached.min() and reached[-1] > 1 + least)


def _winds(states: NDArray[np.float64], centre: NDArray[np.float64]) -> int:
    """1 where an orbit is farther out at each angle than a round before, −1 where it is nearer, 0 of all others.

    Its rounds need not be circles: a state may be nearer than one before it and the orbit wind outward all the same.
    """
    radius, angle = polar(states, centre)
    left = np.unwrap(angle) - np.unwrap(angle)[-1]  # what it turns from each state to the end
    left *= np.sign(left[0])
    turns = np.diff(left)
    first = np.max(np.flatnonzero((turns >= 0) | (turns < -WIDEST_GAP)) + 1, initial=0)  # from here it turns one way
    radius, left = radius[first:][::-1], left[first:][::-1]
    if left[-1] < ROUND + QUARTER:
        return 0
    now = left <= min(ROUND, float(left[-1]) - ROUND)
    before = np.interp(left[now] + ROUND, left, radius)
    outward, inward = (radius[now] > (1 + TREND) * before).all(), (before > (1 + TREND) * radius[now]).all()
    return int(outward) - int(inward)


def _centre(states: NDArray[np.float64], centre: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """What a curve may wind around."""
    return states.mean(axis=0) if centre is None else centre


def period(states: NDArray[np.float64]) -> int:
    """After how many steps, from 2 on, the orbit repeats, the drift of all its steps summed; else 0."""
    allowed = REPEATS * _spread(states) + ROUNDED * length(states[-1])
    backwards, count = states[::-1], np.arange(len(states))
    for steps in range(2, len(states) // PERIODS + 1):
        if length(backwards - backwards[count % steps]).max() <= allowed:
            return steps
    return 0


def nearing(states: NDArray[np.float64], centre: NDArray[np.float64], longest: int) -> int:
    """After how many steps, 2 to `longest`, the orbit comes ever nearer to where it was; 0 where it does after none.

    On a closed curve it comes no nearer. What winds into its centre comes nearer in the proportion of its distances.
    What only passes where a periodic orbit almost is comes nearer ever more slowly.
    """
    distance = length(states - centre)
    parts = np.array_split(np.arange(len(states) - longest), QUARTERS)
    winds = min(1.0, float(distance[parts[-1]].max() / distance[parts[1]].max()))
    best, found = CLOSE * _spread(states), 0
    for steps in range(2, longest + 1):
        gaps = length(states[steps:] - states[:-steps])
        first, second, third, fourth = (float(gaps[part].max()) for part in parts)
        falls = fourth < CLOSING * second * winds and fourth * first**STEADY <= third * second**STEADY
        if falls and fourth < best / 2:
            best, found = fourth, steps
    return found


def _spread(states: NDArray[np.float64]) -> float:
    """How far from its last state an orbit has been."""
    return float(length(states - states[-1]).max())


def length(states: NDArray[np.float64]) -> NDArray[np.float64]:
    """Norm of each state, shape (…, 2) to (…), also of those whose squares are beyond floating-point numbers."""
    return np.hypot(states[..., 0], states[..., 1])


def polar(states: NDArray[np.float64], centre: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Distance and angle from `centre`, each of shape (iteration,)."""
    offsets = states - centre
    return length(offsets), np.arctan2(offsets[:, 1], offsets[:, 0])


def _on_one_curve(radius: NDArray[np.float64], angle: NDArray[np.float64]) -> bool:
    """Whether the radius is one function of the angle for both halves of the orbit."""
    half = len(radius) // 2
    ordered = np.sort(angle)
    if np.diff(ordered, append=ordered[0] + 2 * np.pi).max() > WIDEST_GAP:
        return False
    order = np.argsort(angle[:half])
    expected = np.interp(angle[half:], angle[:half][order], radius[:half][order], period=2 * np.pi)
    return bool(np.abs(expected - radius[half:]).max() <= SAME_CURVE * radius.mean())
