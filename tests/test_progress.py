"""Progress: one line off a terminal, the share done and the time left on one."""

import io
import time

import pytest

from dynlab import progress


@pytest.mark.parametrize("patience, lines", [(0.05, ["Reading"]), (3600.0, [])])
def test_a_line_appears_when_work_takes_longer(patience, lines, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", patience)
    said = []
    with progress.working("Reading", said.append):
        time.sleep(0.2)
    assert said == lines


def test_a_line_can_come_before_the_work():
    said = []
    with progress.working("Linearising", said.append, at_once=True):
        assert said == ["Linearising"]


def test_a_failure_ends_the_line():
    with pytest.raises(ZeroDivisionError), progress.working("Reading", pytest.fail):
        raise ZeroDivisionError


def test_a_loop_outside_yields_its_items():
    assert list(progress.through(iter("abc"))) == list(progress.through("abc")) == ["a", "b", "c"]


def test_a_terminal_shows_the_share_of_the_outermost_loop_and_the_time_left(monkeypatch):
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with progress.working("Linearising", None):
        for number in progress.through(range(10)):
            for _ in progress.through(range(3)):
                time.sleep(0.02)
            if number == 4:
                assert progress._shown.get().tasks[0].completed == 4
                assert progress._shown.get().tasks[0].time_remaining < 5
    assert "Linearising" in screen.getvalue()
    assert "left" in screen.getvalue()
