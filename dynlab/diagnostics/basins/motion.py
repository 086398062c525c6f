"""What an orbit that does not repeat is on: closed curves, a torus, chaos; or why that is not decided."""

from typing import NamedTuple

import numpy as np
import torch
from scipy.spatial import cKDTree

from dynlab.diagnostics.basins.cycles import LONGEST
from dynlab.diagnostics.basins.ends import carried, tail
from dynlab.diagnostics.lyapunov import lyapunov
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.closed_path import Curves, closed_curves, shortest_tree
from dynlab.numerics.flat_orbits import AWAY, BESIDE, MOST, FlatSpaces, flat_spaces, neighbours_distance, spread
from dynlab.numerics.statistics import with_signs
from dynlab.systems import Map
from dynlab.systems.held import Held
from dynlab.systems.iterated import Iterated
from dynlab.systems.within import Within

CURVE, CHAOS, TORUS = "invariant closed curve", "chaotic attractor", "invariant torus"
UNSTABLE_CHAOS = "unstable chaotic set"
MOST_JOINED = 8192  # of an orbit's last states are joined by a tree: its work grows with their square
DRIFT = 0.02  # of the orbit's own width: by less than this its halves differ in mean and spread, or it still moves
DRIFT_OF_CHAOS = 0.5  # the same of chaos, whose halves never agree so well
RADII = 0.3, 0.6  # of the orbit's width: how the number of states within grows from one to the other is its dimension
TOLD = 0.25  # a dimension this near to 2 is that of a torus
LATELY = 64  # steps: the farthest that a neighbour is in the last of these says whether it left
BACK = 0.5  # of the distance at which it started: one that is nearer at last has come back
MOST_PIECES = 8  # spaces, at most, that an orbit visits in turn
# So many orbits are followed on to see whether chaos lasts, fewer of a large state (multiplications of a full matrix);
# one has left that is farther away than twice what is near, and more than this share of all must have.
ORBITS, MULTIPLICATIONS, LEFT_LATE = 4096, 2**22, 1e-3
NEAR = 2.0  # times the largest distance to its nearest neighbour: an end so near to that orbit is on the same attractor
# Why an orbit is undecided, in words that follow "undecided, since".
DRIFTS = "the orbits have not come yet to where they stay"
LONG = f"the exponents are negative and no period up to {LONGEST:,} steps is seen"
WEAK = "the orbits lie on closed curves, and the exponents do not tell whether these attract"
NEITHER = "orbits beside the line or plane that these lie in neither leave it nor come back"
LEFT = "an orbit that starts beside them leaves what they are on"
ESCAPES = "some orbits leave the chaotic set that these are on, late: it is a transient"
SHAPELESS = "no exponent is told to be positive, and the orbits trace no closed curve"


class Motion(NamedTuple):
    """What an orbit is on.

    Attributes
    ----------
    kind : str
        "" where it is undecided.
    stable : int
        1, 0.
    exponent, error : float
        The largest Lyapunov exponent in nat/step.
    near : float
        How far from the orbit another one on the same attractor may be; of what is undecided not less than 2 % of its
        width, since no attractor is claimed.
    reason : str
        Why it is undecided.
    inside : FlatSpaces, optional
        Where nearby orbits leave: the spaces that hold this one, and with it all that are on the same set.
    """

    kind: str
    stable: int
    exponent: float
    error: float
    near: float
    reason: str
    inside: FlatSpaces | None = None


def motion(held: Held, orbit: Real, seed: int) -> Motion:
    """What consecutive states (m, n) of an orbit are on.

    Curves are those that `dynlab.numerics.closed_path` sees; they attract where every exponent but the first is
    certainly negative, and repel where one is certainly positive: that along the curve is 0. What lies in a space of
    fewer dimensions, or in several in turn, attracts only where an orbit beside it comes back; where that leaves, only
    what happens inside of the space says what the set is. Of other sets such an orbit must be near the same states.
    Chaos that some of many orbits leave later is a transient.
    """
    found = _attracting(held, orbit, seed)
    escapes = found.kind == CHAOS and _escapes(held, orbit, found.near, seed)
    return found._replace(kind="", reason=ESCAPES) if escapes else found


