"""Which roots lie on one continuum: found by walking along it, each step along the tangent and back onto the roots.

References
----------
Allgower and Georg, Introduction to Numerical Continuation Methods (2003), chapters 6 and 10.
"""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.isolation import Equations, rounding
from dynlab.numerics.merging import scale
from dynlab.numerics.roots_in_planes import ON, along, corrected

STEP, SHORTEST = 0.05, 1e-10  # times max(1, ‖h‖): of a walk; it is halved where the tangent turns or no root is near
STRAIGHT = 1e-3  # of a step: where no more than that leads from its end back onto the roots, the next is twice as long
FORESEEN = 0.01  # of a step, likewise where the curve's bend is known
CONTRACTION = 0.25  # of Newton's first step is what the second may be, or another curve may be as near
CROSSED = 1e-7  # a step below that may lead across a curve that crosses this one: nearer to each other, they are one
LONGEST = 0.5  # times max(1, ‖h‖): a step past where the curve may bend sees nothing of it
AWAY = 0.05  # of a step: how far the curve may be from where it should be half-way, or the step has left it
TURN = 0.95  # the cosine of the angle between two tangents is above
FARTHEST = 100.0  # times max(1, ‖h‖): a walk ends so far from where it began
MOST_STEPS = 1000
STORED = 16  # + n, times the rounding of f: what the rounding of stored weights makes of an f that is 0 without it
NEARER = 3  # steps of Newton's method to the nearest point of a cubic
IN_SUCCESSION = 3  # states at which f is told from 0, unless the walk ends there
BEYOND, ABRUPT = 1e3, 1e3  # of half a stretch, how far beyond its end f is looked at; what it is there, in roundings
SMOOTH = 1e-4  # times 1 + ‖f'‖: a smallest singular value that is larger where f is just told from 0 is a jump


class Curve(NamedTuple):
    """A curve of roots by states in order, and unit tangents forwards.

    Attributes
    ----------
    states, tangents : ndarray, shape (m, n)
        The first and the last are the same state where the curve closes.
    closed : bool
    finished : bool
        Whether it closes, ends or is far away at both ends; no walk goes on for ever.
    goes_on : bool
        Whether it was followed to where it is far away, and goes on from there.
    """

    states: Real
    tangents: Real
    closed: bool
    finished: bool
    goes_on: bool = False


def curve_of(equations: Equations, root: Real, tangent: Real, plane: int = 1) -> Curve:
    """The curve of roots through one of them, both ways to where it closes, ends, or is far away.

    Parameters
    ----------
    equations : Equations
    root : ndarray, shape (n,)
        It is among the states.
    tangent : ndarray, shape (n,)
    plane : int
        The number of directions in which f' is singular; the walk goes straight on in their plane.
    """
    ahead = _walk(equations, root, tangent, plane)
    if ahead.closed:
        return ahead
    behind = _walk(equations, root, -tangent, plane)
    states = np.concatenate([behind.states[:0:-1], ahead.states])
    tangents = np.concatenate([-behind.tangents[:0:-1], ahead.tangents])
    return Curve(states, tangents, False, ahead.finished and behind.finished, ahead.goes_on or behind.goes_on)


class Told(NamedTuple):
    """Where f is told from 0 along a curve through a root.

    Attributes
    ----------
    before, after : float
        The sign of f there, before and after the root; 0 where it is told from 0 nowhere.
    curve : Curve
        The part of the curve from where to where, or to its ends.
    abrupt : bool
        Whether f leaves 0 abruptly at both ends of that part.
    """

    before: float
    after: float
    curve: Curve
    abrupt: bool


