"""Every format in which networks are saved: the system that is read computes what torch's module computes."""

from argparse import Namespace
from collections import deque
from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import nn

from dynlab.checkpoints import describe, read
from dynlab.trajectories.simulation import simulate
from dynlab.words import joined


def outputs(system, inputs):
    """What the network's layer gives at t = 1 … T, by dynlab's own steps, in the order of the inputs."""
    states = torch.from_numpy(simulate(system, inputs.numpy())["trajectory"].values)
    found = system.double().output(states[:, 1:])
    return found.flip(1) if getattr(system, "reverse", False) else found


def encoded(tagger, inputs):
    return tagger.encoder.rnn(inputs)[0].detach()


WRAPPED = {
    "bare": lambda model: model.state_dict(),
    "state_dict": lambda model: {"state_dict": model.state_dict(), "optimizer": {"state": {}}, "epoch": 3},
    "model": lambda model: {"model": model.state_dict(), "epoch": 3},
    "model_state_dict": lambda model: {"model_state_dict": model.state_dict(), "loss": 0.5},
    "nested": lambda model: {"model": {"state_dict": model.state_dict()}},
    "DataParallel": lambda model: {"state_dict": nn.DataParallel(model).state_dict()},
    "compiled": lambda model: {f"_orig_mod.{name}": value for name, value in model.state_dict().items()},
    "compiled and parallel": lambda model: {f"module._orig_mod.{k}": v for k, v in model.state_dict().items()},
    "the whole module": lambda model: model,
    "a whole parallel module": lambda model: {"model": nn.DataParallel(model), "epoch": 3},
    "a compiled part": lambda model: {k.replace("rnn.", "rnn._orig_mod."): v for k, v in model.state_dict().items()},
}


CASES = {name: (wrap, True) for name, wrap in WRAPPED.items()}
CASES |= {f"{name}, before 1.6": (WRAPPED[name], False) for name in ("bare", "the whole module")}


@pytest.mark.parametrize("wrap, zipped", CASES.values(), ids=CASES)
def test_a_layer_inside_any_wrapper_computes_what_torch_computes(wrap, zipped, tagger, batch, tmp_path):
    torch.save(wrap(tagger), tmp_path / "a.pt", _use_new_zipfile_serialization=zipped)
    upper = read(tmp_path / "a.pt", layer="encoder.rnn:1r")
    assert upper.layer == "encoder.rnn:1r"
    torch.testing.assert_close(outputs(upper.system, batch), encoded(tagger, batch)[..., 4:], rtol=1e-12, atol=1e-14)


def test_every_layer_of_a_model_is_found_and_computes_what_torch_computes(tagger, batch, tmp_path):
    torch.save(tagger.state_dict(), tmp_path / "a.pt")
    upper = read(tmp_path / "a.pt", layer="encoder.rnn:1").system
    torch.testing.assert_close(outputs(upper, batch), encoded(tagger, batch)[..., :4], rtol=1e-12, atol=1e-14)
    decoded = tagger.decoder(encoded(tagger, batch))[0].detach()
    for name in ("decoder", "decoder:1"):
        stack = read(tmp_path / "a.pt", layer=name).system
        torch.testing.assert_close(outputs(stack, encoded(tagger, batch)), decoded, rtol=1e-12, atol=1e-14)


ASSUMED = (
    "a.pt does not tell the nonlinearity of its RNN: tanh is assumed. "
    "Of ReLU units give --nonlinearity relu (nonlinearity='relu')."
)


@pytest.mark.parametrize("told, expected", [("relu", "relu"), ("tanh", "tanh"), (None, "tanh")])
def test_the_nonlinearity_of_a_plain_rnn_is_an_option(told, expected, tmp_path):
    module = nn.RNN(2, 3, nonlinearity=expected, batch_first=True).double()
    torch.save(module.state_dict(), tmp_path / "a.pt")
    found = read(tmp_path / "a.pt", nonlinearity=told)
    system = found.system
    assert found.assumed == ("" if told else ASSUMED)
    inputs = 3 * torch.randn(2, 4, 2, dtype=torch.float64)
    torch.testing.assert_close(outputs(system, inputs), module(inputs)[0].detach(), rtol=1e-12, atol=1e-14)
    assert system.config["nonlinearity"] == expected


