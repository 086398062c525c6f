"""`dynlab report`: its page, what the budget leaves out, what fails in it, and how it ends on bad input."""

import contextlib
import functools
import importlib
import math
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from dynlab import zoo
from dynlab.cli import budget, report, report_pdf, report_sections
from dynlab.cli.budget import Budget, OutOfTime
from dynlab.cli.main import run
from dynlab.cli.report_sections import SECTIONS, Section
from dynlab.report import Part

LARGEST = 5_000_000  # bytes
FEW = (
    Section("Fixed points", "Where does it stay?", ("fixed-points", "--starts", "8"), (2, 2)),
    Section("Gradient", "What is left?", ("gradient",), (1, 1)),
    Section("Inner iteration", "Does it converge?", ("ernn-convergence",), (1, 1)),
)
DRIVEN = ("--inputs", "noise:1.0", "--samples", "2", "--budget", "none")


@pytest.fixture
def networks(folder):
    """Two small networks in files."""
    torch.manual_seed(0)
    for name in ("one.pt", "two.pt"):
        torch.save(torch.nn.GRU(2, 3).state_dict(), folder / name)
    return ["one.pt", "two.pt"]


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(report, "SECTIONS", FEW)


def read(path):
    """The page, which names no other file and no address that it would load."""
    text = path.read_text(encoding="utf-8")
    assert len(text.encode()) < LARGEST
    assert re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', text) == []
    assert "@import" not in text
    return text


def test_the_page_holds_verdicts_figures_proofs_commands_and_says_what_failed(networks, few, folder, printed_json):
    told = printed_json(["report", *networks, *DRIVEN, "-o", "page.html", "--json", "--quiet"])
    page = read(folder / "page.html")
    assert "<td>null</td>" not in page
    assert "<td>[0, 1, 2, …, 50], 51 values</td>" in page
    assert '.</p><div class="wide"><table class="facts"><caption class="unseen">Settings of Gradient' in page
    assert told["files"] == {"page": "page.html", "pdf": None}
    assert told["left_out"] == []
    assert [(part["section"], part["network"]) for part in told["parts"]] == [
        (title, name) for title in ("Gradient", "Inner iteration", "Fixed points") for name in networks
    ]
    for part in told["parts"]:
        failed = part["section"] == "Inner iteration"
        assert ("ERNN" in part["problem"]) == failed
        assert bool(part["verdict"]) != failed
        assert part["command"].replace("'", "&#39;") in page
    assert page.count("This part failed, and the report goes on: ") == 2
    assert len(re.findall(r'<img src="data:image/(?:svg\+xml|png);base64,[^"]+" alt="Figure: [^"]{40,}"', page)) == 4
    assert len(re.findall(r'class="packed">[\w+/=]{500,}<', page)) == 2
    assert "dynlab fixed-points two.pt --starts 8 --certificates certificates --inputs noise:1.0 --samples 2" in page


def test_an_error_of_dynlabs_own_leaves_the_other_parts_and_ends_with_3(networks, few, folder, monkeypatch, capsys):
    drawn = []

    def breaks(result):
        drawn.append(result)
        if len(drawn) == 1:
            raise ZeroDivisionError("in a picture")
        return ""

    monkeypatch.setattr(report, "picture", breaks)
    assert run(["report", *networks, *DRIVEN, "-o", "page.html", "--quiet"]) == 3
    said = capsys.readouterr().out
    assert "Failed: Gradient of one.pt: an error of dynlab's own, ZeroDivisionError: in a picture" in said
    assert "ZeroDivisionError" in read(folder / "page.html")
    assert len(drawn) == 4


def test_what_the_budget_leaves_out_is_named_with_its_command(networks, few, folder, capsys):
    assert run(["report", "one.pt", *DRIVEN[:4], "--budget", "0.001s", "--quiet"]) == 0
    page = read(folder / "figures/report-one.html")
    said = capsys.readouterr().out
    assert said.startswith("0 parts in ")
    assert "\nLeft out of one.pt: Gradient" in said
    assert said.count("\n") == 2
    for command in ("gradient one.pt", "fixed-points one.pt --starts 8"):
        assert f"<code>dynlab {command}" in page
    assert "Not in this page for want of time: Gradient, Inner iteration, Fixed points." in page
    assert "<code>dynlab report one.pt --inputs noise:1.0 --samples 2 --budget 0.001s</code>" in page
    assert "a budget of 0.001 s. 3 parts are left out." in page


