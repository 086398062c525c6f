"""`dynlab compare`: the number that Python gives, its files, and one sentence for what is wrong."""

import numpy as np
import pytest
import torch
from torch import nn

import dynlab as dl
from dynlab import io
from dynlab.cli.main import run

QUICK = ["--inputs", "noise:1.0", "--steps", "30", "--samples", "8"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    torch.save(nn.GRU(3, 6).state_dict(), "gru.pt")
    torch.save(nn.LSTM(3, 4).state_dict(), "lstm.pt")
    torch.save(nn.GRU(2, 5).state_dict(), "narrow.pt")
    return tmp_path


def test_the_verdict_the_figure_and_the_data(capsys, pictures):
    assert run(["compare", "gru.pt", "lstm.pt", *QUICK, "--data", "a.nc"]) == 0
    assert capsys.readouterr().out.startswith("Permutation test: p = ")
    assert "compare-gru-lstm.png" in pictures
    found, inputs = io.open("a.nc"), dl.driving_inputs("noise:1.0", dl.load("gru.pt"), samples=8, steps=30).inputs
    direct = dl.compare(dl.load("gru.pt"), dl.load("lstm.pt"), inputs)
    np.testing.assert_array_equal(found["distance"], direct["distance"])


def test_a_network_of_other_inputs_is_driven_by_its_own(printed_json):
    document = printed_json(["compare", "gru.pt", "narrow.pt", *QUICK, "--rank", "3", "--json", "--quiet"])
    assert document["settings"]["inputs_shape"] == [8, 30, 3]
    assert document["settings"]["other_inputs_shape"] == [8, 30, 2]
    assert document["variables"]["p_value"]["values"] <= 1


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (
            ["compare", "gru.pt"],
            "compare takes 2 checkpoints, got 1. For example: `dynlab compare rnn-har2 lstm-har2`.",
        ),
        (["compare", "gru.pt", "none.pt", *QUICK], "There is no file none.pt"),
        (["compare", "gru.pt", "lstm.pt", "--samples", "3", "--quiet"], "give at least 6 sequences (--samples), got 3"),
        (["sweep", "compare", "gru.pt", "lstm.pt", "--grid", "seed=0,1", "--data", "a.zarr"], "is no analysis"),
    ],
)
def test_bad_input_ends_with_2_and_writes_nothing(arguments, sentence, refused):
    refused(arguments, sentence)