def told_ends(equations: Equations, curve: Curve, root: Real, plane: int = 1, left: Real | None = None) -> Told:
    """Which sign f has on either side of a root on a curve, where it is told from 0, and the states between.

    The states of a walk are roots to the solver's tolerance. Where f rises out of its rounding along them, f is 0
    nowhere near: an analytic f that is 0 on a stretch is 0 everywhere. On a continuum it does not, unless it leaves 0
    abruptly, as at a kink or where relu(h)² begins, at which a continuum may end: there it counts as told nowhere.

    Parameters
    ----------
    equations : Equations
    curve : Curve
        Of `curve_of`.
    root : ndarray, shape (n,)
    plane : int
        The number of directions in which f' is singular.
    left : ndarray, shape (n,), optional
        The left singular vector of the smallest singular value at the root: f has its sign along it, and along what it
        becomes from state to state. Without it the signs say no more than that f is told from 0.
    """
    states = curve.states
    points = torch.as_tensor(states)
    values, matrices = equations.value(points), equations.matrix(points)
    u, sigma, _ = torch.linalg.svd(matrices)
    here, along = int(np.linalg.norm(states - root, axis=1).argmin()), u[:, :, -1]
    turned = torch.where((along[1:] * along[:-1]).sum(-1) < 0, -1.0, 1.0).to(along)
    turned = torch.cat([turned.new_ones(1), turned.cumprod(0)])
    sign = ((along * values).sum(-1).sign() * turned * turned[here]).numpy()
    sign = np.ones(len(sign)) if left is None else sign if along[here].numpy() @ left > 0 else -sign
    noise = (STORED + points.shape[1]) * rounding(equations, points, values, matrices)
    # the states are least squares: what rounding makes of f in one coordinate moves them, and with them f in all others
    regular = u[:, :, :-plane] @ u[:, :, :-plane].mT
    noise = noise + (regular.abs() @ noise[..., None])[..., 0]
    told = ((values.abs() > noise).any(-1) & (sigma[:, -plane] <= SMOOTH * (1 + sigma[:, 0]))).numpy()
    first, last = here - _first_told(told[here::-1]), here + _first_told(told[here:])
    half = float(np.linalg.norm(np.diff(states[first : last + 1], axis=0), axis=1).sum()) / 2
    at_ends = {end: inward for end, inward in ((first, 1), (last, -1)) if end != here and told[end]}
    abrupt = {end for end, to in at_ends.items() if _is_abrupt(equations, states[end + to], states[end], half)}
    behind, ahead = (float(sign[end]) if end in at_ends and end not in abrupt else 0.0 for end in (first, last))
    return Told(behind, ahead, _part_of(curve, first, last), len(abrupt) == 2)


def _is_abrupt(equations: Equations, inside: Real, told: Real, half: float) -> bool:
    """Whether f leaves 0 abruptly between two states of a walk, at the end of a stretch so long to both sides.

    A smooth f that rounding hides over a stretch grows over distances as long as that: over a thousandth of half of it
    by a thousandth of its order. relu(h)² is a million roundings there. A walk comes to such an end by short steps.
    """
    apart, way = float(np.linalg.norm(told - inside)), half / BEYOND
    if not 0 < apart <= way:
        return False
    outward = (told - inside) / apart
    beyond = corrected(equations, (told + way * outward)[None], outward[None, None]).states
    return _roundings(equations, beyond) > ABRUPT


def _roundings(equations: Equations, states: Real) -> float:
    """How many times what rounding may leave of it f is at most, at one state (1, n)."""
    points = torch.as_tensor(states)
    values = equations.value(points)
    noise = (STORED + points.shape[1]) * rounding(equations, points, values, equations.matrix(points))
    return float((values.abs() / noise.clamp_min(torch.finfo(noise.dtype).tiny)).max())


def _part_of(curve: Curve, first: int, last: int) -> Curve:
    part = slice(first, last + 1)
    closed = curve.closed and first == 0 and last == len(curve.states) - 1
    return curve._replace(states=curve.states[part], tangents=curve.tangents[part], closed=closed)


def _first_told(told: NDArray[np.bool_]) -> int:
    """The number of the first of several in succession, as one may be rounding; of the last where there is none."""
    beyond = np.concatenate([told, np.ones(IN_SUCCESSION - 1, dtype=bool)])
    runs = np.lib.stride_tricks.sliding_window_view(beyond, IN_SUCCESSION).all(axis=1)
    return int(runs.argmax()) if runs.any() else len(told) - 1