def test_a_page_without_any_part_is_not_written_over_one(networks, few, folder, capsys):
    page = folder / "figures" / "report-one.html"
    page.parent.mkdir()
    page.write_text("of an hour", encoding="utf-8")
    words = ["report", "one.pt", *DRIVEN[:4], "--budget", "0.001s", "--quiet"]
    assert run(words) == 2
    assert run([*words, "-o", str(page), "--overwrite"]) == 2
    assert page.read_text(encoding="utf-8") == "of an hour"
    said = capsys.readouterr().err
    assert said.count("No part was done within a budget of 0.001 s, and so ") == said.count("\n") == 2


def test_a_section_of_one_network_alone_says_why_the_others_have_none(networks, folder, monkeypatch):
    """The first was left out for want of time, and of the last it is not asked."""
    torch.save(torch.nn.RNN(2, 3).state_dict(), folder / "rnn.pt")
    of_grus = Section("Gradient", "What is left?", ("gradient",), (1, 1), frozenset({"gru"}))
    monkeypatch.setattr(report, "SECTIONS", (of_grus,))
    enough = iter([False, True, False])  # the first of them is tried again after the second
    monkeypatch.setattr(Budget, "fits", lambda self, cost, share: next(enough))
    assert run(["report", *networks, "rnn.pt", *DRIVEN, "-o", "page.html", "--quiet"]) == 0
    row = re.search(r'<tr><th scope="row"><a href="#s1">Gradient</a></th>(.*?)</tr>', read(folder / "page.html"), re.S)
    late, done, not_asked = re.findall(r"<td>(.*?)</td>", row[1])
    assert late == 'Left out: see <a href="#made">below</a>.'
    assert done.startswith("Over 50 steps")
    assert not_asked == "–"


def test_certificates_of_large_networks_lie_beside_the_page(networks, few, folder, monkeypatch):
    from dynlab.report import proofs

    monkeypatch.setattr(proofs, "MOST_UNITS", 2)
    assert run(["report", "one.pt", *DRIVEN, "-o", "page.html", "--quiet"]) == 0
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert '<a href="page-certificates-one/">' in page
    assert 'class="packed"' not in page
    assert (folder / "page-certificates-one/fixed-point-0.json").is_file()


@pytest.mark.parametrize(
    "work, asked, shown",
    [(1e3, (), "--samples 2"), (1e9, (), ""), (1e3, ("--samples", "3"), "--samples 3")],
)
def test_long_sequences_are_fewer_unless_asked_for(
    networks, few, folder, monkeypatch, printed_json, work, asked, shown
):
    """50 steps of 3 states: 2 of them are below 1,000 and 3 are not."""
    monkeypatch.setattr(report, "WORK", work)
    words = ["report", "one.pt", "--inputs", "noise:1.0", *asked, "--budget", "none", "-o", "page.html", "--json"]
    told = printed_json(words)
    commands = {part["section"]: part["command"] for part in told["parts"]}
    assert re.findall(r"--samples \d+", commands["Gradient"]) == [shown] * bool(shown)


def test_where_no_part_can_be_made_the_page_that_is_there_stays(networks, few, folder, refused):
    """To ask how long the inputs are fails, and leaves it to the parts to say why."""
    np.save(folder / "wide.npy", np.zeros((2, 5, 7)))
    (folder / "page.html").write_text("a good page")
    refused(["report", "one.pt", "--inputs", "wide.npy", "-o", "page.html", "--overwrite", "--quiet"], "(2, 5, 7)")
    assert (folder / "page.html").read_text() == "a good page"


def test_every_section_is_a_command_of_some_network_in_the_zoo():
    systems = {entry["system"] for entry in zoo.entries()}
    assert [section.title for section in SECTIONS if not any(map(section.fits, systems))] == []


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["one.pt", "--budget", "soon"], "no time such as 90s"),
        (["one.pt", "--budget", "0"], "no time such as 90s"),
        (["one.pt", "one.pt"], "named twice"),
        (["one.pt", "-o", "page.pdf"], "ends in .html"),
        (["three.pt"], "three.pt"),
        ([], "CKPT"),
    ],
)
def test_bad_input_is_one_sentence(networks, words, sentence, refused):
    refused(["report", *words], sentence)


