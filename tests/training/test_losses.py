"""The losses of tasks with values against their derivatives in the source, and that the settings say what they need."""

import pytest
import torch

from dynlab.errors import UserError
from dynlab.tasks import create
from dynlab.training import Run, Settings, train
from dynlab.training.network import LOSSES, training_loss
from dynlab.training.settings import LOSSES as NAMES

# ∂L/∂e of the tutorial's losses, for each error e
DERIVATIVES = {
    "mse": (Settings(loss="mse"), lambda e: 2 * e),
    "l1": (Settings(loss="l1"), torch.sign),
    "huber": (Settings(loss="huber", cutoff=0.3), lambda e: e.clamp(-0.3, 0.3)),
    "smooth-l1": (Settings(loss="smooth-l1", cutoff=0.3), lambda e: (e / 0.3).clamp(-1, 1)),
    "elastic-net": (Settings(loss="elastic-net", l1_share=0.2), lambda e: 0.2 * torch.sign(e) + 0.8 * e),
}


def test_every_loss_has_its_name():
    assert set(DERIVATIVES) == set(LOSSES) == set(NAMES)


@pytest.mark.parametrize("name", DERIVATIVES)
def test_its_derivative_is_the_sources(name):
    settings, derivative = DERIVATIVES[name]
    answers = torch.linspace(-2, 2, 14, dtype=torch.float64).reshape(2, 7).requires_grad_()
    targets = torch.full((2, 7), 0.05, dtype=torch.float64)
    (found,) = torch.autograd.grad(training_loss(create("sine"), answers, targets, settings), answers)
    torch.testing.assert_close(found * answers.numel(), derivative(answers - targets).detach(), rtol=1e-13, atol=1e-13)


def test_huber_at_one_is_the_tutorials_clipped_error():
    errors = torch.linspace(-3, 3, 61, dtype=torch.float64).requires_grad_()
    value = LOSSES["huber"](errors, torch.zeros(61, dtype=torch.float64), Settings(loss="huber")) * 61
    (found,) = torch.autograd.grad(value, errors)
    torch.testing.assert_close(found, errors.detach().clamp(-1, 1))


@pytest.mark.parametrize(
    "settings, sentence",
    [
        ({"loss": "l2"}, "did you mean|choose from"),
        ({"cutoff": 0.5}, "--cutoff does nothing without --loss huber"),
        ({"loss": "l1", "l1_share": 0.1}, "--l1-share does nothing without --loss elastic-net"),
        ({"loss": "huber", "cutoff": 0.0}, "--cutoff must be a positive number"),
        ({"loss": "elastic-net", "l1_share": 1.5}, "--l1-share must be from 0 to 1"),
        ({"halve_every": 3}, "--halve-every does nothing without --schedule halve"),
    ],
)
def test_a_setting_that_does_nothing_is_an_error(settings, sentence):
    with pytest.raises(UserError, match=sentence):
        Settings(**settings)


def test_classes_have_no_such_loss(tmp_path):
    with pytest.raises(UserError, match="learns by cross-entropy"):
        train(Run("gru", "digits", Settings(loss="l1"), {"hidden_size": 3}), tmp_path / "run")


def test_what_is_trained_on_changes_what_is_learned(tmp_path):
    def trained(name, **more):
        settings = Settings(epochs=3, batch_size=16, lr=1e-2, **more)
        return train(Run("gru", "sine", settings, {"hidden_size": 4}), tmp_path / name).facts["test_mse"]

    assert len({trained("a"), trained("b", loss="l1"), trained("c", loss="huber", cutoff=0.1)}) == 3
    assert trained("d", loss="mse") == trained("e")
