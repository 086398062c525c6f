"""Every system that has parameters learns a little of the digits, and its checkpoint goes into the analyses."""

import math

import numpy as np
import pytest
import torch
from automatic import automatic_jacobian

from dynlab import checkpoints, tasks
from dynlab.diagnostics.gradient import gradient
from dynlab.diagnostics.spectrum import spectrum
from dynlab.systems import SYSTEMS, frozen
from dynlab.systems.examples import example, example_config
from dynlab.systems.orthogonal_rnn import ModReLURNN
from dynlab.training import Run, Settings, train
from dynlab.training.network import Network, evaluate
from dynlab.training.prepare import prepare
from dynlab.trajectories.simulation import orbit

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
    untrained = prepare(run, folder, None, "cpu", None, False, None).network
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
    found_norms = gradient(found.system, inputs).log_norm.values
    expected = log_norms(frozen(found.system), torch.from_numpy(inputs).double())
    # NaN at both where a unit has no derivative, as on the blank pixels at the start
    assert found_norms[:, :-1] == pytest.approx(expected, abs=1e-6, nan_ok=True)


def log_norms(system, driven):
    """The ln of each norm of dh_T/dh_t, t below T, by automatic differentiation of every step and plain products.

    A unit of modReLU that is at 0 after a step although its b is not negative was at 0 before its modReLU, which has
    no derivative there (b > 0) or one that torch does not tell (b = 0): NaN, through every t before it.
    """
    start = system.initial_state()
    zero = torch.zeros(system.state_size, dtype=torch.float64)
    states = orbit(system, driven, (zero if start is None else start).expand(len(driven), -1))
    product, found = torch.eye(system.state_size, dtype=torch.float64), []
    for t in reversed(range(driven.shape[1])):
        jacobian = automatic_jacobian(system, states[:, t], driven[:, t], t).dense()
        if isinstance(system, ModReLURNN):
            at_zero = ((states[:, t + 1] == 0) & (system.b >= 0)).any(-1)
            jacobian = torch.where(at_zero[:, None, None], torch.nan, jacobian)
        product = product @ jacobian
        known = product.isfinite().all(-1).all(-1)
        norm = torch.linalg.matrix_norm(torch.where(known[:, None, None], product, 0), 2).log()
        found.append(torch.where(known, norm, torch.nan))
    return torch.stack(found[::-1], dim=1).numpy()
