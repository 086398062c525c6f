"""What a page says of a network and of a part besides the verdict: notes, settings and tables."""

import numpy as np
import pytest
import torch
import xarray as xr
from node import in_node_of

from dynlab.checkpoints import describe, read
from dynlab.report import Part, described, report_page
from dynlab.report.page import FOLDER
from dynlab.report.tables import TableCell, tables


def page_of(path, layer=None):
    """The page about a network of which no part was made but one without numbers."""
    found = read(path, layer=layer)
    network = described("net", describe(path), found.layer, [found.assumed] * bool(found.assumed))
    ds = xr.Dataset(attrs={"verdict": "It shrinks. By half.", "settings": "{}"})
    part = Part("net", "Gradient", "dynlab gradient net", ds)
    return report_page([network], {"Gradient": "What is left?"}, [part], spent="", command="dynlab report net")


LAYER = "All parts are about the system"


@pytest.mark.parametrize(
    "network, layer, said",
    [
        (torch.nn.RNN(2, 3), None, ["nonlinearity of its RNN: tanh is assumed."]),
        (torch.nn.GRU(2, 3), None, ["3 numbers of state, 2 inputs, 63 parameters"]),
        (torch.nn.GRU(2, 3, bidirectional=True), ":0r", [f"{LAYER} :0r."]),
        (
            torch.nn.GRU(2, 3, num_layers=2, bidirectional=True),
            ":1",
            [f"{LAYER} :1.", "3 numbers of state, 2 inputs of the network and 6 of a step, 99 parameters"],
        ),
    ],
)
def test_what_the_parts_are_about_and_what_is_assumed_is_said(network, layer, said, tmp_path):
    torch.save(network.state_dict(), tmp_path / "net.pt")
    page = page_of(tmp_path / "net.pt", layer)
    assert all(each in page for each in said)
    assert page.count('class="note"') == any(LAYER in each or "assumed" in each for each in said)


def test_numbers_of_a_table_have_one_minus_and_their_thousands_apart():
    ds = xr.Dataset({"a": ("sample", np.array([-1, 12800])), "b": ("sample", [-1.5, np.inf])})
    rows = tables(ds)[0].rows
    assert rows[0][1:] == [TableCell("−1", -1.0), TableCell("−1.5", -1.5)]
    assert rows[1][1:] == [TableCell("12,800", 12800.0), TableCell("∞", np.inf)]


def test_what_a_check_found_is_a_sentence():
    found = in_node_of(FOLDER)("given.map((each) => outcome.outcome(...each))", [[0, 1], [1, 3]], "outcome")
    assert found == ["The proof is correct.", "1 of 3 proofs does not hold."]
