"""coRNN against its formula written out with numpy, an oscillator whose motion is known, and its authors' sizes."""

import numpy as np
import pytest
import torch

from dynlab.systems import create, frozen
from dynlab.trajectories.simulation import orbit

HOW = {"step_size": 0.1, "gamma": 0.2, "epsilon": 6.4}


def cell(seed=13, **config):
    torch.manual_seed(seed)
    return frozen(create("cornn", **{"input_size": 3, "hidden_size": 4} | HOW | config))


def test_step_is_the_papers_formula():
    network = cell()
    generator = np.random.default_rng(0)
    x, z, u = (generator.standard_normal((5, size)) for size in (4, 4, 3))
    W, W_velocity, V, b = (getattr(network, name).numpy() for name in ("W", "W_velocity", "V", "b"))
    new_z = z + 0.1 * (np.tanh(x @ W.T + z @ W_velocity.T + u @ V.T + b) - 0.2 * x - 6.4 * z)
    found = network.step(torch.from_numpy(np.hstack([x, z])), torch.from_numpy(u))
    np.testing.assert_allclose(found, np.hstack([x + 0.1 * new_z, new_z]), rtol=0, atol=1e-14)


@pytest.mark.parametrize("gamma, epsilon", [(4.0, 0.4), (0.2, 6.4)], ids=["underdamped", "overdamped"])
def test_it_converges_to_the_damped_oscillator_with_order_one(gamma, epsilon):
    """With nothing inside tanh: x(t) of x'' = −γ x − ε x' from (1, 0) in closed form, at t = 2."""
    errors = []
    fast, slow = np.roots([1, epsilon, gamma])
    exact = ((fast * np.exp(slow * 2) - slow * np.exp(fast * 2)) / (fast - slow)).real
    for steps in (400, 800, 1600):
        network = cell(hidden_size=1, step_size=2 / steps, gamma=gamma, epsilon=epsilon)
        for parameter in network.parameters():
            parameter.zero_()
        start = torch.tensor([1.0, 0.0], dtype=torch.float64)
        final = orbit(network, torch.zeros(steps, 3, dtype=torch.float64), start)[-1]
        errors.append(abs(float(network.output(final)) - exact))
    slopes = np.log2(np.divide(errors[:-1], errors[1:]))
    np.testing.assert_allclose(slopes, 1, atol=0.02)
