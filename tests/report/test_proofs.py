"""Proofs as a page holds them: each the file that Python's checker takes."""

import json

import numpy as np
import pytest
import torch
from node import in_node_of, judged

from dynlab import certificate_check, zoo
from dynlab.checkpoints import read
from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.report.page import FOLDER
from dynlab.report.proofs import MOST_UNITS, packed
from dynlab.systems.torch_layers import torch_layer

NETWORKS = ("gru-flipflop", "fastrnn-har2", "rnn-har2")
ROOM = 5_000_000  # characters
STARTS, WIDEST = 8, 4.0  # of Newton's method alone, since any fixed points serve, and how far from 0
MOST = 2  # certificates of a network that both checkers are run on


def unpacked(text):
    """The files that the page itself makes of what it holds."""
    return in_node_of(FOLDER)("await packed_proofs.unpacked(given)", text, "packed_proofs")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("proofs")
    torch.manual_seed(3)
    network = torch.nn.RNN(1, 12).double()
    with torch.no_grad():
        network.weight_hh_l0.mul_(4)
    fixed_points(torch_layer(network), starts=64, certificates=folder)
    return sorted(folder.iterdir())


def test_the_page_gives_back_the_files_that_it_holds(files):
    text, names = packed(files, ROOM)
    assert names == [file.name for file in files]
    found = unpacked(text)
    assert [json.loads(each) for each in found] == [json.loads(file.read_text()) for file in files]
    assert judged(found) == [[True, certificate_check.check(json.loads(each))] for each in found]


def test_what_has_no_room_is_left_out(files):
    whole, _ = packed(files, ROOM)
    text, names = packed(files, len(whole) // 2)
    assert len(text) <= len(whole) // 2
    assert 0 < len(names) < len(files)
    assert packed(files, 10) == ("", [])


def test_digests_are_those_of_the_standard():
    texts = ["", "abc", "a" * 55, "a" * 56, "a" * 64, "0123456789" * 1000]
    found = in_node_of(FOLDER)("given.map(sha256.sha256)", texts, "sha256")
    assert found == [certificate_check.hashlib.sha256(text.encode()).hexdigest() for text in texts]


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_both_checkers_accept_the_proofs_of_the_zoo_and_no_other(name, tmp_path):
    system = read(zoo.locate(name)).system
    starts = np.random.default_rng(0).uniform(-WIDEST, WIDEST, (STARTS, system.state_size))
    fixed_points(system, starts=starts, certificates=tmp_path)
    files = sorted(tmp_path.iterdir())[:MOST]
    assert files
    assert system.state_size <= MOST_UNITS
    text, names = packed(files, ROOM)
    found = unpacked(text)
    assert len(found) == len(names) == len(files)
    changed = json.loads(found[0])
    changed["claims"]["outside"], changed["claims"]["inside"] = (
        changed["claims"]["inside"],
        changed["claims"]["outside"],
    )
    expected = [[True, certificate_check.check(json.loads(each))] for each in found]
    with pytest.raises(certificate_check.Rejected) as rejected:
        certificate_check.check(changed)
    assert judged([*found, json.dumps(changed)]) == [*expected, [False, str(rejected.value)]]
