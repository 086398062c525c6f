"""The echo-state test: whether two starts under the same input meet, and how fast."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils import parametrize

from dynlab import simulation
from dynlab.driven import Driven
from dynlab.progress import through

FAR = 1.0  # distance of the second start: as large as the states of a network with saturating units are
MET = float(np.log(1e-6))  # two starts whose distance shrinks that much have met
NEARER = -1.0  # those whose distance shrinks by this factor e^-1 at least draw nearer

MEET, DRAW_NEARER, STAY_APART, NEITHER = "meet", "draw nearer", "stay apart", "undecided"


@dataclass(frozen=True)
class Separation:
    """How two starts under the same input end, all of shape (sample,).

    `shrinkage` is ln of the last distance over the first, of starts far from each other. `rate` is the mean growth of
    ln of the distance of orbits near each other, in nat/step.
    """

    outcome: NDArray[np.str_]
    shrinkage: NDArray[np.float64]
    rate: NDArray[np.float64]


def separation(driven: Driven, transient: int, inside: NDArray[np.bool_], seed: int) -> Separation:
    """Start every sample a second time under the same input, once far from the first start, once near it.

    Parameters
    ----------
    driven : Driven
    transient : int
        How many steps the rate does not count, while the difference aligns.
    inside : ndarray of bool, shape (sample,)
        The samples whose orbit was not cut.
    seed : int
        Of the direction in which the second start lies.
    """
    drawn = np.random.default_rng(seed).standard_normal(driven.states.shape[-1])
    direction = torch.as_tensor(drawn / np.linalg.norm(drawn)).to(driven.states)
    start = driven.states[:, 0]
    last = simulation.end_of_orbit(driven.system, driven.inputs, start + FAR * direction)
    shrinkage = ((last - driven.states[:, -1]).norm(dim=-1) / FAR).log().double().cpu().numpy()
    rate = _rate(driven, transient, direction)
    shrinkage, rate = (np.where(inside, values, np.nan) for values in (shrinkage, rate))
    nearer = np.where((shrinkage <= NEARER) & (rate < 0), DRAW_NEARER, NEITHER)
    apart = np.where((shrinkage > NEARER) & (rate > 0), STAY_APART, nearer)
    return Separation(np.where(shrinkage <= MET, MEET, apart), shrinkage, rate)


def _rate(driven: Driven, transient: int, direction: torch.Tensor) -> NDArray[np.float64]:
    """The mean growth of ln ‖difference‖, which is scaled back at every step (Benettin's two orbits).

    It uses no Jacobian, so that it checks the largest exponent.
    """
    grown = torch.zeros(len(driven.states), dtype=torch.float64, device=driven.states.device)
    direction = direction.expand_as(driven.states[:, 0])
    near = torch.finfo(driven.states.dtype).eps ** 0.5  # its square and rounding are equally small beside it
    with parametrize.cached():
        for t in through(range(driven.steps)):
            moved = driven.system.step(driven.states[:, t] + near * direction, driven.inputs[:, t], t)
            difference = moved - driven.states[:, t + 1]
            size = difference.norm(dim=-1, keepdim=True)
            direction = torch.where(size > 0, difference / size, 0)
            if t >= transient:
                grown = grown + (size.squeeze(-1) / near).log()
    return (grown / (driven.steps - transient)).cpu().numpy()
