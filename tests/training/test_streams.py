"""Networks of tokens: learned vectors, states that are carried along streams, and rates that the validation halves."""

import csv
import dataclasses
import gzip
import hashlib
import itertools
import math

import numpy as np
import pytest
import torch
from archives import put
from torch.nn.functional import cross_entropy

from dynlab import checkpoints, spectrum, tasks
from dynlab.errors import UserError
from dynlab.systems import create
from dynlab.tasks import driving_inputs
from dynlab.tasks.official import DATA_SETS
from dynlab.training import Run, Settings, train
from dynlab.training.batches import streams
from dynlab.training.network import Network, evaluate
from dynlab.trajectories.simulation import orbit

LINES = {"train": 40, "valid": 9, "test": 11}
LENGTH = 6
SETTINGS = Settings(epochs=3, batch_size=4, lr=0.02, embedding=3, carry=True, schedule="plateau", dropout=0.1)
RUN = Run("lstm", "ptb-char", SETTINGS, {"hidden_size": 5}, {"length": LENGTH})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Random characters in the official format, read from the folder that it is."""
    generator = np.random.default_rng(0)
    texts = {
        f"ptb.char.{part}.txt": "".join(" ".join(generator.choice(list("abcd_"), 12)) + " \n" for _ in range(lines))
        for part, lines in LINES.items()
    }
    sums = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
    packed = {f"ptb/{name}.gz": gzip.compress(text.encode()) for name, text in texts.items()}
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(DATA_SETS, "ptb-char", dataclasses.replace(DATA_SETS["ptb-char"], files=sums))
        yield put(tmp_path_factory.mktemp("data"), packed)


@pytest.fixture(scope="module")
def task(folder):
    return tasks.create("ptb-char", length=LENGTH, data_dir=folder)


@pytest.fixture(scope="module")
def whole(folder, tmp_path_factory):
    return train(RUN, tmp_path_factory.mktemp("whole") / "run", data_dir=folder, checkpoint_every=5)


@pytest.mark.parametrize("count, most", [(1, 1), (21, 10), (9, 3), (5, 8)])
def test_streams_hold_every_window_once_and_in_order(count, most):
    found = streams(count, most)
    assert sorted(np.concatenate(found).tolist()) == list(range(count))
    assert all(np.array_equal(after, before[: len(after)] + 1) for before, after in itertools.pairwise(found))
    assert max(map(len, found)) <= most
    assert len(found) == math.ceil(count / most)


def test_carried_evaluation_is_one_long_sequence_for_each_stream(task):
    torch.manual_seed(0)
    system = create("lstm", input_size=3, hidden_size=4)
    system.embed(task.tokens)
    network = Network(system, task).double()
    network.system.embedding.double()
    found = evaluate(network, task, task.test, carry=True)
    inputs, targets = torch.from_numpy(task.test.inputs[:]).double(), torch.from_numpy(task.test.targets)
    rows = streams(len(targets), 10)
    length = len(rows)
    losses = []
    for start in rows[0]:
        own = slice(start, min(start + length, len(targets)))
        driven = system.drive(inputs[own].reshape(1, -1, 1))
        states = orbit(system, driven, torch.zeros(1, 8, dtype=torch.float64))[:, 1:]
        answers = network.readout(system.output(states))[0]
        losses.append(cross_entropy(answers, targets[own].flatten(), reduction="sum").detach())
    expected = float(torch.stack(losses).sum()) / targets.numel()
    assert found["loss"] == pytest.approx(expected, rel=1e-12)
    assert found["bits_per_character"] == pytest.approx(found["loss"] / math.log(2), rel=1e-12)


def test_a_resumed_stream_ends_bit_for_bit_as_it_would_have(whole, folder, assert_resumes):
    found = assert_resumes(RUN, whole.checkpoint.parent, 30, data_dir=folder, checkpoint_every=5)
    assert found.facts == whole.facts


def test_the_checkpoint_is_of_a_network_of_tokens(whole, folder):
    found = checkpoints.read(whole.checkpoint).system
    assert (found.network_input_size, found.input_size, found.embedding.tokens) == (1, 3, 6)
    driving = driving_inputs(None, found, data_dir=folder)
    assert driving.real
    measured = spectrum(found, driving.inputs[:2], times=3)
    assert np.isfinite(measured.spectral_radius.values).all()
    noise = driving_inputs("noise:1.0", found, samples=3, steps=7)
    assert noise.description == "3 sequences of random tokens"
    assert set(np.unique(noise.inputs)) <= set(range(6))
    assert whole.facts["cell_parameters"] == 4 * (5 * 5 + 5 * 3 + 2 * 5)
    assert {"test_bits_per_character", "validation_bits_per_character"} <= set(whole.facts)


def test_the_rate_halves_where_the_validation_does_not_get_better(folder, tmp_path):
    run = dataclasses.replace(RUN, settings=dataclasses.replace(SETTINGS, epochs=5, lr=0.2, dropout=0.0))
    train(run, tmp_path / "run", data_dir=folder, log_every=1)
    with (tmp_path / "run" / "metrics.csv").open() as file:
        losses = [float(row[2]) for row in list(csv.reader(file))[1:]]
    with (tmp_path / "run" / "steps" / "version_0" / "metrics.csv").open() as file:
        rates = [float(row["learning_rate"]) for row in csv.DictReader(file) if row["learning_rate"]]
    expected, rate, lowest = [], 0.2, math.inf
    for loss in losses:
        expected += [rate] * (len(rates) // 5)
        rate = rate if loss < lowest else rate / 2
        lowest = min(lowest, loss)
    assert rates == pytest.approx(expected, abs=1e-6)
    assert rates[-1] < 0.2  # it did halve


@pytest.mark.parametrize(
    "name, changes, sentence",
    [
        ("ptb-char", {"embedding": 0}, "has 6 tokens by their numbers: .* --embedding 200"),
        ("ptb-char", {"noise": 0.1}, "leave out --noise"),
        ("digits", {"schedule": "constant"}, "has no tokens, got --embedding 3"),
        ("digits", {"embedding": 0, "schedule": "constant"}, "leave out --carry"),
    ],
)
def test_a_setting_that_a_task_cannot_have_is_named(name, changes, sentence, folder, tmp_path):
    task_settings = RUN.task_settings if name == RUN.task else {}
    settings = dataclasses.replace(SETTINGS, **changes)
    run = dataclasses.replace(RUN, task=name, settings=settings, task_settings=task_settings)
    with pytest.raises(UserError, match=sentence):
        train(run, tmp_path / "run", data_dir=folder)
    assert not (tmp_path / "run").exists()
