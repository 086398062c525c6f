"""`dynlab check`: its exit codes, its table, JSON and JUnit, and the page that shows it in continuous integration."""

import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
import yaml
from torch import nn

from dynlab import io
from dynlab.cli.main import run

PAGE = Path(__file__).resolve().parents[2] / "docs" / "check.md"
# The elements and attributes of Jenkins's schema of JUnit reports (junit-10.xsd), as far as they are written here;
# GitHub's and GitLab's readers take the same.
ALLOWED = {
    "testsuites": {"name", "time", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "group", "time", "skipped", "timestamp", "id"},
    "properties": set(),
    "property": {"name", "value"},
    "testcase": {"name", "time", "classname", "group"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "system-out": set(),
}
REQUIRED = {"testsuite": {"name", "tests", "failures", "errors"}, "testcase": {"name"}, "property": {"name", "value"}}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "10000")  # the table is a row for each bound
    torch.manual_seed(0)
    model = nn.RNN(3, 6, bias=False, dtype=torch.float64)
    with torch.no_grad():  # the Jacobian at h = 0 is 0.9 I, without input it stays there
        model.weight_hh_l0.copy_(0.9 * torch.eye(6, dtype=torch.float64))
    torch.save(model.state_dict(), "rnn.pt")
    return tmp_path


ZERO = ["--inputs", "zero", "--steps", "40"]
LONG = ["--steps", "400"]  # over 40 steps the orbit decays by four nats alone: too few to tell an exponent by


@pytest.mark.parametrize(
    "bounds, code",
    [
        (["--max-modulus", "1"], 0),
        (["--max-modulus", "0.9"], 0),  # at the bound
        (["--max-modulus", "0.9", "--strict"], 4),
        (["--max-modulus", "0.8"], 1),
        (["--max-modulus", "0.8", "--strict"], 1),
        (["--min-log-gradient", str(39 * np.log(0.9) - 1e-6), "--max-exponent", "0"], 0),
        (["--min-log-gradient", str(39 * np.log(0.9) + 1e-6)], 1),
        (["--max-log-gradient", str(39 * np.log(0.9) - 1e-6)], 1),
        (["--max-exponent", "-0.2", *LONG], 1),
        (["--max-exponent", "0", "--inputs", "noise:0.1", "--samples", "1"], 4),  # no error estimate
        (["--max-exponent", "0", "--max-modulus", "0.1", "--inputs", "noise:0.1", "--samples", "1"], 1),
    ],
)
def test_the_exit_code_says_whether_the_bounds_hold(bounds, code, capsys):
    """The linearisation is 0.9 I: modulus 0.9, gradient 0.9^39, exponent ln 0.9."""
    assert run(["check", "rnn.pt", *ZERO, "--quiet", *bounds]) == code
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.splitlines()[0].split() == ["bound", "measured", "error", "margin", "where", "verdict"]


def test_the_table_the_figure_and_the_data(folder, capsys, pictures):
    assert run(["check", "rnn.pt", *ZERO, "--max-modulus", "0.8", "--data", "bounds.nc", "--quiet"]) == 1
    row = capsys.readouterr().out.splitlines()[2]
    assert row.split()[:4] == ["max_modulus", "≤", "0.8", "0.9"]
    assert "−0.1" in row
    assert "violated (240 of 240 moduli)" in row
    assert io.open("bounds.nc")["outcome"].values.tolist() == ["violated"]
    (ax,) = pictures["check-rnn.png"].axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["max modulus\n≤ 0.8"]


def test_json_is_one_strict_document_and_the_exit_code_stays(capsys):
    options = [*ZERO, "--max-modulus", "0.8", "--max-exponent", "0", *LONG, "--json", "--quiet"]
    assert run(["check", "rnn.pt", *options]) == 1
    document = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    variables = document["variables"]
    assert variables["outcome"]["values"] == ["violated", "holds"]
    assert variables["measured"]["values"] == pytest.approx([0.9, np.log(0.9)])
    assert document["coords"]["bound"]["values"] == ["max_modulus", "max_exponent"]