def on_curve(equations: Equations, curve: Curve, roots: Real) -> NDArray[np.bool_]:
    """Whether each root (k, n) lies on the curve."""
    nearest, tangents, distance = _nearest(curve, roots)
    found: NDArray[np.bool_] = distance <= 2 * STEP * scale(roots)
    if not found.any():
        return found
    roots, nearest, tangents = roots[found], nearest[found], tangents[found, None]
    there, settled, _, _ = corrected(equations, nearest + along(tangents, roots - nearest), tangents)
    found[found] = settled & (np.linalg.norm(there - roots, axis=1) <= ON * scale(roots))
    return found


def nearest_on(curve: Curve, roots: Real) -> Real:
    """The point of a curve that is nearest to each root (k, n)."""
    return _nearest(curve, roots)[0]


def _walk(equations: Equations, root: Real, tangent: Real, plane: int) -> Curve:
    """The curve from a root one way."""
    equations = equations.walking()
    matrix = equations.matrix(torch.as_tensor(root)[None])[0].numpy()
    here = first = _Stand(root, tangent, np.zeros_like(root), *_null_vectors(matrix, plane), matrix)
    stands, length, tried, closed = [here], STEP, 0, False
    while length >= SHORTEST and np.linalg.norm(here.state - root) <= FARTHEST * scale(root):
        if tried == MOST_STEPS or equations.spent():
            return _curve(stands)
        tried += 1
        step = length * float(scale(here.state))
        there, off = _stepped(equations, here, step, plane, length < CROSSED)
        if there is None:
            length /= 2
            continue
        closed = len(stands) > 2 and _passes(equations, here, root, step)
        here = first if closed else there
        stands.append(here)
        if closed:
            break
        foreseen = off <= (STRAIGHT if plane > 1 else FORESEEN) * step
        length = min(2 * length, LONGEST) if foreseen else max(length, min(STEP, 2 * length))
    return _curve(stands)._replace(closed=closed, finished=True, goes_on=not closed and length >= SHORTEST)


class _Stand(NamedTuple):
    """Where a walk is: a state, the unit tangent, how that turns, the null vectors of f' and f'ᵀ, and f' itself."""

    state: Real
    tangent: Real
    bend: Real
    normals: Real
    left: Real
    matrix: Real

    def ahead(self, step: float) -> Real:
        return self.state + step * self.tangent + step**2 / 2 * self.bend

    def side(self) -> float:
        """The sign of f' bordered by its null vectors: it changes where another curve is crossed, or jumped onto."""
        corner = np.zeros((1, 1))
        bordered = np.block([[self.matrix, self.left[:, None]], [self.tangent[None], corner]])
        return float(np.linalg.slogdet(bordered)[0])


def _curve(stands: list[_Stand]) -> Curve:
    states, tangents = np.array([each.state for each in stands]), np.array([each.tangent for each in stands])
    return Curve(states, tangents, closed=False, finished=False)


def _null_vectors(matrix: Real, plane: int) -> tuple[Real, Real]:
    """So many of f' (plane, n), and one of f'ᵀ (n,)."""
    u, _, v = np.linalg.svd(matrix)
    return v[-plane:], u[:, -1]


