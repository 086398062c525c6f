"""Networks in other forms and of other programs: the sentence names a way to a checkpoint that is read."""

import doctest
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from torch import nn

from dynlab.checkpoints import describe, read
from dynlab.errors import UserError

PAGE = Path(__file__).parents[2] / "docs" / "your-own.md"


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.fc = nn.LSTM(3, 4), nn.Linear(4, 2)

    def forward(self, inputs):
        return self.fc(self.rnn(inputs)[0])


def scripted(path):
    torch.jit.save(torch.jit.script(Reader()), path)


def exported(path):
    torch.export.save(torch.export.export(Reader().eval(), (torch.zeros(2, 1, 3),)), path)


def keras(path):
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("metadata.json", "config.json", "model.weights.h5"):
            archive.writestr(name, "{}")


def hdf5(path):
    with h5py.File(path, "w") as file:
        file["model_weights/gru/kernel"] = np.zeros((2, 9))


OTHERS = {
    "a.pt": (scripted, r"torch.save\(torch.jit.load\(path\).state_dict\(\), new_path\)"),
    "a.pt2": (exported, r"torch.save\(torch.export.load\(path\).state_dict, new_path\)"),
    "a.keras": (keras, "is a Keras model: .*numpy.savez, as docs/your-own.md shows"),
    "a.h5": (hdf5, "is an HDF5 file, .*numpy.savez"),
    "a.bin": (
        lambda path: path.write_bytes(b"\x08\x0e\x12\x07pytorch:\x20\x12\x01g*\x1b"),
        "an ONNX model: .*state_dict",
    ),
    "a.npy": (lambda path: np.save(path, np.eye(2)), "is one array"),
}


@pytest.mark.filterwarnings("ignore")  # torch's, of its own forms
@pytest.mark.parametrize("name", OTHERS)
def test_a_file_of_another_program_is_refused_with_a_way_out(name, tmp_path):
    make, sentence = OTHERS[name]
    make(tmp_path / name)
    for use in (read, describe):
        with pytest.raises(UserError, match=sentence):
            use(tmp_path / name)


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
