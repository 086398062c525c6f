"""`dynlab geometry`: its verdict, files and JSON, the tangent map, and one sentence for what is wrong."""

import numpy as np
import pytest
import torch
from torch import nn

import dynlab as dl
from dynlab import io
from dynlab.cli.main import run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    torch.save(nn.GRU(3, 6).state_dict(), "gru.pt")
    np.save("inputs.npy", np.random.default_rng(0).standard_normal((4, 30, 3)))
    return tmp_path


def test_the_verdict_the_figure_and_the_data(folder, capsys, pictures):
    options = ["--inputs", "inputs.npy", "--starts", "8", "--at", "mean", "--transient", "5", "--data", "a.nc"]
    assert run(["geometry", "gru.pt", *options]) == 0
    assert capsys.readouterr().out.startswith("Over the last 25 of 30 steps of 4 sequences of inputs.npy the")
    plane = pictures["geometry-gru.png"].axes[0]
    assert [len(line.get_xdata()) for line in plane.lines[:4]] == [26] * 4  # the state after the transient and 25 steps
    direct = dl.geometry(dl.load("gru.pt"), np.load("inputs.npy"), starts=8, at="mean", transient=5)
    np.testing.assert_array_equal(io.open("a.nc")["trajectory"], direct["trajectory"])


def test_the_tangent_map_of_a_fixed_point(folder, printed_json):
    options = ["--inputs", "inputs.npy", "--starts", "8", "--tangent", "0", "--json", "--quiet"]
    document = printed_json(["geometry", "gru.pt", *options])
    assert document["verdict"].startswith("With the input held at zero: the state is a fixed point (stable node)")
    assert "linear_error" in document["variables"]
    assert (folder / "figures" / "geometry-gru-tangent-0.png").exists()


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["--tangent", "7"], "--tangent counts the fixed points from 0"),
        (["--transient", "30"], "from 0 to below that, got 30"),
        (["--at", "here"], "--at takes zero, mean, or numbers"),
        (["--starts", "0"], "0 is no whole number of at least 1."),
    ],
)
def test_bad_input_ends_with_2_and_writes_nothing(options, sentence, refused):
    refused(["geometry", "gru.pt", "--inputs", "inputs.npy", "--quiet", *options], sentence)
