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
    "folder": (lambda path: path.mkdir(), "is a folder"),
    "truncated": (cut, "copy it again"),
    "truncated, before 1.6": (cut_old, "copy it again"),
    "truncated safetensors": (cut_safetensors, "copy it again"),
    "another zip": (other_zip, "not one that torch.save wrote"),
    "arrays with other names": (numpy_archive, "it holds a.*such as a leaky one, is given as its step"),
    "a plain pickle": (lambda path: path.write_bytes(pickle.dumps(np.eye(9))), "a plain pickle, which torch.save"),
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
    "gates": (with_shape("weight_hh_l0", 10, 5), r"weight_hh has shape \(10, 5\).*5, 15 or 20 rows"),
    "empty": (with_shape("weight_hh_l0", 0, 0), r"lacks a matrix .*weight_hh_l0 \(0, 0\)"),
    "quantised": (lambda w: w | {"weight_hh_l0": w["weight_hh_l0"].to(torch.int8)}, "weight_hh_l0: no floating"),
    "a vector": (with_shape("weight_hh_l0", 20), r"lacks a matrix .*weight_hh_l0 \(20,\)"),
    "upper input": (with_shape("weight_ih_l1", 20, 4), r"is no LSTM of torch's: size mismatch for weight_ih_l1"),
    "one bias lacking": (without("bias_ih_l0"), 'Missing key.*"bias_ih_l0"'),
    "no first layer": (without("weight_hh_l0"), "lacks a matrix"),
    "a gap": (with_shape("weight_hh_l1000000", 20, 5), "is no LSTM of torch's: Missing"),
    "projection of no LSTM": (with_shape("weight_hr_l0", 5, 20), "weight_hh has shape"),
    "half a reverse": (with_shape("weight_hh_l0_reverse", 20, 5), 'Missing key.*"weight_ih_l0_reverse"'),
    "a projection that is none": (
        lambda w: w | {"weight_hr_l0": torch.ones(5, 5), "weight_hh_l0": torch.ones(20, 5)},
        "is no LSTM of torch's: .*proj_size has to be smaller",
    ),
}


@pytest.mark.parametrize("change, sentence", MISFITS.values(), ids=MISFITS)
def test_shapes_that_do_not_fit_are_named(change, sentence, tmp_path):
    weights = change(nn.LSTM(3, 5, num_layers=2).state_dict())
    torch.save({f"net.{name}": value for name, value in weights.items()}, tmp_path / "a.pt")
    with pytest.raises(UserError, match=f"net.*{sentence}"):
        read(tmp_path / "a.pt")


OF_ANOTHER_CELL = {
    "one bias": (nn.LSTMCell(3, 5, bias=False), {"bias": 20}),
    "norms of its gates": (nn.LSTMCell(3, 5), {"norm_i.weight": 20}),
    "a leak": (nn.GRUCell(3, 5), {"alpha": 1}),
    "a third matrix": (nn.RNN(3, 5), {"weight_ch_l0": 5}),
    "a mask without its weight": (nn.GRU(3, 5), {"weight_hh_l0_mask": 15}),
}


@pytest.mark.parametrize("prefix", ["", "encoder.cell."])
@pytest.mark.parametrize("layer, others", OF_ANOTHER_CELL.values(), ids=OF_ANOTHER_CELL)
def test_parameters_that_torchs_layer_has_not_are_not_left_out(layer, others, prefix, tmp_path):
    weights = layer.state_dict() | {name: torch.ones(size) for name, size in others.items()}
    torch.save({f"{prefix}{name}": value for name, value in weights.items()}, tmp_path / "a.pt")
    for use in (read, describe):
        with pytest.raises(UserError, match=f"beside them '{next(iter(others))}', which torch's lacks.*--system"):
            use(tmp_path / "a.pt")


def test_modules_inside_a_layer_that_torchs_has_not_are_said(tmp_path):
    weights = nn.LSTM(3, 5).state_dict() | {"norm.weight": torch.ones(20), "norm.bias": torch.ones(20)}
    torch.save({f"encoder.{name}": value for name, value in weights.items()}, tmp_path / "a.pt")
    assert "a.pt holds encoder.norm inside the module of its LSTM" in read(tmp_path / "a.pt").assumed
    torch.save(nn.LSTM(3, 5).state_dict() | {"fc.weight": torch.ones(2, 5)}, tmp_path / "b.pt")
    assert not read(tmp_path / "b.pt").assumed  # it is the read-out


def test_a_misfit_beside_a_good_layer_is_described_and_does_not_stand_in_its_way(tmp_path):
    weights = {f"good.{name}": value for name, value in nn.GRU(2, 3).state_dict().items()}
    torch.save(weights | {"own.weight_hh": torch.zeros(3, 7), "own.weight_ih": torch.zeros(3, 2)}, tmp_path / "a.pt")
    assert read(tmp_path / "a.pt").layer == "good"
    assert "(3, 7)" in describe(tmp_path / "a.pt")["misfits"]["own"]


@pytest.mark.parametrize("value", [float("nan"), -float("inf")])
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
    "too high": ("encoder.rnn:2", "Unknown layer 'encoder.rnn:2'"),
    "no reverse": ("decoder:1r", "Unknown layer 'decoder:1r'"),
}


@pytest.mark.parametrize("layer, sentence", LAYERS.values(), ids=LAYERS)
def test_a_layer_that_is_not_there(layer, sentence, tagger, tmp_path):
    torch.save(tagger.state_dict(), tmp_path / "a.pt")
    with pytest.raises(UserError, match=sentence):
        read(tmp_path / "a.pt", layer=layer)


def test_another_nonlinearity_is_refused(tmp_path):
    with pytest.raises(UserError, match="tanh or relu, got 'sigmoid'"):
        read(tmp_path / "a.pt", nonlinearity="sigmoid")
