"""The exact ERNN: its equilibrium by plain iteration, its gradient by many Euler steps, and where there is none."""

import math

import numpy as np
import pytest
import scipy.optimize
import torch

from dynlab.program.differentiation import jacobian
from dynlab.systems import create, frozen
from dynlab.trajectories.simulation import orbit

FUNCTIONS = {
    "tanh": np.tanh,
    "relu": lambda p: np.maximum(p, 0),
    "sigmoid": lambda p: 1 / (1 + np.exp(-p)),
}


def draw(*shape, seed=80):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def make(seed=0, **config):
    torch.manual_seed(seed)
    return frozen(create("ernn-exact", **({"input_size": 3, "state_size": 6} | config)))


@pytest.mark.parametrize("activation", FUNCTIONS)
@pytest.mark.parametrize("projection", [True, False])
def test_the_equilibrium_is_where_plain_iteration_ends(activation, projection):
    system, x = make(activation=activation, projection=projection), draw(4, 3)
    U, W, b = system.U.weight.numpy(), system.W.numpy(), system.b.numpy()
    P = U if projection else np.eye(6)
    z = np.zeros((4, 6))
    for _ in range(500):  # P U contracts here: halving the way to the image converges
        z = (z + FUNCTIONS[activation]((z @ U.T + x.numpy() @ W.T + b) @ P.T)) / 2
    np.testing.assert_allclose(system.equilibrium(x).numpy(), z, rtol=0, atol=1e-14)


def euler(exact, steps=100, eta=0.5, **config):
    """The ERNN of the same weights with many Euler steps."""
    sizes = {"input_size": exact.input_size, "state_size": exact.state_size, "length": 4}
    ernn = create("ernn", **sizes, inner_steps=steps, eta=eta, **config).double()
    ernn.load_state_dict(exact.state_dict() | {"eta": ernn.eta.detach()})
    return ernn


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("config", [{"rank": None, "activation": "tanh"}])
def test_it_is_the_limit_of_many_euler_steps(sign, config):
    exact = make(sign=sign, **config).requires_grad_(True)
    ernn = euler(exact, sign=sign, **config)
    x, start = draw(2, 4, 3), draw(2, 6)
    results = [orbit(system, x, start) for system in (exact, ernn)]
    torch.testing.assert_close(*[states.detach() for states in results], rtol=0, atol=1e-12)
    for states in results:
        (states[:, 1:] * draw(2, 4, 6, seed=81)).sum().backward()
    gradients = [{name: value.grad for name, value in system.named_parameters()} for system in (exact, ernn)]
    assert set(gradients[0]) == {"W", "b", "U.weight"}
    for name, gradient in gradients[0].items():
        assert float(gradient.abs().max()) > 0.1
        torch.testing.assert_close(gradient, gradients[1][name], rtol=0, atol=1e-10)


def scalar(u, activation, sign=1):
    """Z = φ(u z + b + x), one unit."""
    system = make(input_size=1, state_size=1, activation=activation, projection=False, sign=sign)
    system.U.weight.fill_(u)
    system.W.fill_(1.0)
    system.b.fill_(0.0)
    return system


def test_where_there_is_no_equilibrium_the_state_is_nan_and_no_other():
    system = scalar(1.0, "relu")  # z = max(z + q, 0): 0 for q < 0, none for q > 0
    x = torch.tensor([[-1.0], [1.0], [-0.5]], dtype=torch.float64)
    assert torch.equal(torch.isnan(system.step(torch.ones(3, 1).double(), x)), x > 0)
    found = jacobian(system, torch.ones(3, 1).double(), x).dense().flatten()
    assert found[[0, 2]].tolist() == [-1, -1]
    assert math.isnan(found[1])
    assert system.known_equilibrium(x) is None
    torch.testing.assert_close(system.equilibrium(x)[[0, 2]], torch.zeros(2, 1).double(), rtol=0, atol=1e-14)


@pytest.mark.parametrize("q", [0.2, -0.2])
def test_of_several_equilibria_the_flow_from_zero_chooses_a_stable_one(q):
    # u = 2 has three for abs(q) < 0.5328; from 0 the flow goes to the side of q
    system = scalar(2.0, "tanh")
    found = float(system.equilibrium(torch.tensor([q], dtype=torch.float64)))
    root = scipy.optimize.brentq(
        lambda z: math.tanh(2 * z + q) - z, math.copysign(0.5, q), math.copysign(1, q), xtol=1e-15
    )
    assert found == pytest.approx(root, abs=1e-14)
    assert abs(2 * (1 - found**2)) < 1
