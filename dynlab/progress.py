"""A word on standard error about what takes long."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 2.0  # seconds without a word


@contextmanager
def working(what: str, say: Callable[[str], None] | None, at_once: bool = False) -> Iterator[None]:
    """Say what is being done while the block runs.

    Parameters
    ----------
    what : str
        "Reading har2".
    say : callable or None
        Is given the line, once, where the block takes longer than `PATIENCE`. Without it there is a terminal that
        somebody watches, which shows the line with a clock until the block ends.
    at_once : bool
        Whether the line is given before the block begins.
    """
    if say is None:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            progress.add_task(what, total=None)
            yield
    elif at_once:
        say(what)
        yield
    else:
        late = threading.Timer(PATIENCE, say, [what])
        late.daemon = True
        late.start()
        try:
            yield
        finally:
            late.cancel()
