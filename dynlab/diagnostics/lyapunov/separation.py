"""The echo-state test: whether two starts under the same input meet, and how fast."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils import parametrize

from dynlab.numerics.arrays import Real
from dynlab.numerics.statistics import FEW_NATS
from dynlab.progress import through
from dynlab.trajectories import simulation
from dynlab.trajectories.driven import Driven

FAR = 1.0  # distance of the second start: as large as the states of a network with saturating units are
MET = float(np.log(1e-6))  # two starts whose distance shrinks that much have met
BESIDE = 1e-6  # distance of a start that shows whether an orbit stays where its neighbours do not
AWAY = 1e3  # times that: a neighbour that far has left
NEARER = -1.0  # those whose distance shrinks by this factor e^-1 at least draw nearer

MEET, DRAW_NEARER, STAY_APART, NEITHER = "meet", "draw nearer", "stay apart", "undecided"


@dataclass(frozen=True)
class Separation:
    """How two starts under the same input end, all of shape (sample,).

    `shrinkage` is ln of the last distance over the first, of starts far from each other. `rate` is the mean growth of
    ln of the distance of orbits near each other, in nat/step. `neighbour_rate` is the same in the second half of the
    steps along an orbit that begins `BESIDE` this one. `left` is 1 where that orbit leaves, and states near it
    approach each other while along this one they separate, each by `FEW_NATS` at least.
    """

    outcome: NDArray[np.str_]
    shrinkage: Real
    rate: Real
    neighbour_rate: Real
    left: NDArray[np.int8]


def separation(driven: Driven, transient: int, inside: NDArray[np.bool_], seed: int) -> Separation:
    """Start every sample again under the same input, once far from the first start, once near it, once in between.

    Parameters
    ----------
    driven : Driven
    transient : int
        Number of steps that the rate does not count, while the difference aligns.
    inside : ndarray of bool, shape (sample,)
        The samples whose orbit was not cut.
    seed : int
        Seed of the direction in which the second start lies.
    """
    drawn = np.random.default_rng(seed).standard_normal(driven.states.shape[-1])
    direction = torch.as_tensor(drawn / np.linalg.norm(drawn)).to(driven.states)
    last = simulation.end_of_orbit(driven.system, driven.inputs, driven.states[:, 0] + FAR * direction)
    shrinkage = ((last - driven.states[:, -1]).norm(dim=-1) / FAR).log().double().cpu().numpy()
    rate, late, beside, gone = _rates(driven, transient, direction)
    nats = FEW_NATS / (driven.steps - driven.steps // 2)
    left = inside & (late > nats) & (beside < -nats) & np.isfinite(beside) & (gone > AWAY * BESIDE)
    shrinkage, rate, beside = (np.where(inside, values, np.nan) for values in (shrinkage, rate, beside))
    nearer = np.where((shrinkage <= NEARER) & (rate < 0), DRAW_NEARER, NEITHER)
    apart = np.where((shrinkage > NEARER) & (rate > 0), STAY_APART, nearer)
    return Separation(np.where(shrinkage <= MET, MEET, apart), shrinkage, rate, beside, left.astype(np.int8))


def _rates(driven: Driven, transient: int, direction: torch.Tensor) -> list[Real]:
    """Return the mean growth of ln ‖difference‖, which is scaled back at every step (Benettin's two orbits).

    Three rates (sample,): after the transient, in the second half, in the second half along an orbit beside this one;
    and how far that orbit is from this one at last. No Jacobian is used, so that this checks the largest exponent.
    """
    half, states, step = driven.steps // 2, driven.states, driven.system.step
    near = torch.finfo(states.dtype).eps ** 0.5  # its square and rounding are equally small beside it
    ways = [direction.expand_as(states[:, 0])] * 2
    other = states[:, 0] + BESIDE * ways[1]
    grown = torch.zeros(3, len(states), dtype=torch.float64, device=states.device)
    with parametrize.cached():
        for t in through(range(driven.steps)):
            after = states[:, t + 1], step(other, driven.inputs[:, t], t)
            sizes = []
            for place, base in enumerate((states[:, t], other)):
                difference = step(base + near * ways[place], driven.inputs[:, t], t) - after[place]
                size = difference.norm(dim=-1, keepdim=True)
                ways[place] = torch.where(size > 0, difference / size, 0)
                sizes.append((size.squeeze(-1) / near).log().double())
            other = after[1]
            grown[0] += sizes[0] if t >= transient else 0.0
            if t >= half:
                grown[1:] += torch.stack(sizes)
    counts = torch.tensor([[driven.steps - transient], [driven.steps - half], [driven.steps - half]])
    means = grown.cpu() / counts
    return [*means.numpy(), (other - states[:, -1]).norm(dim=-1).double().cpu().numpy()]
