"""Where a further round of a search for fixed points starts: at what the points found so far suggest."""

import numpy as np
import torch
from torch import Tensor

from dynlab.diagnostics.fixed_points import starts as where
from dynlab.diagnostics.fixed_points.places import Places, equations, is_gated
from dynlab.numerics import merging
from dynlab.numerics.arrays import Real
from dynlab.numerics.homotopy import end_of_path
from dynlab.numerics.roots import solve
from dynlab.numerics.threads import in_threads
from dynlab.systems.held import Held

DEFLATED = 64  # random starts of a round that are led away from what is known
FAR = 64  # starts of a round of all sizes, however small the box of random ones is
FEW = 12  # roots that starts of all sizes lead to: where they lead to more there is no end of them
MOST_SADDLES = 256  # new points of a round beside which starts lie
PATHS, ASIDE = 3, 0.1  # where no point is known; they begin at random states up to a tenth of the bounds


def is_large(held: Held) -> bool:
    """Whether a Newton step takes so long that there are fewer starts than of small maps."""
    return where.usual_count(held.system.state_size) < where.USUAL


def is_bounded(held: Held) -> bool:
    """Whether the map leads a box into itself, so that paths surely lead to fixed points."""
    bound = held.system.state_bound()
    return bound is not None and bool(torch.isfinite(bound).all())


def path_ends(exact: Held, centers: Tensor, roots: Tensor | None = None) -> Tensor:
    """Where paths that surely lead to a root end, shape (k, n); none of an unbounded map.

    They begin at `centers` (k, n), in parts of the bounds, or, followed backwards, at `roots` (k, n).
    """
    bound = exact.system.state_bound()
    if bound is None or not is_bounded(exact):
        return centers[:0]
    centers = centers * bound / exact.unit
    sign = -1.0 if is_gated(exact) else 1.0
    sought = equations(exact)

    def ends(rows: slice) -> tuple[Tensor]:
        begun = [None] * len(centers) if roots is None else list(roots)
        found = [end_of_path(sought, sign, *each) for each in list(zip(centers, begun, strict=True))[rows]]
        return (torch.stack(found),)

    return in_threads(ends, len(centers))[0] if len(centers) else centers


def suggested(
    frozen: Held,
    places: Places,
    points: Real,
    tried: int,
    lacking: bool,
    reach: Tensor,
    generator: np.random.Generator,
) -> Tensor:
    """Halfway between every two points, beside saddles, along paths, far out, and away from all that is known.

    Parameters
    ----------
    frozen : Held
    places : Places
    points : ndarray, shape (k, n)
        The isolated ones, of which the first `tried` had their turn in an earlier round.
    tried : int
    lacking : bool
        Whether points are missing for sure.
    reach : Tensor, shape (2, n)
        Of random starts.
    generator : numpy.random.Generator
    """
    usual, fresh = where.usual_count(frozen.system.state_size), torch.as_tensor(points[tried:])
    random = where.random_starts(frozen, min(DEFLATED, usual // 4), reach, generator)
    new = (
        points[tried:] if len(points) - tried <= MOST_SADDLES else generator.permutation(points[tried:])[:MOST_SADDLES]
    )
    parts = [where.between(points, tried, generator), where.beside_saddles(frozen, new)]
    parts.append(_far(frozen, where.far_starts(frozen, min(FAR, usual // 4), points, generator)))
    if lacking or frozen.system.state_size == 1:  # of one number there is a point wherever the displacement turns
        parts.append(where.turning_back(frozen, points, generator))
    if is_large(frozen):
        parts = [generator.permutation(part)[: usual // 2] for part in parts]
    if not len(points):
        aside = torch.as_tensor(generator.uniform(-ASIDE, ASIDE, (PATHS, frozen.system.state_size)))
        parts.append(path_ends(places.held, aside).numpy())
    elif is_large(frozen):
        parts.append(path_ends(places.held, torch.zeros_like(fresh), fresh).numpy())
    if len(points):
        known = torch.as_tensor(points).to(random)
        parts.append(where.deflated(equations(frozen), random, known).double().cpu().numpy())
    return torch.as_tensor(np.concatenate(parts)).to(random)


def _far(frozen: Held, begun: Tensor) -> Real:
    """The few roots (k, n) that starts of all sizes lead to; none of a map that has them without end, as h + sin h."""
    if not len(begun):
        return begun.double().cpu().numpy()
    sought = equations(frozen)
    ended = solve(sought.value, sought.matrix, begun)
    sizes = ended.states.abs() * torch.as_tensor(frozen.unit).to(begun).clamp(max=1)  # in the larger of both units
    roots = ended.states[ended.converged & (sizes <= where.FARTHEST).all(-1)].double().cpu().numpy()
    first = np.unique(merging.merged(roots), return_index=True)[1]
    return roots[first] if len(first) <= FEW else roots[:0]
