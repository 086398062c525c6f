"""The settings: schedules by their formula, the order of the data by its definition, and what is refused."""

import math

import pytest
import torch

from dynlab import tasks
from dynlab.errors import UserError
from dynlab.training import Run, Settings
from dynlab.training.batches import Batches


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


@pytest.mark.parametrize(
    "change, message",
    [
        ({"lr": 0.0}, "--lr must be a positive number, got 0.0"),
        ({"constrained_lr": 0.0}, "--constrained-lr must be a positive number, got 0.0"),
        ({"constrained_optimizer": "adan"}, "Unknown constrained optimizer 'adan': .*did you mean 'adam'"),
        ({"constrained_optimizer": "gd"}, "a learning rate of another meaning than adam's: set --constrained-lr too"),
        ({"penalty": -0.1}, "--penalty must be finite and not negative, got -0.1"),
        ({"alpha": 1.0, "optimizer": "rmsprop"}, "--alpha must be at least 0 and below 1, got 1.0"),
        ({"alpha": 0.9}, "--alpha is rmsprop's and the optimizer is adam: leave it out, or set --optimizer rmsprop"),
        ({"batch_size": 0}, "--batch-size must be at least 1"),
        ({"dropout": 1.0}, "--dropout must be at least 0 and below 1"),
        ({"weight_decay": -0.1}, "--weight-decay must be finite and not negative"),
        ({"clip": math.inf}, "--clip must be finite"),
        ({"schedule": "cosin"}, "Unknown schedule 'cosin': .*did you mean 'cosine'"),
    ],
)
def test_bad_settings_are_named(change, message):
    with pytest.raises(UserError, match=message):
        Settings(**change)


@pytest.fixture(scope="module")
def task():
    return tasks.create("adding", length=4, train_size=50, test_size=2, retrain=True)


@pytest.mark.parametrize("taken", [0, 1, 3, 4, 6])
def test_the_rest_after_a_restart_is_what_would_have_come(task, taken):
    settings = Settings(batch_size=16, noise=0.1, seed=2)

    def stream(batches):
        while True:
            yield from batches

    original = Batches(task, settings)
    source = stream(original)
    for _ in range(taken):
        next(source)
    restarted = Batches(task, settings)
    restarted.load_state_dict(original.state_dict())
    for _, one, other in zip(range(9), source, stream(restarted), strict=False):
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
