"""Whether two curves of roots have a state in common: where they cross, where they touch, and where they are one.

The cubics between the states of both walks say where they come nearest to each other. There states nearer to each other
are computed on both, twice, so that their cubics are exact to far less than what two curves must be apart to be two.
"""

import numpy as np
import torch
from scipy.spatial.distance import cdist

from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.continua import CONTRACTION, STORED, Curve, between, nearest_on, on_curve
from dynlab.numerics.isolation import Equations, rounding
from dynlab.numerics.merging import SAME, scale
from dynlab.numerics.roots_in_planes import corrected

REACHING = 1.2  # times half the lengths of two pieces: middles farther apart, they do not meet
ROUGH = 1e-3  # times those lengths: nearer to each other the cubics between walked states may meet
FINER = (1 / 8, 1 / 64)  # of a walk's piece, both ways from where it may meet another
SAMPLES, HALVINGS = 4, 40  # of a piece, where a second singular value is looked at, and then between these
SECOND = 1e-8  # times 1 + ‖f'‖: a second singular value that falls below is 0
ITERATIONS = 40  # of Gauss and Newton's method: each halves the distance to where curves touch
COMPUTED = 1e-11  # times max(1, ‖h‖): what rounding makes of a distance of 0
DAMPED = 1e-12  # times the squared lengths: of curves that are parallel
ALONG = 0.99  # the cosine of the angle of a computed tangent and the cubic's is above, where f' is not 0


def meet(equations: Equations, one: Curve, other: Curve, farthest: float = np.inf) -> bool | None:
    """Whether two curves come nearer to each other than `dynlab.numerics.merging.SAME`.

    That is relative to where they are nearest to 0: parallel lines are as far apart out there as here. Farther out than
    `farthest` they are not looked at: a hyperbola's branches near each other without end. None where rounding does not
    tell, or they do not, as computed, and f is rounding between them, as where they touch in steep coordinates.
    """
    if min(len(one.states), len(other.states)) < 2:
        return bool(on_curve(equations, one, other.states).any() or on_curve(equations, other, one.states).any())
    closest = float(scale(np.concatenate([one.states, other.states])).min())
    for curve, beside in ((one, other), (other, one)):  # at a sharp bend a walk may end, and another come from beyond
        last = curve.states[[0, -1]]
        last = last[np.linalg.norm(last, axis=1) <= farthest]
        if (np.linalg.norm(nearest_on(beside, last) - last, axis=1) <= SAME * closest).any():
            return True
    centers, lengths = zip(_pieces(one), _pieces(other), strict=True)
    reach = (lengths[0][:, None] + lengths[1]) / 2
    here, there = (np.linalg.norm(each, axis=1) <= farthest for each in centers)
    pairs = np.argwhere((cdist(*centers) <= REACHING * reach) & here[:, None] & there)
    parts, apart = _nearest(one, other, pairs)
    near = apart <= ROUGH * reach[tuple(pairs.T)]
    pairs, parts = pairs[near], parts[near]
    width = 1.0
    for finer in FINER:
        if not len(pairs):
            return False
        one = _finer(equations, one, pairs[:, 0], parts[:, 0], finer / width)
        other = _finer(equations, other, pairs[:, 1], parts[:, 1], finer / width)
        pairs = np.repeat(2 * np.arange(len(pairs))[:, None], 2, axis=1)
        parts, apart = _nearest(one, other, pairs)
        width = 2 * finer
    if (apart <= SAME * closest).any():
        return True
    if (apart <= COMPUTED * scale(one.states[::2])).any():
        return None
    ends = [between(curve, pairs[:, k], parts[:, k])[0] for k, curve in enumerate((one, other))]
    middles = torch.as_tensor((ends[0] + ends[1]) / 2)
    values = equations.value(middles)
    noise = (STORED + middles.shape[1]) * rounding(equations, middles, values, equations.matrix(middles))
    return None if (values.abs() <= noise).all(-1).any() else False


