"""FastRNN against its formula written out with numpy, and EdgeML's initial values."""

import numpy as np
import pytest
import torch

from dynlab.systems import create

ACTIVATIONS = {"tanh": np.tanh, "relu": lambda p: np.maximum(p, 0), "sigmoid": lambda p: 1 / (1 + np.exp(-p))}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_step_is_the_papers_formula(activation):
    torch.manual_seed(13)
    cell = create("fastrnn", input_size=3, state_size=4, activation=activation).double()
    generator = np.random.default_rng(0)
    h, x = generator.standard_normal((5, 4)), generator.standard_normal((5, 3))
    W, U, b = (getattr(cell, name).detach().numpy() for name in ("W", "U", "b"))
    sigmoid = ACTIVATIONS["sigmoid"]
    expected = sigmoid(3.0) * h + sigmoid(-3.0) * ACTIVATIONS[activation](x @ W.T + h @ U.T + b)
    found = cell.step(torch.from_numpy(h), torch.from_numpy(x)).detach()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)
