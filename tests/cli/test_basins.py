"""`dynlab basins`: of a matrix and of a network, and one sentence for what is wrong."""

import pytest

from dynlab.cli.main import run


def test_a_matrix(folder, capsys, pictures):
    assert run(["basins", "--matrix", "diff", "--grid", "11"]) == 0
    assert (
        "all but 1 end on 1 invariant closed curve and 1 start ends on 1 unstable fixed point"
        in capsys.readouterr().out
    )
    (ax,) = pictures["basins-diff.png"].axes
    assert ax.images[0].get_array().shape == (11, 11)


def test_a_network(printed_json):
    document = printed_json(
        ["basins", "lstm-har2", "--at", "mean", "--grid", "5", "--samples", "2", "--json", "--quiet"]
    )
    assert document["variables"]["stable"]["values"] == [1]
    assert len(document["settings"]["input"]) == 9
    assert any(document["settings"]["input"])


@pytest.mark.parametrize(
    "options, sentence",
    [
        ([], "Got nothing to look at"),
        (["--matrix", "1,2"], "not square"),
        (["--matrix", "diff", "--at", "0.5"], "must be 0 finite values"),
        (["--matrix", "diff", "--grid", "1"], "at least 2"),
        (["rnn-har2", "--kind", "vanilla"], "--kind is --matrix's"),
        (["rnn-har2", "--at", "here"], "--at takes zero, mean, or numbers"),
    ],
)
def test_bad_input_ends_with_2_and_writes_nothing(options, sentence, refused):
    refused(["basins", *options, "--quiet"], sentence)
