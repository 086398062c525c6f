"""Every format in which networks are saved: the system that is read computes what torch's module computes."""

import hashlib
from argparse import Namespace
from collections import deque
from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import nn

from dynlab.checkpoints import describe, read
from dynlab.trajectories.simulation import simulate


def assert_computes(system, inputs, expected):
    """The network's layer gives what is expected at t = 1 … T, by dynlab's own steps, in the order of the inputs."""
    states = torch.from_numpy(simulate(system, inputs)["trajectory"].values)
    found = system.double().output(states[:, 1:])
    found = found.flip(1) if getattr(system, "reverse", False) else found
    torch.testing.assert_close(found, expected.detach(), rtol=1e-12, atol=1e-14)


WRAPPED = {
    "bare": lambda model: model.state_dict(),
    "state_dict": lambda model: {"state_dict": model.state_dict(), "optimizer": {"state": {}}, "epoch": 3},
    "model_state_dict": lambda model: {"model_state_dict": model.state_dict(), "loss": 0.5},
    "nested": lambda model: {"model": {"state_dict": model.state_dict()}},
    "compiled and parallel": lambda model: {f"module._orig_mod.{k}": v for k, v in model.state_dict().items()},
    "the whole module": lambda model: model,
    "a whole parallel module": lambda model: {"model": nn.DataParallel(model), "epoch": 3},
    "a compiled part": lambda model: {k.replace("rnn.", "rnn._orig_mod."): v for k, v in model.state_dict().items()},
}


@pytest.mark.parametrize("wrapped", WRAPPED.values(), ids=WRAPPED)
def test_a_layer_inside_any_wrapper_computes_what_torch_computes(wrapped, tagger, batch, tmp_path):
    torch.save(wrapped(tagger), tmp_path / "a.pt")
    upper = read(tmp_path / "a.pt", layer="encoder.rnn:1r")
    assert upper.layer == "encoder.rnn:1r"
    assert_computes(upper.system, batch.numpy(), tagger.encoder.rnn(batch)[0].detach()[..., 4:])


def test_every_layer_of_a_model_is_found_and_told(tagger, batch, tmp_path):
    torch.save({"model": tagger.state_dict(), "epoch": 3}, tmp_path / "a.pt")
    inner = tagger.encoder.rnn(batch)[0].detach()
    assert_computes(read(tmp_path / "a.pt", layer="encoder.rnn:1").system, batch.numpy(), inner[..., :4])
    for name in ("decoder", "decoder:1"):
        assert_computes(read(tmp_path / "a.pt", layer=name).system, inner.numpy(), tagger.decoder(inner)[0])
    found = read(tmp_path / "a.pt", layer="decoder")
    digest = hashlib.sha256((tmp_path / "a.pt").read_bytes()).hexdigest()
    assert found.source == found.system.source == {"file": "a.pt", "sha256": digest}
    assert (found.readout, found.task, found.facts) == (None, None, {"epoch": 3})
    said = describe(tmp_path / "a.pt")
    assert said["parameters"] == sum(p.numel() for p in tagger.parameters())
    listed = {entry["layer"]: entry for entry in said["systems"]}
    assert list(listed) == [f"encoder.rnn:{k}" for k in ("0", "0r", "1", "1r")] + ["decoder", "cell"]
    assert listed["encoder.rnn:1r"]["parameters"] == 4 * 4 * (8 + 4 + 2)
    assert (listed["decoder"]["state_size"], listed["decoder"]["input_size"]) == (10, 8)
    assert listed["cell"]["config"]["nonlinearity"] is None


@pytest.mark.parametrize("told, expected", [("relu", "relu"), ("tanh", "tanh"), (None, "tanh")])
def test_the_nonlinearity_of_a_plain_rnn_is_an_option_where_the_file_does_not_tell(told, expected, tmp_path):
    module = nn.RNN(2, 3, nonlinearity=expected, batch_first=True).double()
    torch.save(module.state_dict(), tmp_path / "a.pt")
    torch.save(nn.DataParallel(module), tmp_path / "whole.pt")
    found, inputs = read(tmp_path / "a.pt", nonlinearity=told), 3 * torch.randn(2, 4, 2, dtype=torch.float64)
    assert ("tanh is assumed" in found.assumed) == (told is None)
    assert found.system.config["nonlinearity"] == expected
    assert read(tmp_path / "whole.pt").assumed == ""
    for system in (found.system, read(tmp_path / "whole.pt", nonlinearity="tanh").system):
        assert_computes(system, inputs.numpy(), module(inputs)[0])


