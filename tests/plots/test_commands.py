"""Pictures that commands write say whose they are: the matrix, the file; on the ground that is asked for."""

import re

import pytest

from dynlab.cli.main import run

COMMANDS = [
    (["phase"], ": h′ = tanh(W h)"),
    (["lyapunov", "--steps", "50"], ": Euler's map of h′ = tanh(W h)"),
]


@pytest.mark.parametrize("command, formula", COMMANDS)
def test_a_picture_of_a_matrix_says_which_and_whether_it_is_of_the_flow_or_of_eulers_map(
    command, formula, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert run([*command, "--matrix", "diff", "--theme", "dark", "-o", "picture.svg", "--quiet"]) == 0
    picture = (tmp_path / "picture.svg").read_text("utf-8")
    words = " ".join(re.findall(r"<(?:text|tspan)[^>]*>([^<]*)</", picture))
    assert f"{formula}, W = −0.15, −2; 2, −0.15" in " ".join(words.split())
    assert "fill: #161616" in picture  # the ground
    assert "stroke: #000000" not in picture
