"""What a file must not be, and what weights must be: one sentence that names the thing and the fix."""

import os
import pickle
import zipfile

import numpy as np
import pytest
import safetensors.torch
import torch
from torch import nn

from dynlab.checkpoints import describe, read
from dynlab.errors import UserError

LSTM = nn.LSTM(8, 8)
GRU = {name: value.numpy() for name, value in nn.GRU(2, 3).state_dict().items()}


def cut(save):
    def make(path):
        save(LSTM.state_dict(), path)
        path.write_bytes(path.read_bytes()[:-300])

    return make


def archive_of(*names):
    def make(path):
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, "{}")

    return make


def saved(content):
    return lambda path: torch.save(content, path)


def savez(path, **arrays):
    with path.open("wb") as file:
        np.savez(file, **arrays)


def arrays(**changed):
    return lambda path: savez(path, **GRU | changed)


def changed_bit(path):
    savez(path, **GRU)
    content = bytearray(path.read_bytes())
    content[content.index(GRU["weight_hh_l0"].tobytes()) + 5] ^= 1
    path.write_bytes(content)


FILES = {
    "missing": (lambda path: None, "There is no file"),
    "empty": (lambda path: path.touch(), "is empty"),
    "text": (lambda path: path.write_text("epoch,loss\n1,0.5\n"), "is no checkpoint"),
    "folder": (lambda path: path.mkdir(), "is a folder"),
    "pipe": (os.mkfifo, "a pipe or a device"),
    "a link to itself": (lambda path: path.symlink_to(path), "leads nowhere"),
    "truncated": (cut(torch.save), "copy it again"),
    "truncated safetensors": (cut(safetensors.torch.save_file), "copy it again"),
    "another zip": (archive_of("notes.txt"), "not one that torch.save wrote"),
    "a plain pickle": (lambda path: path.write_bytes(pickle.dumps(np.eye(9))), "a plain pickle"),
    "before 1.6": (
        lambda path: torch.save(LSTM.state_dict(), path, _use_new_zipfile_serialization=False),
        r"torch before 1\.6: .*torch\.load\(path, weights_only=True\)",
    ),
    "no recurrent layer": (saved(nn.Linear(2, 3).state_dict()), r"no RNN.*weight, bias.*--sys"),
    "one tensor": (saved(torch.eye(2)), "no RNN.*one tensor"),
    "no tensors": (saved({"epoch": 1}), "no RNN.*no tensors"),
    "TorchScript": (
        lambda path: torch.jit.save(torch.jit.script(LSTM), path),
        r"torch.jit.load\(path\).state_dict\(\)",
    ),
    "HDF5": (lambda path: path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(99)), "HDF5.*numpy.savez"),
    "one array": (lambda path: path.write_bytes(b"\x93NUMPY" + bytes(99)), "one array"),
    "arrays with other names": (lambda path: savez(path, a=np.ones(3)), "it holds a"),
    "texts": (arrays(weight_hh_l0=np.full((9, 3), "1.0")), "no floating-point numbers in weight_hh_l0"),
    "complex arrays": (arrays(weight_hh_l0=GRU["weight_hh_l0"] * 1j), "no floating-point numbers"),
    "long doubles": (arrays(weight_hh_l0=np.zeros((9, 3), np.longdouble)), "no floating-point numbers"),
    "a changed bit": (changed_bit, "cannot be read as a checkpoint"),
}


@pytest.mark.filterwarnings("ignore")  # torch's, of its own forms
@pytest.mark.parametrize("make, sentence", FILES.values(), ids=FILES)
def test_a_file_that_cannot_be_read_is_one_sentence(make, sentence, tmp_path):
    make(tmp_path / "a.pt")
    for use in (read, describe):
        with pytest.raises(UserError, match=sentence) as refused:
            use(tmp_path / "a.pt")
        assert str(tmp_path / "a.pt") in str(refused.value)
        assert "\n" not in str(refused.value)


