"""Where a further round of a search for fixed points starts: at what the points found so far suggest."""

import numpy as np
import torch
from torch import Tensor

from dynlab.diagnostics.fixed_points import starts as where
from dynlab.diagnostics.fixed_points.places import Places, equations, is_gated
from dynlab.numerics import merging
from dynlab.numerics.arrays import Real
from dynlab.numerics.homotopy import end_of_path
from dynlab.numerics.isolation import Equations
from dynlab.numerics.roots import solve
from dynlab.numerics.threads import in_threads
from dynlab.systems.held import Held

MOST_BETWEEN = 128  # pairs of points in a round
DEFLATED, DEFLATIONS = 32, 30  # random starts of a round that are led away from known points, by so many steps
LONGEST, CLOSE = 1.0, 1e-12  # of such a step, times max(1, max |h_i|); squared distances are this at least
FAR, MOST_FAR = 64, 12  # starts of all sizes, of a map without bounds; more roots than that have no end
# Paths of a round, where it found nothing new; of a large map, and where no point is known, which take longest. They
# begin, or end, at random states up to a part of the bounds.
MOST_PATHS, PATHS, BESIDE = 24, 3, 0.3


def suggested(held: Held, places: Places, stuck: bool, reach: Tensor, generator: np.random.Generator) -> Tensor:
    """Return states (k, n) between known points and away from them, far out, and at the ends of sure paths to roots.

    Parameters
    ----------
    held : Held
        In the dtype and on the device of the search.
    places : Places
        The points found.
    stuck : bool
        Whether the round before found nothing new.
    reach : Tensor, shape (n,)
        Of random starts.
    generator : numpy.random.Generator
    """
    points, usual = places.isolated(), where.usual_count(held.system.state_size)
    parts, large = [between(points, generator)[: 4 * usual], _far(held, generator)], usual < where.USUAL
    if len(points) and not large:
        random = where.random_starts(held, DEFLATED, reach, generator)
        parts.append(deflated(equations(held), random, torch.as_tensor(points).to(random)).double().cpu().numpy())
    bound = places.held.system.state_bound()
    if bound is not None and (large or stuck or not len(points)):
        count = PATHS if large or not len(points) else MOST_PATHS
        centers = torch.as_tensor(generator.uniform(-BESIDE, BESIDE, (count, len(bound)))) * bound
        picked = generator.permutation(max(count, len(points)))[:count] % max(1, len(points))
        begun = torch.as_tensor(points[picked]) if len(points) else None
        parts.append(path_ends(places.held, centers, begun))
    return torch.as_tensor(np.concatenate(parts)).to(reach)


def between(points: Real, generator: np.random.Generator) -> Real:
    """Return the midpoints of pairs of points (k, n), of many pairs of some."""
    first, second = np.triu_indices(len(points), 1)
    some = generator.permutation(len(first))[:MOST_BETWEEN]
    return np.asarray((points[first[some]] + points[second[some]]) / 2)


def deflated(equations: Equations, starts: Tensor, known: Tensor) -> Tensor:
    """Return where Newton's method leads from each start (s, n) on f times what is infinite at `known` roots (k, n).

    With m(h) = Π_k (1/‖h − h_k‖² + 1) the roots of m f are those of f but the h_k, and Newton's step of m f is Newton's
    step δ of f times 1/(1 − δ · ∇ln m).

    References
    ----------
    Farrell, Birkisson and Funke, "Deflation techniques for finding distinct solutions of nonlinear partial differential
    equations", SIAM J. Sci. Comput. 37 (2015), section 2.
    """
    h = starts
    for _ in range(DEFLATIONS):
        step, _ = torch.linalg.solve_ex(equations.matrix(h), -equations.value(h).unsqueeze(-1))
        offset = h.unsqueeze(1) - known
        squared = offset.square().sum(-1, keepdim=True).clamp_min(CLOSE)
        slope = -2 * (offset / (squared * (1 + squared))).sum(1)  # ∇ln m
        moved = (step / (1 - (slope.unsqueeze(1) @ step))).squeeze(-1)
        longest = LONGEST * h.abs().amax(dim=-1, keepdim=True).clamp_min(1)
        moved = moved * (longest / moved.abs().amax(dim=-1, keepdim=True)).clamp_max(1)
        h = torch.where(torch.isfinite(moved).all(-1, keepdim=True), h + moved, h)
    return h


def path_ends(held: Held, centers: Tensor, roots: Tensor | None = None) -> Real:
    """Return where paths that surely lead to a root end, shape (k, n); none of a map without bounds.

    They begin at `centers` (k, n), or, followed backwards, at `roots` (k, n): from each to one of the other index.
    """
    if not is_bounded(held) or not len(centers):
        return np.zeros((0, centers.shape[1]))
    sought, sign = equations(held), -1.0 if is_gated(held) else 1.0

    def ends(rows: slice) -> tuple[Tensor]:
        begun = [None] * len(centers) if roots is None else list(roots)
        each = list(zip(centers, begun, strict=True))[rows]
        return (torch.stack([end_of_path(sought, sign, center, root) for center, root in each]),)

    return np.asarray(in_threads(ends, len(centers))[0].numpy())


def is_bounded(held: Held) -> bool:
    """Return whether the map leads a box into itself, so that paths surely lead to fixed points."""
    bound = held.system.state_bound()
    return not held.is_flow and bound is not None and bool(torch.isfinite(bound).all())


def _far(held: Held, generator: np.random.Generator) -> Real:
    """Return the few roots (k, n) that starts of all sizes lead to; none where there are many, as of h + sin h."""
    n = held.system.state_size
    if held.system.state_bound() is not None:
        return np.zeros((0, n))
    size = np.where(np.arange(FAR)[:, None] % 2, generator.uniform(0, 1, (FAR, 1)), generator.uniform(0, 1, (FAR, n)))
    direction = generator.uniform(-1, 1, (FAR, n))
    direction[::4] = np.abs(direction[::4])  # populations
    sought = equations(held)
    ended = solve(sought.value, sought.matrix, torch.as_tensor(direction * where.FARTHEST**size).to(held.input))
    inside = ended.converged & (ended.states.abs() <= where.FARTHEST).all(-1)
    roots = ended.states[inside].double().cpu().numpy()
    first = np.unique(merging.merged(roots), return_index=True)[1]
    return roots[first] if len(first) <= MOST_FAR else roots[:0]
