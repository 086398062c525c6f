"""Where the search for fixed points starts: states the network visits, and random ones."""

import numpy as np
import torch
from torch import Tensor

from dynlab.systems.held import Held

ORBITS, ORBIT_STEPS = 16, 1000  # of the map with its input held, where nothing drives the network
REACH = 1.5  # random starts reach this many times as far as the states that were visited
SMALLEST_REACH, LARGEST_REACH = 1.0, 1e3  # whatever was visited: an orbit may stay at 0, or diverge


def starting_points(frozen: Held, count: int, visited: Tensor | None, generator: np.random.Generator) -> Tensor:
    """`count` starts: what is known by formula, the zero state, then half visited states and half random ones.

    Parameters
    ----------
    frozen : Held
    count : int
    visited : Tensor, shape (state number, state), optional
        Along driven trajectories; without it along orbits of the map from random states.
    generator : numpy.random.Generator

    Returns
    -------
    Tensor, shape (count, state)
        Random coordinates are uniform within the state's bounds, and where there are none within `REACH` times the
        largest modulus visited.
    """
    size = frozen.system.state_size
    like = torch.zeros(1, size, dtype=frozen.input.dtype, device=frozen.input.device)
    if visited is None:
        visited = _orbits(frozen, torch.as_tensor(generator.uniform(-1, 1, (ORBITS, size))).to(like))
    visited = visited[(visited.abs() <= LARGEST_REACH).all(-1)]  # nor NaN
    visited = visited if len(visited) else like
    first = [like]
    known = frozen.system.known_equilibrium(frozen.input, frozen.t)
    if known is not None and torch.isfinite(known).all():
        first.insert(0, known.reshape(1, size))
    rest = max(0, count - len(first))
    picked = generator.integers(len(visited), size=rest // 2)
    uniform = torch.as_tensor(generator.uniform(-1, 1, (rest - rest // 2, size))).to(like)
    chosen = [*first, visited[torch.as_tensor(picked, device=like.device)], uniform * _reach(frozen, visited)]
    return torch.cat(chosen)[:count]


def _reach(frozen: Held, visited: Tensor) -> Tensor:
    seen = (REACH * visited.abs().amax(dim=0)).clamp(SMALLEST_REACH, LARGEST_REACH)
    bound = frozen.system.state_bound()
    return seen if bound is None else torch.where(torch.isfinite(bound), bound, seen)


def _orbits(frozen: Held, starts: Tensor) -> Tensor:
    states = [starts]
    for _ in range(ORBIT_STEPS):
        states.append(frozen.moved(states[-1]))
    return torch.cat(states)
