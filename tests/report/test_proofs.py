"""Proofs as a page holds them: each the file that Python's checker takes."""

import json

import pytest
import torch
from node import in_node_of, judged

import dynlab as dl
from dynlab import certificate_check
from dynlab.report.page import FOLDER
from dynlab.report.proofs import packed

ROOM = 5_000_000  # characters


def unpacked(text):
    """The files that the page itself makes of what it holds."""
    return in_node_of(FOLDER)("await packed_proofs.unpacked(given)", text, "packed_proofs")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("proofs")
    torch.manual_seed(5)
    network = torch.nn.RNN(1, 8)
    with torch.no_grad():
        network.weight_hh_l0.mul_(4)
    pytest.importorskip("flint")
    dl.fixed_points(dl.from_module(network), starts=32, certificates=folder)  # five
    return sorted(folder.iterdir())


def test_the_page_gives_back_the_files_that_it_holds(files):
    text, names = packed(files, ROOM)
    assert names == [file.name for file in files]
    found = unpacked(text)
    assert [json.loads(each) for each in found] == [json.loads(file.read_text()) for file in files]
    assert judged(found) == [["Correct", certificate_check.check(json.loads(each))] for each in found]
    fewer, names = packed(files, len(text) * 9 // 10)  # what has no room is left out
    assert len(fewer) <= len(text) * 9 // 10
    assert 0 < len(names) < len(files)
    assert packed(files, 10) == ("", [])


def test_digests_are_those_of_the_standard():
    texts = ["", "abc", "a" * 55, "a" * 56, "a" * 64, "0123456789" * 1000]
    found = in_node_of(FOLDER)("given.map(sha256.sha256)", texts, "sha256")
    assert found == [certificate_check.hashlib.sha256(text.encode()).hexdigest() for text in texts]
