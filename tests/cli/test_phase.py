"""`dynlab phase`: what it says, what it writes, and how it ends on bad input."""

import numpy as np
import pytest

from dynlab import io
from dynlab.cli.main import run


def test_the_papers_system_with_diffusion(folder, capsys, pictures):
    assert run(["phase", "--matrix", "diff", "--data", "diff.nc"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("The flow's focus is stable, Euler's map at ε = 0.1 is not, the critical step is 0.0746")
    assert "0.0746. At (0, 0) the flow h′ = tanh(W h) has" in said.out
    assert "Euler's map multipliers of modulus 1.0051" in said.out
    assert "invariant closed curve" in said.out
    legend = pictures["phase-diff.png"].axes[0].get_legend()
    named = {text.get_text() for text in legend.get_texts()}
    assert {"start", "flow: stable focus", "Euler's map: unstable focus"} <= named
    ds = io.shipped(folder / "diff.nc")
    assert ds["flow_kind"].values.tolist() == ["stable focus"]
    assert ds["map_kind"].values.tolist() == ["unstable focus"]


def test_json_is_one_strict_document(printed_json):
    document = printed_json(["phase", "--matrix", "0,1;0,0", "--json", "--quiet", "--start", "1,1", "--steps", "7"])
    assert document["variables"]["flow_kind"]["values"] == ["line of equilibria"]
    assert np.shape(document["variables"]["trajectory"]["values"]) == (1, 8, 2)
    assert document["variables"]["critical_step"]["values"] == [None]
    assert "critical_step" in document["flags"]


@pytest.mark.parametrize(
    "arguments, words, name",
    [
        (["--kind", "flow"], "The flow has a stable focus", "phase-diff-flow"),
        (["--kind", "flow"], "The flow h′ = tanh(W h) has", "phase-diff-flow"),
        (["--kind", "vanilla"], "The map h ← tanh(W h) has", "phase-diff-vanilla"),
        (["--kind", "linear"], "The map h ← W h has", "phase-diff-linear"),
        (["--matrix", "identity", "--kind", "vanilla"], "undecided kind", "phase-identity-vanilla"),
        (["--step", "0.07"], "is stable, and so is that of Euler's map", "phase-diff"),
        (["--panel", "g"], "The flow has a center", "phase-panel-g"),
        (["--matrix", "1,0;0,-1"], "The flow has a saddle", "phase-1_0_0_-1"),
        (["--panel", "all"], "With it (h) the flow's focus is stable, Euler's map", "phase-panels"),
    ],
)
def test_kinds_and_panels(folder, capsys, arguments, words, name):
    assert run(["phase", "--quiet", *arguments]) == 0
    assert words in capsys.readouterr().out
    assert [path.name for path in (folder / "figures").iterdir()] == [f"{name}.png"]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--matrix", "1,2,3"], "not square"),
        (["--matrix", "1,2;3,x"], "not a number"),
        (["--matrix", "1,2,3;4,5,6;7,8,9"], "2 × 2"),
        (["--matrix", "dif"], "did you mean 'diff'"),
        (["--matrix", "1e200,0;0,1"], "at most"),
        (
            ["--kind", "3"],
            "not one of 'feedback', 'vanilla', 'linear', 'flow'. `dynlab phase --help` says what each is.",
        ),
        (["--step", "0"], "positive"),
        (["--step", "-0.1"], "positive"),
        (["--step", "nan"], "positive"),
        (["--steps", "0"], "--steps"),
        (["--start", "1"], "--start takes 2 numbers, one for each state; got 1."),
        (["--start", "1,nan"], "finite"),
        (["--panel", "h", "--matrix", "diff"], "--panel"),
        (["--panel", "h", "--kind", "flow"], "--panel"),
        (["--panel", "i"], "--panel"),
        (["-o", "figure.txt"], "png"),
    ],
)
def test_bad_input_ends_with_2_and_one_sentence_and_writes_nothing(arguments, words, refused):
    refused(["phase", *arguments], words)
