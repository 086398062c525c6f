"""`dynlab fixed-points`: its verdict, files and JSON, and one sentence for what is wrong."""

import json
import sys

import numpy as np
import pytest
import torch

from dynlab import certificate_check, io
from dynlab.cli.main import run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    torch.save(torch.nn.GRU(2, 8).state_dict(), "gru.pt")
    return tmp_path


def test_verdict_figure_and_data(folder, capsys, pictures):
    arguments = ["--inputs", "noise:1.0", "--samples", "2", "--at", "0.5,-1", "--starts", "32", "--data", "points.nc"]
    assert run(["fixed-points", "gru.pt", *arguments]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("With the input held at (0.5, −1): 1 fixed point (stable")
    values = pictures["fixed-points-gru.png"].axes[0].collections[-1].get_offsets()
    np.testing.assert_allclose(values @ [1, 1j], io.open("points.nc")["eigenvalue"].values[0])
    ds = io.open("points.nc")
    assert json.loads(ds.attrs["settings"])["input"] == [0.5, -1.0]
    gru = torch.nn.GRU(2, 8)
    gru.load_state_dict(torch.load("gru.pt"))
    held = torch.tensor([[0.5, -1.0]], dtype=torch.float64).repeat(400, 1)
    last = gru.double()(held)[1][0].detach().numpy()
    np.testing.assert_allclose(ds["fixed_point_state"].values[0], last, atol=1e-12)


@pytest.mark.parametrize(
    "at, words",
    [
        ([], "With the input held at zero: 1 fixed point"),
        (["--at", "mean"], "With the input held at its mean: 1 fixed point"),
        (["--at", "3,4"], "With the input held at (3, 4): 1 fixed point"),
    ],
)
def test_the_verdict_says_at_which_input(at, words, folder, capsys):
    assert run(["fixed-points", "gru.pt", "--inputs", "noise:1.0", "--samples", "2", "--starts", "8", *at]) == 0
    assert capsys.readouterr().out.startswith(words)


def test_of_a_system_that_takes_no_input_none_is_said(folder, capsys):
    assert run(["fixed-points", "--system", "henon", "--starts", "8", "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("2 fixed points")


def test_json_is_one_strict_document(printed_json):
    document = printed_json(["fixed-points", "gru.pt", "--inputs", "zero", "--starts", "8", "--json", "--quiet"])
    assert document["command"] == "fixed-points"
    assert document["settings"]["starts"] == 8
    assert document["variables"]["status"]["values"] == ["fixed point"]


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--at", "a,b"], "--at takes zero, mean, or numbers"),
        (["--at", "1,2,3"], "2 finite values"),
        (["--slow-points", "-1"], "is no positive number"),
        (["--starts", "0"], "--starts"),
    ],
)
def test_bad_options_end_with_2_and_write_nothing(arguments, sentence, refused):
    refused(["fixed-points", "gru.pt", "--inputs", "zero", "--quiet", *arguments], sentence)


def test_a_flow_is_analysed_by_eulers_map_of_the_step_that_is_typed(capsys):
    """Its fixed points are the flow's equilibria: of the Lorenz system 0 and (±√(β(ρ − 1)), ·, ρ − 1)."""
    command = ["fixed-points", "--system", "lorenz", "--starts", "32", "--json", "--quiet"]
    assert run([*command, "--step", "0.01"]) == 0
    found = np.array(json.loads(capsys.readouterr().out)["variables"]["fixed_point_state"]["values"])
    x = np.sqrt(8 / 3 * 27)
    np.testing.assert_allclose(found[np.argsort(found[:, 0])], [[-x, -x, 27], [0, 0, 0], [x, x, 27]], atol=1e-9)


def test_a_flow_has_equilibria(folder, capsys):
    assert run(["fixed-points", "--system", "lorenz", "--starts", "32", "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("3 equilibria (3 saddles)")


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--system", "logistic", "--step", "0.1"], "--step makes Euler's map of a flow, and logistic is a map"),
        (["--system", "lorenz", "--step", "0"], "'--step': 0.0 is no positive number."),
    ],
)
def test_the_error_of_a_flow_names_what_can_be_typed(arguments, sentence, refused):
    refused(["fixed-points", *arguments, "--quiet"], sentence)


def test_proofs_are_said_and_written_for_the_independent_checker(capsys, printed_json):
    arguments = ["--inputs", "zero", "--starts", "16", "--certificates", "proofs", "--json", "--quiet"]
    document = printed_json(["fixed-points", "gru.pt", *arguments])
    assert "Ball arithmetic proves 1 of 1" in document["verdict"]
    assert document["variables"]["certified"]["values"] == [1]
    assert document["variables"]["proved_stable"]["values"] == [1]
    assert certificate_check.main(["proofs/fixed-point-0.json"]) == 0
    assert run(["fixed-points", "gru.pt", *arguments]) == 2
    assert "name another one" in capsys.readouterr().err


def test_a_missing_extra_is_one_sentence(monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "flint", None)
    refused(["fixed-points", "gru.pt", "--inputs", "zero", "--certify"], "pip install 'dynlab-rnn[certify]'")


def test_multipliers_near_the_largest_number_are_drawn(folder):
    assert run(["fixed-points", "--system", "logistic", "--set", "r=1e308", "--starts", "4", "-o", "o.png"]) == 0
    assert (folder / "o.png").exists()
