"""Times as options, and a limit on the time of a block."""

import math
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click


class Duration(click.ParamType):
    """A time such as 90s, 2min or 1h, in seconds; none is one without end."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse it."""
        parts = re.fullmatch(r"(\d+(?:\.\d+)?) ?(s|min|h)?", str(value))
        if value == "none" or isinstance(value, float):
            return math.inf if value == "none" else value
        if not parts or float(parts[1]) == 0:
            self.fail(f"{value!r} is not a time such as 90s, 2min, 1h or none.", param, ctx)
        return float(parts[1]) * {"s": 1, "min": 60, "h": 3600}[parts[2] or "s"]


class OutOfTime(BaseException):
    """A part's time is over. No handler of `Exception` on the way keeps it."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `OutOfTime` inside the block after that time, on systems that have alarms."""

    def stop(number: int, frame: Any) -> None:
        raise OutOfTime

    if math.isinf(seconds) or not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
