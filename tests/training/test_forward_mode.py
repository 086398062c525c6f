"""Learning forward in time against backpropagation, of every system, and the tutorial's rule that is no gradient."""

import numpy as np
import pytest
import torch
from conformance.test_systems import TIMES, TRAINED

import dynlab as dl
from dynlab.errors import UserError
from dynlab.training.collapsed_rule import collapsed_rule, collapsed_sensitivities
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


def tutorial(scale, seed=0, n=32, shown=6):
    """The tutorial's network with a W of normal entries of deviation `scale`/√n, and its windows of a sine wave."""
    torch.manual_seed(seed)
    system = dl.create("vanilla", input_size=shown, state_size=n, activation="sigmoid", bias=False).double()
    with torch.no_grad():
        system.W.copy_(scale * torch.randn(n, n, dtype=torch.float64) / n**0.5)
        system.V.copy_(torch.linalg.svd(torch.randn(n, shown, dtype=torch.float64), full_matrices=False)[0])
    read = torch.linalg.svd(torch.randn(8, n, dtype=torch.float64), full_matrices=False)[2]
    wave = np.sin(np.linspace(0, 4 * np.pi, 68))
    slid = torch.from_numpy(np.lib.stride_tricks.sliding_window_view(wave, 14)[:54].copy())
    inputs = slid[:, :6, None] * torch.eye(6, dtype=torch.float64)
    return system, read, inputs, slid[:, 6:]


def by_state(read, state, targets):
    """∂L/∂s of the tutorial's loss, whose gradient by the error is the error clipped at ±1."""
    return (state @ read.mT - targets).clamp(-1, 1) @ read


@pytest.mark.parametrize("scale", [0.1, 1.5, 4.0])
def test_the_collapsed_sensitivities_are_the_true_ones_summed_over_the_row(scale):
    system, _, inputs, _ = tutorial(scale)
    state, collapsed = collapsed_sensitivities(system, inputs)
    learning = RealTimeRecurrentLearning(system, len(inputs))
    for input in inputs.unbind(dim=1):
        learning.advance(input)
    torch.testing.assert_close(state, learning.state, rtol=1e-13, atol=1e-13)
    for name in ("W", "V"):
        torch.testing.assert_close(collapsed[name], learning.sensitivity[name].sum(dim=2), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("scale, error, cosine", [(1.5, (0.25, 0.55), (0.85, 0.97)), (4.0, (0.55, 0.95), (0.5, 0.85))])
def test_how_wrong_the_collapsed_rule_is(scale, error, cosine):
    """39 % with cosine 0.92 at a deviation of 1.5/√n and 74 % with cosine 0.69 at 4/√n were measured before."""
    errors, cosines = [], []
    for seed in range(5):
        system, read, inputs, targets = tutorial(scale, seed)
        state, collapsed = collapsed_sensitivities(system, inputs)
        by = by_state(read, state, targets)
        learning = RealTimeRecurrentLearning(system, len(inputs))
        for input in inputs.unbind(dim=1):
            learning.advance(input)
        true, rule = learning.gradient(by)["W"].flatten(), collapsed_rule(collapsed, by)["W"].flatten()
        errors.append(float((rule - true).norm() / true.norm()))
        cosines.append(float(rule @ true / (rule.norm() * true.norm())))
    assert error[0] < np.mean(errors) < error[1]
    assert cosine[0] < np.mean(cosines) < cosine[1]


def test_one_step_is_all_that_the_collapsed_rule_has_right():
    system, read, inputs, targets = tutorial(4.0)
    state, collapsed = collapsed_sensitivities(system, inputs[:, :1])
    learning = RealTimeRecurrentLearning(system, len(inputs))
    learning.advance(inputs[:, 0])
    by = by_state(read, state, targets)
    torch.testing.assert_close(collapsed_rule(collapsed, by)["V"], learning.gradient(by)["V"], rtol=1e-12, atol=1e-13)


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
        (lambda: collapsed_sensitivities(dl.create("gru", input_size=1, hidden_size=2), torch.zeros(1, 1, 1)), "gru"),
    ],
)
def test_bad_input(call, sentence):
    with pytest.raises(UserError, match=sentence):
        call()


def descended(rule, epochs):
    """Full-batch descent as the tutorial does it (lr 0.1/54, its start) along its rule or the true gradient; RMSEs."""
    generator = np.random.default_rng(2882)
    W = np.linalg.qr(generator.normal(0, 1024**-0.75, (32, 32)), mode="complete")[1]  # R, which it takes for Q
    U = polar(generator.normal(0, 192**-0.75, (32, 6)))
    V = polar(generator.normal(0, 256**-0.75, (8, 32)))
    system = dl.create("vanilla", input_size=6, state_size=32, activation="sigmoid", bias=False).double()
    with torch.no_grad():
        system.W.copy_(torch.from_numpy(W))
        system.V.copy_(torch.from_numpy(U))
    read = torch.from_numpy(V)
    _, _, inputs, targets = tutorial(1.0)
    order = np.random.default_rng(0).permutation(54)
    train, test = order[4:], order[:4]
    rate = 0.1 / 54
    for _ in range(epochs):
        if rule:
            state, collapsed = collapsed_sensitivities(system, inputs[train])
            clipped = (state @ read.mT - targets[train]).clamp(-1, 1)
            found = collapsed_rule(collapsed, clipped @ read)
        else:
            state = orbit(system, inputs[train], torch.zeros(50, 32, dtype=torch.float64))[:, -1]
            error = state @ read.mT - targets[train]
            loss = torch.nn.functional.huber_loss(error, torch.zeros_like(error), reduction="sum")
            clipped = error.detach().clamp(-1, 1)
            found = dict(zip(("W", "V"), torch.autograd.grad(loss, (system.W, system.V)), strict=True))
            state = state.detach()
        with torch.no_grad():
            read -= rate * clipped.mT @ state
            system.W -= rate * found["W"]
            system.V -= rate * found["V"]
    with torch.no_grad():
        last = orbit(system, inputs, torch.zeros(54, 32, dtype=torch.float64))[:, -1] @ read.mT - targets
    return tuple(float(last[rows].square().mean().sqrt()) for rows in (train, test))


def polar(matrix):
    u, _, vh = np.linalg.svd(matrix, full_matrices=False)
    return u @ vh


@pytest.mark.slow
def test_the_tutorial_trains_on_its_rule_and_better_on_the_gradient():
    """After 4,000 epochs the training error is 0.0289 along the rule and 0.0249 along the gradient, on a fixed split.

    The tutorial draws its four test windows without a seed; on others 0.045 and 0.026 were measured before.
    """
    by_rule, by_gradient = descended(True, 4000), descended(False, 4000)
    assert by_gradient[0] == pytest.approx(0.026, abs=0.004)
    assert by_gradient[0] < 0.95 * by_rule[0]
