"""Parts that are run one after the other in a given time, from cheap to dear: what does not fit is left out by name."""

import math
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click

from dynlab.errors import Stopped

from .signals import SOON, forget_raised, importing, raise_from_signal

UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
AGAIN = 1.0  # seconds after which an alarm comes again: Python loses one that comes while an object is being put away
DURATION = re.compile(r"([0-9.]+) ?(s|min|h)?")


class Duration(click.ParamType):
    """A time such as 90s, 2min or 1h, in seconds; none is one without end."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse it."""
        if isinstance(value, float):
            return value
        parts = DURATION.fullmatch(value)
        try:
            seconds = math.inf if value == "none" else float(parts[1]) * UNITS[parts[2] or "s"] if parts else 0.0
        except ValueError:
            seconds = 0.0
        if not seconds > 0:
            self.fail(f"{value!r} is no time such as 90s, 2min, 1h or none.", param, ctx)
        return seconds


class OutOfTime(Stopped):
    """The budget is spent; no handler of ordinary errors takes it for one."""


class Budget:
    """What is left of a time, and how long the next part will take, by what those before it took.

    Attributes
    ----------
    seconds : float
        What is given.
    """

    def __init__(self, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._now, self._since = now, now()
        self._cost = self._took = 0.0

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return self._now() - self._since

    @property
    def left(self) -> float:
        """Seconds; below 0 once more is spent than was given."""
        return self.seconds - self.spent

    def expected(self, cost: float) -> float:
        """How many seconds a part of that cost will take: as much for its cost as all before it; at first not known."""
        return cost * self._took / self._cost if self._cost else 0.0

    def fits(self, cost: float, share: float = 1.0) -> bool:
        """Whether a part of that cost is expected to be done within this share of what is left."""
        return self.left > 0 and self.expected(cost) <= share * self.left

    @contextmanager
    def running(self, cost: float, share: float = 1.0) -> Iterator[None]:
        """Stop what runs inside once this share of what is left is spent; else remember how long it took.

        Raises
        ------
        OutOfTime
            Where it is stopped, on systems that have alarms.
        """
        since = self._now()
        with _alarm(share * self.left):
            yield
        self._cost, self._took = self._cost + cost, self._took + self._now() - since


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise `OutOfTime` inside the block after that time."""
    able = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not able or math.isinf(seconds):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        if importing(frame):
            signal.setitimer(signal.ITIMER_REAL, SOON, AGAIN)
            return
        raise_from_signal(OutOfTime)

    def lost(found: "sys.UnraisableHookArgs") -> None:
        if not isinstance(found.exc_value, OutOfTime):  # of which one more comes
            hook(found)

    hook, sys.unraisablehook = sys.unraisablehook, lost
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = hook
        forget_raised(OutOfTime)
