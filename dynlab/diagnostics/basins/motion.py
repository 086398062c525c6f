"""What an orbit that does not repeat is on: closed curves, a torus, chaos; or why that is not decided."""

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from dynlab.diagnostics.basins.cycles import LONGEST
from dynlab.diagnostics.lyapunov import lyapunov
from dynlab.numerics.arrays import Index, Real
from dynlab.numerics.closed_path import Curves, closed_curves, shortest_tree
from dynlab.numerics.statistics import with_signs
from dynlab.systems.held import Held
from dynlab.systems.iterated import Iterated

CURVE, CHAOS, TORUS = "invariant closed curve", "chaotic attractor", "invariant torus"
MOST_JOINED = 8192  # of an orbit's last states are joined by a tree: its work grows with their square
DRIFT = 0.02  # of the orbit's own width: by less than this its halves differ in mean and spread, or it still moves
DRIFT_OF_CHAOS = 0.5  # the same of chaos, whose halves never agree so well
RADII = 0.3, 0.6  # of the orbit's width: how the number of states within grows from one to the other is its dimension
TOLD = 0.25  # a dimension this near to 2 is that of a torus
NEAR = 2.0  # times the largest distance to its nearest neighbour: an end so near to that orbit is on the same attractor
# Why an orbit is undecided, in words that follow "undecided, since".
DRIFTS = "the orbits still drift"
LONG = f"the exponents are negative and no period up to {LONGEST:,} steps is seen"
WEAK = "the orbits lie on closed curves, and the exponents do not tell whether these attract"
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
    """

    kind: str
    stable: int
    exponent: float
    error: float
    near: float
    reason: str


def motion(held: Held, orbit: Real, seed: int) -> Motion:
    """What consecutive states (m, n) of an orbit are on.

    Curves are those that `dynlab.numerics.closed_path` sees; they attract where every exponent but the first is
    certainly negative, and repel where one is certainly positive: that along the curve is 0.
    """
    drift = _drift(orbit)
    exponents, errors, sign = _exponents(held, orbit, seed)
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


def _exponents(held: Held, orbit: Real, seed: int) -> tuple[Real, Real, Index]:
    """The largest exponents along the orbit, three at most, their errors, and their signs: 0 is undecided."""
    k = min(3, orbit.shape[1])
    begin = np.asarray(held.unit) * orbit[0]
    measured = lyapunov(Iterated(held, 1), steps=len(orbit), k=k, initial_state=begin, largest_state=np.inf, seed=seed)
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
