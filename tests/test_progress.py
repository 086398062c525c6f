"""What takes long is said, once; what does not is not."""

import io
import re
import time

import numpy as np
import pytest
import torch
from torch import nn

from dynlab import progress
from dynlab.cli.main import run
from dynlab.numerics import threads
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


class TestHowFar:
    """What a block tells of its loops: the share done, and the time that the rest takes at the same pace."""

    @pytest.fixture(autouse=True)
    def at_a_glance(self, hurried, monkeypatch):
        monkeypatch.setattr(progress, "LOOK", 0.02)
        monkeypatch.setattr(progress, "BETWEEN", 60)
        monkeypatch.setattr(progress, "LONG", 0.4)

    @staticmethod
    def told(turns, pause, inner=1, total=None):
        said = []
        with progress.working("Linearising", said.append, at_once=True):
            for _ in progress.through(range(turns) if total is None else iter(range(turns)), total):
                for _ in progress.through(range(inner)):
                    time.sleep(pause)
        return said[1:]

    @pytest.mark.parametrize("inner, total", [(1, None), (4, None), (1, 60)])
    def test_what_takes_long_is_told_once_at_a_low_rate(self, inner, total):
        (line,) = self.told(60, 0.02 / inner, inner, total)
        assert re.fullmatch(r"Linearising \d+ % of this part done, about \d+ s left", line)

    def test_what_does_not_is_not(self, monkeypatch):
        monkeypatch.setattr(progress, "LONG", 1e6)
        assert self.told(10, 0.02) == []

    def test_the_time_left_is_that_of_the_turns_to_come(self):
        first, inside = progress._Loop(4), progress._Loop(10)
        first.since, first.done, inside.done = time.perf_counter() - 30, 1, 5
        assert progress._left([first, inside]) == "38 % of this part done, about 50 s left"
        assert progress._left([first, inside], least=81) == ""

    def test_the_first_turns_tell_nothing_of_the_others(self, monkeypatch):
        """The first of ten turns takes 12 s and each other 2 s: after three, 14 s are left and not 37."""
        clock = [0.0]
        monkeypatch.setattr(progress.time, "perf_counter", lambda: clock[0])
        with progress.working("Linearising", lambda line: None):
            for turn in progress.through(range(10)):
                if turn == 1:
                    assert progress._left(progress._loops.get()) == "10 % of this part done, about 2 min left"
                if turn == 3:
                    assert progress._left(progress._loops.get()) == "30 % of this part done, about 14 s left"
                clock[0] += 2.0 if turn else 12.0

    def test_a_thousandth_of_the_work_tells_nothing_until_it_has_taken_a_while(self):
        loop = progress._Loop(1000)
        loop.since, loop.done = time.perf_counter() - 5, 1
        assert progress._left([loop]) == ""
        loop.since -= 15
        assert re.fullmatch(r"0 % of this part done, about 5 h 3\d min left", progress._left([loop]))

    def test_nothing_is_told_of_loops_that_nobody_waits_for(self):
        assert list(progress.through(iter("abc"))) == list(progress.through("abc")) == ["a", "b", "c"]

    def test_a_loop_that_ends_early_is_over(self):
        with progress.working("Searching", print):
            next(progress.through(range(3)))
            assert progress._loops.get() == []

    @pytest.mark.parametrize("samples", [2, 40])
    def test_work_in_threads_is_told_by_the_chunks_or_by_the_loops_of_the_first(self, samples, monkeypatch):
        monkeypatch.setattr(threads, "cores", lambda: 2)

        def work(rows):
            for _ in progress.through(range(50)):
                time.sleep(0.02 * 2 / samples)
            return (np.arange(samples)[rows],)

        said = []
        with progress.working("Linearising", said.append, at_once=True):
            (found,) = threads.in_threads(work, samples, chunks_per_thread=1 if samples == 2 else 20)
        assert found.tolist() == list(range(samples))
        assert len(said) == 2


def test_a_terminal_shows_the_share_and_the_time_left(hurried, monkeypatch):
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with progress.working("Linearising", None):
        for _ in progress.through(range(20)):
            time.sleep(0.05)
    assert "of this part done, about 1 s left" in screen.getvalue()
