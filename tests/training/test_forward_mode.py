"""Learning forward in time against backpropagation, of every system, and the tutorial's rule that is no gradient."""

import pytest
import torch
from conformance.test_systems import TIMES, TRAINED

import dynlab as dl
from dynlab.errors import UserError
from dynlab.training.forward_mode import RealTimeRecurrentLearning, real_time_recurrent_learning
from dynlab.trajectories.simulation import orbit


def backpropagated(system, inputs, loss, every_step):
    """The same loss and gradient by backpropagation through time."""
    learned = system.initial_state()
    start = torch.zeros(system.state_size).to(inputs) if learned is None else learned
    states = orbit(system, system.drive(inputs), start.expand(len(inputs), -1))
    steps = range(1, states.shape[1]) if every_step else [states.shape[1] - 1]
    value = sum(loss(system.output(states[:, t]), t) for t in steps)
    named = {key: one for key, one in system.named_parameters() if one.requires_grad}
    found = torch.autograd.grad(value, list(named.values()), allow_unused=True, materialize_grads=True)
    return value.detach(), dict(zip(named, found, strict=True))


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
    expected_value, expected = backpropagated(system, inputs, weighted_squares, every_step)
    torch.testing.assert_close(value, expected_value, rtol=1e-12, atol=1e-12)
    assert gradient.keys() == expected.keys()
    assert any(one.any() for one in gradient.values())
    for key in gradient:
        torch.testing.assert_close(gradient[key], expected[key], rtol=1e-10, atol=1e-10)


def test_what_is_kept_does_not_grow_with_time():
    torch.manual_seed(0)
    learning = RealTimeRecurrentLearning(dl.create("vanilla", input_size=2, state_size=5), samples=3)
    inputs = torch.randn(40, 3, 2)
    learning.advance(inputs[0])
    kept = sum(one.numel() for one in learning.sensitivity.values())
    assert kept == 3 * 5 * (25 + 10 + 5)
    for input in inputs[1:]:
        learning.advance(input)
    assert sum(one.numel() for one in learning.sensitivity.values()) == kept
    assert learning.state.grad_fn is None
    assert all(one.grad_fn is None for one in learning.sensitivity.values())


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda: RealTimeRecurrentLearning(dl.create("lorenz"), 1), "take the step dynlab.Euler"),
        (lambda: RealTimeRecurrentLearning(dl.create("henon"), 1), "no trainable parameters"),
        (lambda: RealTimeRecurrentLearning(dl.create("vanilla", input_size=1, state_size=2), 0), "at least 1, got 0"),
        (
            lambda: real_time_recurrent_learning(
                dl.create("vanilla", input_size=1, state_size=2), torch.zeros(3, 1), weighted_squares
            ),
            r"shape \(sample, time, input\)",
        ),
    ],
)
def test_bad_input(call, sentence):
    with pytest.raises(UserError, match=sentence):
        call()
