"""The coRNN without what is inside tanh is an oscillator whose motion is known."""

import numpy as np
import pytest
import torch
from cells import make

from dynlab.trajectories.simulation import orbit


@pytest.mark.parametrize("gamma, epsilon", [(4.0, 0.4), (0.2, 6.4)], ids=["underdamped", "overdamped"])
def test_it_converges_to_the_damped_oscillator_with_order_one(gamma, epsilon):
    """x(t) of x'' = −γ x − ε x' from (1, 0) in closed form, at t = 2."""
    errors = []
    fast, slow = np.roots([1, epsilon, gamma])
    exact = ((fast * np.exp(slow * 2) - slow * np.exp(fast * 2)) / (fast - slow)).real
    for steps in (400, 800):
        network = make("cornn", hidden_size=1, step_size=2 / steps, gamma=gamma, epsilon=epsilon)
        for parameter in network.parameters():
            parameter.zero_()
        final = orbit(network, torch.zeros(steps, 3).double(), torch.tensor([1.0, 0.0]).double())[-1]
        errors.append(abs(float(network.output(final)) - exact))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(1, abs=0.02)
