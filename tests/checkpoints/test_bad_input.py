"""What a file must not be, and what weights must be: one sentence that names the thing and the fix."""

import pickle
import zipfile

import numpy as np
import pytest
import safetensors.torch
import torch
from torch import nn

from dynlab.checkpoints import describe, read
from dynlab.errors import UserError


def missing(path):
    pass


def cut(path):
    torch.save(nn.LSTM(8, 8).state_dict(), path)
    path.write_bytes(path.read_bytes()[:-300])


def cut_old(path):
    torch.save(nn.LSTM(8, 8).state_dict(), path, _use_new_zipfile_serialization=False)
    path.write_bytes(path.read_bytes()[:-300])


def cut_safetensors(path):
    safetensors.torch.save_file(nn.LSTM(8, 8).state_dict(), path)
    path.write_bytes(path.read_bytes()[:-300])


def folder(path):
    path.mkdir()
    (path / "last.ckpt").touch()


def numpy_archive(path):
    with path.open("wb") as file:
        np.savez(file, a=np.ones(3))


def other_zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "x")


def stable_baselines(path):
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("data", "policy.pth", "_stable_baselines3_version"):
            archive.writestr(name, "x")


FILES = {
    "missing": (missing, "There is no file"),
    "empty": (lambda path: path.touch(), "is empty"),
    "text": (lambda path: path.write_text("epoch,loss\n1,0.5\n"), "is no checkpoint"),
    "short text": (lambda path: path.write_text("x"), "is no checkpoint"),
    "folder": (folder, "is a folder.*last.ckpt"),
    "truncated": (cut, "copy it again"),
    "truncated, before 1.6": (cut_old, "copy it again"),
    "truncated safetensors": (cut_safetensors, "copy it again"),
    "another zip": (other_zip, "not one that torch.save wrote"),
    "arrays with other names": (numpy_archive, "it holds a.*if it is one of these, name its arrays as torch's"),
    "a plain pickle of arrays": (
        lambda path: path.write_bytes(pickle.dumps(np.eye(9))),
        "plain pickle of NumPy",
    ),
    "a plain pickle": (lambda path: path.write_bytes(pickle.dumps([1, 2])), "a plain pickle of objects, which torch"),
    "an archive of others": (stable_baselines, "unzip it, and give 'policy.pth' alone"),
    "no recurrent layer": (lambda path: torch.save(nn.Linear(2, 3).state_dict(), path), r"no RNN.*weight, bias.*--sys"),
    "one tensor": (lambda path: torch.save(torch.eye(2), path), "no RNN.*it holds one tensor without a name"),
    "no tensors": (lambda path: torch.save({"epoch": 1}, path), "no RNN.*no tensors"),
}


@pytest.mark.parametrize("use", [read, describe])
@pytest.mark.parametrize("make, sentence", FILES.values(), ids=FILES)
def test_a_file_that_cannot_be_read_is_one_sentence(make, sentence, use, tmp_path):
    make(tmp_path / "a.pt")
    with pytest.raises(UserError, match=sentence) as refused:
        use(tmp_path / "a.pt")
    assert str(tmp_path / "a.pt") in str(refused.value)
    assert "\n" not in str(refused.value)


def with_shape(name, *shape):
    return lambda weights: weights | {name: torch.zeros(shape)}


def without(name):
    return lambda weights: {key: value for key, value in weights.items() if key != name}


MISFITS = {
    "gates": (with_shape("weight_hh_l0", 10, 5), r"weight_hh_l0 has shape \(10, 5\).*5, 15 or 20 rows"),
    "no multiple": (with_shape("weight_hh_l0", 7, 5), r"shape \(7, 5\)"),
    "empty": (with_shape("weight_hh_l0", 0, 0), r"shape \(0, 0\)"),
    "quantised": (lambda w: w | {"weight_hh_l0": w["weight_hh_l0"].to(torch.int8)}, "weight_hh_l0 holds no floating"),
    "a vector": (with_shape("weight_hh_l0", 20), r"must be a matrix, got shape \(20,\)"),
    "input rows": (with_shape("weight_ih_l0", 15, 3), r"weight_ih_l0 has shape \(15, 3\).*takes \(20, 3\)"),
    "upper input": (with_shape("weight_ih_l1", 20, 4), r"weight_ih_l1 has shape \(20, 4\).*takes \(20, 5\)"),
    "bias": (with_shape("bias_hh_l1", 5), r"bias_hh_l1 has shape \(5,\).*takes \(20,\)"),
    "one bias lacking": (without("bias_ih_l0"), "lacks bias_ih_l0"),
    "no input weights": (without("weight_ih_l0"), "lacks weight_ih_l0"),
    "no first layer": (without("weight_hh_l0"), "lacks weight_hh_l0"),
    "a gap": (with_shape("weight_hh_l1000000", 20, 5), "lacks layers"),
    "projection of no LSTM": (with_shape("weight_hr_l0", 5, 20), "weight_hh_l0 has shape"),
    "half a reverse": (with_shape("weight_hh_l0_reverse", 20, 5), "lacks weight_ih_l0_reverse"),
}


@pytest.mark.parametrize("change, sentence", MISFITS.values(), ids=MISFITS)
def test_shapes_that_do_not_fit_are_named(change, sentence, tmp_path):
    weights = change(nn.LSTM(3, 5, num_layers=2).state_dict())
    torch.save({f"net.{name}": value for name, value in weights.items()}, tmp_path / "a.pt")
    with pytest.raises(UserError, match=f"net.*{sentence}"):
        read(tmp_path / "a.pt")


