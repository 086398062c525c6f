"""Where a search for fixed points starts: states that the network visits, and random ones where inputs lead."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.systems import Map, System
from dynlab.systems.held import Held
from dynlab.systems.held_jacobians import held_matrices
from dynlab.systems.torch_cells import Cell
from dynlab.systems.torch_stacks import Stack
from dynlab.trajectories.simulation import orbit

# Random starts of a round unless told otherwise; above LARGE dimensions (LARGE/n)⁵ times as many, but FEWEST: n³ for a
# factorisation, the rest for the more steps that roots take, and so that a layer of 256 is searched in seconds.
USUAL, LARGE, FEWEST = 256, 128, 8
ORBITS, ORBIT_STEPS = 16, 256  # of the map with its input held, where nothing drives the network
REACH = 1.5  # random starts reach this many times as far as the states that were visited
SMALLEST_REACH, FARTHEST = 1.0, 1e8  # whatever was visited: an orbit may stay at 0, or diverge
STEPS = (0, 1, 2, 3, 5, 8, 13, 20)  # a random start is led on by so many steps of the map, each as likely
STRAIGHT = 0.5  # of the random starts lie between two such states
OF_A_FLOW = 0.2  # times the shortest time scale of a flow: Euler's step that leads its states on


def usual_count(size: int) -> int:
    """Return how many random starts a round has of so many dimensions, where nobody says: 256 up to 128."""
    return max(FEWEST, min(USUAL, round(USUAL * (LARGE / size) ** 5)))


def usual_starts(system: System) -> int:
    """Return how many random starts a round of a search has unless told otherwise: those of the largest layer."""
    return usual_count(max((cell.resting().state_size for cell in cells_of(system)), default=system.state_size))


def cells_of(system: System) -> list[Cell]:
    """Return the layers of a system of torch's, from the lowest up, which are searched one by one; none of others."""
    if isinstance(system, Stack):
        return system.layers()
    return [system] if isinstance(system, Cell) else []


def driven_states(system: Map, driven: Tensor) -> Tensor:
    """Return the states (k, n) along the trajectories from zero that `driven` (sample, time, input) leads to."""
    initial = torch.zeros(driven.shape[0], system.state_size).to(driven)
    return orbit(system, driven, initial).reshape(-1, system.state_size)


def orbits(held: Held, generator: np.random.Generator) -> Tensor:
    """Return states (k, n) along orbits from random states under the held input."""
    states = torch.as_tensor(generator.uniform(-1, 1, (ORBITS, held.system.state_size))).to(held.input)
    step, found = stepper(held), [states]
    for _ in range(ORBIT_STEPS):
        states = step(states)
        if torch.equal(states, found[-1]):
            break
        found.append(states)
    return torch.cat(found)


def stepper(held: Held) -> Callable[[Tensor], Tensor]:
    """Return what leads states on: the map, or of a flow a short step of Euler's."""
    if not held.is_flow:
        return held.moved
    states = torch.as_tensor(np.random.default_rng(0).uniform(-1, 1, (ORBITS, held.system.state_size))).to(held.input)
    rates = torch.linalg.matrix_norm(held_matrices(held, states)).nan_to_num(0.0, posinf=0.0)
    length = OF_A_FLOW / float(rates.max().clamp_min(torch.finfo(rates.dtype).tiny))
    return lambda states: states + length * held.moved(states)


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
    picked = generator.integers(len(visited), size=count)
    return torch.cat([*first, visited[torch.as_tensor(picked, device=visited.device)]])


def random_starts(held: Held, count: int, reach: Tensor, generator: np.random.Generator) -> Tensor:
    """Return `count` independent states from the box `reach` (n,), led on by a few steps, half between two such."""
    ends = []
    for _ in range(2):
        drawn = torch.as_tensor(generator.uniform(-1, 1, (count, len(reach)))).to(reach) * reach
        ends.append(led_on(held, drawn, generator.choice(STEPS, count)))
    part = generator.uniform(0, 1, (count, 1)) * (generator.uniform(0, 1, (count, 1)) < STRAIGHT)
    return ends[0] + torch.as_tensor(part).to(reach) * (ends[1] - ends[0])


def led_on(held: Held, states: Tensor, steps: NDArray[np.integer]) -> Tensor:
    """Return the states after so many steps each; as they were before they became too large."""
    states, step = states.clone(), stepper(held)
    for number in range(int(steps.max(initial=0))):
        rows = torch.as_tensor(np.flatnonzero(steps > number), device=states.device)
        moved = step(states[rows])
        kept = (moved.abs() <= FARTHEST).all(-1)
        states[rows[kept]] = moved[kept]
    return states
