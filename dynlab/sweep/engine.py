"""The engine of a sweep: dask.distributed, on this machine's cores or on a cluster that is there.

Tasks are handed out in windows, and forgotten by the scheduler once they are written, so that its memory does not grow
with the number of cells. Nothing is lost with a worker or a scheduler: what is not in the store is handed out again.
"""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

from dynlab.errors import UserError, require_extra
from dynlab.sweep.cells import Compute, Outcome, outcomes
from dynlab.sweep.grid import Index, boxes, cell
from dynlab.sweep.layout import DONE
from dynlab.sweep.store import Store
from dynlab.sweep.trial import Trial

LENGTH = 1.0  # seconds that a task takes at least, where it can: far more than to hand it out
HANDED = 0.05  # seconds longer for each processor: handing out takes 0.01 of them, one task after the other
MOST_IN_TASK, MOST_BYTES = 1000, 2**24  # cells, and bytes of their Datasets
WINDOW = 3  # tasks that are handed out for each processor
TURNS = 8  # tasks for each processor at least, so that none waits long for the last one
REACHED = 10.0  # seconds in which a scheduler answers
BETWEEN = 10.0  # seconds between two writings: one for many cells costs little more than one for a single one
AGAIN = 300.0  # seconds until one that was lost is given up

Cells = list[tuple[Index, dict[str, Any]]]


def cores() -> int:
    """The processors of this machine that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_address(scheduler: str) -> None:
    """Refuse what is no address of a scheduler, before anything is computed.

    Raises
    ------
    UserError
    """
    try:
        require_extra("distributed.comm", "sweep").get_address_host_port(scheduler)
    except ValueError as error:
        raise UserError(
            f"{scheduler!r} is no address of a Dask scheduler ({error}): give one such as tcp://10.0.0.1:8786."
        ) from error


def run(
    compute: Compute, store: Store, first: Trial, *, scheduler: str | None = None, workers: int | None = None
) -> Iterator[Outcome]:
    """Compute what is not in the store yet, write it, and give what came of each cell.

    Parameters
    ----------
    compute : callable
        From the values of a cell to its Dataset; workers must be able to import it.
    store : Store
    first : Trial
        What a cell takes.
    scheduler : str, optional
        The address of a Dask scheduler; workers of this machine are started where there is none.
    workers : int, optional
        How many are started, one for each core by default; with 0 all is computed here.

    Raises
    ------
    UserError
        Where the scheduler cannot be reached, at the beginning or after it was lost.
    """
    if scheduler is not None:
        check_address(scheduler)
    failed = {each.index for each in first.outcomes if each.problem}  # now: they are tried again by the next run
    waiting = int((store.status != DONE).sum())
    if workers == 0 and scheduler is None:
        tasks = _tasks(store, failed, _at_once(first, waiting, 1))
        yield from _kept(store, (outcomes(compute, cells) for cells in tasks), failed)
        return
    distributed = require_extra("distributed", "sweep")
    reached, lost = False, None
    while True:
        try:
            with ExitStack() as stack:
                client = stack.enter_context(_client(distributed, stack, scheduler, workers))
                client.wait_for_workers(1)
                reached, lost = True, None
                threads = max(1, sum(client.nthreads().values()))
                tasks = _tasks(store, failed, _at_once(first, waiting, threads))
                yield from _kept(store, _computed(distributed, client, compute, tasks, WINDOW * threads), failed)
            return
        except (OSError, distributed.client.FutureCancelledError, TimeoutError) as error:
            if scheduler is None or isinstance(error, UserError):
                raise
            lost = lost or time.monotonic()
            if time.monotonic() - lost > AGAIN or not reached:
                raise UserError(
                    f"The scheduler {scheduler} cannot be reached ({error}): check its address, start it, and give the "
                    f"command again, which goes on with what is not done."
                ) from error
            time.sleep(1)


def _at_once(first: Trial, cells: int, threads: int) -> int:
    """How many cells a task has."""
    by_time = max(LENGTH, HANDED * threads) / max(first.seconds, LENGTH / MOST_IN_TASK)
    by_size = MOST_BYTES / max(first.bytes, 1)
    return max(1, int(min(by_time, by_size, cells / (TURNS * threads))))


def _kept(store: Store, found: Iterator[list[Outcome]], failed: set[Index]) -> Iterator[Outcome]:
    """Write what came of tasks, many at a time, and give it; whatever ends this, what has come is written."""
    waiting: list[Outcome] = []
    since = time.monotonic()
    try:
        for each in found:
            waiting += each
            failed |= {outcome.index for outcome in each if outcome.problem}
            if time.monotonic() - since >= BETWEEN or len(waiting) >= MOST_IN_TASK:
                store.write(waiting)
                written, waiting, since = waiting, [], time.monotonic()
                yield from written
    finally:
        store.write(waiting)
    yield from waiting


def _tasks(store: Store, failed: set[Index], most: int) -> Iterator[Cells]:
    """The cells that are not done, in parts of at most so many."""
    for part in boxes(store.status.shape, most):
        left = np.argwhere(store.status[part] != DONE) + [each.start for each in part]
        indices = [index for index in map(tuple, left.tolist()) if index not in failed]
        if indices:
            yield [(index, cell(store.grid, index)) for index in indices]


def _client(distributed: Any, stack: ExitStack, scheduler: str | None, workers: int | None) -> Any:
    if scheduler is not None:
        return distributed.Client(scheduler, timeout=REACHED, set_as_default=False)
    cluster = distributed.LocalCluster(
        n_workers=workers or cores(),
        threads_per_worker=1,
        processes=True,  # each with one thread for BLAS, which Dask sees to
        dashboard_address="127.0.0.1:0",  # a free port: with None it is 8787 for every sweep of this machine
        scheduler_kwargs={"dashboard": False},
        silence_logs=50,
    )
    return distributed.Client(stack.enter_context(cluster), set_as_default=False)


def _computed(
    distributed: Any, client: Any, compute: Compute, tasks: Iterator[Cells], window: int
) -> Iterator[list[Outcome]]:
    """What came of each task, in the order in which they end."""
    handed = distributed.as_completed(loop=client.loop)
    cells_of: dict[Any, Cells] = {}
    while True:
        while len(cells_of) < window and (cells := next(tasks, None)) is not None:
            future = client.submit(outcomes, compute, cells, pure=False)
            cells_of[future] = cells
            handed.add(future)
        if not cells_of:
            return
        future = next(handed)
        cells = cells_of.pop(future)
        if future.status == "error":  # of the worker: what a cell raises is an outcome
            error = future.exception()
            yield [Outcome(index, None, f"its worker failed, {type(error).__name__}: {error}") for index, _ in cells]
        else:
            yield future.result()
        future.release()
