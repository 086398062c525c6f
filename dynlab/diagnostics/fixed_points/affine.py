"""The fixed points of an affine map, h → J h + c, or the equilibria of an affine flow: one affine set, or none."""

import numpy as np
import torch

from dynlab.diagnostics.fixed_points.places import FIXED, NOT_ISOLATED, Place, equations, is_gated
from dynlab.program.differentiation import jacobian_and_error
from dynlab.systems.held import Held

# How far from 0, times max(1, |F(0)|), the Jacobian is looked at, at PROBES states each: a unit leaves its bend there.
DISTANCES, PROBES = (1.0, 1e3, 1e6), 4
ROUNDINGS = 16.0  # times n ε: of the matrix and of the value


def affine_place(exact: Held) -> tuple[Place | None] | None:
    """Return the nearest fixed point to 0 of an affine map, or (None,) where it has none; None of another map.

    It is affine where its Jacobian is the same at several states, some far apart, within its error, and the residual
    there is what that Jacobian says. With A = J − I, of a flow J, the set is {h: A h + c = 0}; its dimension is the
    number of singular values of A that are 0 within its error.

    Parameters
    ----------
    exact : Held
        In float64 on the CPU.
    """
    n, sought = exact.system.state_size, equations(exact)
    zero = torch.zeros(1, n, dtype=torch.float64)
    value, matrix = sought.value(zero)[0], sought.matrix(zero)[0]
    directions = torch.as_tensor(np.random.default_rng(0).uniform(-1, 1, (PROBES, n)))
    size = max(1.0, float(value.abs().max()))
    probes = torch.cat([size * distance * directions for distance in DISTANCES])
    wrong = ROUNDINGS * n * torch.finfo(torch.float64).eps
    if not torch.isfinite(matrix).all() or not torch.isfinite(value).all():
        return None
    sizes = matrix.abs() + torch.eye(n, dtype=torch.float64)
    changed = (sought.matrix(probes) - matrix).abs()
    if not (changed <= wrong * sizes.max()).all():
        return None
    off = (sought.value(probes) - probes @ matrix.mT - value).abs()
    if not (off <= wrong * (probes.abs() @ sizes.mT + value.abs())).all():
        return None
    error = torch.zeros(()) if is_gated(exact) else jacobian_and_error(exact.system, *exact.given(zero[0]))[1]
    spread = float(torch.linalg.matrix_norm(error)) if error.ndim else 0.0
    return (_solved(matrix.numpy(), value.numpy(), spread if np.isfinite(spread) else 0.0, wrong, exact),)


def _solved(matrix: np.ndarray, value: np.ndarray, error: float, wrong: float, exact: Held) -> Place | None:
    """Return the point nearest to 0 of {h: A h + c = 0} by singular values; None where c is not in A's range."""
    u, sigma, v = np.linalg.svd(matrix)
    least = error + wrong * max(1.0, sigma[0])
    told = sigma > least
    along = (u.T @ value)[told] / sigma[told]
    state = -v[told].T @ along
    left = np.linalg.norm(matrix @ state + value)
    if left > wrong * (np.linalg.norm(value) + (1 + sigma[0]) * np.linalg.norm(state)) + error * np.linalg.norm(state):
        return None
    dimension = int((~told).sum())
    smallest = float(sigma[told].min(initial=np.inf))
    position = (left + least * (1 + np.linalg.norm(state))) / smallest
    sign = 1 if is_gated(exact) else (-1) ** len(value)
    index = 0 if dimension else sign * int(np.linalg.slogdet(matrix)[0])
    return Place(state, NOT_ISOLATED if dimension else FIXED, position, v[-1], index, dimension)
