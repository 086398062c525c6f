"""`dynlab lyapunov-function`: the verdict, the picture, and mistakes in one sentence."""

import pytest

from dynlab.cli.main import run

pytest.importorskip("flint")


@pytest.mark.parametrize(
    "kind, verdict",
    [
        ([], "Euler's map at ε = 0.1 s is not (largest |μ| 1.0051); it is below the critical step 0.0745 s."),
        (["--step", "0.06"], "The function V = (h − h*)ᵀ P (h − h*) is proved to decrease around the fixed point"),
        (["--kind", "flow"], "is proved to decrease"),
    ],
)
def test_a_matrix_on_the_blackboard(kind, verdict, tmp_path, capsys):
    assert run(["lyapunov-function", "--matrix", "diff", *kind, "--starts", "8", "--quiet"]) == 0
    assert verdict in capsys.readouterr().out
    assert (tmp_path / "figures" / f"lyapunov-function-diff{'-flow' * ('flow' in kind)}.png").is_file()


@pytest.mark.parametrize(
    "options, sentence",
    [
        ([], "Got nothing to look at"),
        (["--matrix", "diff", "--layer", "0"], "--layer is a checkpoint's"),
        (["rnn-har2", "--step", "0.1"], "--step is --matrix's"),
        (["rnn-har2", "--kind", "flow"], "no Euler step of a flow"),
        (["--matrix", "diff", "--at", "x"], "--at takes zero, mean, or numbers"),
    ],
)
def test_bad_usage_is_one_sentence(options, sentence, refused):
    refused(["lyapunov-function", *options, "--quiet"], sentence)
