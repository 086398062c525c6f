"""The settings: schedules, optimizers and losses by their formulas, the order of the data, and what is refused."""

import itertools
import math

import pytest
import torch

from dynlab import tasks
from dynlab.errors import UserError
from dynlab.training import Run, Settings
from dynlab.training.batches import Batches
from dynlab.training.network import training_loss


def test_cosine_falls_from_one_to_zero_over_all_steps():
    settings = Settings(epochs=4, schedule="cosine")
    rates = [settings.rate(step, 10) for step in range(41)]
    assert rates == pytest.approx([(1 + math.cos(math.pi * step / 40)) / 2 for step in range(41)], abs=1e-15)


# The second step along the gradients 2, then 1, of each optimizer, from its definition.
SECOND_STEPS = {
    "sgd": 1 + 0.9 * (0.9 * 2 + 1),  # Nesterov: g + μ v with v = μ g_before + g
    "gd": 1.0,
    "adagrad": 1 / math.sqrt(2**2 + 1**2),
    "rmsprop": 1 / math.sqrt(0.6 * 0.4 * 2**2 + 0.4 * 1**2),  # alpha = 0.6
}


@pytest.mark.parametrize("name", SECOND_STEPS)
def test_the_second_step_is_that_of_the_formula(name):
    point = torch.nn.Parameter(torch.tensor(0.0, dtype=torch.float64))
    alpha = {"alpha": 0.6} if name == "rmsprop" else {}
    optimizer = Settings(optimizer=name, lr=0.1, **alpha).make_optimizer([point])
    for gradient in (2.0, 1.0):
        before = point.item()
        point.grad = torch.tensor(gradient, dtype=torch.float64)
        optimizer.step()
    # their small constants, 1e-8 and 1e-10, keep the quotients from 0
    assert before - point.item() == pytest.approx(0.1 * SECOND_STEPS[name], rel=1e-6)


# ∂L/∂e of the tutorial's losses, for each error e
DERIVATIVES = {
    "mse": ({}, lambda e: 2 * e),
    "l1": ({}, torch.sign),
    "huber": ({"cutoff": 0.3}, lambda e: e.clamp(-0.3, 0.3)),
    "smooth-l1": ({"cutoff": 0.3}, lambda e: (e / 0.3).clamp(-1, 1)),
    "elastic-net": ({"l1_share": 0.2}, lambda e: 0.2 * torch.sign(e) + 0.8 * e),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_the_derivative_of_a_loss_is_the_sources(name):
    options, derivative = DERIVATIVES[name]
    answers = torch.linspace(-2, 2, 14, dtype=torch.float64).reshape(2, 7).requires_grad_()
    targets = torch.full((2, 7), 0.05, dtype=torch.float64)
    loss = training_loss(tasks.create("sine"), answers, targets, Settings(loss=name, **options))
    (found,) = torch.autograd.grad(loss, answers)
    torch.testing.assert_close(found * answers.numel(), derivative(answers - targets).detach(), rtol=1e-13, atol=1e-13)


REFUSED = [
    ({"lr": 0.0}, "--lr must be a positive number"),
    ({"constrained_optimizer": "gd"}, "set --constrained-lr too"),
    ({"penalty": -0.1}, "--penalty must be finite and not negative"),
    ({"alpha": 1.0, "optimizer": "rmsprop"}, "--alpha must be at least 0 and below 1"),
    ({"alpha": 0.9}, "--alpha is rmsprop's"),
    ({"batch_size": 0}, "--batch-size must be at least 1"),
    ({"schedule": "cosin"}, "did you mean 'cosine'"),
    ({"cutoff": 0.5}, "--cutoff does nothing without --loss huber"),
    ({"loss": "l1", "l1_share": 0.1}, "--l1-share does nothing without --loss elastic-net"),
    ({"loss": "elastic-net", "l1_share": 1.5}, "--l1-share must be from 0 to 1"),
    ({"halve_every": 3}, "--halve-every does nothing without --schedule halve"),
]


@pytest.mark.parametrize("change, message", REFUSED)
def test_bad_settings_and_those_that_do_nothing_are_named(change, message):
    with pytest.raises(UserError, match=message):
        Settings(**change)


@pytest.mark.parametrize("taken", [0, 3, 4, 6])
def test_the_rest_after_a_restart_is_what_would_have_come(taken):
    task = tasks.create("adding", length=4, train_size=50, test_size=2, retrain=True)
    settings = Settings(batch_size=16, noise=0.1, seed=2)
    original, restarted = Batches(task, settings), Batches(task, settings)
    source, again = (itertools.chain.from_iterable(itertools.repeat(one)) for one in (original, restarted))
    for _ in range(taken):
        next(source)
    restarted.load_state_dict(original.state_dict())
    for one, other in itertools.islice(zip(source, again, strict=True), 9):
        assert torch.equal(one[0], other[0])
        assert torch.equal(one[1], other[1])


def test_deterministic_algorithms_are_asked_for_while_a_run_trains_and_not_after(monkeypatch):
    from dynlab.training.lightning_run import _arithmetic

    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")
    for asked in (True, False):
        with _arithmetic(asked):
            assert torch.are_deterministic_algorithms_enabled() is asked
        assert not torch.are_deterministic_algorithms_enabled()
    assert Run("rnn", "digits", Settings(deterministic=True)).command.endswith(" --deterministic")