@pytest.mark.parametrize("strict", [False, True])
def test_the_junit_report_keeps_the_format_and_counts(folder, strict):
    """Violated, at the bound, holds; and an undecided one in a report of its own."""
    bounds = ["--max-modulus", "0.9", "--max-log-gradient", "-50", "--max-exponent", "0"]
    run(
        [
            "check",
            "rnn.pt",
            *ZERO,
            *LONG,
            *bounds,
            "--junit",
            "report.xml",
            "--quiet",
            *(["--strict"] if strict else []),
        ]
    )
    root = ElementTree.parse(folder / "report.xml").getroot()
    for element in root.iter():
        assert set(element.attrib) <= ALLOWED[element.tag]
        assert REQUIRED.get(element.tag, set()) <= set(element.attrib)
    suite = root.find("testsuite")
    counts = [int(suite.get(key)) for key in ("tests", "failures", "errors", "skipped")]
    assert counts == [3, 1, int(strict), 0]
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert list(cases) == ["max_modulus", "max_log_gradient", "max_exponent"]
    assert "margin" in cases["max_log_gradient"].find("failure").get("message")
    assert (cases["max_modulus"].find("error") is not None) == strict
    assert cases["max_exponent"].find("system-out") is not None


def test_an_undecided_bound_is_an_error_of_the_report(folder):
    options = ["--inputs", "noise:0.1", "--samples", "1", "--max-exponent", "0", "--junit", "report.xml", "--quiet"]
    assert run(["check", "rnn.pt", *options]) == 4
    (error,) = ElementTree.parse(folder / "report.xml").getroot().iter("error")
    assert "no spread between samples" in error.text


@pytest.mark.parametrize(
    "options, sentence",
    [
        ([], "No bound is set, so there is nothing to check: give at least one of --max-modulus"),
        (["--max-modulus", "nan"], "--max-modulus (max_modulus=) takes a finite number, got nan"),
        (["--max-modulus", "-1"], "-1.0 is no number of at least 0"),
        (["--max-real", "0"], "is no Euler step of one: set --max-modulus (max_modulus=)."),
        (["--min-log-gradient", "2", "--max-log-gradient", "1"], "no gradient keeps both"),
        (["--max-modulus", "1", "--junit", "report.txt"], "--junit takes a file that ends in .xml"),
        (["--max-modulus", "1", "--junit", "nowhere/report.xml"], "nowhere of --junit does not exist"),
        (["--max-modulus", "1", "--junit", "there.xml"], "there.xml exists; add --overwrite"),
        (["--max-modulus", "x"], "'x' is no number of at least 0."),
    ],
)
def test_bad_input_ends_with_2_and_writes_nothing(folder, options, sentence, refused):
    (folder / "there.xml").write_text("kept")
    refused(["check", "rnn.pt", *ZERO, "--quiet", *options], sentence)
    assert (folder / "there.xml").read_text() == "kept"


def commands_of_the_page():
    """The example's own check, and every line of the page that starts with the command."""
    blocks = re.findall(r"```(\w*)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    workflow = yaml.safe_load(next(text for kind, text in blocks if kind == "yaml"))
    steps = [step["run"] for step in workflow["jobs"]["check"]["steps"] if "run" in step]
    plain = [line for kind, text in blocks if kind == "" for line in text.splitlines()]
    return [line for line in [*steps, *plain] if line.startswith("dynlab ")]


@pytest.mark.parametrize("command", commands_of_the_page())
def test_the_commands_of_the_page_pass(command, folder):
    words = shlex.split(command)
    assert run([*words[1:], "--samples", "4", "--times", "8", "--quiet"]) == 0
    assert (folder / "report.xml").exists() == ("--junit" in words)
