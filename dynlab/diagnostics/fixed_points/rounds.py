"""The search for fixed points: rounds of starts until a whole round finds nothing new, and how sure that is.

Each random start is drawn independently, and ends at one of the points with a probability of its own. Good and Turing
estimate the share of starts that would end at a point no start has ended at by n₁/N, with n₁ the points that exactly
one of N starts ended at. A bound needs no estimate: what is listed is held fixed, further starts are drawn, and the
number of those that end outside the list is binomial. Several such tests share what may go wrong.

References
----------
Good, "The population frequencies of species and the estimation of population parameters", Biometrika 40 (1953);
Clopper and Pearson, Biometrika 26 (1934).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import betaincinv  # scipy.stats, which has the distribution, takes half a second to import
from torch import Tensor

from dynlab.diagnostics.fixed_points import starting_states as where
from dynlab.diagnostics.fixed_points.distinct_roots import (
    FIXED,
    NOWHERE,
    DistinctRoots,
    affine_root,
    equations,
    is_affine,
)
from dynlab.numerics import merging
from dynlab.numerics.roots import Roots, solve, tolerance
from dynlab.systems.autonomous import Held

MOST_ROUNDS, MOST_OF_LARGE = 12, 3
MOST_POINTS = 1024  # beyond which no round follows, as of an angle that is counted on
# Of a round's starts, how many go on with a slower method where Newton's stops, and of a large map; none of random ones
# after the first round, so that what is said of them is of Newton's method.
PURSUED, PURSUED_OF_LARGE = 64, 2
BOUND_SLACK = 1e-9  # a coordinate that rounding puts on its bound is within it
OPEN = 1e-8  # times max(1, ‖h‖): an ungated residual above that means that a closed gate made the residual small
WRONG = 0.05  # how often a bound may fail; the j-th test of a search gets half of what the tests before it left
# What a start comes to, beside a root's status; where a start is from.
LOST, OUTSIDE, CLOSED_GATE = "not converged", "outside the state's bounds", "closed gate"
GIVEN, VISITED, RANDOM, SUGGESTED = "given", "visited", "random", "points found"

# The table of the starts, a row for each: the number of its root, −1 for none; what became of it; where it is from;
# ‖F(h) − h‖₂ where it ended, of a flow ‖f(h)‖₂; the layer of a stack whose search had it, from 1.
Starts = NDArray[np.void]
START = np.dtype(
    [
        ("assignment", np.int64),
        ("outcome", "U32"),
        ("origin", "U16"),
        ("iterations", np.int64),
        ("residual", np.float64),
        ("layer", np.int64),
    ]
)


@dataclass(frozen=True)
class Confidence:
    """The confidence of a search in having found every point.

    Attributes
    ----------
    complete : bool
        True where the last round found nothing new.
    share : float
        Good and Turing's estimate, from all random starts, of the share that would end at a point not seen by any.
    bound : float
        A bound on the share of random starts that end at a point not listed, with 95 % confidence.
    index_sum : int or None
        Sum over the points found, where it must be 1.
    """

    complete: bool
    share: float
    bound: float
    index_sum: int | None


@dataclass(frozen=True)
class Search:
    """The result of a search: roots of one map, or the `layers.Point` of a whole system.

    Attributes
    ----------
    points : list of Root or Point
    starts : Starts
    confidence : Confidence or None
        None where the starts were given, and where the map is affine: then all is known.
    affine : bool
    """

    points: list[Any]
    starts: Starts
    confidence: Confidence | None = None
    affine: bool = False


def search(
    held: Held,
    fast: Held,
    count: int,
    given: Tensor | None,
    visited: Tensor,
    generator: np.random.Generator,
    searches: int = 1,
) -> Search:
    """Find fixed points from the starts `given`, or in rounds of `count` random starts and of what points suggest.

    Parameters
    ----------
    held, fast : Held
        System in float64 on the CPU, and as Newton's method begins.
    count : int
    given : Tensor, shape (start, n), optional
        The only starts.
    visited : Tensor, shape (state number, n)
        States along driven trajectories, or along orbits of the map from random states.
    generator : numpy.random.Generator
    searches : int
        Number of searches whose bounds hold together with 95 % confidence.
    """
    roots, origin = DistinctRoots(held), VISITED if given is None else GIVEN
    if is_affine(held):
        begun = visited[torch.as_tensor(generator.integers(len(visited), size=count))] if given is None else given
        return Search(roots.found, _of_affine(roots, begun, origin), affine=True)
    if given is not None:
        return Search(roots.found, _ended(roots, fast, given, origin))
    visited = where.bounded(visited)
    reach, large = where.reach_of(held, visited), where.usual_count(visited.shape[1]) < where.USUAL
    seen, most = where.visited_starts(held, count // 2, visited, generator), PURSUED_OF_LARGE if large else PURSUED
    if large:
        seen = torch.cat([where.path_ends(held, seen.new_zeros(1, seen.shape[1])), seen])
    random = where.random_starts(held, count - count // 2, reach, generator)
    batches = [_ended(roots, fast, seen, origin, most), _ended(roots, fast, random, RANDOM, most)]
    rounds, new, complete, stuck = 1, 0, False, False
    while rounds < (MOST_OF_LARGE if large else MOST_ROUNDS) and len(roots.found) <= MOST_POINTS and not complete:
        rounds, before = rounds + 1, len(roots.found)
        batches.append(_ended(roots, fast, where.suggested(roots, stuck, reach, generator), SUGGESTED, most))
        known = len(roots.found)
        batches.append(_ended(roots, fast, where.random_starts(held, count, reach, generator), RANDOM, 0))
        new, stuck = int((batches[-1]["assignment"] >= known).sum()), len(roots.found) == before
        total = roots.index_sum()
        complete = new == 0 if total == 1 else stuck and total is None
    starts = np.concatenate(batches)
    drawn = starts["assignment"][starts["origin"] == RANDOM]
    share = unseen_share(np.bincount(drawn[drawn >= 0]), len(drawn))
    bound = share_bound(new, count, max(1, rounds - 1), searches)
    return Search(roots.found, starts, Confidence(complete or stuck, share, bound, roots.index_sum()))


def _ended(roots: DistinctRoots, fast: Held, starts: Tensor, origin: str, most: int | None = None) -> Starts:
    """Return the rows of starts (k, n); the roots they lead to are added."""
    sought, exact = equations(fast), equations(roots.held)
    ended = solve(sought.value, sought.matrix, starts.to(fast.input), most)
    if fast is not roots.held:
        finished = solve(exact.value, exact.matrix, ended.states.to(roots.held.input))
        ended = finished._replace(iterations=finished.iterations + ended.iterations.cpu())
    return _rows(roots, ended._replace(states=roots.held.difference(ended.states)), origin)


def _of_affine(roots: DistinctRoots, starts: Tensor, origin: str) -> Starts:
    """Return the rows of an affine map's starts: they end at its one set of fixed points, in one step."""
    root, residual = affine_root(roots.held), roots.held.displacement(starts).norm(dim=-1)
    taken = (residual > tolerance(starts)).long()
    if root is None:
        return _rows(roots, Roots(starts, residual, residual < 0, taken), origin)
    roots.found.append(root)
    states = torch.as_tensor(root.state).expand(len(starts), -1)
    return _rows(roots, Roots(states, 0 * residual, residual >= 0, taken), origin)


