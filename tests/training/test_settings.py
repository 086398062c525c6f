"""The settings: losses by their formulas, and what is refused."""

import pytest
import torch
from lightning.pytorch import Trainer

from dynlab import tasks
from dynlab.errors import UserError
from dynlab.training import Run, Settings, train
from dynlab.training.network import loss_of

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
    loss = loss_of(tasks.create("sine"), answers, targets, Settings(loss=name, **options))
    (found,) = torch.autograd.grad(loss, answers)
    torch.testing.assert_close(found * answers.numel(), derivative(answers - targets).detach(), rtol=1e-13, atol=1e-13)


REFUSED = [
    ({"lr": 0.0}, "--lr must be a positive number"),
    ({"constrained_optimizer": "gd"}, "set --constrained-lr too"),
    ({"alpha": 1.0, "optimizer": "rmsprop"}, "--alpha must be at least 0 and below 1"),
    ({"alpha": 0.9}, "--alpha does nothing without --optimizer rmsprop"),
    ({"schedule": "cosin"}, "did you mean 'cosine'"),
    ({"loss": "l1", "l1_share": 0.1}, "--l1-share does nothing without --loss elastic-net"),
    ({"loss": "elastic-net", "l1_share": 1.5}, "--l1-share must be from 0 to 1"),
    ({"halve_every": 3}, "--halve-every does nothing without --schedule halve"),
]


@pytest.mark.parametrize("change, message", REFUSED)
def test_bad_settings_and_those_that_do_nothing_are_named(change, message):
    with pytest.raises(UserError, match=message):
        Settings(**change)


def test_deterministic_algorithms_are_asked_for_while_a_run_trains_and_not_after(monkeypatch, tmp_path):
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")
    asked = []
    monkeypatch.setattr(Trainer, "fit", lambda *_, **__: asked.append(torch.are_deterministic_algorithms_enabled()))
    for number, deterministic in enumerate((True, False)):
        run = Run("rnn", "digits", Settings(deterministic=deterministic), {"hidden_size": 4})
        with pytest.raises(FileNotFoundError):  # as nothing is trained
            train(run, tmp_path / f"{number}")
        assert not torch.are_deterministic_algorithms_enabled()
    assert asked == [True, False]
    assert Run("rnn", "digits", Settings(deterministic=True)).command.endswith(" --deterministic")
