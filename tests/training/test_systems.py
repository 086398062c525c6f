"""Every system that has parameters learns a little of the digits, and its checkpoint goes into the analyses."""

import math

import numpy as np
import pytest
import torch

from dynlab import checkpoints, tasks
from dynlab.diagnostics.gradient import gradient
from dynlab.diagnostics.spectrum import spectrum
from dynlab.jacobians import automatic_jacobian
from dynlab.simulation import orbit
from dynlab.systems import SYSTEMS, frozen
from dynlab.training import Run, Settings, train
from dynlab.training.network import Network, evaluate
from dynlab.training.prepare import prepare

TEXTBOOK = {"linear", "logistic", "henon", "lorenz", "roessler", "markus-yamabe"}  # nothing to train
# What is not 16 units at a learning rate of 0.1.
SLOW = {"lr": 0.03}
TRAINED = {
    "rnn": ({"hidden_size": 8}, SLOW),
    "lstm": ({"hidden_size": 8}, {"lr": 0.05}),
    "gru": ({"hidden_size": 8}, {"lr": 0.05}),
    "vanilla": ({"state_size": 16}, SLOW),
    "feedback": ({"state_size": 16}, {}),
    "antisymmetric": ({"state_size": 16}, {}),
    "antisymmetric-gated": ({"state_size": 16}, {}),
    "residual-gated": ({"state_size": 16}, {}),
    "fastrnn": ({"state_size": 16}, {}),
    "fastgrnn": ({"state_size": 16, "density": 0.8}, {}),
    "ugrnn": ({"state_size": 16}, {}),
    "cornn": ({"hidden_size": 16, "step_size": 0.3, "gamma": 0.5, "epsilon": 1.0}, SLOW),
    "ernn": ({"state_size": 16}, SLOW),
    "ernn-deep": ({"state_size": 16}, SLOW),
    "ernn-exact": ({"state_size": 4}, SLOW),
    "modrelu": ({"state_size": 16}, SLOW),
    "exprnn": ({"state_size": 16}, SLOW),
    "dtriv": ({"state_size": 16, "rebase_every": 2}, SLOW),
    "scornn": ({"state_size": 16}, SLOW),
    "asrnn": ({"state_size": 16}, SLOW),
    "nnrnn": ({"state_size": 16}, SLOW | {"penalty": 0.1}),
    "spectral": ({"state_size": 16}, SLOW),
    "soft-orthogonal": ({"state_size": 16}, SLOW | {"penalty": 0.1}),
    "urnn": ({"hidden_size": 8}, SLOW),
    "fc-urnn": ({"hidden_size": 8}, SLOW),
    "kru": ({"hidden_size": 8}, SLOW | {"penalty": 0.1}),
}
# How far below guessing, ln 10, the loss is to fall in 48 steps. The exact ERNN sees no order in the pixels but
# whether their places are even, and learns little.
LEARNED = {"ernn-exact": 0.03}
LEARNED_BY_OTHERS = 0.15


def test_every_system_is_trained_or_has_nothing_to_train():
    assert set(TRAINED) | TEXTBOOK == set(SYSTEMS)
    assert not set(TRAINED) & TEXTBOOK


@pytest.fixture(scope="module")
def digits():
    return tasks.create("digits", retrain=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINED)
def test_a_short_training_lowers_the_loss_and_leaves_a_network_to_analyse(name, digits, tmp_path):
    config, changes = TRAINED[name]
    settings = Settings(**{"epochs": 4, "batch_size": 128, "lr": 0.1, "clip": 1.0} | changes)
    run = Run(name, "digits", settings, config, {"retrain": True})
    untrained = prepare(run, tmp_path / "run", None, "cpu", None, False, None).network
    before = evaluate(untrained, digits, digits.train)["loss"]
    found = checkpoints.read(train(run, tmp_path / "run").checkpoint)

    learned = Network(found.system, digits)
    learned.readout.load_state_dict(found.readout.state_dict())
    after = evaluate(learned, digits, digits.train)["loss"]
    assert after < min(before, math.log(10)) - LEARNED.get(name, LEARNED_BY_OTHERS)

    inputs = digits.test.inputs[:2, :12]
    eigenvalue = spectrum(found.system, inputs, times=2).eigenvalue
    assert np.isfinite(eigenvalue.values).all()
    found_norms = gradient(found.system, inputs).log_norm.values
    expected = log_norms(frozen(found.system), torch.from_numpy(inputs).double())
    # -inf at both where the modReLU of every unit is shut, as on the blank pixels at the start
    assert found_norms[:, :-1] == pytest.approx(expected, abs=1e-6)


def log_norms(system, driven):
    """The ln of each norm of dh_T/dh_t, t below T, by automatic differentiation of every step and plain products."""
    start = system.initial_state()
    zero = torch.zeros(system.state_size, dtype=torch.float64)
    states = orbit(system, driven, (zero if start is None else start).expand(len(driven), -1))
    product, found = torch.eye(system.state_size, dtype=torch.float64), []
    for t in reversed(range(driven.shape[1])):
        product = product @ automatic_jacobian(system, states[:, t], driven[:, t], t).dense()
        found.append(torch.linalg.matrix_norm(product, 2).log())
    return torch.stack(found[::-1], dim=1).numpy()