PARTS = {
    "beside": lambda a, b: {"ema_state_dict": b, "model_state_dict": a},
    "deeper": lambda a, b: {"model": {"teacher": b, "state_dict": a}},
    "another name": lambda a, b: {"net": a, "optimizer": {"state": {0: b["bias_hh_l0"]}}, "model": {"hidden": 3}},
}


@pytest.mark.parametrize("make", PARTS.values(), ids=PARTS)
def test_the_models_own_part_of_a_file_is_read(make, tmp_path):
    first, second = nn.GRU(2, 3).state_dict(), nn.GRU(2, 3).state_dict()
    torch.save(make(first, second), tmp_path / "a.pt")
    assert torch.equal(read(tmp_path / "a.pt").system.weight_hh, first["weight_hh_l0"])


KINDS = [(nn.RNN, {}), (nn.GRU, {"num_layers": 3}), (nn.LSTM, {"bias": False}), (nn.LSTM, {"proj_size": 2})]


@pytest.mark.parametrize("save", [torch.save, safetensors.torch.save_file], ids=["pt", "safetensors"])
@pytest.mark.parametrize("make, options", KINDS)
def test_a_layer_of_each_kind_is_recognised_by_its_shapes(make, options, save, batch, tmp_path):
    module = make(3, 4, batch_first=True, **options).double()
    save(module.state_dict(), tmp_path / "a")
    found = read(tmp_path / "a")
    assert (found.system.name, found.layer) == (make.__name__.lower(), "")
    assert_computes(found.system, batch.numpy(), module(batch)[0])
    assert sum(p.numel() for p in found.system.parameters()) == sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize("make", [nn.RNNCell, nn.GRUCell, nn.LSTMCell])
def test_a_cell_is_recognised(make, batch, tmp_path):
    cell = make(3, 4).double()
    torch.save({"net": cell.state_dict()}, tmp_path / "a.pt")
    system = read(tmp_path / "a.pt", layer="net").system
    state = torch.randn(5, system.state_size, dtype=torch.float64)
    given = state.split(4, dim=-1) if make is nn.LSTMCell else state
    expected = cell(batch[:, 0], given)
    expected = torch.hstack(expected) if make is nn.LSTMCell else expected
    torch.testing.assert_close(system.step(state, batch[:, 0]), expected)


def test_a_file_saved_on_a_gpu_loads_without_one(tmp_path, monkeypatch):
    module = nn.LSTM(2, 3)
    with monkeypatch.context() as patched:
        patched.setattr(torch.serialization, "location_tag", lambda storage: "cuda:0")
        torch.save({"state_dict": module.state_dict()}, tmp_path / "gpu.pt")
    assert b"cuda:0" in (tmp_path / "gpu.pt").read_bytes()
    found = dict(read(tmp_path / "gpu.pt").system.named_parameters())["weight_hh"]
    assert found.device.type == "cpu"
    assert torch.equal(found, module.weight_hh_l0)


class Attributes(dict):
    """As Lightning's AttributeDict: a dictionary of a class that is not dynlab's business."""


def test_an_ordinary_lightning_checkpoint_loads_and_tells_its_facts(tmp_path):
    """It has a path, a namespace, and objects of other classes among its hyper-parameters."""
    options = Namespace(lr=0.1, classes=(1, 2))
    facts = Attributes(data_dir=Path("/data/somewhere"), options=options, last=deque([1, 2]), on=torch.device("cuda:0"))
    content = {"state_dict": nn.GRU(2, 3).state_dict(), "pytorch-lightning_version": "2.6.6", "global_step": 2}
    torch.save(content | {"hyper_parameters": facts}, tmp_path / "a.ckpt")
    found = read(tmp_path / "a.ckpt")
    assert (found.format, found.facts["global_step"]) == ("lightning", 2)
    told = found.facts["hyper_parameters"]
    assert (told["options"], told["last"], told["on"]) == ({"lr": 0.1, "classes": [1, 2]}, {"0": 1, "1": 2}, "cuda:0")
    assert "somewhere" in told["data_dir"][-1]


def test_a_learned_initial_state_beside_a_layer_is_not_read_in_silence(tmp_path):
    tensors = {f"rnn.{name}": value for name, value in nn.GRU(2, 3).state_dict().items()}
    torch.save(tensors | {"h0": torch.ones(1, 1, 3)}, tmp_path / "a.pt")
    assert "holds h0, which may be a learned initial state" in read(tmp_path / "a.pt").assumed
    assert read(tmp_path / "a.pt", layer="rnn").system.initial_state() is None