def _stepped(equations: Equations, here: _Stand, step: float, plane: int, anyway: bool) -> tuple[_Stand | None, float]:
    """The next state of a walk, None where the step is too long, and how far off the curve it first was.

    On two curves that are neighbours f' has opposite signs across them. A step that ends with the sign of its
    beginning, and from where Newton's method goes straight to a root, has not left its curve. One that is short may
    change the sign, as where curves cross.
    """
    ahead = here.ahead(step)
    (state,), settled, (matrix,), (slowing,) = corrected(equations, ahead[None], here.normals[None])
    off = float(np.linalg.norm(state - ahead))
    if not settled[0] or np.linalg.norm(state - here.state) > 2 * step:
        return None, off
    normals, left = _null_vectors(matrix, plane)
    turned = along(normals[None], here.tangent[None])[0]
    turned /= max(float(np.linalg.norm(turned)), np.finfo(float).tiny)
    if turned @ here.tangent < TURN:
        return None, off
    left = left if left @ here.left >= 0 else -left
    way = float(np.linalg.norm(state - here.state))
    bend = np.zeros_like(turned)
    if plane == 1:
        bend = 6 * (here.state - state) / way**2 + (2 * here.tangent + 4 * turned) / way  # of Hermite's cubic
        bend -= (bend @ turned) * turned
    there = _Stand(state, turned, bend, normals, left, matrix)
    if plane > 1 or anyway:
        return there, off
    left_it = slowing > CONTRACTION or there.side() != here.side() or not _is_between(equations, here, there)
    return (None if left_it else there), off


def _is_between(equations: Equations, here: _Stand, there: _Stand) -> bool:
    """Whether the curve half-way is near to the cubic through both ends: else there are two curves."""
    way = there.state - here.state
    length = float(np.linalg.norm(way))
    middle = here.state + way / 2 + length / 8 * (here.tangent - there.tangent)
    (found,), settled, _, _ = corrected(equations, middle[None], way[None, None] / length)
    return bool(settled[0] and np.linalg.norm(found - middle) <= AWAY * length)


def _passes(equations: Equations, here: _Stand, goal: Real, step: float) -> bool:
    """Whether a step along the curve leads past the goal."""
    apart = goal - here.state
    along = float(apart @ here.tangent)
    if not 0 < along <= step or np.linalg.norm(apart) > 2 * step:
        return False
    (there,), settled, _, _ = corrected(equations, here.ahead(along)[None], here.normals[None])
    return bool(settled[0] and np.linalg.norm(there - goal) <= ON * scale(goal))


def _nearest(curve: Curve, roots: Real) -> tuple[Real, Real, Real]:
    """The nearest point of a curve to each root (k, n), the unit tangent there, and how far away it is."""
    begins, pieces = curve.states[:-1], np.diff(curve.states, axis=0)
    if not len(pieces):
        tangents = np.broadcast_to(curve.tangents, roots.shape)
        return np.broadcast_to(curve.states, roots.shape), tangents, np.linalg.norm(roots - curve.states, axis=1)
    squares, ways = (pieces**2).sum(axis=1), roots @ pieces.T - (begins * pieces).sum(axis=1)
    parts = (ways / squares).clip(0.0, 1.0)
    number = (cdist(roots, begins) ** 2 + parts * (parts * squares - 2 * ways)).argmin(axis=1)
    part = parts[np.arange(len(roots)), number]
    for _ in range(NEARER):
        nearest, velocity = between(curve, number, part)
        nearer = ((roots - nearest) * velocity).sum(axis=1) / (velocity**2).sum(axis=1)
        part = (part + nearer).clip(0.0, 1.0)
    nearest, velocity = between(curve, number, part)
    tangents = velocity / np.linalg.norm(velocity, axis=1, keepdims=True)
    return nearest, tangents, np.linalg.norm(nearest - roots, axis=1)


def between(curve: Curve, number: Index, part: Real) -> tuple[Real, Real]:
    """Points (k, n) so far, from 0 to 1, along pieces (k,) of a curve, and their velocities: of Hermite's cubics."""
    begin, end = curve.states[number], curve.states[number + 1]
    length = np.linalg.norm(end - begin, axis=1, keepdims=True)
    leaving, coming = length * curve.tangents[number], length * curve.tangents[number + 1]
    t = part[:, None]
    bend, twist = 3 * (end - begin) - 2 * leaving - coming, 2 * (begin - end) + leaving + coming
    return begin + t * (leaving + t * (bend + t * twist)), leaving + t * (2 * bend + 3 * t * twist)
