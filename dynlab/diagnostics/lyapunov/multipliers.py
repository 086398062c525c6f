"""Exponents of orbits that nothing drives and that end at a point or a cycle: those of its multipliers."""

import numpy as np
import torch
from torch import Tensor

from dynlab.numerics.arrays import Real
from dynlab.numerics.statistics import FEW_NATS
from dynlab.systems import System, frozen
from dynlab.systems.autonomous import Held
from dynlab.trajectories.cycles import CYCLE, REST, Attractor

MOST = 256  # dimensions of the eigenvalue problem
DECAYED = 1e-9  # of the largest size
NEAR = 1e-6  # likewise: so near an end is one of the orbit itself
STEPS = 500  # that an orbit is followed on, a flow ten times as long


def ends_of(
    system: System, last: Tensor | Real, scale: Tensor | Real, inputs: Tensor | Real, log_growth: Real
) -> list[Attractor | None]:
    """Return the point or cycle that each orbit has come to, None where it comes to none whose stability is known.

    Parameters
    ----------
    system : System
    last : shape (sample, 2, state)
        The last two states. Where neighbours part by `FEW_NATS`, an orbit that still moves is on no cycle.
    scale : shape (sample,)
        The largest size of a state on the way: what is far below has decayed to 0.
    inputs : shape (sample, input)
        Input of every step.
    log_growth : ndarray, shape (frame, sample, stop, mode)
    """
    from dynlab.trajectories.attractors import classify  # here, since scipy.spatial takes a tenth of a second to import

    states, sizes, given = (np.asarray(torch.as_tensor(each).double().cpu()) for each in (last, scale, inputs))
    found: list[Attractor | None] = [None] * len(states)
    moves = (states[:, 0] != states[:, 1]).any(axis=1)
    asked = np.isfinite(states).all(axis=(1, 2)) & ~(moves & (log_growth[0, :, -1, 0] > FEW_NATS))
    if states.shape[2] > MOST or not asked.any():
        return found
    states = np.where(np.abs(states) <= DECAYED * sizes[:, None, None], 0.0, states)
    analysed, (unlike, which) = frozen(system), np.unique(given, axis=0, return_inverse=True)
    for number, each in enumerate(unlike):
        some = np.flatnonzero(asked & (which == number))
        if len(some):
            held = Held(analysed, torch.from_numpy(each))  # a flow's exponents come from its compiled code too
            ends = classify(held, states[some, 1], steps=STEPS, sets=False, compile=held.is_flow or None)
            for sample, label in zip(some, ends.labels, strict=True):
                one = ends.attractors[label] if label >= 0 else None
                if one is not None and one.form in (REST, CYCLE) and one.stable >= 0:
                    gaps = np.abs(one.states - states[sample][:, None]).max(axis=-1).min(axis=1)
                    found[sample] = one if gaps.max() <= one.near + NEAR * sizes[sample] else None
    return found
