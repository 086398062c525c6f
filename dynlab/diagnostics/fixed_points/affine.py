"""Whether a map is affine in its state, and its fixed points then: one affine set, by linear algebra alone."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.jacobians import displacement_matrices, ungated_matrices
from dynlab.numerics.affine_roots import AffineRoots, affine_roots
from dynlab.systems.function import has_users_code
from dynlab.systems.held import Held

NEAR, FAR = (
    1.0,
    (1e3, 1e6),
)  # (times max(1, |F(0)|)) how far from 0 the Jacobian is looked at: a saturated unit leaves its bend on the way
TINY = 1e-9  # how far from 0 the rounding of the step at 0 is looked at
PROBES = 4  # states at each distance
# Of a user's code, which may bend anywhere: how far from 0 it is looked at, and at how many states, or numbers.
SPREADS, STATES, NUMBERS = tuple(10.0**k for k in range(-1, 9)), 4096, 2**18
BESIDE = tuple(10.0**k for k in range(-12, 1))  # (times max(1, |h|)) and how far from the root, which they may all miss
ROUNDINGS = 10  # times n ε (|J| |h| + |F(h)| + |F(0)|): what rounding leaves of an affine map's F(h) − F(0) − J h


def affine_answer(exact: Held) -> AffineRoots | None:
    """The fixed points of an affine map; None where the map is not affine as far as it is looked at.

    It is affine where its Jacobian is the same to the last bit at every one of several states, some far apart, and
    the residual at these is what that Jacobian says to rounding; of a user's code at thousands more, and at the root
    and around it. What is looked at is the ungated residual where the system has one: behind a shut gate every map
    looks like the identity.

    Parameters
    ----------
    exact : Held
        In float64 on the CPU.
    """
    n = exact.system.state_size
    zero = torch.zeros(1, n, dtype=torch.float64)
    directions = torch.as_tensor(np.random.default_rng(0).uniform(-1, 1, (PROBES, n)))
    gated = exact.system.ungated_residual(*exact.given(zero)) is not None
    derivative = ungated_matrices if gated else displacement_matrices
    first = derivative(exact, zero)[0]
    near = NEAR * directions
    if not torch.isfinite(first).all() or not torch.equal(derivative(exact, near[:1])[0], first):
        return None
    value = exact.ungated(zero)[0]
    unit = max(1.0, float(value.abs().max()))  # a bend may be as far away as F(0) is large
    probes = torch.cat([near, *(far * unit * directions.sign() * directions.abs().sqrt() for far in FAR)])
    if not (derivative(exact, probes) == first).all():
        return None
    identity = torch.eye(n, dtype=torch.float64)
    sizes = first.abs() if exact.is_flow else identity + (first if gated else first + identity).abs()
    if not _follows(exact, probes, value, first, sizes):
        return None
    if has_users_code(exact.system) and not _follows(exact, _spread(exact), value, first, sizes):
        return None
    shifted = TINY * directions
    seen = (exact.ungated(shifted) - shifted @ first.mT - value).abs().amax(dim=0)
    eps = torch.finfo(torch.float64).eps
    seen = (seen - ROUNDINGS * n * eps * (shifted.abs() @ sizes.mT).amax(dim=0)).clamp_min(0)
    roots = affine_roots(first.numpy(), value.numpy(), sizes.numpy(), seen.numpy())
    if has_users_code(exact.system) and not _follows(exact, _about(roots.point, directions), value, first, sizes):
        return None
    return roots


def _about(point: NDArray[np.float64], directions: Tensor) -> Tensor:
    """The root and states around it (k, n), where the map may be another than at all that was looked at before."""
    root = torch.as_tensor(point)[None]
    return torch.cat([root, *(root + reach * root.abs().clamp_min(1) * directions for reach in BESIDE)])


def _spread(exact: Held) -> Tensor:
    """Many states (k, n), up to each of `SPREADS` from 0 in every coordinate, in the unit of the search and without."""
    n = exact.system.state_size
    drawn = np.random.default_rng(1).uniform(-1, 1, (max(1, min(STATES, NUMBERS // n)), n))
    spread = torch.as_tensor(np.concatenate([spread * drawn for spread in SPREADS]))
    unit = torch.as_tensor(exact.unit, dtype=torch.float64)
    return spread if (unit == 1).all() else torch.cat([spread, spread / unit])


def _follows(exact: Held, probes: Tensor, value: Tensor, matrix: Tensor, sizes: Tensor) -> bool:
    """Whether the residual at the probes is value + matrix h to rounding."""
    eps, n = torch.finfo(torch.float64).eps, probes.shape[1]
    residual = exact.ungated(probes)
    off = (residual - probes @ matrix.mT - value).abs()
    return bool((off <= ROUNDINGS * n * eps * (probes.abs() @ sizes.mT + residual.abs() + value.abs())).all())
