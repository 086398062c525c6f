"""The losses of tasks with values against their derivatives in the source, and that the settings say what they need."""

import pytest
import torch

from dynlab.errors import UserError
from dynlab.tasks import create
from dynlab.training import Settings
from dynlab.training.network import training_loss

# ∂L/∂e of the tutorial's losses, for each error e
DERIVATIVES = {
    "mse": (Settings(loss="mse"), lambda e: 2 * e),
    "l1": (Settings(loss="l1"), torch.sign),
    "huber": (Settings(loss="huber", cutoff=0.3), lambda e: e.clamp(-0.3, 0.3)),
    "smooth-l1": (Settings(loss="smooth-l1", cutoff=0.3), lambda e: (e / 0.3).clamp(-1, 1)),
    "elastic-net": (Settings(loss="elastic-net", l1_share=0.2), lambda e: 0.2 * torch.sign(e) + 0.8 * e),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_its_derivative_is_the_sources(name):
    settings, derivative = DERIVATIVES[name]
    answers = torch.linspace(-2, 2, 14, dtype=torch.float64).reshape(2, 7).requires_grad_()
    targets = torch.full((2, 7), 0.05, dtype=torch.float64)
    (found,) = torch.autograd.grad(training_loss(create("sine"), answers, targets, settings), answers)
    torch.testing.assert_close(found * answers.numel(), derivative(answers - targets).detach(), rtol=1e-13, atol=1e-13)


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
