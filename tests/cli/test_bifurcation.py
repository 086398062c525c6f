"""`dynlab bifurcation`: its verdict, files and JSON, and one sentence for what is wrong."""

import numpy as np
import pytest
import torch
from torch import nn

import dynlab as dl
from dynlab import io
from dynlab.cli.main import run

LOGISTIC = ["--system", "logistic", "--parameter", "r", "--from", "2.8", "--to", "3.2"]
QUICK = ["--values", "0", "--quiet"]


def test_a_matrix_the_figure_and_the_data(folder, capsys, pictures):
    options = ["--matrix", "diff", "--parameter", "step_size", "--from", "0.02", "--to", "0.2", "--values", "10"]
    assert run(["bifurcation", *options, "--data", "a.nc"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(
        "The origin loses stability at step_size = 0.07458048 in a supercritical Neimark–Sacker bifurcation"
    )
    (legend,) = pictures["bifurcation-diff.png"].legends
    assert "Neimark–Sacker at 0.0745805" in [" ".join(text.get_text().split()) for text in legend.get_texts()]
    assert io.open("a.nc")["bifurcation_kind"].values.tolist() == ["Neimark–Sacker"]


def test_json_is_one_strict_document(printed_json):
    document = printed_json(["bifurcation", *LOGISTIC, "--set", "r=3", *QUICK, "--json"])
    assert document["variables"]["bifurcation_parameter"]["values"] == pytest.approx([3.0], abs=1e-10)
    assert document["settings"]["lowest"] == 2.8


def test_a_checkpoint_under_a_held_input(folder):
    torch.manual_seed(0)
    torch.save(nn.RNN(2, 5).state_dict(), "rnn.pt")
    options = ["--parameter", "input*", "--from", "0", "--to", "1", "--at", "0.5,-1", *QUICK]
    assert run(["bifurcation", "rnn.pt", *options, "--data", "a.nc"]) == 0
    found = io.open("a.nc")
    network = dl.load("rnn.pt", nonlinearity="tanh").double()
    for p, state in zip(found["branch_parameter"].values, found["branch_state"].values, strict=True):
        input = p * torch.tensor([0.5, -1.0]).double()
        np.testing.assert_allclose(network.step(torch.tensor(state), input).detach(), state, atol=1e-7)


def test_a_second_parameter_gives_a_plane(folder, capsys):
    options = ["--system", "henon", "--parameter", "a", "--from", "0", "--to", "1"]
    second = ["--second", "b", "--second-from", "0.1", "--second-to", "0.3", "--grid", "5", "--quiet"]
    assert run(["bifurcation", *options, *second]) == 0
    assert "of the plane of a and b" in capsys.readouterr().out
    assert (folder / "figures" / "bifurcation-henon-plane.png").exists()


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["--system", "logistic", "--parameter", "r", "--from", "4", "--to", "2"], "got 4 to 2"),
        (
            [*LOGISTIC, "--matrix", "diff"],
            "--system and --matrix each name what is looked at: leave one of the two out.",
        ),
        (["--parameter", "r", "--from", "1", "--to", "2"], "Got nothing to look at"),
        ([*LOGISTIC, "--kind", "flow"], "no Euler step of a flow"),
        ([*LOGISTIC, "--inputs", "zero"], "--inputs is a checkpoint's"),
        ([*LOGISTIC, "--grid", "5"], "--grid goes with --second"),
        ([*LOGISTIC, "--second", "r"], "needs its range"),
        ([*LOGISTIC, "--second", "s", "--second-from", "0", "--second-to", "1", "--starts", "3"], "without --second"),
        ([*LOGISTIC, "--observed", "2"], "one of the state's 1 coordinates"),
        ([*LOGISTIC, "--at", "x"], "--at takes zero, mean, or numbers"),
        ([*LOGISTIC, "--set", "r"], "--set takes KEY=VALUE"),
        (["--system", "logistik", "--parameter", "r", "--from", "1", "--to", "2"], "did you mean 'logistic'"),
    ],
)
def test_bad_input_ends_with_2_and_writes_nothing(options, sentence, refused):
    refused(["bifurcation", *options, "--quiet"], sentence)
