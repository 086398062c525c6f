"""Learning forward in time against backpropagation, of every system, and the tutorial's rule that is no gradient."""

import pytest
import torch
from conformance.test_systems import TIMES, TRAINED

import dynlab as dl
from dynlab.training.forward_mode import real_time_recurrent_learning
from dynlab.trajectories.simulation import orbit


def weighted_squares(shown, t):
    return (shown * torch.linspace(-1, 2, shown.shape[-1]).to(shown)).square().sum() * (1 + 0.1 * t)


# A loss of every step for every system, and of the last alone for one of each sort of sensitivity.
CALLS = [(name, config, True) for name, config in TRAINED]
CALLS += [(name, config, False) for name, config in TRAINED if name in ("vanilla", "urnn", "ernn")]


@pytest.mark.parametrize("name, config, every_step", CALLS, ids=lambda part: part if isinstance(part, str) else "")
def test_every_system_has_the_gradient_of_backpropagation(name, config, every_step):
    torch.manual_seed(8)
    system = dl.create(name, **config).double()
    inputs = torch.randn(3, TIMES, system.network_input_size, dtype=torch.float64)
    value, gradient = real_time_recurrent_learning(system, inputs, weighted_squares, every_step=every_step)
    learned = system.initial_state()
    start = inputs.new_zeros(system.state_size) if learned is None else learned
    states = orbit(system, system.drive(inputs), start.expand(len(inputs), -1))
    steps = range(1, TIMES + 1) if every_step else [TIMES]
    expected_value = sum(weighted_squares(system.output(states[:, t]), t) for t in steps)
    named = {key: one for key, one in system.named_parameters() if one.requires_grad}
    found = torch.autograd.grad(expected_value, list(named.values()), allow_unused=True, materialize_grads=True)
    expected = dict(zip(named, found, strict=True))
    torch.testing.assert_close(value, expected_value.detach(), rtol=1e-12, atol=1e-12)
    assert gradient.keys() == expected.keys()
    assert any(one.any() for one in gradient.values())
    for key in gradient:
        torch.testing.assert_close(gradient[key], expected[key], rtol=1e-10, atol=1e-10)