STACK = nn.LSTM(3, 5, num_layers=2).state_dict()
MISFITS = {
    "gates": ({"weight_hh_l0": torch.zeros(10, 5)}, r"weight_hh_l0 \(10, 5\).*1, 3 or 4 rows"),
    "quantised": ({"weight_hh_l0": STACK["weight_hh_l0"].to(torch.int8)}, "weight_hh_l0: no floating"),
    "a vector": ({"weight_hh_l0": torch.zeros(20)}, r"no RNN, GRU or LSTM of torch's.*weight_hh_l0 \(20,\)"),
    "upper input": ({"weight_ih_l1": torch.zeros(20, 4)}, r"no RNN, GRU or LSTM of torch's.*weight_ih_l1 \(20, 4\)"),
    "a gap": ({"weight_hh_l1000000": torch.zeros(20, 5)}, "no RNN, GRU or LSTM of torch's.*weight_hh_l1000000"),
    "half a reverse": (
        {"weight_hh_l0_reverse": torch.zeros(20, 5)},
        "no RNN, GRU or LSTM of torch's.*weight_hh_l0_reverse",
    ),
    "projection of no LSTM": ({"weight_hr_l0": torch.zeros(5, 20)}, "no RNN, GRU or LSTM of torch's.*weight_hr_l0"),
    "infinite": ({"weight_hh_l0": torch.full((20, 5), torch.inf)}, "NaN or infinite weights in weight_hh_l0"),
}


@pytest.mark.parametrize("change, sentence", MISFITS.values(), ids=MISFITS)
def test_weights_that_do_not_fit_are_named(change, sentence, tmp_path):
    misfit = {f"net.{name}": value for name, value in (STACK | change).items()}
    others = {f"other.{name}": value for name, value in nn.GRU(2, 3).state_dict().items()}
    torch.save(misfit | others, tmp_path / "a.pt")
    assert read(tmp_path / "a.pt", layer="other").layer == "other"  # in whose way they do not stand
    torch.save(misfit, tmp_path / "a.pt")
    with pytest.raises(UserError, match=sentence):
        read(tmp_path / "a.pt")


OF_ANOTHER_CELL = {
    "one bias": (nn.LSTMCell(3, 5, bias=False), "bias", 20),
    "norms of its gates": (nn.LSTMCell(3, 5), "norm_i.weight", 20),
    "a leak": (nn.GRUCell(3, 5), "alpha", 1),
    "a third matrix": (nn.RNN(3, 5), "weight_ch_l0", 5),
    "a mask without its weight": (nn.GRU(3, 5), "weight_hh_l0_mask", 15),
    "a weight norm of a weight": (nn.GRU(3, 5), "parametrizations.weight_hh_l1.original0", 15),
}


@pytest.mark.parametrize("layer, other, size", OF_ANOTHER_CELL.values(), ids=OF_ANOTHER_CELL)
def test_parameters_that_torchs_layer_has_not_are_not_left_out(layer, other, size, tmp_path):
    weights = layer.state_dict() | {other: torch.ones(size)}
    torch.save({f"encoder.cell.{name}": value for name, value in weights.items()}, tmp_path / "a.pt")
    with pytest.raises(UserError, match=f"beside them '{other}', which torch's lacks.*--system"):
        read(tmp_path / "a.pt")


def test_modules_inside_a_layer_that_torchs_has_not_are_said(tmp_path):
    weights = nn.LSTM(3, 5).state_dict() | {"norm.weight": torch.ones(20), "norm.bias": torch.ones(20)}
    torch.save({f"encoder.{name}": value for name, value in weights.items()}, tmp_path / "a.pt")
    assert "a.pt holds encoder.norm inside the module of its LSTM" in read(tmp_path / "a.pt").assumed
    torch.save(nn.LSTM(3, 5).state_dict() | {"fc.weight": torch.ones(2, 5)}, tmp_path / "b.pt")
    assert not read(tmp_path / "b.pt").assumed  # it is the read-out


OPTIONS = {
    "none of several": ({}, "6 recurrent systems: .*encoder.rnn:0, encoder.rnn:0r, .*decoder, cell"),
    "a typo": ({"layer": "decodr"}, "did you mean 'decoder'"),
    "both directions": ({"layer": "encoder.rnn"}, "has no joint step: choose one of encoder.rnn:0"),
    "no reverse": ({"layer": "decoder:1r"}, "Unknown layer"),
    "another nonlinearity": ({"nonlinearity": "sigmoid"}, "tanh or relu"),
}


@pytest.mark.parametrize("options, sentence", OPTIONS.values(), ids=OPTIONS)
def test_an_option_that_names_nothing_is_refused(options, sentence, tagger, tmp_path):
    torch.save(tagger.state_dict(), tmp_path / "a.pt")
    with pytest.raises(UserError, match=sentence):
        read(tmp_path / "a.pt", **options)