def _attracting(held: Held, orbit: Real, seed: int) -> Motion:
    """The same, but for chaos that orbits leave late."""
    found = _motion(orbit, Iterated(held, 1), np.asarray(held.unit) * orbit[0], seed)
    if not found.kind or not found.stable:
        return found
    for pieces in range(1, MOST_PIECES + 1):
        several, parts = _in_pieces(held, orbit, pieces)
        spaces, distance = beside(several, parts, seed)
        if (distance <= BACK * BESIDE).all():
            return found
        if (distance > AWAY).any():
            return _unstable(_motion(orbit, *_along(several, spaces, parts), seed), found, spaces)
        if not np.isnan(distance).any():
            return found._replace(kind="", reason=NEITHER)
    return found if _comes_back(held, orbit, found.near, seed) else found._replace(kind="", reason=LEFT)


def _in_pieces(held: Held, orbit: Real, pieces: int) -> tuple[Held, Real]:
    """So many steps as one, and every so many states (piece, m, n) of an orbit: its parts where it has as many."""
    if pieces == 1:
        return held, orbit[None]
    parts = orbit[: len(orbit) // pieces * pieces].reshape(-1, pieces, orbit.shape[1]).swapaxes(0, 1)
    return Held(Iterated(held, pieces), held.input[:0], 0, held.unit), parts


def beside(held: Held, orbits: Real, seed: int) -> tuple[FlatSpaces, Real]:
    """The affine spaces that hold orbits (sample, m, n), and how far from these their neighbours are at last.

    The distances are those of `neighbours_distance`, the largest of the last `LATELY` steps of m.
    """
    m, n = orbits.shape[1:]
    some = orbits[:, spread(m, max(MOST, 2 * n))]
    spaces = flat_spaces(some, np.ones(len(some)))

    def follow(states: Real) -> Real:
        return tail(held, carried(held, states, m - LATELY), LATELY)

    return spaces, neighbours_distance(spaces, some[:, 0], follow, seed)


def _comes_back(held: Held, orbit: Real, near: float, seed: int) -> bool:
    """Whether an orbit that starts beside another one is near that one's states at last, most of the time."""
    aside = np.random.default_rng(seed).standard_normal(orbit.shape[1])
    begin = orbit[:1] + BESIDE * float(np.abs(orbit).max()) * aside / np.linalg.norm(aside)
    last = tail(held, carried(held, begin, len(orbit) - MOST), MOST)[0]
    last = last[np.isfinite(last).all(axis=1)]
    return bool((cKDTree(orbit).query(last)[0] <= near).sum() > MOST / 2)


def _escapes(held: Held, orbit: Real, near: float, seed: int) -> bool:
    """Whether some of many orbits from beside the states of one are far from all of these after as many steps again."""
    many = int(np.clip(MULTIPLICATIONS // orbit.shape[1] ** 2, 1, ORBITS))
    begin = orbit[spread(len(orbit), many)]
    aside = np.random.default_rng(seed).standard_normal(begin.shape)
    last = carried(held, begin + BESIDE * float(np.abs(orbit).max()) * aside, len(orbit))
    last = last[np.isfinite(last).all(axis=1)]
    stay = int((cKDTree(orbit).query(last)[0] <= 2 * near).sum())
    return stay < (1 - LEFT_LATE) * len(begin)


def _unstable(inside: Motion, found: Motion, spaces: FlatSpaces) -> Motion:
    """What an orbit is on by what happens `inside` of spaces that its neighbours leave; the exponent is `found` so."""
    if not inside.kind:
        return inside
    kind = UNSTABLE_CHAOS if inside.kind == CHAOS else inside.kind
    kind = kind if kind.startswith("unstable") else f"unstable {kind}"
    return inside._replace(kind=kind, stable=0, exponent=found.exponent, error=found.error, inside=spaces)


def _along(held: Held, spaces: FlatSpaces, orbits: Real) -> tuple[Within, Real]:
    """The map inside of the space that holds the first of several orbits, and where that one starts in it."""
    return within_space(held, spaces, 0), (orbits[0, 0] - spaces.centre[0]) @ spaces.spanning(0).T


def within_space(held: Held, spaces: FlatSpaces, sample: int) -> Within:
    """The map inside of the space that holds one of several orbits."""
    return Within(held, torch.from_numpy(spaces.centre[sample]), torch.from_numpy(spaces.spanning(sample)))


def _motion(orbit: Real, along: Map, begin: Real, seed: int) -> Motion:
    """The same by the exponents of the map `along` from the state `begin` alone."""
    drift = _drift(orbit)
    exponents, errors, sign = _exponents(along, begin, len(orbit), seed)
    curves, kind, stable, reason = None, "", 1, ""
    if drift > (DRIFT_OF_CHAOS if sign[0] > 0 else DRIFT):
        reason = DRIFTS
    else:
        joined = orbit[-MOST_JOINED:]
        curves = closed_curves(joined, shortest_tree(joined))
        kind, stable, reason = _told(orbit, sign, curves)
    near = max(_near(orbit, curves), 0.0 if kind else DRIFT * float(orbit.std(axis=0).max()))
    return Motion(kind, stable, float(exponents[0]), float(errors[0]), near, reason)


def _told(orbit: Real, sign: Index, curves: Curves | None) -> tuple[str, int, str]:
    """The kind of an orbit that stays where it is, whether it is stable, and the reason where it is undecided."""
    if curves is not None:
        kind = CURVE if curves.pieces == 1 else f"cycle of {curves.pieces} {CURVE}s"
        if sign[0] > 0:
            return f"unstable {kind}", 0, ""
        return (kind, 1, "") if (sign[1:] < 0).all() else ("", 1, WEAK)
    if sign[0] > 0:
        return CHAOS, 1, ""
    if sign[0] < 0:
        return "", 1, LONG
    on_torus = len(sign) > 2 and (sign[:2] == 0).all() and (sign[2:] < 0).all() and _is_surface(orbit)
    return (TORUS, 1, "") if on_torus else ("", 1, SHAPELESS)


def _exponents(along: Map, begin: Real, steps: int, seed: int) -> tuple[Real, Real, Index]:
    """The largest exponents along an orbit, three at most, their errors, and their signs: 0 is undecided."""
    k = min(3, along.state_size)
    measured = lyapunov(along, steps=steps, k=k, initial_state=begin, largest_state=np.inf, seed=seed)
    exponents, errors, bounds = (measured[name].values[0] for name in ("exponent", "exponent_error", "rounding_bound"))
    return exponents, errors, signs(with_signs(exponents, bounds), errors)


def signs(exponents: Real, errors: Real) -> Index:
    """1 and −1 beyond the error, 0 where it is not told; −inf, of a Jacobian that is singular, is negative."""
    with np.errstate(invalid="ignore"):
        return np.where(exponents > errors, 1, np.where((exponents < -errors) | np.isneginf(exponents), -1, 0))


def _drift(orbit: Real) -> float:
    """By how much the halves of an orbit differ in mean and spread, relative to its width."""
    first, second = np.array_split(orbit, 2)
    change = max(np.abs(first.mean(axis=0) - second.mean(axis=0)).max(), np.abs(first.std(0) - second.std(0)).max())
    return float(change / max(orbit.std(axis=0).max(), np.finfo(np.float64).tiny))


def _is_surface(orbit: Real) -> bool:
    """Whether the pairs of states within a distance r grow with it as r², the correlation dimension being 2.

    References
    ----------
    Grassberger and Procaccia, "Measuring the strangeness of strange attractors", Physica D 9 (1983).
    """
    tree, width = cKDTree(orbit), float(orbit.std(axis=0).max())
    fewer, more = tree.count_neighbors(tree, np.array(RADII) * width) - len(orbit)
    return bool(abs(np.log(more / fewer) / np.log(RADII[1] / RADII[0]) - 2) <= TOLD)


def _near(orbit: Real, curves: Curves | None) -> float:
    """On a closed curve, the widest hole between neighbours: near a resonance they lie in clumps (three gaps)."""
    tree = cKDTree(orbit)
    return max(NEAR * float(tree.query(orbit, k=2)[0][:, 1].max()), curves.widest if curves else 0.0)
