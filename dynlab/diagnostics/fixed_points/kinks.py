"""Where the Jacobian is that of one side alone."""

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.jacobians import held_matrices
from dynlab.numerics import merging
from dynlab.numerics.kinds import Kind
from dynlab.systems.held import Held

AT_KINK = Kind("undecided, at a kink", -1, 0, 0)  # of the activation
PROBES = 16  # directions in which J is looked at next to a state
REACH = 4 * float(np.finfo(np.float64).eps)  # times max(1, ‖h‖): how far away
JUMP = 1e-6  # times max(1, ‖J‖): a smooth step's J changes by less over so short a way, rounding included


def at_kink(exact: Held, state: NDArray[np.float64], matrix: NDArray[np.float64]) -> bool:
    """Whether J jumps next to a state, as at the argument 0 of a ReLU: no one matrix says then what orbits do.

    Parameters
    ----------
    exact : Held
        In float64 on the CPU.
    state : ndarray, shape (n,)
    matrix : ndarray, shape (n, n)
        J there.
    """
    probes = np.random.default_rng(0).standard_normal((PROBES, len(state)))
    probes *= REACH * float(merging.scale(state)) / np.linalg.norm(probes, axis=1, keepdims=True)
    beside = held_matrices(exact, torch.as_tensor(state + probes)).numpy()
    return bool(np.abs(beside - matrix).max() > JUMP * max(1.0, float(np.abs(matrix).max())))
