"""Every system that has parameters learns a little of the digits, and its checkpoint goes into the analyses."""

import math

import numpy as np
import pytest

from dynlab import checkpoints, tasks
from dynlab.diagnostics.spectrum import spectrum
from dynlab.systems import SYSTEMS
from dynlab.systems.examples import example, example_config
from dynlab.training import Run, Settings, train
from dynlab.training.network import Network, evaluate
from dynlab.training.prepare import prepare

UNITS = 16
RATES = 0.03, 0.1  # cells of a small step learn only with the second, with which others diverge
# What a system needs besides its size, and what only its own settings show.
SETTINGS = {
    "ernn-exact": {"state_size": 4},  # each of its steps solves an equation
    "fastgrnn": {"density": 0.8},
    "cornn": {"step_size": 0.3, "gamma": 0.5, "epsilon": 1.0},
    "dtriv": {"rebase_every": 2},
}


def trained():
    """Every system of the table that has something to train, as `prepare` takes it: the task says the other sizes."""
    found = {}
    for name in SYSTEMS:
        system = example(name)
        if list(system.parameters()):
            sizes = {key: UNITS for key in example_config(name) if key in ("state_size", "hidden_size")}
            penalty = {} if system.penalty() is None else {"penalty": 0.1}
            found[name] = (sizes | SETTINGS.get(name, {}), penalty)
    return found


TRAINED = trained()
# Of the dearest steps half as many are enough.
EPOCHS = {"ernn-exact": 2, "urnn": 2, "kru": 2}
# How far below guessing, ln 10, the loss is to fall in 48 steps. The exact ERNN sees no order in the pixels but
# whether their places are even, and learns little.
LEARNED = {"ernn-exact": 0.03}
LEARNED_BY_OTHERS = 0.15


@pytest.fixture(scope="module")
def digits():
    return tasks.create("digits", retrain=True)


def learned(name, rate, digits, folder):
    """How far below guessing, and below where it began, the loss of a short training ends."""
    config, changes = TRAINED[name]
    settings = Settings(epochs=EPOCHS.get(name, 4), batch_size=128, lr=rate, clip=1.0, **changes)
    run = Run(name, "digits", settings, config, {"retrain": True})
    untrained = prepare(run)[1]
    before = evaluate(untrained, digits, digits.train)["loss"]
    found = checkpoints.read(train(run, folder).checkpoint)
    network = Network(found.system, digits)
    network.readout.load_state_dict(found.readout.state_dict())
    return min(before, math.log(10)) - evaluate(network, digits, digits.train)["loss"]


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINED)
def test_a_short_training_lowers_the_loss_and_leaves_a_network_to_analyse(name, digits, tmp_path):
    rates = ((learned(name, rate, digits, tmp_path / f"run-{rate}"), rate) for rate in RATES)
    rate = next((rate for fell, rate in rates if fell > LEARNED.get(name, LEARNED_BY_OTHERS)), None)
    assert rate is not None, f"{name} learns at none of the rates {RATES}"
    found = checkpoints.read(tmp_path / f"run-{rate}" / "network.pt")

    inputs = digits.test.inputs[:2, :12]
    eigenvalue = spectrum(found.system, inputs, times=2).eigenvalue
    assert np.isfinite(eigenvalue.values).all()
