"""ERNN: its formula, its equilibrium, its counts, and the identities that tie it to FastRNN."""

import numpy as np
import pytest
import torch

from dynlab.program.differentiation import jacobian
from dynlab.systems import create, frozen
from dynlab.trajectories.simulation import orbit


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(15), dtype=torch.float64)


def make(seed=0, **config):
    torch.manual_seed(seed)
    return frozen(create("ernn", **({"input_size": 3, "state_size": 6, "length": 5, "rank": 2} | config)))


def contracting(**config):
    """A tanh ERNN with a full U of norm 0.5, whose inner flow has one equilibrium that Euler steps reach."""
    system = make(rank=None, activation="tanh", **config)
    system.U.weight.mul_(0.5 / torch.linalg.matrix_norm(system.U.weight, 2))
    return system


def equilibrium(system, x):
    """z*(x) with z = φ(P (U z + W x + b)), by iterating the contraction from 0 until it stands still."""
    z = torch.zeros(*x.shape[:-1], system.state_size, dtype=torch.float64)
    for _ in range(200):
        z = z + system.inner_velocity(z, torch.zeros_like(z), x)
    return z


@pytest.mark.parametrize(
    "start, sign, projection, rank", [("previous", 1, True, 2), ("zero", -1, True, None), ("previous", -1, False, 2)]
)
def test_step_is_the_papers_recursion(start, sign, projection, rank):
    system = make(start=start, sign=sign, projection=projection, rank=rank, inner_steps=3)
    system.eta.copy_(torch.linspace(0.1, 0.9, 15).reshape(3, 5))
    h, x = draw(6).numpy(), draw(3).numpy()
    if rank is None:
        U = system.U.weight.numpy()
    else:
        U = np.eye(6) + system.U.V.numpy() @ system.U.H.numpy()
    P = U if projection else np.eye(6)
    g = h.copy() if start == "previous" else np.zeros(6)
    for k in range(3):
        z = g + sign * h
        g = g + float(system.eta[k, 4]) * (np.maximum(P @ (U @ z + system.W.numpy() @ x + system.b.numpy()), 0) - z)
    found = system.step(torch.from_numpy(h), torch.from_numpy(x), 4)
    np.testing.assert_allclose(found, g, rtol=0, atol=1e-14)
    np.testing.assert_allclose(system.recurrent_matrix(), P @ U, rtol=0, atol=1e-14)


@pytest.mark.parametrize("start, sign", [("previous", 1), ("zero", -1)])
def test_at_equilibrium_the_state_is_z_minus_the_old_state(start, sign):
    # The condition depends on g + s h alone, so h_k = z*(x_k) − s h_{k−1} and ∂h_k/∂h_{k−1} = −s I.
    system = contracting(start=start, sign=sign, inner_steps=60, eta=0.9)
    inputs, initial = draw(2, 5, 3), draw(2, 6)
    states = orbit(system, inputs, initial)
    expected = equilibrium(system, inputs) - sign * states[:, :-1]
    torch.testing.assert_close(states[:, 1:], expected, rtol=0, atol=1e-13)
    found = jacobian(system, states[:, :-1], inputs, torch.arange(5)).dense()
    identity = torch.eye(6, dtype=torch.float64).expand(2, 5, 6, 6)
    torch.testing.assert_close(found, -sign * identity, rtol=0, atol=1e-12)