def _rows(roots: DistinctRoots, ended: Roots, origin: str) -> Starts:
    """Return a row for each end of a search; the roots among them are added."""
    moved, states = roots.held.displacement(ended.states).norm(dim=-1), ended.states.numpy()
    open_ = ended.residuals.numpy() > OPEN * merging.scale(states)
    still = (moved <= tolerance(ended.states)).numpy()
    outcome = np.where(ended.converged.numpy(), FIXED, np.where(still & open_, CLOSED_GATE, LOST))
    outcome = np.where(outside(roots.held, ended.states) & (outcome != LOST), OUTSIDE, outcome)
    rows = starts_table(np.full(len(states), NOWHERE), outcome, origin, ended.iterations.numpy(), moved.numpy())
    converged = np.flatnonzero(outcome == FIXED)
    if len(converged):
        numbers = roots.numbers(states[converged])
        rows["assignment"][converged] = numbers
        rows["outcome"][converged] = [LOST if k == NOWHERE else roots.found[k].status for k in numbers]
    return rows


def starts_table(assignment: Any, outcome: Any, origin: str, iterations: Any, residual: Any) -> Starts:
    """Return a table of starts of the first layer from its columns, or what all rows have."""
    return np.rec.fromarrays(np.broadcast_arrays(assignment, outcome, origin, iterations, residual, 1), dtype=START)


def outside(held: Held, states: Tensor) -> NDArray[np.bool_]:
    """Return whether each state (k, n) is outside the bounds that the system states."""
    bound = held.system.state_bound()
    if bound is None:
        return np.zeros(len(states), dtype=bool)
    return np.asarray((states.abs() > bound * (1 + BOUND_SLACK)).any(-1).numpy())


def unseen_share(counts: NDArray[np.integer], starts: int) -> float:
    """Return Good and Turing's estimate n₁/N of the share; NaN without starts.

    Parameters
    ----------
    counts : ndarray of int, shape (point,)
        Number of random starts that ended at each.
    starts : int
        Number of all of them, those that ended nowhere included.
    """
    return float((counts == 1).sum() / starts) if starts else np.nan


def share_bound(new: int, starts: int, test: int, searches: int = 1) -> float:
    """Return an upper bound on the share of starts that end outside a list, from starts drawn after it was made.

    Parameters
    ----------
    new : int
        Number of them that ended outside.
    starts : int
    test : int
        The number of this test, from 1: all tests of a search together fail with probability `WRONG` at most.
    searches : int
        Number of searches that share that probability.

    Examples
    --------
    >>> round(share_bound(0, 256, 1), 4), round(share_bound(3, 256, 1), 4)
    (0.0143, 0.0339)
    """
    share = WRONG / (2**test * searches)
    return 1.0 if new >= starts else float(betaincinv(new + 1, starts - new, 1 - share))
