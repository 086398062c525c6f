"""`dynlab report`: its page, what the budget leaves out, and what fails in it."""

import itertools
import re
import time
from types import SimpleNamespace

import pytest
import torch

from dynlab.cli import report
from dynlab.cli.main import run
from dynlab.cli.report import Section

FEW = (
    Section("Gradient", "What is left?", ("gradient",)),
    Section("Fixed points", "Where does it stay?", ("fixed-points", "--starts", "8")),
    Section("Inner iteration", "Does it converge?", ("ernn-convergence",)),
)
DRIVEN = ("--inputs", "noise:1.0", "--samples", "2", "--budget", "inf", "--quiet")


@pytest.fixture
def networks(folder, monkeypatch):
    monkeypatch.setattr(report, "SECTIONS", FEW)
    torch.manual_seed(0)
    for name in ("one.pt", "two.pt"):
        torch.save(torch.nn.GRU(2, 3).state_dict(), folder / name)
    return ["one.pt", "two.pt"]


def test_the_page_holds_verdicts_figures_proofs_commands_and_says_what_failed(networks, folder, printed_json):
    told = printed_json(["report", *networks, *DRIVEN, "-o", "page.html", "--json"])
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert len(page.encode()) < 5_000_000
    assert re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', page) == []  # it loads nothing else
    made = [(part["section"], part["network"]) for part in told["parts"]]
    assert made == [(section.title, name) for section in FEW for name in networks]
    for part in told["parts"]:
        failed = part["section"] == "Inner iteration"
        assert ("ERNN" in part["problem"]) == failed
        assert bool(part["verdict"]) != failed
        assert part["command"].replace("'", "&#39;") in page
    assert page.count("This part failed") == 2
    assert len(re.findall(r'<img src="data:image/png;base64,', page)) == 4
    pytest.importorskip("flint")
    assert len(re.findall(r'class="packed">[\w+/=]{500,}<', page)) == 2


def test_what_does_not_begin_in_time_is_left_out_by_name(networks, folder, monkeypatch, capsys):
    clock = itertools.count(step=1000)  # looked at first when it begins, then before each part
    monkeypatch.setattr(report, "time", SimpleNamespace(monotonic=lambda: next(clock), perf_counter=time.perf_counter))
    assert run(["report", "one.pt", *DRIVEN[:4], "--budget", "30", "-o", "a.html", "--quiet"]) == 0
    said = capsys.readouterr().out
    left = [line for line in said.splitlines() if line.startswith("Left out")]
    assert [line.partition(": ")[2] for line in left] == ["Fixed points of one.pt.", "Inner iteration of one.pt."]


def test_nothing_is_written_where_no_part_could_be_made(networks, refused):
    refused(["report", "one.pt", "--inputs", "nowhere.npy", "--quiet"], "No part could be made")
