"""Every system whose training test_optimisation.py does not repeat learns a little of the digits."""

import math

import numpy as np
import pytest
import torch
from training.test_optimisation import SYSTEMS as BY_HAND

from dynlab import checkpoints, tasks
from dynlab.diagnostics.spectrum import spectrum
from dynlab.systems import SYSTEMS
from dynlab.systems.examples import example, example_config
from dynlab.training import Run, Settings, train
from dynlab.training.network import Network, evaluate
from dynlab.training.prepare import prepare

UNITS = 16
RATES = 0.03, 0.1  # cells of a small step learn only with the second, with which others diverge
SETTINGS = {"cornn": {"step_size": 0.3, "gamma": 0.5, "epsilon": 1.0}}
# The exact ERNN sees no order in the pixels but whether their places are even, and learns little.
LEARNING = [name for name in SYSTEMS if name not in {*BY_HAND, "ernn-exact"} and list(example(name).parameters())]
LEARNED = 0.15  # how far below guessing, ln 10, the loss is to fall in 48 steps


@pytest.fixture(scope="module")
def digits():
    return tasks.create("digits", retrain=True)


def run_of(name, **settings):
    sizes = {key: UNITS for key in example_config(name) if key in ("state_size", "hidden_size")}
    penalty = {} if example(name).penalty() is None else {"penalty": 0.1}
    return Run(name, "digits", Settings(**penalty | settings), sizes | SETTINGS.get(name, {}), {"retrain": True})


def learned(run, digits, folder):
    """How far below guessing, and below where it began, the loss of a short training ends."""
    before = evaluate(prepare(run)[1], digits, digits.train)["loss"]
    found = checkpoints.read(train(run, folder).checkpoint)
    network = Network(found.system, digits)
    network.readout.load_state_dict(found.readout.state_dict())
    return min(before, math.log(10)) - evaluate(network, digits, digits.train)["loss"]


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNING)
def test_a_short_training_lowers_the_loss_and_leaves_a_network_to_analyse(name, digits, tmp_path):
    for rate in RATES:
        run = run_of(name, epochs=4, batch_size=128, lr=rate, clip=1.0)
        fell = learned(run, digits, tmp_path / f"run-{rate}")
        if fell > LEARNED:
            break
    assert fell > LEARNED, f"{name} learns at none of the rates {RATES}"
    found = checkpoints.read(tmp_path / f"run-{rate}" / "network.pt")
    assert np.isfinite(spectrum(found.system, digits.test.inputs[:2, :12], times=2).eigenvalue.values).all()


@pytest.mark.parametrize("name", ["vanilla", "lstm", "dtriv"])
def test_bf16_is_another_training_and_what_learned_is_kept_in_float32(name, tmp_path):
    losses = [
        train(run_of(name, epochs=1, batch_size=512, precision=precision), tmp_path / precision).facts["test_loss"]
        for precision in ("bf16", "float32")
    ]
    assert losses[0] != losses[1]
    kept = checkpoints.read(tmp_path / "bf16" / "network.pt").system.state_dict()
    assert not any(one.dtype == torch.bfloat16 for one in kept.values())  # bases that move are in float64
