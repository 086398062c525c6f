"""A line on standard error about work that takes long: what is being done, how much is done, and the time left."""

import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

Item = TypeVar("Item")
PATIENCE = 2.0  # seconds before a line appears where nobody watches a terminal
_shown: ContextVar["Progress | None"] = ContextVar("shown", default=None)  # the line of the block here


def through(items: Iterable[Item], total: int | None = None) -> Iterator[Item]:
    """Yield the items one by one; the line of `working` around the loop shows how many are done and the time left.

    Parameters
    ----------
    items : iterable
    total : int, optional
        How many there are, for items without a length.

    Notes
    -----
    Only the outermost of nested loops is shown.
    """
    progress = _shown.get()
    count = total if total is not None else len(items) if isinstance(items, Collection) else 0
    if progress is None or not count or progress.tasks[0].total:
        yield from items
        return
    task = progress.tasks[0].id
    progress.reset(task, total=count)
    try:
        for item in items:
            yield item
            progress.advance(task)
    finally:
        progress.update(task, total=None)


@contextmanager
def working(what: str, say: Callable[[str], None] | None, at_once: bool = False) -> Iterator[None]:
    """Show what is being done while the block runs, how much of it is done, and how long the rest takes.

    Parameters
    ----------
    what : str
        "Reading har2".
    say : callable or None
        Is given that line once, if the block takes longer than `PATIENCE`. None: a terminal shows it with the share
        done and the time left until the block ends.
    at_once : bool
        Whether `say` is called before the block begins.
    """
    if say is None:
        with _on_terminal(what):
            yield
        return
    timer = threading.Timer(PATIENCE, say, [what])
    timer.daemon = True
    if at_once:
        say(what)
    else:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def _on_terminal(what: str) -> Iterator[None]:
    from rich.console import Console
    from rich.progress import (
        Progress,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    words = SpinnerColumn(), TextColumn("{task.description}", markup=False), TaskProgressColumn()
    times = TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()
    with Progress(*words, *times, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(what, total=None)
        token = _shown.set(progress)
        try:
            yield
        finally:
            _shown.reset(token)


def duration(seconds: float) -> str:
    """Return about how long, in words.

    Examples
    --------
    >>> duration(0.2), duration(47), duration(200), duration(7500)
    ('about 1 s', 'about 47 s', 'about 4 min', 'about 2 h 5 min')
    """
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    hours, minutes = divmod(-int(-seconds // 60), 60)
    return "about " + (f"{hours} h {minutes} min" if hours else f"{minutes} min")
