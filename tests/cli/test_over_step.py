"""``--over step``: every checkpoint command over a run; the same inputs for all."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import dynlab as dl
from dynlab import io, schema
from dynlab.checkpoints import document, write
from dynlab.cli.main import run
from dynlab.systems import create

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
NOISE = DRIVEN[:4]  # of commands whose own --steps means something else
SEARCH = ["--starts", "8"]
# Arguments after the checkpoints, and the kind of network in the folder.
COMMANDS = {
    "fixed points": (["fixed-points", *SEARCH, *DRIVEN], "gru"),
    "ernn-convergence": (["ernn-convergence", "--iterations", "9", "--times", "2", *NOISE, "--steps", "10"], "ernn"),
    "bifurcation": (
        ["bifurcation", "--parameter", "weight_hh*", "--from", "0.9", "--to", "1.0", "--values", "0", *SEARCH],
        "gru",
    ),
}


def run_of(kind, folder):
    """The checkpoints' names, not in the order of their steps."""
    if kind == "gru":
        return [f"run/epoch-{step}.ckpt" for step in (40, 100, 0)]
    for step in STEPS:
        torch.manual_seed(step)
        system = create(kind, input_size=3, state_size=5, length=10, rank=None, activation="tanh")
        write(folder / "run" / f"{kind}-{step}.pt", document(system))
    return [f"run/{kind}-{step}.pt" for step in (40, 100, 0)]


@pytest.mark.parametrize("name", COMMANDS)
def test_each_step_is_what_the_command_gives_for_that_checkpoint(name, folder, capsys):
    (command, *options), kind = COMMANDS[name]
    files = run_of(kind, folder)
    assert run([command, *files, "--over", "step", *options, "--save", "run.nc"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("Over 3 checkpoints, steps 0 to 100, ")
    assert ("Inputs: 3 sequences of white noise" in said.err) == ("--samples" in options)
    assert [path.name for path in (folder / "figures").iterdir()] == [f"{command}-run-over-step.png"]
    ds = io.open("run.nc")
    assert set(map(str, ds.dims)) <= set(schema.DIMENSIONS)
    assert all(array.attrs["long_name"] and array.attrs["units"] in schema.UNITS for array in ds.data_vars.values())
    assert ds["step"].values.tolist() == STEPS
    assert ds["checkpoint"].values.tolist() == [Path(files[index]).name for index in (2, 0, 1)]
    for step, file in zip((40, 100, 0), files, strict=True):
        assert run([command, file, *options, "--save", f"{step}.nc", "--no-figure"]) == 0
        alone = io.open(f"{step}.nc")
        assert set(alone.data_vars) <= set(ds.data_vars)
        for key, array in {**alone.data_vars, **alone.coords}.items():
            joined = ds[key if key in alone.data_vars or f"{key}_at_step" not in ds else f"{key}_at_step"]
            values = joined.sel(step=step).values if "step" in joined.dims else joined.values
            there = tuple(slice(length) for length in array.shape)
            np.testing.assert_array_equal(values[there], array.values, err_msg=str(key))
            beyond = np.ones(values.shape, dtype=bool)
            beyond[there] = False
            outside = values[beyond]
            assert (outside == "not there" if values.dtype.kind in "OUT" else outside != outside).all()  # or NaN


def test_a_folder_a_pattern_and_json(printed_json):
    options = ["--over", "step", *DRIVEN, "--json", "--arrays", "--quiet"]
    found = [printed_json(["gradient", given, *options]) for given in ("run", "run/*.ckpt")]
    assert found[0]["variables"] == found[1]["variables"]
    assert found[0]["coords"]["step"]["values"] == STEPS
    inputs = dl.driving_inputs("noise:0.5", dl.load("run/epoch-0.ckpt"), samples=3, steps=30).inputs
    direct = dl.over_training("gradient", "run", inputs)["log_norm"]
    np.testing.assert_array_equal(found[0]["variables"]["log_norm"]["values"], direct.values)


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["gradient", "run/epoch-0.ckpt", "--over", "step"], "at least two steps, got 1"),
        (["energy", "run/epoch-0.ckpt", "run/other.ckpt", "--over", "step"], "different networks of the same step 0"),
        (["modes", "run/epoch-0.ckpt", "run/lstm.ckpt", "--over", "step"], "lstm of 10 units and 3 inputs"),
        (["pseudospectrum", "--matrix", "diff", "--over", "step"], "--over step follows a training"),
    ],
)
def test_bad_input_ends_with_2_and_writes_nothing(arguments, sentence, folder, refused):
    save(folder / "run" / "other.ckpt", nn.GRU(3, 5), 0)
    save(folder / "run" / "lstm.ckpt", nn.LSTM(3, 5), 40)
    refused([*arguments, "--quiet"], sentence)
