"""`dynlab stability`: of a matrix and of networks, and one sentence for what is wrong."""

import json

import numpy as np
import pytest
import torch

import dynlab as dl
import problems
from dynlab import checkpoints
from dynlab.cli.main import run


def document(capsys, *options):
    assert run(["stability", *options, "--json", "--quiet"]) == 0
    return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)


def test_the_first_thing_that_a_teacher_types(folder, capsys, pictures):
    assert run(["stability", "--matrix", "diff"]) == 0
    assert "the critical step is 0.07458 s." in capsys.readouterr().out
    z = pictures["stability-diff.png"].axes[0].collections[-1].get_offsets()
    np.testing.assert_allclose(sorted(z.tolist()), [[-0.015, -0.2], [-0.015, 0.2]])


@pytest.mark.parametrize("step, stable", [("0.07", 1), ("0.08", 0)])
def test_the_step_and_the_integrator_that_are_asked_about(capsys, step, stable):
    found = document(capsys, "--matrix", "-0.15,-2;2,-0.15", "--step", step)
    assert found["variables"]["stable"]["values"] == [[stable]]
    assert found["variables"]["critical_step"]["values"][0][0] == pytest.approx(problems.CRITICAL_STEP_DIFF, rel=1e-14)
    found = document(capsys, "--matrix", "-0.15,-2;2,-0.15", "--step", step, "--integrator", "implicit-midpoint")
    assert found["variables"]["stable"]["values"] == [[1]]
    assert found["variables"]["critical_step"]["values"] == [[None]]
    assert "no step is too large" in found["flags"]["critical_step"]


def test_orbits_of_starts(capsys):
    found = document(capsys, "--matrix", "diff", "--start", "0,0.5", "--start", "0.5,-0.75", "--steps", "30")
    assert np.shape(found["variables"]["stable"]["values"]) == (2, 30)


def test_a_network(folder, capsys):
    found = document(capsys, "ernn-har2-k1", "--samples", "2", "--times", "4", "-o", "figure.pdf")
    assert "violated" in found["variables"]["outcome"]["values"]
    assert (folder / "figure.pdf").read_bytes().startswith(b"%PDF-")


def test_over_a_run(folder, capsys):
    (folder / "run").mkdir()
    for step, gamma in {0: 0.1, 50: 0.3}.items():
        torch.manual_seed(0)
        system = dl.create("antisymmetric", input_size=2, state_size=4, gamma=gamma)
        written = checkpoints.document(system, None, None, {"global_step": step})
        checkpoints.write(folder / "run" / f"step-{step:06d}.pt", written)
    options = ["--over", "step", "--inputs", "noise:1", "--steps", "10", "--samples", "2"]
    found = document(capsys, "run", *options)
    assert np.shape(found["variables"]["critical_step"]["values"]) == (2, 2, 10)


@pytest.mark.parametrize(
    "options, sentence",
    [
        (
            [],
            "name a network, a matrix or a system. For example: `dynlab stability --matrix diff`.",
        ),
        (["--matrix", "difff"], "did you mean 'diff'"),
        (["--matrix", "1,2"], "not square"),
        (["--matrix", "diff", "--inputs", "zero"], "--inputs is a checkpoint's"),
        (["--matrix", "diff", "--start", "1"], "--start takes 2 numbers"),
        (["--matrix", "diff", "--start", "a,b"], "--start takes numbers"),
        (["--over", "step"], "name its folder"),
        (["--matrix", "diff", "--layer", "x"], "--layer is a checkpoint's"),
        (["--matrix", "diff", "--step", "-1"], "positive number"),
        (["rnn-har2", "--start", "1,2"], "one for each state; got 1,2"),
        (["lstm-har2", "--samples", "1"], "dynlab spectrum"),
    ],
)
def test_bad_input_ends_with_2_and_writes_nothing(options, sentence, refused):
    refused(["stability", *options, "--quiet"], sentence)
