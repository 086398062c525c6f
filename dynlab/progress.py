"""A word on standard error about what takes long: what is being done, how much of it is done, and the time left."""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

PATIENCE = 2.0  # seconds without a word, and before a loop's first turns say how long all of them take
LONG = 10.0  # seconds: what takes longer is told beforehand, also where nobody watches a terminal
BETWEEN = 30.0  # seconds between two lines where nobody watches a terminal
WARM_UP = 1.0  # seconds: the turns until then do once what later ones need not, and tell nothing of those
LITTLE, A_WHILE = 0.01, 10.0  # a share, and seconds: less of both tells nothing of the rest
LOOK = 0.5  # seconds between two looks at how far the work is

Item = TypeVar("Item")


class _Loop:
    """How many of a loop's turns are done."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.since = total, 0, time.perf_counter()
        self.warm: tuple[float, float] | None = None  # the share done when the first turns were over, and that time


_loops: ContextVar[list[_Loop] | None] = ContextVar("loops", default=None)  # of the block here, the outermost first


def through(items: Iterable[Item], total: int | None = None) -> Iterator[Item]:
    """The items one by one; a block of `working` around them tells how many are done, and how long the others take.

    Parameters
    ----------
    items : iterable
    total : int, optional
        How many there are, or may be, where they have no length.

    Notes
    -----
    Of loops inside each other, the inner ones count as parts of a turn of the outer one. A loop in a thread of a pool
    counts for nothing: the one that hands out the work does.
    """
    loops = _loops.get()
    count = total if total is not None else len(items) if isinstance(items, Collection) else 0
    if loops is None or not count:
        yield from items
        return
    loop = _Loop(count)
    loops.append(loop)
    try:
        for item in items:
            yield item
            loop.done += 1
            if loops[0].warm is None and time.perf_counter() - loops[0].since >= WARM_UP:
                loops[0].warm = _share(loops), time.perf_counter()
    finally:
        loops.remove(loop)


@contextmanager
def working(what: str, say: Callable[[str], None] | None, at_once: bool = False) -> Iterator[None]:
    """Say what is being done while the block runs, how much of it is done, and how long the rest takes.

    Parameters
    ----------
    what : str
        "Reading har2".
    say : callable or None
        Is given the line, once, where the block takes longer than `PATIENCE`, and a line now and then on how far a
        loop (`through`) is that takes longer than `LONG`. Without it there is a terminal that somebody watches, which
        shows the line with a clock until the block ends.
    at_once : bool
        Whether the line is given before the block begins.
    """
    loops: list[_Loop] = []
    token = _loops.set(loops) if _loops.get() is None else None  # inside another block, loops are that one's
    try:
        with _shown(what, loops) if say is None else _said(what, say, loops, at_once):
            yield
    finally:
        if token is not None:
            _loops.reset(token)


@contextmanager
def _shown(what: str, loops: list[_Loop]) -> Iterator[None]:
    """A line on a terminal, with a spinner, the share done, the time left and a clock."""
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
    from rich.text import Text

    class Left(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(_left(loops))

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), Left(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(what, total=None)
        yield


@contextmanager
def _said(what: str, say: Callable[[str], None], loops: list[_Loop], at_once: bool) -> Iterator[None]:
    """Lines: what is being done, once, and at a low rate how far it is."""
    if at_once:
        say(what)
    over = threading.Event()

    def tell() -> None:
        if over.wait(PATIENCE):
            return
        if not at_once:
            say(what)
        while not over.wait(LOOK):
            if told := _left(loops, LONG):
                say(f"{what} {told}")
                over.wait(BETWEEN)

    watcher = threading.Thread(target=tell, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _share(loops: list[_Loop]) -> float:
    """How much of the outermost loop is done; those inside are parts of its turn."""
    share = 0.0
    for loop in reversed(loops):
        share = min(1.0, (loop.done + share) / loop.total)
    return share


def _left(loops: list[_Loop], least: float = 0.0) -> str:
    """How far the outermost loop is, once it has taken a moment and if all of it takes longer than `least` seconds."""
    running = list(loops)
    if not running:
        return ""
    share, now, first = _share(running), time.perf_counter(), running[0]
    before, since = first.warm or (0.0, first.since)
    if share <= before:
        before, since = 0.0, first.since
    if now - first.since < PATIENCE or not share:
        return ""
    if share - before < LITTLE and now - since < A_WHILE:
        return ""
    left = (1 - share) * (now - since) / (share - before)
    if now - first.since + left < least:
        return ""
    return f"{100 * share:.0f} % of this part done, {duration(left)} left"


def duration(seconds: float) -> str:
    """About how long, in words.

    Examples
    --------
    >>> duration(0.2), duration(47), duration(200), duration(7500)
    ('about 1 s', 'about 47 s', 'about 4 min', 'about 2 h 5 min')
    """
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    hours, minutes = divmod(-int(-seconds // 60), 60)
    return "about " + (f"{hours} h {minutes} min" if hours else f"{minutes} min")
