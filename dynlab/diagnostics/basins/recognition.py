"""What orbits have come to: points and cycles refined by Newton, curves and chaos told by Lyapunov exponents."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial import cKDTree

from dynlab.diagnostics.basins.ends import GONE, MOVING, Ends, ends, tail
from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.diagnostics.lyapunov import lyapunov
from dynlab.systems.held import Held
from dynlab.systems.iterated import Iterated

Real = NDArray[np.float64]

DIVERGED, UNDECIDED = -1, -2  # in place of an attractor's number
CURVE, CHAOS, TORUS, SLOW = "invariant closed curve", "chaotic attractor", "invariant torus", "still moving, undecided"
WORDS = {1: "stable", 0: "unstable", -1: "undecided"}
GROUPED = 1e-5  # relative to 1 + ‖h‖: ends this near are first taken for one, and decided by what they refine to
MOST_GROUPS = 48  # of ends that are refined
SAME = 1e-3  # relative to 1 + ‖h‖: an end belongs to a root at most this far from it
FOLLOWED = 4096  # steps of the orbit that stands for a moving attractor
MOST_MOVING = 6  # such orbits are followed, twice: each takes seconds where the state is large
LONGER = 8  # times as many where exponents near zero are not told apart: one is slow decay, another a torus's own
NEAR = 2.0  # times the largest distance to its nearest neighbour: an end so near to that orbit is on the same attractor
HOLE = 0.1  # of the orbit's width: near a resonance it leaves holes in a closed curve, up to this size closed over
DRIFT = 0.02  # of the orbit's own width: by less than this its halves differ in mean and spread, or it still moves
SURE = 3.0  # standard errors
FINITE = 20.0  # nats: an exponent of T steps whose size is below this over T is not told from 0


@dataclass(frozen=True)
class Attractor:
    """Where orbits end.

    Attributes
    ----------
    kind : str
        A fixed point's, "stable period-4 orbit", or one of this module's names.
    period : int
        1 for a fixed point, 0 for what does not repeat.
    state : ndarray, shape (state,)
        The point, or one of many.
    points : ndarray, shape (point, state)
        The cycle, or an orbit on it.
    stable : int
        1, 0, −1 undecided.
    residual : float
        ‖F^p(h) − h‖₂, NaN for what does not repeat.
    exponent, exponent_error : float
        The largest Lyapunov exponent in nat/step.
    """

    kind: str
    period: int
    state: Real
    points: Real
    stable: int
    residual: float
    exponent: float
    exponent_error: float


def recognised(
    held: Held, found: Ends, largest_state: float, max_memory: float, seed: int
) -> tuple[list[Attractor], NDArray[np.int64]]:
    """The attractors, and the number of the one that each start ends on, `DIVERGED` or `UNDECIDED`."""
    assigned = np.full(len(found.states), UNDECIDED)
    assigned[found.period == GONE] = DIVERGED
    attractors: list[Attractor] = []
    for period in np.unique(found.period[found.period > 0]):
        (which,) = np.nonzero(found.period == period)
        _periodic(held, int(period), found.states, which, attractors, assigned, seed)
    (moving,) = np.nonzero(found.period == MOVING)
    states = found.states.copy()
    clouds: list[_Cloud] = []
    _moving(held, states, moving, attractors, assigned, clouds, seed)
    left = moving[assigned[moving] == UNDECIDED]
    if clouds and len(left):  # what has not yet come near is given more time, once
        states[left] = ends(held, states[left], FOLLOWED, largest_state, max_memory).states
        _moving(held, states, left, attractors, assigned, clouds, seed)
    return attractors, assigned


def _periodic(
    held: Held,
    period: int,
    states: Real,
    which: NDArray[np.int64],
    attractors: list[Attractor],
    assigned: NDArray[np.int64],
    seed: int,
) -> None:
    """Refine the ends of orbits of one period, each by Newton on F^p, and say which start belongs to which."""
    ends = states[which]
    _, first, group = np.unique(
        np.round(ends / (GROUPED * (1 + np.linalg.norm(ends, axis=1).max()))),
        axis=0,
        return_index=True,
        return_inverse=True,
    )
    order = np.argsort(-np.bincount(group.ravel()), kind="stable")[:MOST_GROUPS]
    roots = fixed_points(Iterated(held, period), starts=ends[first[order]], seed=seed)
    points = roots["fixed_point_state"].values
    if not len(points):
        return
    cycles = np.stack([_cycle(held, point, period) for point in points])  # (root, p, state)
    number = _same_cycles(cycles)
    trees = cKDTree(cycles.reshape(-1, cycles.shape[-1]))
    distance, nearest = trees.query(ends)
    near = distance <= SAME * (1 + np.linalg.norm(ends, axis=1))
    if (roots["status"].values == "continuum").any():
        near |= True  # each start ends at a point of its own
    offset, kept = len(attractors), np.unique(number)
    for name in kept:
        root = int(np.flatnonzero(number == name)[0])
        attractors.append(_point(roots, root, cycles[root], period))
    assigned[which[near]] = offset + np.searchsorted(kept, number[nearest[near] // period])


def _cycle(held: Held, state: Real, period: int) -> Real:
    return np.concatenate([state[None], tail(held, state, period - 1)]) if period > 1 else state[None]


def _same_cycles(cycles: Real) -> NDArray[np.int64]:
    """Roots of F^p on one cycle of F have one number."""
    number = np.arange(len(cycles))
    for later in range(len(cycles)):
        for earlier in range(later):
            apart = np.linalg.norm(cycles[earlier] - cycles[later, 0], axis=1).min()
            if apart <= SAME * (1 + np.linalg.norm(cycles[later, 0])):
                number[later] = number[earlier]
                break
    return number


def _point(roots: xr.Dataset, root: int, cycle: Real, period: int) -> Attractor:
    kind, stable = str(roots["kind"].values[root]), int(roots["stable"].values[root])
    if roots["status"].values[root] == "continuum":
        kind = f"continuum ({kind})"
    elif period > 1:
        kind = f"{WORDS[stable]} period-{period} orbit"
    elif kind.startswith("undecided") and stable >= 0:
        kind = f"{WORDS[stable]} fixed point"  # a node or a focus it may be
    leading = float(np.abs(roots["eigenvalue"].values[root]).max())
    error = float(roots["eigenvalue_error"].values[root].max())
    with np.errstate(divide="ignore"):
        exponent = float(np.log(leading)) / period
    return Attractor(
        kind,
        period,
        cycle[0],
        cycle,
        stable,
        float(roots["residual"].values[root]),
        exponent,
        error / leading / period if leading else 0.0,
    )


@dataclass(frozen=True)
class _Cloud:
    """An orbit on an attractor that does not repeat: its states, how near an end must be, the attractor's number."""

    tree: cKDTree
    near: float
    number: int