def test_a_whole_module_tells_its_nonlinearity_which_goes_before_the_option(tagger, batch, tmp_path):
    torch.save(nn.DataParallel(tagger), tmp_path / "a.pt")
    system = read(tmp_path / "a.pt", layer="cell", nonlinearity="tanh").system
    assert read(tmp_path / "a.pt", layer="cell").assumed == ""
    state = torch.zeros(5, 6, dtype=torch.float64)
    torch.testing.assert_close(system.step(state, batch[:, 0]), tagger.cell(batch[:, 0], state))


@pytest.mark.parametrize(
    "make, read_part, others",
    [
        (lambda a, b: {"model_state_dict": a, "ema_state_dict": b}, "model_state_dict", ["ema_state_dict"]),
        (lambda a, b: {"model": {"state_dict": a, "teacher": b}}, "model.state_dict", ["model.teacher"]),
        (lambda a, b: {"state_dict": a, "optimizer": {"state": {0: {"exp_avg": b["bias_hh_l0"]}}}}, "state_dict", []),
    ],
    ids=["beside", "deeper", "an optimizer's"],
)
def test_parts_that_hold_weights_and_are_not_read_are_named(make, read_part, others, tmp_path):
    first, second = nn.GRU(2, 3).state_dict(), nn.GRU(2, 3).state_dict()
    torch.save(make(first, second), tmp_path / "a.pt")
    found, said = read(tmp_path / "a.pt"), describe(tmp_path / "a.pt")
    assert torch.equal(found.system.weight_hh, first["weight_hh_l0"])
    assert (said["part"], said["other_parts"]) == (read_part, others)
    words = (
        f"a.pt holds weights in {joined([read_part, *others])}: those of {read_part} are read. "
        "To read others, save their part alone."
    )
    assert found.assumed == (words if others else "")


KINDS = {
    "rnn": (nn.RNN, {}),
    "gru": (nn.GRU, {}),
    "lstm": (nn.LSTM, {}),
    "lstm without bias": (nn.LSTM, {"bias": False}),
    "lstm with projection": (nn.LSTM, {"proj_size": 2}),
    "three layers": (nn.GRU, {"num_layers": 3}),
}


@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
@pytest.mark.parametrize("make, options", KINDS.values(), ids=KINDS)
def test_a_layer_of_each_kind_is_recognised_by_its_shapes(make, options, suffix, batch, tmp_path):
    torch.manual_seed(0)
    module = make(**({"input_size": 3, "hidden_size": 4, "batch_first": True} | options)).double()
    save = torch.save if suffix == ".pt" else safetensors.torch.save_file
    save(module.state_dict(), tmp_path / f"a{suffix}")
    found = read(tmp_path / f"a{suffix}")
    assert found.system.name == make.__name__.lower()
    assert found.layer == ""
    torch.testing.assert_close(outputs(found.system, batch), module(batch)[0].detach(), rtol=1e-12, atol=1e-14)
    assert sum(p.numel() for p in found.system.parameters()) == sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize("make", [nn.RNNCell, nn.GRUCell, nn.LSTMCell])
def test_a_cell_is_recognised(make, batch, tmp_path):
    cell = make(3, 4).double()
    torch.save({"net": cell.state_dict()}, tmp_path / "a.pt")
    system = read(tmp_path / "a.pt", layer="net").system
    state = torch.randn(5, system.state_size, dtype=torch.float64)
    given = tuple(state.split(4, dim=-1)) if make is nn.LSTMCell else state
    expected = cell(batch[:, 0], given)
    expected = torch.cat(expected, dim=-1) if make is nn.LSTMCell else expected
    torch.testing.assert_close(system.step(state, batch[:, 0]), expected)


