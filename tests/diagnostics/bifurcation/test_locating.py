"""Between two points of a branch: a kink is told from what is only steep."""

import numpy as np
import pytest
import torch

from dynlab.diagnostics.bifurcation.curve import SolutionCurve
from dynlab.diagnostics.bifurcation.equation import Equation
from dynlab.diagnostics.bifurcation.locating import jumps
from dynlab.diagnostics.bifurcation.parameter import Varied, named
from dynlab.systems import create
from dynlab.systems.held import Held


@pytest.mark.parametrize("length", [1e-6, 1e-2, 1.0])
@pytest.mark.parametrize(
    "activation, weight, expected",
    [("tanh", 1.0, False), ("tanh", 1e3, False), ("tanh", 1e5, False), ("relu", 1.0, True), ("relu", -30.0, True)],
)
def test_only_a_kink_jumps_however_short_the_interval(activation, weight, expected, length):
    system = create("vanilla", input_size=1, state_size=2, activation=activation, bias=False).double()
    system.requires_grad_(False).W.copy_(torch.tensor([[weight, 0.0], [0.0, 0.5]], dtype=torch.float64))
    held = Held(system, torch.zeros(1, dtype=torch.float64))
    curve = SolutionCurve(Equation(Varied(held, (named(system, "input[0]"),)), is_map=True), 1.0, 1.0)
    left, right = np.array([-0.3, 0.1, 0.0]) * length, np.array([0.7, 0.2, 0.0]) * length
    assert jumps(curve, left, right) == expected
