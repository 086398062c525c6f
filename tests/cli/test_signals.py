import importlib
import os
import signal
import sys
import time

import pytest

from dynlab.cli import signals

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