OF_ANOTHER_CELL = {
    "one bias": (
        nn.LSTMCell(3, 5, bias=False),
        {"bias": 20},
        "an LSTM of 5 units and 1 layer, and beside them 'bias',",
    ),
    "peepholes": (nn.LSTMCell(3, 5), {"peep": 15}, "beside them 'peep',"),
    "norms of its gates": (
        nn.LSTMCell(3, 5),
        {"norm_i.weight": 20, "norm_i.bias": 20},
        "'norm_i.bias', 'norm_i.weight',",
    ),
    "a leak": (nn.GRUCell(3, 5), {"alpha": 1}, "a GRU of 5 units and 1 layer, and beside them 'alpha',"),
    "a third matrix": (nn.RNN(3, 5), {"weight_ch_l0": 5}, "beside them 'weight_ch_l0',"),
    "one bias of a layer": (nn.GRU(3, 5, bias=False), {"bias_l0": 15}, "beside them 'bias_l0',"),
    "a mask without its weight": (nn.GRU(3, 5), {"weight_hh_l0_mask": 15}, "beside them 'weight_hh_l0_mask',"),
}


@pytest.mark.parametrize("prefix", ["", "encoder.cell."])
@pytest.mark.parametrize("layer, others, sentence", OF_ANOTHER_CELL.values(), ids=OF_ANOTHER_CELL)
def test_parameters_that_torchs_layer_has_not_are_not_left_out(layer, others, sentence, prefix, tmp_path):
    weights = layer.state_dict() | {name: torch.ones(size) for name, size in others.items()}
    torch.save({f"{prefix}{name}": value for name, value in weights.items()}, tmp_path / "a.pt")
    for use in (read, describe):
        with pytest.raises(UserError, match=f"{sentence} which torch's own layer lacks.*--system"):
            use(tmp_path / "a.pt")


def test_modules_inside_a_layer_that_torchs_has_not_are_said(tmp_path):
    weights = nn.LSTM(3, 5).state_dict() | {"norm.weight": torch.ones(20), "norm.bias": torch.ones(20)}
    torch.save({f"encoder.{name}": value for name, value in weights.items()}, tmp_path / "a.pt")
    assert read(tmp_path / "a.pt").assumed == (
        "a.pt holds encoder.norm inside the module of its LSTM, which is read as torch's own, without it: where its "
        "step uses it, give its class with --system."
    )
    torch.save(nn.LSTM(3, 5).state_dict() | {"fc.weight": torch.ones(2, 5)}, tmp_path / "b.pt")
    assert not read(tmp_path / "b.pt").assumed  # it is the read-out


@pytest.mark.parametrize("size", [5, 6])
def test_a_projection_that_is_none_is_named(size, tmp_path):
    weights = nn.LSTM(3, 5).state_dict() | {"weight_hr_l0": torch.ones(size, 5)}
    weights["weight_hh_l0"] = torch.ones(20, size)
    torch.save(weights, tmp_path / "a.pt")
    with pytest.raises(UserError, match=f"projects 5 units to {size}, and an LSTM's projection has fewer"):
        read(tmp_path / "a.pt")


def test_a_misfit_beside_a_good_layer_is_described_and_does_not_stand_in_its_way(tmp_path):
    weights = {f"good.{name}": value for name, value in nn.GRU(2, 3).state_dict().items()}
    torch.save(weights | {"own.weight_hh": torch.zeros(3, 7), "own.weight_ih": torch.zeros(3, 2)}, tmp_path / "a.pt")
    assert read(tmp_path / "a.pt").layer == "good"
    assert "(3, 7)" in describe(tmp_path / "a.pt")["misfits"]["own"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_are_refused_in_the_layer_that_is_read(value, tmp_path):
    model = nn.ModuleDict({"a": nn.GRU(2, 3), "b": nn.GRU(2, 3)})
    with torch.no_grad():
        model["a"].weight_hh_l0[1, 2] = value
    torch.save(model.state_dict(), tmp_path / "a.pt")
    with pytest.raises(UserError, match=r"NaN or infinite weights in weight_hh_l0: the training diverged"):
        read(tmp_path / "a.pt", layer="a")
    assert read(tmp_path / "a.pt", layer="b").layer == "b"


LAYERS = {
    "none of several": (None, "6 recurrent systems: .*encoder.rnn:0, encoder.rnn:0r, .*decoder, cell"),
    "a typo": ("decodr", "Unknown layer 'decodr'.*did you mean 'decoder'"),
    "both directions": ("encoder.rnn", "has no joint step: choose one of encoder.rnn:0"),
    "too high": ("encoder.rnn:2", "has 2 bidirectional.*counted from 0"),
    "no reverse": ("decoder:1r", "decoder has 2 unidirectional"),
    "no number": ("decoder:x", "Unknown layer 'decoder:x'"),
    "a cell's second layer": ("cell:1", "cell has 1 unidirectional"),
}


@pytest.mark.parametrize("layer, sentence", LAYERS.values(), ids=LAYERS)
def test_a_layer_that_is_not_there(layer, sentence, tagger, tmp_path):
    torch.save(tagger.state_dict(), tmp_path / "a.pt")
    with pytest.raises(UserError, match=sentence):
        read(tmp_path / "a.pt", layer=layer)


def test_another_nonlinearity_is_refused(tmp_path):
    with pytest.raises(UserError, match="tanh or relu, got 'sigmoid'"):
        read(tmp_path / "a.pt", nonlinearity="sigmoid")
