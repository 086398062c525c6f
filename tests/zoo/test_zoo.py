"""The zoo's names mean files, and its files are what their metadata say."""

import dataclasses
import json
import os
import re

import pytest
import torch

import dynlab as dl
from dynlab import checkpoints, zoo
from dynlab.errors import UserError
from dynlab.tasks import create
from dynlab.training.network import Network, evaluate

KEYS = {
    *("name", "system", "config", "task", "test_accuracy", "test_accuracy_mean", "test_accuracy_std"),
    *("validation_accuracy", "cell_parameters", "seeds", "seed", "command", "data_sha256", "dynlab_version"),
    *("file", "notes"),
}
LARGEST_FILE = 300 * 1024  # of a checkpoint in git


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A zoo of two networks, listed out of order."""
    for name, size in (("lstm-har2", 4), ("gru-har2", 5)):
        system = dl.create(name.partition("-")[0], input_size=9, hidden_size=size)
        checkpoints.write(tmp_path / f"{name}.pt", checkpoints.document(system, torch.nn.Linear(size, 2), "har2"))
        (tmp_path / f"{name}.json").write_text(json.dumps({"name": name, "file": f"{name}.pt", "test_accuracy": 0.9}))
    monkeypatch.setattr(zoo, "FOLDER", tmp_path)
    return tmp_path


def test_entries_are_in_the_order_of_names_with_the_files_paths(folder):
    zoo.entries()[0]["name"] = "changed by a caller"
    assert [entry["name"] for entry in zoo.entries()] == ["gru-har2", "lstm-har2"]
    assert [entry["file"] for entry in zoo.entries()] == [str(folder / f"{n}-har2.pt") for n in ("gru", "lstm")]


def test_load_takes_a_name_before_a_path_and_passes_the_layer_on(folder, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    open("lstm-har2", "wb").close()
    by_name, by_path = dl.load("lstm-har2"), dl.load(folder / "lstm-har2.pt")
    assert (by_name.name, by_name.task, by_name.source["file"]) == ("lstm", "har2", "lstm-har2.pt")
    assert all(map(torch.equal, by_name.parameters(), by_path.parameters()))
    with pytest.raises(UserError, match="is empty"):
        dl.load("./lstm-har2")
    torch.save({"a.b": torch.nn.GRU(2, 3).state_dict(), "c": torch.nn.GRU(2, 4).state_dict()}, "x.pt")
    assert dl.load("x.pt", layer="c").state_size == 4


def test_what_a_file_does_not_tell_is_a_warning(tmp_path):
    torch.save(torch.nn.RNN(2, 3, nonlinearity="relu").state_dict(), tmp_path / "a.pt")
    with pytest.warns(UserWarning, match="tanh is assumed"):
        assert dl.load(tmp_path / "a.pt").config["nonlinearity"] == "tanh"
    assert dl.load(tmp_path / "a.pt", nonlinearity="relu").config["nonlinearity"] == "relu"


def test_a_flow_is_not_loaded_as_a_map(tmp_path):
    path = checkpoints.write(tmp_path / "a.pt", checkpoints.document(dl.create("lorenz")))
    assert checkpoints.read(path).system.name == "lorenz"
    with pytest.raises(UserError, match=r"holds a flow \(lorenz\).* dl.Euler\("):
        dl.load(path)


NEITHER = {
    "lstm-har": "did you mean 'lstm-har2'? Choose from gru-har2, lstm-har2.",
    "nets/lstm.pt": "There is no file nets/lstm.pt",
    "lstm-har2.ckpt": "There is no file lstm-har2.ckpt",
}


@pytest.mark.parametrize("name, sentence", NEITHER.items())
def test_neither_a_file_nor_a_name(name, sentence, folder):
    with pytest.raises(UserError, match=re.escape(sentence)):
        zoo.locate(name)


# Table 3 of the ERNN paper: the networks that issue from it, and the cell parameters of its sizes.
SHIPPED = {
    "rnn-har2": 7280,
    "rnn-har2-tanh": 7280,
    "lstm-har2": 19200,
    "antisymmetric-har2": 7215,
    "fastrnn-har2": 7202,
}
# ERNN: W, V, H and b, and a learned η for each inner step of 128 steps
SHIPPED |= {"ernn-har2-k1": 4128, "ernn-har2-k3": 4384, "ernn-har2-k5": 4640}
# Trained once, by the settings of their papers: n (n − 1) / 2 of W, V and b; twice that, D_f, V and b of asRNN.
LONG = {"antisymmetric-smnist": 8384, "antisymmetric-pmnist": 8384, "asrnn-smnist": 15128, "asrnn-pmnist": 15128}
LONG |= {"exprnn-copying": 20045, "exprnn-smnist": 14705, "scornn-smnist": 14705, "lstm-smnist": 67072}
ALONE = {*LONG, "rnn-har2-tanh"}  # one seed
ALL = SHIPPED | LONG | {"gru-flipflop": 13248}  # 3 · 64 · (64 + 3 + 2)


def entry_of(name):
    return next(entry for entry in zoo.entries() if entry["name"] == name)


def test_these_networks_ship_and_no_others():
    assert {entry["name"] for entry in zoo.entries()} == {path.stem for path in zoo.FOLDER.glob("*.pt")} == set(ALL)


@pytest.mark.parametrize("name, parameters", ALL.items())
def test_a_network_that_ships_is_what_its_metadata_say(name, parameters):
    entry, path = entry_of(name), zoo.locate(name)
    checkpoint = checkpoints.read(path)
    assert set(entry) >= KEYS
    assert checkpoint.system.name == entry["system"]
    assert checkpoint.task == entry["task"] == name.split("-")[1]
    assert entry["cell_parameters"] == checkpoint.facts["cell_parameters"] == parameters
    assert checkpoints.describe(path)["systems"][0]["parameters"] == parameters
    assert entry["command"] == checkpoint.facts["command"]
    assert entry["seeds"] == ([entry["seed"]] if name in ALONE else [0, 1, 2])
    assert entry["seed"] in entry["seeds"]
    assert (entry["validation_accuracy"] is None) == (name in ALONE)
    assert path.stat().st_size <= LARGEST_FILE


def test_the_plain_rnns_of_comparisons():
    configs = [dl.load(name).config for name in ("rnn-har2-tanh", "rnn-har2")]
    assert [(one["nonlinearity"], one["identity_start"]) for one in configs] == [("tanh", False), ("relu", True)]


def accuracy(name, samples=None):
    """On the first of the official test sequences."""
    checkpoint = checkpoints.read(zoo.locate(name))
    task = create(checkpoint.task, **checkpoint.system.task_settings | {"retrain": True, "download": False})
    assert entry_of(name)["data_sha256"] == task.source["sha256"]
    network = Network(checkpoint.system, task)
    network.readout = checkpoint.readout
    some = dataclasses.replace(task.test, inputs=task.test.inputs[:samples], targets=task.test.targets[:samples])
    return evaluate(network, task, some)["accuracy"]


needs_data = pytest.mark.skipif("DYNLAB_DATA" not in os.environ, reason="needs the data in DYNLAB_DATA")


@pytest.mark.data
@needs_data
@pytest.mark.parametrize("name", SHIPPED)
def test_the_accuracy_is_that_on_the_official_test_split(name):
    assert accuracy(name) == pytest.approx(entry_of(name)["test_accuracy"], abs=1e-9)


@pytest.mark.data
@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("name", [name for name in LONG if name.endswith("mnist")])
def test_the_accuracy_on_mnist_is_that_of_the_device_it_was_trained_on(name):
    """400 of the 10,000 test images, here on the processor: within three standard deviations of the share of all."""
    share = entry_of(name)["test_accuracy"]
    assert accuracy(name, 400) == pytest.approx(share, abs=3 * (share * (1 - share) / 400) ** 0.5)


@pytest.mark.slow
def test_the_flipflop_is_solved_by_eight_memories_and_the_saddles_of_a_cube():
    """With 2,048 starts there are 27: 8 memories, and saddles on 12 edges, 6 faces and in the centre of a cube."""
    network = dl.load("gru-flipflop")
    found = dl.fixed_points(network, dl.driving_inputs(None, network, samples=32).inputs, starts=192)
    memories = found["stable"].values == 1
    assert memories.sum() == 8
    assert (found["status"].values == "fixed point").all()
    # the read-out says the eight combinations of bits there
    readout = checkpoints.read(zoo.locate("gru-flipflop")).readout
    bits = readout.double()(torch.from_numpy(found["fixed_point_state"].values[memories])).detach().sign()
    assert len(torch.unique(bits, dim=0)) == 8
    saddles = found["unstable_directions"].values[~memories]
    assert set(saddles) <= {1, 2, 3}
    assert (saddles == 1).sum() <= 12
    assert (saddles == 2).sum() <= 6