def _moving(
    held: Held,
    states: Real,
    which: NDArray[np.int64],
    attractors: list[Attractor],
    assigned: NDArray[np.int64],
    clouds: list[_Cloud],
    seed: int,
) -> None:
    """Attractors that do not repeat: one orbit stands for each, and ends near it belong to it."""
    for cloud in clouds:
        left = which[assigned[which] == UNDECIDED]
        assigned[left[cloud.tree.query(states[left])[0] <= cloud.near]] = cloud.number
    for _ in range(MOST_MOVING):
        left = which[assigned[which] == UNDECIDED]
        if not len(left):
            return
        orbit = tail(held, states[left[0]], 2 * FOLLOWED)[FOLLOWED:]
        if not np.isfinite(orbit).all():
            assigned[left[0]] = DIVERGED
            continue
        known = [one for one in clouds if one.tree.query(orbit[-FOLLOWED // 8 :])[0].max() <= one.near]
        if known:
            assigned[left[0]] = known[0].number
            continue
        attractor = _on_orbit(held, orbit, seed)
        if attractor.kind == SLOW:
            return  # what has not settled stands for nothing
        tree = cKDTree(orbit)
        cloud = _Cloud(tree, _reach(tree, attractor), len(attractors))
        near = tree.query(states[left])[0] <= cloud.near
        near[0] = True  # the orbit is its own
        assigned[left[near]] = cloud.number
        clouds.append(cloud)
        attractors.append(attractor)


def _reach(tree: cKDTree, attractor: Attractor) -> float:
    """How far from the orbit on it an end on an attractor may be.

    Points of a rotation by nearly a rational number lie in clumps (the three-gap theorem): the hole between two is
    far wider than the distance of neighbours. The longest edge of the points' minimum spanning tree is that hole.
    """
    reach = NEAR * float(tree.query(tree.data, k=2)[0][:, 1].max())
    if attractor.kind != CURVE:
        return reach
    pairs = tree.sparse_distance_matrix(tree, HOLE * float(np.std(tree.data, axis=0).max()), output_type="coo_matrix")
    return max(reach, float(minimum_spanning_tree(pairs).data.max(initial=0.0)))


def _on_orbit(held: Held, orbit: Real, seed: int) -> Attractor:
    """A curve, a torus or chaos, by the exponents; or an orbit that still goes somewhere."""
    half = len(orbit) // 2
    width = float(orbit.std(axis=0).max())
    drift = max(
        float(np.abs(orbit[:half].mean(axis=0) - orbit[half:].mean(axis=0)).max()),
        float(np.abs(orbit[:half].std(axis=0) - orbit[half:].std(axis=0)).max()),
    )
    exponents, errors, sign = _exponents(held, orbit[-1], FOLLOWED, seed)
    if sign[0] == 0 and (sign == 0).sum() > 1:
        exponents, errors, sign = _exponents(held, orbit[-1], LONGER * FOLLOWED, seed)
    zeros = int((sign == 0).sum())
    if sign[0] > 0:
        kind = CHAOS
    elif drift > DRIFT * width or sign[0] < 0 or zeros == orbit.shape[1]:  # nothing contracts: no attractor
        kind = SLOW
    else:
        kind = {1: CURVE, 2: TORUS}.get(zeros, SLOW)
    return Attractor(kind, 0, orbit[-1], orbit, 1, np.nan, float(exponents[0]), float(errors[0]))


def _exponents(held: Held, state: Real, steps: int, seed: int) -> tuple[Real, Real, NDArray[np.int64]]:
    """The largest exponents, three at most, their errors, and their signs: 0 is undecided."""
    measured = lyapunov(Iterated(held, 1), steps=steps, k=min(3, len(state)), initial_state=state, seed=seed)
    exponents = measured["exponent"].values[0]
    errors = SURE * measured["standard_error"].values[0] + FINITE / steps
    return exponents, errors, np.where(exponents > errors, 1, np.where(exponents < -errors, -1, 0))
