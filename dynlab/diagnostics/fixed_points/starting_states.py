"""Starts of a search for fixed points: visited states, random ones, and what known points suggest."""

import numpy as np
import torch
from torch import Tensor

from dynlab.diagnostics.fixed_points.distinct_roots import DistinctRoots, equations, is_gated
from dynlab.numerics.homotopy import end_of_path
from dynlab.numerics.isolation import Equations
from dynlab.numerics.threads import in_threads
from dynlab.systems import Map, System
from dynlab.systems.autonomous import Held
from dynlab.systems.torch_cells import Cell, Stack
from dynlab.trajectories import simulation
from dynlab.trajectories.following import orbit, step_of, time_step

# Random starts of a round unless told otherwise; above LARGE dimensions (LARGE/n)⁵ times as many, but FEWEST: n³ for a
# factorisation, the rest for the more steps that roots take, and so that a layer of 256 is searched in seconds.
USUAL, LARGE, FEWEST = 256, 128, 8
ORBITS, ORBIT_STEPS = 16, 256  # of the map with its input held, where nothing drives the network
REACH = 1.5  # random starts reach this many times as far as the states that were visited
SMALLEST_REACH, FARTHEST = 1.0, 1e8  # whatever was visited: an orbit may stay at 0, or diverge
STEPS = (0, 1, 2, 3, 5, 8, 13, 20)  # a random start is led on by so many steps of the map, each as likely
MOST_BETWEEN = 128  # pairs of points in a round, as between two of a cluster
DEFLATED, DEFLATIONS = 64, 30  # random starts of a round that are led away from known points, by so many steps
LONGEST, CLOSE = 1.0, 1e-12  # of such a step, times max(1, max |h_i|); squared distances are this at least
FAR = 32  # starts of all sizes in a round, of a map without bounds
# Paths of a round, where it found nothing new; of a large map, and where no point is known, which take longest. They
# begin, or end, at random states up to a part of the bounds.
MOST_PATHS, PATHS, BESIDE = 24, 3, 0.3


def usual_count(size: int) -> int:
    """Return how many random starts a round has of so many dimensions, where nobody says: 256 up to 128."""
    return max(FEWEST, min(USUAL, round(USUAL * (LARGE / size) ** 5)))


def usual_starts(system: System) -> int:
    """Return how many random starts a round of a search has unless told otherwise: those of the largest layer."""
    return usual_count(max((cell.resting().state_size for cell in cells_of(system)), default=system.state_size))


def cells_of(system: System) -> list[Cell]:
    """Return the layers of a system of torch's, from the lowest up, which are searched one by one; none of others."""
    return system.layers() if isinstance(system, Stack) else [system] if isinstance(system, Cell) else []


def driven_states(system: Map, driven: Tensor) -> Tensor:
    """Return the states (k, n) along the trajectories from zero that `driven` (sample, time, input) leads to."""
    initial = torch.zeros(driven.shape[0], system.state_size).to(driven)
    return simulation.orbit(system, driven, initial).reshape(-1, system.state_size)


def orbits(held: Held, generator: np.random.Generator) -> Tensor:
    """Return states (k, n) along orbits from random states under the held input."""
    states = torch.as_tensor(generator.uniform(-1, 1, (ORBITS, held.system.state_size))).to(held.input)
    return orbit(held, states, ORBIT_STEPS)[0].flatten(0, 1)


def bounded(states: Tensor) -> Tensor:
    """Return those of the visited states that are finite and not very large; the zero state where there are none."""
    kept = states[(states.abs() <= FARTHEST).all(-1)]  # nor NaN
    return kept if len(kept) else states.new_zeros(1, states.shape[1])


def reach_of(held: Held, visited: Tensor) -> Tensor:
    """Return half the widths (n,) of the box of random starts: the state's bounds, else from what was visited."""
    seen = (REACH * visited.abs().amax(dim=0)).clamp(SMALLEST_REACH, FARTHEST)
    bound = held.system.state_bound()
    return seen if bound is None else torch.where(torch.isfinite(bound), bound, seen)


