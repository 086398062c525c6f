"""`dynlab ernn-convergence`: its verdict, files and JSON, and one sentence for what is wrong."""

import pytest
import torch

from dynlab.checkpoints import document, write
from dynlab.cli.main import run
from dynlab.systems import create


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    system = create("ernn", input_size=2, state_size=6, length=10, rank=None, activation="tanh")
    write("ernn.pt", document(system))
    torch.save(torch.nn.GRU(2, 4).state_dict(), "gru.pt")
    return tmp_path


def test_verdict_and_figure(folder, capsys, pictures):
    options = ["--inputs", "noise:1.0", "--steps", "10", "--samples", "2", "--eta", "0.5"]
    assert run(["ernn-convergence", "ernn.pt", *options]) == 0
    assert "converges at 8 of 8 steps within 200 iterations." in capsys.readouterr().out
    (ax,) = pictures["ernn-convergence-ernn.png"].axes
    assert len(ax.lines) == 1 + 1  # the median of the only outcome, and the predicted slope


def test_json_is_one_strict_document(printed_json):
    options = ["--inputs", "zero", "--steps", "5", "--iterations", "20", "--times", "1", "--json", "--quiet"]
    document = printed_json(["ernn-convergence", "ernn.pt", *options])
    assert len(document["variables"]["distance"]["values"][0][0]) == 21
    assert document["settings"]["eta"] is None


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["ernn.pt", "--eta", "0", "--steps", "5"], "is no positive number"),
        (["ernn.pt", "--steps", "11"], "T = 10"),
        (["gru.pt"], "has none: give an ERNN"),
    ],
)
def test_bad_input_ends_with_2_and_writes_nothing(arguments, sentence, refused):
    refused(["ernn-convergence", *arguments, "--inputs", "zero", "--quiet"], sentence)
