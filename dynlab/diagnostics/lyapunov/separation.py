"""The echo-state test: whether two starts under the same input meet."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.numerics.arrays import Real
from dynlab.trajectories import simulation
from dynlab.trajectories.driven import Driven

FAR = 1.0  # distance of the second start: as large as the states of a network with saturating units are
MET = float(np.log(1e-6))  # two starts whose distance shrinks that much have met
NEARER = -1.0  # those whose distance shrinks by this factor e^-1 at least draw nearer

MEET, DRAW_NEARER, STAY_APART, NEITHER = "meet", "draw nearer", "stay apart", "undecided"


def separation(driven: Driven, exponent: Real, inside: NDArray[np.bool_], seed: int) -> dict[str, NDArray[Any]]:
    """Start every sample again under the same input, far from the first start.

    Parameters
    ----------
    driven : Driven
    exponent : ndarray, shape (sample,)
        The largest exponent: how fast nearby starts separate.
    inside : ndarray of bool, shape (sample,)
        The samples whose orbit was not cut.
    seed : int
        Seed of the direction in which the second start lies.

    Returns
    -------
    dict of ndarray, shape (sample,)
        `shrinkage` is ln of the last distance over the first, and `echo_state` is how the starts end.
    """
    drawn = np.random.default_rng(seed).standard_normal(driven.states.shape[-1])
    direction = torch.as_tensor(drawn / np.linalg.norm(drawn)).to(driven.states)
    last = simulation.end_of_orbit(driven.system, driven.inputs, driven.states[:, 0] + FAR * direction)
    far = ((last - driven.states[:, -1]).norm(dim=-1) / FAR).log().double().cpu().numpy()
    shrinkage = np.where(inside, far, np.nan)
    nearer = np.where((shrinkage <= NEARER) & (exponent < 0), DRAW_NEARER, NEITHER)
    apart = np.where((shrinkage > NEARER) & (exponent > 0), STAY_APART, nearer)
    return {"echo_state": np.where(shrinkage <= MET, MEET, apart), "shrinkage": shrinkage}