def test_a_missing_browser_is_said_before_anything_is_computed(networks, refused, monkeypatch):
    monkeypatch.setattr(report_pdf.shutil, "which", lambda name: None)
    refused(["report", "one.pt", "--pdf"], "apt-get install chromium")


@pytest.mark.parametrize("text, seconds", [("90s", 90), ("2min", 120), ("1.5h", 5400), ("7", 7), ("none", math.inf)])
def test_times_are_read(text, seconds):
    assert budget.Duration().convert(text, None, None) == seconds


def test_a_part_is_expected_to_take_as_long_for_its_cost_as_those_before_it():
    clock = iter([0.0, 0.0, 0.0, 4.0, 4.0, 4.0, 4.0, 4.0])
    kept = Budget(20.0, lambda: next(clock))
    assert kept.expected(100.0) == 0.0
    with kept.running(2.0):
        pass
    assert kept.expected(3.0) == 6.0
    assert kept.fits(8.0)
    assert not kept.fits(8.1)


def test_a_part_fits_into_a_share_of_what_is_left():
    kept = Budget(20.0, iter([0.0, 0.0, 0.0, *[4.0] * 5]).__next__)
    with kept.running(2.0):
        pass
    assert kept.fits(2.0, 1 / 4)
    assert not kept.fits(2.1, 1 / 4)


@pytest.fixture
def pretended(monkeypatch):
    """Parts that take the given seconds of a clock of their own; what is begun is kept, and how long it may take."""
    takes, begun, clock, given = {}, [], [0.0], [math.inf]
    monkeypatch.setattr(report, "Budget", functools.partial(Budget, now=lambda: clock[0]))

    @contextlib.contextmanager
    def alarm(seconds):
        given[0] = seconds
        yield

    def part(self, section, name, place):
        begun.append((section.title, given[0]))
        clock[0] += min(takes[section.title], given[0])
        if takes[section.title] > given[0]:
            raise OutOfTime
        return Part(name, section.title, section.title)

    monkeypatch.setattr(budget, "_alarm", alarm)
    monkeypatch.setattr(report._Run, "_part", part)
    return takes, begun


def _titled(costs):
    return tuple(FEW[1]._replace(title=title, costs=(cost, cost)) for title, cost in costs.items())


def test_a_part_that_needs_more_than_its_share_is_not_begun_in_it(networks, pretended, monkeypatch, printed_json):
    """Of 90 s a part of 40 s would be given 30 s while another waits: it waits for that one, and then has all."""
    takes, begun = pretended
    monkeypatch.setattr(report, "SECTIONS", _titled({"Gradient": 1, "Modes": 4, "Basins": 4.5}))
    takes.update({"Gradient": 10.0, "Modes": 40.0, "Basins": 45.0})
    told = printed_json(["report", "one.pt", *DRIVEN[:4], "--budget", "100s", "--quiet", "--json"])
    assert begun == [("Gradient", pytest.approx(200 / 3)), ("Modes", 90.0), ("Basins", 50.0)]
    assert told["left_out"] == []


@pytest.mark.parametrize("seconds, left_out", [(25.0, []), (70.0, ["it was stopped after 30 s."])])
def test_no_time_is_left_over_in_which_a_part_might_be_made(
    seconds, left_out, networks, pretended, monkeypatch, printed_json
):
    """Where 30 s are left a part is begun that is expected to take 50 s, and none that is expected to take 125 s."""
    takes, begun = pretended
    monkeypatch.setattr(report, "SECTIONS", _titled({"Gradient": 1, "Modes": 1.8, "Basins": 2, "Geometry": 5}))
    takes.update({"Gradient": 10.0, "Modes": 60.0, "Basins": seconds, "Geometry": 1.0})
    monkeypatch.setattr(report, "MOST", 2 / 3)
    told = printed_json(["report", "one.pt", *DRIVEN[:4], "--budget", "100s", "--quiet", "--json"])
    assert [title for title, _ in begun] == ["Gradient", "Modes", "Basins"]
    reasons = [each["reason"] for each in told["left_out"]]
    assert reasons[:-1] == left_out
    assert reasons[-1] in ("the budget is spent.", "it would take about 99 s, and 5 s were left.")


def test_what_runs_is_stopped_when_time_is_up():
    kept = Budget(0.05)
    with pytest.raises(OutOfTime), kept.running(1.0):
        time.sleep(60)
    assert kept.left < 0


