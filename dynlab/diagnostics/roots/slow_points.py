"""Slow points: local minima of the squared speed q(h) = ½ ‖F(h) − h‖² that are no fixed points.

References
----------
Sussillo and Barak, "Opening the black box: low-dimensional dynamics in high-dimensional recurrent neural networks",
Neural Computation 25 (2013), section 2.
"""

import numpy as np
import scipy.optimize
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.diagnostics.roots.frozen_map import FrozenMap

MAX_ITERATIONS = 2000
RELATIVE_DECREASE = 1e-15  # of q in an iteration, below which L-BFGS stops
STATIONARY = 1e-5  # times ‖J − I‖ ‖F(h) − h‖: a gradient of q below that is zero
FLAT = 1e-6  # times its largest modulus: an eigenvalue of q's Hessian above minus that is not negative


def speed(frozen: FrozenMap, states: Tensor) -> Tensor:
    """q(h) = ½ ‖F(h) − h‖₂², shape (k,)."""
    return frozen.displacement(states).square().sum(-1) / 2


def descended(frozen: FrozenMap, starts: Tensor) -> Tensor:
    """Where L-BFGS on q ends from each start, shape (k, n)."""
    return torch.stack([_descended(frozen, start) for start in starts]) if len(starts) else starts


def slow(frozen: FrozenMap, states: Tensor, largest_speed: float) -> NDArray[np.bool_]:
    """Whether each state is a local minimum of q with q ≤ `largest_speed`, shape (k,)."""
    displacement, matrix = frozen.displacement(states), frozen.displacement_jacobian(states)
    gradient = (matrix.mT @ displacement.unsqueeze(-1)).squeeze(-1).norm(dim=-1)
    level = torch.linalg.matrix_norm(matrix, 2) * displacement.norm(dim=-1)
    found: NDArray[np.bool_] = ((speed(frozen, states) <= largest_speed) & (gradient <= STATIONARY * level)).numpy()
    for index in np.flatnonzero(found):
        gradient_of = torch.func.jacrev(lambda h: speed(frozen, h.unsqueeze(0))[0])
        hessian = torch.func.jacrev(gradient_of)(states[index])
        curvature = torch.linalg.eigvalsh(hessian)
        found[index] = bool(curvature.min() >= -FLAT * curvature.abs().max())
    return found


def _descended(frozen: FrozenMap, start: Tensor) -> Tensor:
    def q(h: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        state = torch.from_numpy(h).unsqueeze(0)
        displacement = frozen.displacement(state)
        gradient = frozen.operator(state).apply_transpose(displacement.unsqueeze(-1))[0, :, 0] - displacement[0]
        return float(displacement.square().sum() / 2), gradient.numpy()

    options = {"maxiter": MAX_ITERATIONS, "maxfun": 2 * MAX_ITERATIONS, "ftol": RELATIVE_DECREASE, "gtol": 0.0}
    ended = scipy.optimize.minimize(q, start.numpy(), jac=True, method="L-BFGS-B", options=options)
    return torch.from_numpy(ended.x)
