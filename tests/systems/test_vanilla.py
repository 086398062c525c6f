"""The vanilla cell and its feedback form, by hand and against torch's own cell."""

import pytest
import torch

from dynlab.systems import create


def test_feedback_adds_a_fraction_of_the_vanilla_step():
    torch.manual_seed(9)
    vanilla = create("vanilla", input_size=3, state_size=4).double()
    feedback = create("feedback", input_size=3, state_size=4, step_size=0.25).double()
    feedback.flow.load_state_dict(vanilla.state_dict())
    h, x = torch.randn(5, 4).double(), torch.randn(5, 3).double()
    torch.testing.assert_close(feedback.step(h, x), h + 0.25 * vanilla.step(h, x), rtol=0, atol=1e-15)


@pytest.mark.parametrize("activation", ["tanh", "identity"])
def test_feedback_stays_at_its_known_equilibrium(activation):
    torch.manual_seed(23)
    system = create("feedback", input_size=3, state_size=4, activation=activation).double()
    x = torch.randn(5, 3).double()
    equilibrium = system.known_equilibrium(x)
    scale = float(equilibrium.detach().abs().max())
    torch.testing.assert_close(system.step(equilibrium, x), equilibrium, rtol=0, atol=1e-14 * (1 + scale))


@pytest.mark.parametrize("start", ["qr", "svd"])
@pytest.mark.parametrize("m", [3, 9])
def test_orthogonal_starts(start, m):
    torch.manual_seed(4)
    system = create("vanilla", input_size=m, state_size=6, start=start).double()
    for weight in (system.W, system.V):
        small = weight if weight.shape[0] <= weight.shape[1] else weight.mT
        torch.testing.assert_close(small @ small.mT, torch.eye(len(small), dtype=torch.float64), rtol=0, atol=1e-5)
