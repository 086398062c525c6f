"""What takes long is said, once; what does not is not."""

import time

import numpy as np
import pytest
import torch
from torch import nn

from dynlab import progress
from dynlab.cli.main import run
from dynlab.tasks import Driving


@pytest.fixture
def hurried(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.05)


def test_a_line_for_what_takes_longer(hurried):
    said = []
    with progress.working("Reading", said.append):
        time.sleep(0.2)
    assert said == ["Reading"]


def test_no_line_for_what_does_not(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 1)
    said = []
    with progress.working("Reading", said.append):
        pass
    time.sleep(1.1)
    assert said == []


def test_at_once():
    said = []
    with progress.working("Linearising", said.append, at_once=True):
        assert said == ["Linearising"]


def test_what_fails_is_not_said_afterwards(hurried):
    said = []
    with pytest.raises(ZeroDivisionError), progress.working("Reading a", said.append):
        raise ZeroDivisionError
    time.sleep(0.1)
    assert said == []


@pytest.mark.parametrize(
    "command, quiet, lines",
    [(["gradient"], [], 1), (["gradient"], ["--quiet"], 0), (["basins", "--grid", "3"], [], 1)],
)
def test_commands_say_that_they_read(command, quiet, lines, hurried, tmp_path, monkeypatch, capsys):
    def slow(spec, system, **how):
        time.sleep(0.2)
        return Driving(np.zeros((1, 4, 2)), None, "nothing", False)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dynlab.tasks.driving_inputs", slow)
    torch.manual_seed(0)
    torch.save(nn.GRU(2, 3).state_dict(), "gru.pt")
    name, *options = command
    assert run([name, "gru.pt", "--inputs", "task:yelp5", *options, *quiet]) == 0
    assert capsys.readouterr().err.count("Reading yelp5 …") == lines
