"""`dynlab check`: its exit codes, its table and JUnit report, and the page that shows it in continuous integration."""

import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from torch import nn

from dynlab.cli.main import run

PAGE = Path(__file__).resolve().parents[2] / "docs" / "check.md"
ZERO = ["--inputs", "zero", "--steps", "40"]
LONG = ["--steps", "400"]  # over 40 steps the orbit decays by four nats: too few to tell an exponent by


@pytest.fixture(autouse=True)
def network(folder):
    torch.manual_seed(0)
    model = nn.RNN(3, 6, bias=False, dtype=torch.float64)
    with torch.no_grad():  # the Jacobian at h = 0 is 0.9 I, without input it stays there
        model.weight_hh_l0.copy_(0.9 * torch.eye(6, dtype=torch.float64))
    torch.save(model.state_dict(), "rnn.pt")


@pytest.mark.parametrize(
    "bounds, code",
    [
        (["--max-modulus", "0.9"], 0),  # at the bound
        (["--max-modulus", "0.9", "--strict"], 4),
        (["--max-modulus", "0.8", "--strict"], 1),
        (["--min-log-gradient", str(39 * np.log(0.9) - 1e-6), "--max-exponent", "0"], 0),
        (["--min-log-gradient", str(39 * np.log(0.9) + 1e-6)], 1),
        (["--max-exponent", "-0.2", *LONG], 1),
        (["--max-exponent", "0", "--inputs", "noise:0.1", "--samples", "1"], 4),  # no error estimate
    ],
)
def test_the_exit_code_says_whether_the_bounds_hold(bounds, code, folder, capsys):
    """The linearisation is 0.9 I: modulus 0.9, gradient 0.9^39, exponent ln 0.9."""
    assert run(["check", "rnn.pt", *ZERO, "--quiet", *bounds]) == code
    assert capsys.readouterr().err == ""
    assert not (folder / "figures").exists()  # a picture only where one is asked for


@pytest.mark.parametrize("strict", [False, True])
def test_json_and_the_junit_report_have_violated_at_the_bound_and_held(folder, strict, printed_json):
    bounds = ["--max-modulus", "0.9", "--max-log-gradient", "-50", "--max-exponent", "0", "--junit", "report.xml"]
    options = [*ZERO, *LONG, *bounds, "--json", "--quiet", *(["--strict"] if strict else [])]
    variables = printed_json(["check", "rnn.pt", *options], code=1)["variables"]
    assert variables["outcome"]["values"] == ["at the bound", "violated", "holds"]
    assert variables["measured"]["values"] == pytest.approx([0.9, 399 * np.log(0.9), np.log(0.9)])
    suite = ElementTree.parse(folder / "report.xml").getroot().find("testsuite")
    assert [int(suite.get(key)) for key in ("tests", "failures", "errors", "skipped")] == [3, 1, int(strict), 0]
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert "margin" in cases["max_log_gradient"].find("failure").get("message")
    assert (cases["max_modulus"].find("error") is not None) == strict
    assert cases["max_exponent"].find("system-out") is not None


def test_the_junit_report_says_why_nothing_could_be_checked(folder, capsys):
    assert run(["check", "none.pt", "--max-modulus", "1", "--junit", "report.xml", "--quiet", "--json"]) == 2
    error = ElementTree.parse(folder / "report.xml").getroot().find("testsuite/testcase/error")
    printed = capsys.readouterr()
    assert error.get("message") in printed.err
    assert json.loads(printed.out)["verdict"] == error.get("message")


def commands_of_the_page():
    """The check of the page's workflow, and every line of the page that starts with the command."""
    return re.findall(r"^ *(dynlab check .*(?:\n +--.*)*)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("command", commands_of_the_page())
def test_the_commands_of_the_page_pass(command, folder):
    words = shlex.split(command)
    assert run([*words[1:], "--samples", "4", "--times", "8", "--quiet"]) == 0
    assert (folder / "report.xml").exists() == ("--junit" in words)
