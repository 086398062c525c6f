"""``--over step``: every checkpoint command over a run; the same inputs for all."""

import json

import numpy as np
import pytest
import torch
from torch import nn

import dynlab as dl
from dynlab import io
from dynlab.cli.main import run

STEPS = [0, 40, 100]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    for step in STEPS:
        torch.manual_seed(step)
        model = {"state_dict": nn.GRU(3, 5).state_dict(), "global_step": step, "pytorch-lightning_version": "2.5.0"}
        torch.save(model, tmp_path / "run" / f"epoch-{step}.ckpt")
    return tmp_path


COMMANDS = {
    "spectrum": (["spectrum", "--times", "4"], "spectral_radius"),
    "gradient": (["gradient"], "log_norm"),
    "end to end": (["gradient", "--end-to-end"], "log_singular_value"),
    "lyapunov": (["lyapunov", "-k", "2"], "finite_time_exponent"),
    "fixed points": (["fixed-points", "--starts", "8"], "residual"),
}
DRIVEN = ["--inputs", "noise:0.5", "--samples", "3", "--steps", "30"]


@pytest.mark.parametrize("name", COMMANDS)
def test_each_step_is_what_the_command_gives_for_that_checkpoint(name, folder, capsys):
    (command, *options), variable = COMMANDS[name]
    files = [f"run/epoch-{step}.ckpt" for step in STEPS]
    assert run([command, *files, "--over", "step", *options, *DRIVEN, "--data", "run.nc"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("Over 3 checkpoints, steps 0 to 100, ")
    assert "2 of 3, step 40 …" in said.err
    assert (folder / "figures" / f"{command}-run-over-step.png").stat().st_size > 5000
    assert len(list((folder / "figures").iterdir())) == 1
    ds = io.open("run.nc")
    assert ds["step"].values.tolist() == STEPS
    assert ds["checkpoint"].values.tolist() == [f"epoch-{step}.ckpt" for step in STEPS]
    for step, file in zip(STEPS, files, strict=True):
        assert run([command, file, *options, *DRIVEN, "--data", f"{step}.nc"]) == 0
        alone = io.open(f"{step}.nc")[variable].values
        np.testing.assert_array_equal(ds[variable].sel(step=step).values[: len(alone)], alone)


def test_a_folder_a_pattern_and_json(capsys):
    options = ["--over", "step", *DRIVEN, "--json", "--quiet"]
    found = []
    for given in ("run", "run/*.ckpt"):
        assert run(["gradient", given, *options]) == 0
        said = capsys.readouterr()
        assert said.err == ""
        found.append(json.loads(said.out, parse_constant=pytest.fail))
    assert found[0]["variables"] == found[1]["variables"]
    assert found[0]["coords"]["step"]["values"] == STEPS
    direct = dl.over_training(
        "gradient", "run", dl.driving_inputs("noise:0.5", dl.load("run/epoch-0.ckpt"), samples=3, steps=30).inputs
    )
    np.testing.assert_array_equal(found[0]["variables"]["log_norm"]["values"], direct["log_norm"].values)


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["gradient", "run/epoch-0.ckpt", "run/epoch-40.ckpt"], "Got 2 checkpoints"),
        (["gradient", "run/epoch-0.ckpt", "--over", "step"], "at least two steps, got 1"),
        (["gradient", "run", "--over", "time"], "'time' is not 'step'"),
        (["gradient", "nowhere/*.ckpt", "--over", "step"], "No file is like nowhere"),
        (["check", "run", "--over", "step", "--max-modulus", "1"], "check judges one network"),
    ],
)
def test_bad_input_ends_with_2_and_writes_nothing(arguments, sentence, folder, capsys):
    assert run([*arguments, "--quiet"]) == 2
    error = capsys.readouterr().err.strip()
    assert sentence in error
    assert len(error.splitlines()) == 1
    assert not (folder / "figures").exists()
