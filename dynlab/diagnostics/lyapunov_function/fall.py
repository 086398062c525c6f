"""How fast V = |T (h − h*)|² falls along a network's step, at sampled states."""

import numpy as np
import scipy.linalg
import torch
from numpy.typing import NDArray

from dynlab.systems.held import Held

DIRECTIONS = 512  # drawn on each level, beside the axes of the set

Array = NDArray[np.float64]


def directions(T: Array, generator: np.random.Generator) -> Array:
    """Unit vectors u = T x of the set's axes, the slowest first, then at random, shape (direction, state)."""
    # V, and with it what is left to fall, is largest for its distance along T's leading singular vectors
    axes = np.linalg.svd(T)[0].T
    drawn = generator.standard_normal((DIRECTIONS, len(T)))
    return np.concatenate([axes, drawn / np.linalg.norm(drawn, axis=1, keepdims=True)])


def rates(at_rest: Held, state: Array, T: Array, u: Array) -> Array:
    """Of h = h* + T⁻¹ u, ln |T (F(h) − h*)|/|u|, or of a flow the rate of ln |T (h − h*)|; NaN at u = 0."""
    h = torch.from_numpy(state + scipy.linalg.solve_triangular(T, u.T).T)
    size = np.linalg.norm(u, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        if at_rest.is_flow:
            velocity = at_rest.moved(h).numpy() @ T.T
            return np.asarray((u * velocity).sum(axis=1) / size**2)
        after = np.linalg.norm((at_rest.moved(h).numpy() - state) @ T.T, axis=1)
        return np.asarray(np.log(after / size))