def test_a_part_that_takes_longer_than_expected_leaves_time_for_the_others(
    networks, pretended, monkeypatch, printed_json
):
    """The cheapest by its costs takes for ever: it has most of the time, as none is made yet; the others are made."""
    takes, begun = pretended
    monkeypatch.setattr(report, "SECTIONS", _titled({"Basins": 0.1, "Gradient": 1, "Modes": 1}))
    takes.update({"Basins": math.inf, "Gradient": 1.0, "Modes": 0.9})
    told = printed_json(["report", "one.pt", *DRIVEN[:4], "--budget", "6s", "--quiet", "--json"])
    assert begun == [("Basins", pytest.approx(4)), ("Gradient", pytest.approx(4 / 3)), ("Modes", pytest.approx(1))]
    assert [each["section"] for each in told["parts"]] == ["Gradient", "Modes"]
    assert [(each["section"], each["reason"]) for each in told["left_out"]] == [("Basins", "it was stopped after 4 s.")]


def test_a_part_that_shares_a_search_comes_after_it_and_is_not_begun_where_that_was_stopped(
    networks, pretended, monkeypatch, printed_json
):
    """Modes are cheap once the fixed points are known, and would search for them as long where they are not."""
    takes, begun = pretended
    gradient, points, own, basins = _titled({"Gradient": 1, "Fixed points": 2, "Modes": 0.1, "Basins": 2})
    points = points._replace(arguments=("fixed-points",))
    modes = own._replace(arguments=("modes",), after="fixed-points")
    monkeypatch.setattr(report, "SECTIONS", (modes, points, gradient, basins))
    monkeypatch.setattr(report_sections, "SECTIONS", report.SECTIONS)
    takes.update({"Gradient": 10.0, "Fixed points": 50.0, "Modes": 20.0, "Basins": 10.0})
    told = printed_json(["report", "one.pt", *DRIVEN[:4], "--budget", "100s", "--quiet", "--json"])
    assert [title for title, _ in begun] == ["Gradient", "Fixed points", "Basins", "Modes"]
    assert [(each["section"], each["reason"]) for each in told["left_out"]] == [
        ("Fixed points", "it was stopped after 30 s.")
    ]


def test_what_is_stopped_tells_nothing_of_what_others_take():
    kept = Budget(1e3)
    with pytest.raises(OutOfTime), kept.running(1.0, 1e-4):
        time.sleep(60)
    assert kept.expected(100.0) == 0.0
    assert kept.left > 990


def test_the_first_part_imports_little_that_others_use_too():
    """It would take as long as its imports, and the budget would expect the same of all others."""
    asked = (
        "import sys, importlib; from dynlab.cli import report\n"
        "for module in report._modules(): importlib.import_module(module)\n"
        "print(*[name for name in ('pandas', 'scipy.linalg', 'matplotlib.pyplot') if name not in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == ""


def test_what_is_dear_for_a_small_network_need_not_be_for_a_large_one():
    """A speaker encoder's exponents take a third of its gradient's time, and a small network's three times that."""
    from dynlab.cli.report_sections import LARGE, SECTIONS

    exponents = next(each for each in SECTIONS if each.title == "Lyapunov exponents")
    assert exponents.cost(LARGE) > 1 > exponents.cost(LARGE + 1)
    assert all(each.cost(size) > 0 for each in SECTIONS for size in (1, LARGE + 1))


def test_an_alarm_that_comes_while_a_module_is_imported_waits_for_it(tmp_path, monkeypatch):
    """A module that is stopped half way is in no process whole again."""
    (tmp_path / "slowly_imported.py").write_text("import time\ntime.sleep(0.3)\nwhole = True\n")
    monkeypatch.syspath_prepend(tmp_path)

    def imported():
        importlib.import_module("slowly_imported")
        time.sleep(60)

    with pytest.raises(OutOfTime), Budget(0.05).running(1.0):
        imported()
    assert importlib.import_module("slowly_imported").whole


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs alarms")
def test_an_alarm_that_comes_while_an_object_is_put_away_is_not_told(monkeypatch):
    """Python loses what is raised there, and would say so with a traceback; the alarm comes again."""

    class Slow:
        def __del__(self):
            time.sleep(0.2)

    def endless():
        while True:
            Slow()
            time.sleep(0.2)

    told = []
    monkeypatch.setattr(budget, "AGAIN", 0.05)
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    with pytest.raises(OutOfTime), Budget(0.05).running(1.0):
        endless()
    assert told == []
