"""Progress: one line off a terminal, the share done and the time left on one."""

import io
import time

from dynlab import progress


def test_a_line_comes_before_the_work_and_none_where_that_is_asked(capsys):
    with progress.working("Linearising"):
        assert capsys.readouterr().err == "Linearising …\n"
    with progress.working("Reading", quiet=True):
        assert capsys.readouterr().err == ""
    assert list(progress.through(iter("abc"))) == list(progress.through("abc")) == ["a", "b", "c"]


def test_a_terminal_shows_the_share_of_the_outermost_loop_and_the_time_left(monkeypatch):
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with progress.working("Linearising"):
        for number in progress.through(range(10)):
            for _ in progress.through(range(3)):
                time.sleep(0.02)
            if number == 4:
                assert progress._line.get().tasks[0].completed == 4
                assert progress._line.get().tasks[0].time_remaining < 5
    assert "Linearising" in screen.getvalue()
