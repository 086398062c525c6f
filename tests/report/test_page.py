"""What a page says of a network and of a part besides the verdict: notes, settings and tables."""

import numpy as np
import pytest
import torch
import xarray as xr
from node import in_node_of

from dynlab.checkpoints import describe, read
from dynlab.report import Part, ReportedNetwork, report_page
from dynlab.report.page import FOLDER
from dynlab.report.tables import TableCell, tables


def page_of(path, layer=None):
    """The page about a network of which no part was made but one without numbers."""
    found = read(path, layer=layer)
    network = ReportedNetwork("net", describe(path), "dynlab inspect net", found.layer or "", found.assumed)
    part = Part(
        "net",
        "Gradient",
        "dynlab gradient net",
        xr.Dataset(attrs={"verdict": "It shrinks. By half.", "settings": "{}"}),
    )
    return report_page([network], {"Gradient": "What is left?"}, [part], spent="", command="dynlab report net")


def test_what_is_assumed_of_a_network_is_said(tmp_path):
    torch.save(torch.nn.RNN(2, 3).state_dict(), tmp_path / "net.pt")
    assert '<p class="note">net.pt does not tell the nonlinearity of its RNN: tanh is assumed.' in page_of(
        tmp_path / "net.pt"
    )


def test_which_layer_of_several_the_parts_are_about_is_said(tmp_path):
    torch.save(torch.nn.GRU(2, 3, bidirectional=True).state_dict(), tmp_path / "net.pt")
    page = page_of(tmp_path / "net.pt", ":0r")
    assert page.count('<p class="note">') == 1
    assert '<p class="note">All parts are about the system :0r.</p>' in page


def test_inputs_of_a_step_that_are_not_those_of_the_network_are_said(tmp_path):
    torch.save(torch.nn.GRU(2, 3, num_layers=2, bidirectional=True).state_dict(), tmp_path / "net.pt")
    page = page_of(tmp_path / "net.pt", ":1")
    assert page.count("3 numbers of state, 2 inputs, 63 parameters") == 2
    assert page.count("3 numbers of state, 2 inputs of the network and 6 of a step, 99 parameters") == 2


def test_a_network_of_which_all_is_known_has_no_note(tmp_path):
    torch.save(torch.nn.GRU(2, 3).state_dict(), tmp_path / "net.pt")
    assert 'class="note"' not in page_of(tmp_path / "net.pt")


def test_numbers_of_a_table_have_one_minus_and_their_thousands_apart():
    ds = xr.Dataset({"a": ("sample", np.array([-1, 12800])), "b": ("sample", [-1.5, np.inf])})
    rows = tables(ds)[0].rows
    assert rows[0][1:] == [TableCell("−1", -1.0), TableCell("−1.5", -1.5)]
    assert rows[1][1:] == [TableCell("12,800", 12800.0), TableCell("∞", np.inf)]


@pytest.mark.parametrize(
    "wrong, all_of_them, sentence",
    [
        (0, 1, "The proof is correct."),
        (1, 1, "The proof does not hold."),
        (0, 3, "All 3 proofs are correct."),
        (1, 3, "1 of 3 proofs does not hold."),
        (2, 3, "2 of 3 proofs do not hold."),
    ],
)
def test_what_a_check_found_is_a_sentence(wrong, all_of_them, sentence):
    assert in_node_of(FOLDER)("outcome.outcome(given[0], given[1])", [wrong, all_of_them], "outcome") == sentence
