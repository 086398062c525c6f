"""Pictures that commands write say whose they are: the matrix, the layer of a file, and the input that is held."""

import re

import pytest
import torch

from dynlab.cli.main import run

MANY = "0.123456,1.98765;-2.34567,0.456789"
ROUNDED = "W ≈ 0.1235, 1.988; −2.346, 0.4568."
FLOW, EULER = ": h′ = tanh(W h)", ": h ↦ h + ε tanh(W h)"
COMMANDS = [
    (["phase"], FLOW),
    (["basins", "--grid", "9", "--steps", "50", "--no-follow"], f"{EULER}, ε = 0.1"),
    (["stability"], f"(Euler, ε = 0.1 s){FLOW}"),
    (["lyapunov", "--steps", "50"], f"{EULER}, ε = 0.1"),
    (["lyapunov", "--seconds", "5", "--kind", "flow"], FLOW),
    (["bifurcation", "--parameter", "step_size", "--from", "0.01", "--to", "0.02", "--values", "0"], EULER),
]


@pytest.fixture
def words(tmp_path, monkeypatch):
    """Run a command, and give the words of the picture that it writes."""
    monkeypatch.chdir(tmp_path)

    def read(*arguments):
        assert run([*arguments, "-o", "picture.svg", "--overwrite", "--quiet"]) == 0
        lines = re.findall(r"<(?:text|tspan)[^>]*>([^<]*)</", (tmp_path / "picture.svg").read_text("utf-8"))
        return " ".join(" ".join(lines).split())

    return read


@pytest.mark.parametrize("command, formula", COMMANDS)
def test_a_picture_of_a_matrix_says_which_and_whether_it_is_of_the_flow_or_of_eulers_map(words, command, formula):
    assert f"{formula}, W = −0.15, −2; 2, −0.15" in words(*command, "--matrix", "diff")
    said = words(*command, "--matrix", MANY)
    assert ROUNDED in said
    assert formula in said


def test_of_a_panel_its_own_matrix_is_said_and_not_the_default(words):
    assert "h ↦ tanh(W h), W = 1, 0; 0, 1" in words("phase", "--panel", "b")
    assert "W ≈ " in words("phase", "--panel", "a")


def test_the_layers_of_a_file_are_told_apart_and_the_held_input_is_said(words):
    torch.manual_seed(0)
    torch.save(torch.nn.LSTM(2, 2, bidirectional=True).state_dict(), "bi.pt")
    for layer in (":0", ":0r"):
        assert f"Spectrum: lstm, bi.pt, layer {layer}" in words("spectrum", "bi.pt", "--layer", layer, "--steps", "5")
    said = words("basins", "bi.pt", "--layer", ":0", "--grid", "5", "--steps", "20", "--no-follow", "--at", "0.5,-1")
    assert "With the input held at (0.5, −1): of 25 starts" in said
    assert "input held at zero" in words("fixed-points", "bi.pt", "--layer", ":0", "--starts", "8")
