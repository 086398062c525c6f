"""The echo-state test: whether two starts under the same input meet, and how fast."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils import parametrize

from dynlab.numerics.arrays import Real
from dynlab.progress import through
from dynlab.trajectories import simulation
from dynlab.trajectories.driven import Driven

FAR = 1.0  # distance of the second start: as large as the states of a network with saturating units are
MET = float(np.log(1e-6))  # two starts whose distance shrinks that much have met
NEARER = -1.0  # those whose distance shrinks by this factor e^-1 at least draw nearer

MEET, DRAW_NEARER, STAY_APART, NEITHER = "meet", "draw nearer", "stay apart", "undecided"


def separation(driven: Driven, transient: int, inside: NDArray[np.bool_], seed: int) -> dict[str, NDArray[Any]]:
    """Start every sample again under the same input, once far from the first start and once near it.

    Parameters
    ----------
    driven : Driven
    transient : int
        Number of steps that the rate does not count, while the difference aligns.
    inside : ndarray of bool, shape (sample,)
        The samples whose orbit was not cut.
    seed : int
        Seed of the direction in which the second start lies.

    Returns
    -------
    dict of ndarray, shape (sample,)
        `shrinkage` is ln of the last distance over the first, of starts far from each other. `separation_rate` is the
        mean growth of ln of the distance of orbits near each other, in nat/step. `echo_state` is how the starts end.
    """
    drawn = np.random.default_rng(seed).standard_normal(driven.states.shape[-1])
    direction = torch.as_tensor(drawn / np.linalg.norm(drawn)).to(driven.states)
    last = simulation.orbit(driven.system, driven.inputs, driven.states[:, 0] + FAR * direction)[:, -1]
    far = ((last - driven.states[:, -1]).norm(dim=-1) / FAR).log().double().cpu().numpy()
    shrinkage, rate = (np.where(inside, each, np.nan) for each in (far, _rate(driven, transient, direction)))
    nearer = np.where((shrinkage <= NEARER) & (rate < 0), DRAW_NEARER, NEITHER)
    apart = np.where((shrinkage > NEARER) & (rate > 0), STAY_APART, nearer)
    return {"echo_state": np.where(shrinkage <= MET, MEET, apart), "shrinkage": shrinkage, "separation_rate": rate}


def _rate(driven: Driven, transient: int, way: torch.Tensor) -> Real:
    """Return the mean growth (sample,) of ln ‖difference‖, which is scaled back at every step (Benettin's two orbits).

    No Jacobian is used, so that this checks the largest exponent.
    """
    states, step = driven.states, driven.system.step
    near = torch.finfo(states.dtype).eps ** 0.5  # its square and rounding are equally small beside it
    grown = torch.zeros(len(states), dtype=torch.float64, device=states.device)
    with parametrize.cached():
        for t in through(range(driven.steps)):
            beside = step(states[:, t] + near * way, driven.inputs[:, t], t)
            difference = beside - step(states[:, t], driven.inputs[:, t], t)
            size = difference.norm(dim=-1, keepdim=True)
            way = torch.where(size > 0, difference / size, 0)
            grown += (size.squeeze(-1) / near).log().double() if t >= transient else 0.0
    return np.asarray((grown / (driven.steps - transient)).cpu())
