import importlib
import os
import signal
import sys
import time

import pytest

from dynlab.cli import signals
from dynlab.cli.budget import Budget, OutOfTime
from dynlab.cli.main import group, run

TOLD = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(30)\n"
HALF = "import os, signal\nos.kill(os.getpid(), signal.{name})\nfor _ in range(10**5): pass\nwhole = True\n"


def then_wait(work):
    work()
    time.sleep(20)


@pytest.fixture
def handlers():
    numbers = signal.SIGINT, signal.SIGTERM
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)
    signal.set_wakeup_fd(-1)
    signals.forget_raised()


@pytest.mark.parametrize(
    "name, hear, exception",
    [
        ("SIGINT", signals.hear_interrupt, KeyboardInterrupt),
        ("SIGTERM", signals.hear_terminate, signals.Terminated),
    ],
)
def test_what_stops_a_command_waits_until_a_module_is_whole(tmp_path, monkeypatch, handlers, name, hear, exception):
    """numpy's own import makes an AttributeError of an interruption, which was told as an error of dynlab's."""
    module = f"half_{name.lower()}"
    (tmp_path / f"{module}.py").write_text(HALF.format(name=name))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(signals, "GRACE", 1e6)
    hear()
    with pytest.raises(exception):
        then_wait(lambda: importlib.import_module(module))
    assert sys.modules.pop(module).whole


def test_an_interruption_elsewhere_is_heard_at_once(handlers):
    signals.hear_interrupt()
    with pytest.raises(KeyboardInterrupt):
        then_wait(lambda: os.kill(os.getpid(), signal.SIGINT))


def test_an_import_that_does_not_end_is_interrupted_all_the_same(tmp_path, monkeypatch, handlers):
    (tmp_path / "endless.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(30)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(signals, "PATIENCE", 0.2)
    signals.hear_interrupt()
    since = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        importlib.import_module("endless")
    assert time.monotonic() - since < 20


def another_error_after(happens):
    """As code in C makes a ValueError of whatever is raised in it, with no trace of that."""
    try:
        happens()
        time.sleep(20)
    except BaseException:
        pass
    raise ValueError("Invalid bounding box")


@pytest.mark.parametrize("number, code", [(signal.SIGINT, signals.INTERRUPTED), (signal.SIGTERM, signals.TERMINATED)])
def test_what_stops_a_command_is_known_though_a_library_makes_an_error_of_it(
    number, code, handlers, monkeypatch, capsys
):
    monkeypatch.setattr(signals, "GRACE", 1e6)
    monkeypatch.setattr(group, "main", lambda **_: another_error_after(lambda: os.kill(os.getpid(), number)))
    signals.hear_interrupt()
    signals.hear_terminate()
    assert run(["phase"]) == code
    time.sleep(0.2)  # in which the thread that watches reads its time of grace
    assert "Traceback" not in capsys.readouterr().err
    monkeypatch.setattr(group, "main", lambda **_: another_error_after(lambda: 1 / 0))
    assert run(["phase"]) == 3  # nothing of it is left


def test_a_part_that_is_out_of_time_is_so_though_a_library_makes_an_error_of_it():
    with Budget(0.05).running(1.0):
        with pytest.raises(ValueError, match="Invalid") as found:
            another_error_after(lambda: None)
        assert signals.interruption(found.value) is OutOfTime
    assert signals.interruption(ValueError("Invalid")) is None