def singular_states(equations: Equations, curve: Curve) -> Real:
    """The states (k, n) of a curve at which f' is singular in a second direction: nowhere else it meets another set.

    Where one singular value alone is 0, n − 1 of the equations have no other roots nearby than one smooth curve.
    """
    pieces = np.repeat(np.arange(len(curve.states) - 1), SAMPLES)
    parts = np.tile(np.arange(SAMPLES) / SAMPLES, len(curve.states) - 1)
    seconds = _second(equations, curve, pieces, parts)[1]
    around = np.pad(seconds, 1, constant_values=np.inf)
    least = np.flatnonzero((seconds <= around[:-2]) & (seconds <= around[2:]))
    pieces, parts, width = pieces[least], parts[least], 1 / SAMPLES
    for _ in range(HALVINGS):
        width /= 2
        tried = np.stack([parts - width, parts, parts + width])
        each = [_second(equations, curve, pieces, part)[1] for part in tried]
        parts = tried[np.argmin(each, axis=0), np.arange(len(pieces))]
    states, seconds = _second(equations, curve, pieces, parts)
    return states[seconds <= SECOND]


def _second(equations: Equations, curve: Curve, pieces: Index, parts: Real) -> tuple[Real, Real]:
    """States on a curve, so far along its pieces, and the second smallest singular value of f' over ‖f'‖ + 1."""
    states, velocities = between(curve, pieces, parts)
    normals = (velocities / np.linalg.norm(velocities, axis=1, keepdims=True))[:, None]
    states = corrected(equations, states, normals).states
    sigma = np.linalg.svd(equations.matrix(torch.as_tensor(states)).numpy(), compute_uv=False)
    return states, sigma[:, -2] / (1 + sigma[:, 0])


def _pieces(curve: Curve) -> tuple[Real, Real]:
    begins, ends = curve.states[:-1], curve.states[1:]
    return (begins + ends) / 2, np.linalg.norm(ends - begins, axis=1)


def _nearest(one: Curve, other: Curve, pairs: Index) -> tuple[Real, Real]:
    """How far along each pair of pieces (k, 2) they are nearest to each other (k, 2), and how near (k,)."""
    parts = np.full(pairs.shape, 0.5)
    best, least = parts, np.full(len(pairs), np.inf)
    for _ in range(ITERATIONS):
        (a, forward), (b, beside) = (between(c, pairs[:, k], parts[:, k]) for k, c in enumerate((one, other)))
        apart = np.linalg.norm(a - b, axis=1)
        best, least = np.where((apart < least)[:, None], parts, best), np.minimum(apart, least)
        slopes = np.stack([forward, -beside], axis=2)
        squares = slopes.swapaxes(1, 2) @ slopes
        squares += DAMPED * np.trace(squares, axis1=1, axis2=2)[:, None, None] * np.eye(2)
        step = np.linalg.solve(squares, slopes.swapaxes(1, 2) @ (b - a)[..., None])[..., 0]
        parts = (parts + step).clip(0.0, 1.0)
    return best, least


def _finer(equations: Equations, curve: Curve, numbers: Index, parts: Real, width: float) -> Curve:
    """Two states for each of these pieces, so far to both sides of a part of it; they are on the curve, in pairs."""
    numbers = np.repeat(numbers, 2)
    states, velocities = between(curve, numbers, (parts[:, None] + np.array([-width, width])).clip(0.0, 1.0).ravel())
    tangents = velocities / np.linalg.norm(velocities, axis=1, keepdims=True)
    found = corrected(equations, states, tangents[:, None])
    better = found.settled & (found.slowing <= CONTRACTION)
    null = np.linalg.svd(found.matrices)[2][:, -1]
    cosines = (null * tangents).sum(axis=1)
    turned = np.where((better & (abs(cosines) > ALONG))[:, None], np.sign(cosines)[:, None] * null, tangents)
    return Curve(np.where(better[:, None], found.states, states), turned, False, True)