def test_a_file_saved_on_a_gpu_loads_without_one(tmp_path, monkeypatch):
    module = nn.LSTM(2, 3)
    with monkeypatch.context() as patched:
        patched.setattr(torch.serialization, "location_tag", lambda storage: "cuda:0")
        torch.save({"state_dict": module.state_dict()}, tmp_path / "gpu.pt")
    assert b"cuda:0" in (tmp_path / "gpu.pt").read_bytes()
    system = read(tmp_path / "gpu.pt").system
    found = dict(system.named_parameters())["weight_hh"]
    assert found.device.type == "cpu"
    assert torch.equal(found, module.weight_hh_l0)


class Attributes(dict):
    """As Lightning's AttributeDict: a dictionary of a class that is not dynlab's business."""


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "before 1.6"])
def test_an_ordinary_lightning_checkpoint_loads_and_tells_its_facts(zipped, tmp_path):
    """It has a path, a namespace, and objects of other classes among its hyper-parameters."""
    options = Namespace(lr=0.1, classes=(1, 2))
    facts = Attributes(data_dir=Path("/data/somewhere"), options=options, last=deque([1, 2]), on=torch.device("cuda:0"))
    content = {"state_dict": nn.GRU(2, 3).state_dict(), "pytorch-lightning_version": "2.6.6", "global_step": 2}
    torch.save(content | {"hyper_parameters": facts}, tmp_path / "a.ckpt", _use_new_zipfile_serialization=zipped)
    with pytest.raises(Exception, match="Weights only load failed"):
        torch.load(tmp_path / "a.ckpt", weights_only=True)
    found = read(tmp_path / "a.ckpt")
    assert (found.format, found.facts["global_step"]) == ("lightning", 2)
    told = found.facts["hyper_parameters"]
    assert (told["options"], told["last"], told["on"]) == ({"lr": 0.1, "classes": [1, 2]}, [1, 2], "cuda:0")
    assert "somewhere" in told["data_dir"][-1]


def test_what_read_and_describe_say_of_the_file(tagger, tmp_path):
    import hashlib

    torch.save({"model": tagger.state_dict(), "epoch": 3}, tmp_path / "a.pt")
    digest = hashlib.sha256((tmp_path / "a.pt").read_bytes()).hexdigest()
    found = read(tmp_path / "a.pt", layer="decoder")
    assert found.source == found.system.source == {"file": "a.pt", "sha256": digest}
    assert (found.readout, found.task, found.facts) == (None, None, {"epoch": 3})
    said = describe(tmp_path / "a.pt")
    assert said["parameters"] == sum(p.numel() for p in tagger.parameters())
    listed = {entry["layer"]: entry for entry in said["systems"]}
    assert list(listed) == [f"encoder.rnn:{k}" for k in ("0", "0r", "1", "1r")] + ["decoder", "cell"]
    assert listed["encoder.rnn:1r"]["parameters"] == 4 * 4 * (8 + 4 + 2)
    assert listed["decoder"]["parameters"] == sum(p.numel() for p in tagger.decoder.parameters())
    assert (listed["decoder"]["state_size"], listed["decoder"]["input_size"]) == (10, 8)
    assert listed["cell"]["config"]["nonlinearity"] is None


def test_a_learned_initial_state_beside_a_layer_is_not_read_in_silence(tmp_path):
    tensors = {f"rnn.{name}": value for name, value in torch.nn.GRU(2, 3).state_dict().items()}
    torch.save(tensors | {"h0": torch.ones(1, 1, 3)}, tmp_path / "a.pt")
    assert "holds h0, which may be a learned initial state: it is not read" in read(tmp_path / "a.pt").assumed
    assert read(tmp_path / "a.pt", layer="rnn").system.initial_state() is None