def visited_starts(held: Held, count: int, visited: Tensor, generator: np.random.Generator) -> Tensor:
    """Return the zero state, one that is known by formula, where orbits are at last, and `count` visited states."""
    first = [visited.new_zeros(1, held.system.state_size), visited[-ORBITS:]]
    known = held.system.known_equilibrium(held.input, held.t)
    if known is not None and torch.isfinite(known).all():
        first.append(known.reshape(1, -1))
    return torch.cat([*first, visited[torch.as_tensor(generator.integers(len(visited), size=count))]])


def random_starts(held: Held, count: int, reach: Tensor, generator: np.random.Generator) -> Tensor:
    """Return `count` independent states (k, n) from the box `reach` (n,), each led on by a few steps.

    A state stays where it was before it became too large.
    """
    states = torch.as_tensor(generator.uniform(-1, 1, (count, len(reach)))).to(reach) * reach
    steps, step = generator.choice(STEPS, count), step_of(held, time_step(held, states) if held.is_flow else 1.0)
    for number in range(max(STEPS)):
        rows = torch.as_tensor(np.flatnonzero(steps > number))
        moved = step(states[rows])
        kept = (moved.abs() <= FARTHEST).all(-1)
        states[rows[kept]] = moved[kept]
    return states


def suggested(roots: DistinctRoots, stuck: bool, reach: Tensor, generator: np.random.Generator) -> Tensor:
    """Return states (k, n) between known points and away from them, far out, and at the ends of sure paths to roots.

    Parameters
    ----------
    roots : DistinctRoots
        The points found.
    stuck : bool
        True where the round before found nothing new.
    reach : Tensor, shape (n,)
        Half the widths of the box of random starts.
    generator : numpy.random.Generator
    """
    held, points = roots.held, torch.as_tensor(roots.isolated())
    usual, bound = usual_count(len(reach)), held.system.state_bound()
    first, second = np.triu_indices(len(points), 1)
    some = generator.permutation(len(first))[: min(MOST_BETWEEN, 4 * usual)]
    large, parts = usual < USUAL, [(points[first[some]] + points[second[some]]) / 2]
    if bound is None:
        each = generator.uniform(0, 1, (2, FAR, len(reach)))
        size = np.where(np.arange(FAR)[:, None] % 2, each[0], each[0, :, :1])  # of all coordinates together, or of each
        parts.append(torch.as_tensor((2 * each[1] - 1) * FARTHEST**size))
    if len(points) and not large:
        parts.append(deflated(equations(held), random_starts(held, DEFLATED, reach, generator), points))
    if bound is not None and (large or stuck or not len(points)):
        count = PATHS if large or not len(points) else MOST_PATHS
        centers = torch.as_tensor(generator.uniform(-BESIDE, BESIDE, (count, len(bound)))) * bound
        picked = generator.permutation(max(count, len(points)))[:count] % max(1, len(points))
        parts.append(path_ends(held, centers, points[picked] if len(points) else None))
    return torch.cat(parts)


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


def path_ends(held: Held, centers: Tensor, roots: Tensor | None = None) -> Tensor:
    """Return where paths that surely lead to a root end, shape (k, n); none of a map without bounds.

    They begin at `centers` (k, n), or, followed backwards, at `roots` (k, n): from each to one of the other index.
    """
    bound = held.system.state_bound()
    if held.is_flow or bound is None or not torch.isfinite(bound).all():
        return centers[:0]
    sought, sign = equations(held), -1.0 if is_gated(held) else 1.0
    each = list(zip(centers, [None] * len(centers) if roots is None else roots, strict=True))
    return in_threads(
        lambda rows: (torch.stack([end_of_path(sought, sign, *one) for one in each[rows]]),), len(centers)
    )[0]
