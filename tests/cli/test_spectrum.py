"""`dynlab spectrum` and `dynlab gradient`: what they write and print, and what they refuse."""

import json

import matplotlib.image
import numpy as np
import pytest
import torch
from torch import nn

import dynlab as dl
from dynlab import checkpoints, io, schema
from dynlab.cli.main import run


@pytest.fixture
def foreign(folder):
    torch.manual_seed(0)
    torch.save(nn.GRU(3, 6, num_layers=2).state_dict(), folder / "gru.pt")
    np.save(folder / "inputs.npy", np.random.default_rng(0).standard_normal((4, 20, 3)))
    return "gru.pt"


@pytest.fixture
def own(folder):
    torch.manual_seed(0)
    system = dl.create("gru", input_size=9, hidden_size=4)
    document = checkpoints.document(system, nn.Linear(4, 2), {"name": "har2", "standardise": "channel"}, {"seed": 3})
    checkpoints.write(folder / "own.pt", document)
    return "own.pt"


COMMANDS = {
    "spectrum": (["spectrum"], "eigenvalue", "figures/spectrum-gru.png"),
    "gradient": (["gradient"], "log_norm", "figures/gradient-gru.png"),
    "end to end": (["gradient", "--end-to-end"], "log_singular_value", "figures/gradient-gru-end-to-end.png"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_verdict_the_figure_and_the_data(name, foreign, folder, capsys):
    command, variable, figure = COMMANDS[name]
    assert run([*command, foreign, "--inputs", "inputs.npy", "--data", "numbers.nc"]) == 0
    out = capsys.readouterr().out
    assert " 20 steps of 4 sequences of inputs.npy" in out.partition(". ")[0]
    assert len(np.unique(matplotlib.image.imread(folder / figure)[..., :3])) > 10
    ds = io.open(folder / "numbers.nc")
    assert variable in ds
    assert json.loads(ds.attrs["source"])["file"] == "gru.pt"
    assert schema.settings(ds)["seed"] == 0
    compute = {"spectrum": dl.spectrum, "gradient": dl.gradient, "end to end": dl.end_to_end}[name]
    direct = compute(dl.load(foreign), np.load(folder / "inputs.npy"))
    np.testing.assert_array_equal(ds[variable].values, direct[variable].values)


@pytest.mark.parametrize("name", COMMANDS)
def test_json_is_one_strict_document(name, foreign, printed_json):
    command, variable, _ = COMMANDS[name]
    found = printed_json([*command, foreign, "--steps", "5", "--samples", "2", "--json", "-o", "a.svg"])
    assert " 5 steps of 2 sequences of white noise" in found["verdict"].partition(". ")[0]
    assert variable in found["variables"]


def test_times_choose_the_steps(foreign, capsys):
    assert run(["spectrum", foreign, "--inputs", "inputs.npy", "--times", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["coords"]["time"]["values"] == [1, 10, 20]
    assert run(["gradient", foreign, "--end-to-end", "--inputs", "inputs.npy", "--times", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["coords"]["time"]["values"] == [1, 20]


def test_the_loss_of_the_checkpoints_read_out(own, printed_json):
    found = printed_json(["gradient", own, "--loss", "--samples", "2", "--json"])
    values = np.array(found["variables"]["log_loss_gradient"]["values"])
    assert values.shape == (2, 129)
    assert np.isfinite(values).all()
    assert "the gradient of the loss" in found["verdict"]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("save", ["state_dict", "module"])
def test_the_loss_through_the_one_linear_layer_of_somebody_elses_file(save, bias, folder, capsys):
    torch.manual_seed(1)
    net = nn.ModuleDict({"rnn": nn.LSTM(2, 5, num_layers=2), "fc": nn.Linear(5, 1, bias=bias)}).double()
    model = nn.ModuleDict({"net": net})
    torch.save(model if save == "module" else {"state_dict": model.state_dict()}, "a.pt")
    command = ["gradient", "a.pt", "--loss", "--inputs", "task:adding", "--samples", "3", "--json"]
    assert run(command) == 0
    said = capsys.readouterr()
    assert "net.fc is taken to read the last state, with nothing between." in said.err
    driving = dl.driving_inputs("task:adding", dl.load("a.pt"), samples=3)
    inputs = torch.from_numpy(np.asarray(driving.inputs)).double()
    states = torch.zeros(2, 2, 3, 5, dtype=torch.float64, requires_grad=True)
    output, _ = net["rnn"](inputs.transpose(0, 1), tuple(states))
    targets = torch.from_numpy(np.asarray(driving.targets)).double()
    loss = (net["fc"](output[-1]) - targets.reshape(3, -1)).square().mean(dim=-1).sum()
    expected = torch.autograd.grad(loss, states)[0].permute(2, 0, 1, 3).reshape(3, -1).norm(dim=-1).log()
    found = np.array(json.loads(said.out)["variables"]["log_loss_gradient"]["values"])
    np.testing.assert_allclose(found[:, 0], expected.numpy(), atol=1e-9)


OTHERS = {
    "a second linear layer": {"head": nn.Sequential(nn.Linear(4, 7), nn.ReLU(), nn.Linear(7, 2))},
    "a norm between": {"norm": nn.LayerNorm(4), "fc": nn.Linear(4, 2)},
    "another width": {"fc": nn.Linear(5, 2)},
    "two recurrent layers": {"second": nn.GRU(4, 4), "fc": nn.Linear(4, 2)},
    "a convolution": {"conv": nn.Conv1d(4, 2, 3)},
}


@pytest.mark.parametrize("others", OTHERS.values(), ids=OTHERS)
def test_no_read_out_is_guessed(others, folder):
    torch.save(nn.ModuleDict({"rnn": nn.GRU(3, 4), **others}).state_dict(), "a.pt")
    assert checkpoints.read("a.pt", layer="rnn").readout is None
    assert checkpoints.describe("a.pt")["readout"] is None


@pytest.mark.parametrize("layer, known", [("rnn", True), ("rnn:1", True), ("rnn:0", False)])
def test_the_read_out_is_of_the_top_layer(layer, known, folder):
    torch.save(nn.ModuleDict({"rnn": nn.GRU(3, 4, num_layers=2), "fc": nn.Linear(4, 2)}).state_dict(), "a.pt")
    assert (checkpoints.read("a.pt", layer=layer).readout is not None) == known
    assert checkpoints.describe("a.pt")["readout"] == [2, 4]


def test_targets_that_the_read_out_does_not_know_are_refused(folder, refused):
    torch.save(nn.ModuleDict({"rnn": nn.GRU(9, 4), "fc": nn.Linear(4, 1)}).state_dict(), "a.pt")
    refused(["gradient", "a.pt", "--loss", "--inputs", "task:har2", "--quiet"], "the read-out tells 1 apart")


def test_the_loss_of_values_at_every_step(folder, capsys):
    assert run(["gradient", "gru-flipflop", "--loss", "--samples", "2", "--quiet"]) == 0
    assert "the gradient of the loss" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["gradient", "gru.pt", "--loss"], "holds no read-out that is known"),
        (["gradient", "own.pt", "--loss", "--inputs", "noise:1.0"], "--loss needs targets"),
        (["gradient", "gru.pt", "--loss", "--end-to-end"], "leave --loss or --end-to-end out"),
        (["spectrum", "gru.pt", "--times", "0"], "--times"),
        (["spectrum", "own.pt", "--inputs", "inputs.npy"], "shape (sample, time, 9)"),
        (["spectrum", "nothing.pt"], "nothing.pt"),
    ],
)
def test_bad_usage_is_one_sentence_and_writes_nothing(arguments, sentence, foreign, own, refused):
    refused([*arguments, "--quiet"], sentence)


@pytest.mark.parametrize("options, times", [([], 1), (["--nonlinearity", "relu"], 0), (["--quiet"], 0)])
@pytest.mark.parametrize("over", [[], ["--over", "step"]])
def test_an_assumed_nonlinearity_is_said_once(options, times, over, folder, capsys):
    for step in (1, 2):
        torch.save({"state_dict": nn.RNN(2, 3).state_dict(), "global_step": step}, folder / f"step-{step}.ckpt")
    files = ["step-1.ckpt", "step-2.ckpt"] if over else ["step-1.ckpt"]
    assert run(["spectrum", *files, *over, *options, "--steps", "5"]) == 0
    assert capsys.readouterr().err.count("does not tell the nonlinearity of its RNN: tanh is assumed") == times
