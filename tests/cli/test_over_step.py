"""``--over step``: every checkpoint command over a run; the same inputs for all."""

import pytest
import torch
import xarray as xr
from torch import nn

import dynlab as dl
from dynlab import io
from dynlab.cli.main import run

STEPS = [0, 40, 100]


@pytest.fixture(autouse=True)
def checkpoints(folder):
    (folder / "run").mkdir()
    for step in STEPS:
        torch.manual_seed(step)
        save(folder / "run" / f"epoch-{step}.ckpt", nn.GRU(3, 5), step)


def save(path, model, step):
    """As Lightning does."""
    said = {"state_dict": model.state_dict(), "global_step": step, "pytorch-lightning_version": "2.5.0"}
    torch.save(said, path)


DRIVEN = ["--inputs", "noise:0.5", "--samples", "3", "--steps", "30"]
FILES = [f"run/epoch-{step}.ckpt" for step in (40, 100, 0)]  # not in the order of their steps


def test_each_step_is_what_python_gives_for_that_checkpoint(folder, capsys):
    assert run(["fixed-points", *FILES, "--over", "step", "--starts", "8", *DRIVEN, "--save", "run.nc"]) == 0
    assert capsys.readouterr().out.startswith("Over 3 checkpoints, steps 0 to 100, ")
    assert [path.name for path in (folder / "figures").iterdir()] == ["fixed-points-run-over-step.png"]
    inputs = dl.driving_inputs("noise:0.5", dl.load("run/epoch-0.ckpt"), samples=3, steps=30).inputs
    direct = dl.over_training("fixed_points", FILES, inputs, starts=8)
    xr.testing.assert_equal(io.open("run.nc").drop_attrs(), direct.drop_attrs())
    assert direct["step"].values.tolist() == STEPS


def test_a_folder_a_pattern_and_json(printed_json):
    options = ["--over", "step", *DRIVEN, "--json", "--arrays", "--quiet"]
    found = [printed_json(["gradient", given, *options]) for given in ("run", "run/*.ckpt")]
    assert found[0]["variables"] == found[1]["variables"]
    assert found[0]["coords"]["step"]["values"] == STEPS


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["energy", "run/epoch-0.ckpt", "run/other.ckpt", "--over", "step"], "different networks of the same step 0"),
        (["modes", "run/epoch-0.ckpt", "run/lstm.ckpt", "--over", "step"], "lstm of 10 units and 3 inputs"),
        (["pseudospectrum", "--matrix", "diff", "--over", "step"], "--over step follows a training"),
    ],
)
def test_bad_input_ends_with_2_and_writes_nothing(arguments, sentence, folder, refused):
    save(folder / "run" / "other.ckpt", nn.GRU(3, 5), 0)
    save(folder / "run" / "lstm.ckpt", nn.LSTM(3, 5), 40)
    refused([*arguments, "--quiet"], sentence)
