"""`dynlab energy`: the verdict, the picture, and mistakes in one sentence."""

import pytest


def test_a_matrix_on_the_blackboard(tmp_path, printed_json):
    document = printed_json(
        ["energy", "--matrix", "zero", "--steps", "50", "--integrator", "euler", "--json", "--quiet"]
    )
    assert document["verdict"].startswith("The flow conserves the energy H = Σᵢ log cosh((M h + q)ᵢ)")
    assert (tmp_path / "figures" / "energy-zero.png").is_file()


@pytest.mark.parametrize(
    "options, sentence",
    [
        (
            [],
            "Got nothing to look at: name a network, a matrix or a system. For example: `dynlab energy --matrix zero`.",
        ),
        (["rnn-har2", "--matrix", "zero"], "CKPT and --matrix each name what is looked at: leave one of the two out."),
        (["--matrix", "zero", "--layer", "0"], "--layer is a checkpoint's"),
        (["--matrix", "zero", "--start", "a,b"], "--start takes numbers such as 0.1,0.2; got 'a,b'"),
        (["--matrix", "zero", "--at", "x"], "--at takes zero, mean, or numbers"),
        (["rnn-har2"], "has no energy"),
    ],
)
def test_bad_usage_is_one_sentence(options, sentence, refused):
    refused(["energy", *options, "--quiet"], sentence)
