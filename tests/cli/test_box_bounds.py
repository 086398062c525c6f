"""`dynlab box-bounds`: its verdict, its JSON, and one sentence for what is wrong."""

import numpy as np
import pytest
import torch


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save(torch.nn.RNN(2, 4).state_dict(), "rnn.pt")
    return tmp_path


def test_verdict_figure_and_json(pictures, printed_json):
    document = printed_json(["box-bounds", "rnn.pt", "--box", "-0.5,0.5", "--at", "0.1,0.2", "--json", "--quiet"])
    assert document["settings"]["box"] == [-0.5, 0.5]
    assert document["settings"]["input"] == [0.1, 0.2]
    bound, sampled = (document["variables"][name]["values"] for name in ("norm_bound", "sampled_norm"))
    assert max(sampled) <= bound
    norm, _ = pictures["box-bounds-rnn.png"].axes
    assert norm.lines[0].get_xdata()[0] == bound
    np.testing.assert_array_equal(norm.collections[0].get_offsets()[:, 0], sampled)


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (
            ["--box", "abc"],
            "--box takes one number R (|h_i| ≤ R) or LOW,HIGH, as in --box 0.5 or --box -0.5,0.5; got 'abc'",
        ),
        (["--at", "a"], "--at takes zero, mean, or numbers"),
        (["--box", "2,1"], "in this order"),
    ],
)
def test_bad_options_end_with_2(arguments, sentence, refused):
    refused(["box-bounds", "rnn.pt", "--quiet", *arguments], sentence)
