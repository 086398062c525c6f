"""A .npz file of arrays with a state dict's names is a checkpoint, of which nothing but numbers is read."""

import doctest
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from dynlab.checkpoints import describe, read

PAGE = Path(__file__).parents[2] / "docs" / "your-own.md"
MODULES = {
    "rnn": nn.RNN(2, 3).double(),
    "gru": nn.GRU(2, 3, num_layers=2),
    "lstm, both ways": nn.LSTM(2, 3, bidirectional=True),
}
GRU = {name: value.numpy() for name, value in nn.GRU(2, 3).state_dict().items()}


@pytest.mark.parametrize("kind", MODULES)
def test_the_archive_is_the_same_network_as_the_state_dict(kind, tmp_path):
    weights = {f"module.encoder.{name}": value for name, value in MODULES[kind].state_dict().items()}
    torch.save(weights, tmp_path / "a.pt")
    write = np.savez if kind == "gru" else np.savez_compressed
    write(tmp_path / "a.npz", **{name: value.numpy() for name, value in weights.items()})
    said, other = describe(tmp_path / "a.npz"), describe(tmp_path / "a.pt")
    assert said["systems"] == other["systems"]
    assert (said["format"], said["parameters"]) == ("numpy", other["parameters"])
    for each in said["systems"]:
        ours, theirs = (read(tmp_path / f"a.{end}", layer=each["layer"]).system.state_dict() for end in ("npz", "pt"))
        assert ours.keys() == theirs.keys()
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("kind, order", [("<f4", "C"), (">f8", "F"), ("<f2", "F")])
def test_numbers_of_any_precision_and_order_of_bytes_are_read(kind, order, tmp_path):
    given = {name: np.asarray(np.round(64 * one) / 64, kind, order=order) for name, one in GRU.items()}
    np.savez(tmp_path / "a.npz", **given)
    found = dict(read(tmp_path / "a.npz").system.named_parameters())["weight_hh"]
    assert found.element_size() == given["weight_hh_l0"].itemsize
    assert found.tolist() == given["weight_hh_l0"].tolist()


def sigmoid(values):
    return 1 / (1 + np.exp(-values))


# Keras's cells as its documentation has them, for row vectors: one step, of a state and what the input brings.
def simple_rnn(h, x, kernel, recurrent, bias):
    return np.tanh(x @ kernel + h @ recurrent + bias)


def lstm(state, x, kernel, recurrent, bias):
    h, c = np.split(state, 2)
    i, f, candidate, o = np.split(x @ kernel + h @ recurrent + bias, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(candidate)
    return np.concatenate([sigmoid(o) * np.tanh(c), c])


def gru(h, x, kernel, recurrent, bias):
    (x_z, x_r, x_n), (h_z, h_r, h_n) = np.split(x @ kernel + bias[0], 3), np.split(h @ recurrent + bias[1], 3)
    z, r = sigmoid(x_z + h_z), sigmoid(x_r + h_r)
    return z * h + (1 - z) * np.tanh(x_n + r * h_n)


KERAS = {"rnn": (simple_rnn, 1, ()), "lstm": (lstm, 4, ()), "gru": (gru, 3, (2,))}


@pytest.mark.parametrize("kind", KERAS)
def test_the_pages_way_from_keras_gives_the_same_network(kind, tmp_path):
    step, gates, two_biases = KERAS[kind]
    page = {"np": np}
    for example in doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8")):
        if example.source.startswith("def named_as_in_torch"):
            exec(example.source, page)
    draw = np.random.default_rng(1)
    weights = [draw.normal(size=(*rows, 4 * gates)) for rows in ((3,), (4,), two_biases)]
    np.savez(tmp_path / "keras.npz", **page["named_as_in_torch"](*weights, gru=kind == "gru"))
    system = read(tmp_path / "keras.npz", nonlinearity="tanh" if kind == "rnn" else None).system
    assert system.name == kind
    state, x = draw.normal(size=system.state_size), draw.normal(size=3)
    found = system.step(torch.from_numpy(state), torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(found, step(state, x, *weights), rtol=1e-13, atol=1e-14)
