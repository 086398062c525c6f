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

LARGEST_FILE = 500 * 1024  # of a checkpoint in git: an LSTM of 128 units on 96 inputs


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
    paths = [(entry["name"], entry["file"]) for entry in zoo.entries()]
    assert paths == [(name, str(folder / f"{name}.pt")) for name in ("gru-har2", "lstm-har2")]


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


@pytest.mark.parametrize(
    "name, sentence",
    [
        ("lstm-har", "did you mean 'lstm-har2'? Choose from gru-har2, lstm-har2."),
        ("lstm-har2.ckpt", "There is no file lstm-har2.ckpt"),
    ],
)
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
LONG |= {"antisymmetric-noisy-cifar": 57472, "antisymmetric-gated-noisy-cifar": 82304}  # 256 units, with 96 inputs
LONG |= {"lstm-noisy-cifar": 115712}  # 128 units
LONG |= {"exprnn-copying": 20045, "exprnn-smnist": 14705, "scornn-smnist": 14705, "scornn-pmnist": 14705}
LONG |= {"lstm-smnist": 67072, "ernn-noisy-mnist": 7100}  # ERNN: 100 units of rank 16, with 1,000 η
ALONE = {*LONG, "rnn-har2-tanh"}  # one seed
ALL = SHIPPED | LONG | {"gru-flipflop": 13248}  # 3 · 64 · (64 + 3 + 2)


ENTRIES = {entry["name"]: entry for entry in zoo.entries()}


def test_these_networks_ship_and_no_others():
    assert set(ENTRIES) == {path.stem for path in zoo.FOLDER.glob("*.pt")} == set(ALL)


@pytest.mark.parametrize("name, parameters", ALL.items())
def test_a_network_that_ships_is_what_its_metadata_say(name, parameters):
    entry, path = ENTRIES[name], zoo.locate(name)
    checkpoint = checkpoints.read(path)
    assert checkpoint.system.name == entry["system"]
    assert checkpoint.task == entry["task"]
    assert f"-{checkpoint.task}" in name
    assert entry["cell_parameters"] == checkpoint.facts["cell_parameters"] == parameters
    assert checkpoints.describe(path)["systems"][0]["parameters"] == parameters
    assert entry["command"] == checkpoint.facts["command"]
    assert entry["seeds"] == ([entry["seed"]] if name in ALONE else [0, 1, 2])
    assert entry["seed"] in entry["seeds"]
    assert (entry["validation_accuracy"] is None) == (name in ALONE)
    assert path.stat().st_size <= LARGEST_FILE


HAR2 = [(name, None) for name in SHIPPED]
MNIST = [pytest.param(name, 400, marks=pytest.mark.slow) for name in LONG if name.endswith("mnist")]


@pytest.mark.data
@pytest.mark.skipif("DYNLAB_DATA" not in os.environ, reason="needs the data in DYNLAB_DATA")
@pytest.mark.parametrize("name, samples", [*HAR2, *MNIST])
def test_the_accuracy_is_that_on_the_official_test_split(name, samples):
    """Of MNIST 400 of the 10,000 images: within three standard deviations of the share of all, seen on a GPU."""
    checkpoint, entry = checkpoints.read(zoo.locate(name)), ENTRIES[name]
    task = create(checkpoint.task, **checkpoint.system.task_settings | {"retrain": True, "download": False})
    assert entry["data_sha256"] == task.source["sha256"]
    network = Network(checkpoint.system, task)
    network.readout = checkpoint.readout
    some = dataclasses.replace(task.test, inputs=task.test.inputs[:samples], targets=task.test.targets[:samples])
    share = entry["test_accuracy"]
    allowed = 3 * (share * (1 - share) / samples) ** 0.5 if samples else 1e-9
    assert evaluate(network, task, some)["accuracy"] == pytest.approx(share, abs=allowed)
