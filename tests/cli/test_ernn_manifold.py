"""`dynlab ernn-manifold`: the source's figure, a checkpoint's own manifold, and bad input."""

import pytest
import torch

from dynlab import checkpoints, io
from dynlab.cli.main import run
from dynlab.systems import create


def test_the_random_walk(folder, capsys, pictures):
    assert run(["ernn-manifold", "--steps", "50", "--data", "manifold.nc"]) == 0
    assert "ERNN with K = 5, η = 0.01 is off the manifold: h_k + h_{k−1} is " in capsys.readouterr().out
    *networks, distance = pictures["ernn-manifold-random-walk.png"].axes
    assert (len(networks), len(distance.lines)) == (4, 3)  # of these networks two are ERNNs, and a line marks rounding
    ds = io.open(folder / "manifold.nc")
    assert ds["network"].values.tolist() == ["ernn", "ernn K=5", "rnn", "fastrnn"]
    assert ds["distance"].sel(network="ernn").max() < 1e-14


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--inputs", "zero"], "--inputs is a checkpoint's"),
        (["--layer", "rnn"], "--layer is a checkpoint's"),
        (["--steps", "0"], "--steps"),
        (["missing.pt"], "missing.pt"),
    ],
)
def test_bad_input_ends_with_2_and_writes_nothing(arguments, words, refused):
    refused(["ernn-manifold", "--quiet", *arguments], words)


@pytest.mark.parametrize("name, code, words", [("ernn", 0, "ERNN with K = 3"), ("fastrnn", 2, "Only an ERNN")])
def test_a_checkpoint(folder, capsys, name, code, words):
    torch.manual_seed(0)
    extra = {"length": 20, "inner_steps": 3, "rank": None, "activation": "tanh"} if name == "ernn" else {}
    system = create(name, input_size=2, state_size=5, **extra)
    checkpoints.write("made.pt", checkpoints.document(system))
    assert run(["ernn-manifold", "made.pt", "--inputs", "noise:1.0", "--steps", "20", "--quiet"]) == code
    said = capsys.readouterr()
    assert words in said.out + said.err
