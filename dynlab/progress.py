"""A line on standard error about work that takes long: what is being done, how much is done, and the time left."""

import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

from dynlab.errors import shown

if TYPE_CHECKING:
    from rich.progress import Progress

Item = TypeVar("Item")
_line: ContextVar["Progress | None"] = ContextVar("line", default=None)  # of the block here


def through(items: Iterable[Item], total: int | None = None) -> Iterator[Item]:
    """Yield the items one by one; the line of `working` around the loop shows how many are done and the time left.

    Parameters
    ----------
    items : iterable
    total : int, optional
        Number of items, for those without a length.

    Notes
    -----
    Only the outermost of nested loops is shown.
    """
    progress = _line.get()
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
def working(what: str, *, quiet: bool = False) -> Iterator[None]:
    """Show on standard error what is being done while the block runs.

    Parameters
    ----------
    what : str
        "Reading har2". A terminal shows it with the share done and the time left until the block ends, anything else
        gets it once.
    quiet : bool
        Show nothing.
    """
    if quiet:
        yield
    elif sys.stderr.isatty():
        from rich import console, progress

        words = progress.SpinnerColumn(), progress.TextColumn("{task.description}", markup=False)
        times = progress.TaskProgressColumn(), progress.TimeElapsedColumn(), progress.TimeRemainingColumn()
        with progress.Progress(*words, *times, transient=True, console=console.Console(stderr=True)) as line:
            line.add_task(what, total=None)
            token = _line.set(line)
            try:
                yield
            finally:
                _line.reset(token)
    else:
        sys.stderr.write(f"{shown(what)} …\n")
        yield
