"""`dynlab modes`: its verdict, files and JSON, and one sentence for what is wrong."""

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
    return tmp_path


def test_the_verdict_the_figure_and_the_data(folder, capsys, pictures):
    options = ["--inputs", "zero", "--starts", "8", "--at", "0.1,0,0.2", "-k", "4", "--data", "a.nc"]
    assert run(["modes", "gru.pt", *options]) == 0
    assert capsys.readouterr().out.startswith("With the input held at (0.1, 0, 0.2): slowest decay: to 1/e in")
    drawn = pictures["modes-gru.png"].axes[0].collections
    assert sum(len(marks.get_offsets()) for marks in drawn) == 3  # of a complex pair one
    direct = dl.modes(dl.load("gru.pt"), np.zeros((1, 50, 3)), starts=8, at=[0.1, 0, 0.2], k=4)
    np.testing.assert_array_equal(io.open("a.nc")["time_constant"], direct["time_constant"])


def test_json_of_a_checkpoint_with_its_read_out(printed_json):
    document = printed_json(["modes", "rnn-har2", "--samples", "2", "--starts", "16", "-k", "3", "--json", "--quiet"])
    assert document["variables"]["frequency"]["units"] == "cycle/step"
    assert len(document["variables"]["output_read"]["values"][0][0]) == 2
    assert document["settings"]["readout"] is True


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["-k", "7"], "k counts modes: from 1 to the state's 6 dimensions, got 7"),
        (["--point", "9"], "--point counts the fixed points from 0"),
        (["--at", "here"], "--at takes zero, mean, or numbers"),
    ],
)
def test_bad_input_ends_with_2_and_writes_nothing(options, sentence, refused):
    refused(["modes", "gru.pt", "--inputs", "zero", "--starts", "8", "--quiet", *options], sentence)
