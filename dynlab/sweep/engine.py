"""Computing a sweep: by this process, by others on this machine, or by a Dask cluster."""

import itertools
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from dynlab import files
from dynlab.errors import OWN, UserError, require_extra
from dynlab.sweep.cells import Axis, Cells, Compute, Outcome, cell, outcomes, size
from dynlab.sweep.store import Store

MOST_CELLS = 10_000_000
NO_FILES: Mapping[str, str] = {}
WARM = 1.0  # seconds: what takes less the first time is timed again, without the loading of libraries
TASK_SECONDS, MOST_IN_TASK = 1.0, 1000  # about how long a task takes, and how many cells it has at most
WINDOW = 3  # tasks that are handed out for each processor
BETWEEN = 10.0  # seconds between two writings
REACHED = 10.0  # seconds in which a scheduler answers


class Trial(NamedTuple):
    """The cells that were tried before all others; the last one succeeded, if any did.

    Attributes
    ----------
    outcomes : list of Outcome
    seconds : float
        What one cell takes.
    bytes : int
        What its Dataset holds.
    """

    outcomes: list[Outcome]
    seconds: float
    bytes: int


def trial(compute: Compute, grid: Sequence[Axis], indices: np.ndarray, once: bool = False) -> Trial:
    """Compute the first of the cells at `indices`, shape (cell, axis); if it fails, the last, then the middle one.

    A quick one is timed a second time, unless it is to be computed only `once`.
    """
    tried: list[Outcome] = []
    for place in dict.fromkeys((0, len(indices) - 1, len(indices) // 2)):
        index = tuple(indices[place].tolist())
        for turn in range(2):
            started = time.perf_counter()
            (found,) = outcomes(compute, [(index, cell(grid, index))])
            seconds = time.perf_counter() - started
            if once or turn or seconds > WARM or found.dataset is None:
                break
        tried.append(found)
        if found.dataset is not None:
            return Trial(tried, seconds, found.dataset.nbytes)
    return Trial(tried, 0.0, 0)


def first_trial(compute: Compute, grid: Sequence[Axis], once: bool = False) -> Trial:
    """Try the first cells of a new sweep.

    Raises
    ------
    UserError
        For a grid that is too large, and if the first, the last and the middle cell fail.
    RuntimeError
        The same, if dynlab itself is at fault.
    """
    if size(grid) > MOST_CELLS:
        raise UserError(f"The grid has {size(grid):,} cells, and a sweep at most {MOST_CELLS:,}: part it.")
    first = trial(compute, grid, np.argwhere(np.ones([len(each.values) for each in grid])), once)
    if first.outcomes[-1].dataset is None:
        problem = first.outcomes[0].problem
        error = RuntimeError if problem.startswith(OWN) else UserError
        raise error(f"The first cell fails, and so do all that were tried: {problem}")
    return first


def opened(
    compute: Compute,
    grid: Sequence[Axis],
    path: Path,
    about: Mapping[str, Any],
    read: Mapping[str, str] = NO_FILES,
    once: bool = False,
) -> tuple[Store, Trial | None]:
    """Open the store of a sweep, or make it, and compute the first of its unfinished cells.

    Parameters
    ----------
    compute : callable
    grid : sequence of Axis
    path : Path
        Ends in .zarr.
    about, read : mapping
        As of `Store`.
    once : bool
        Compute that cell only once, which then tells less of how long others take.

    Returns
    -------
    store : Store
    trial : Trial or None
        None if every cell is done.

    Raises
    ------
    UserError
        As `Store` and `first_trial`.
    """
    if files.exists(path):
        store = Store(path, grid, about, read)
        if not len(store.pending()):
            return store, None
        first = trial(compute, grid, store.pending(), once)
    else:
        first = first_trial(compute, grid, once)
        store = Store.create(path, grid, about, read, first.outcomes[-1].dataset or xr.Dataset())
    store.write(first.outcomes)
    return store, first


def cores() -> int:
    """Return the number of processors of this machine that this process may use."""
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
    """Compute what is not in the store yet, write it, and yield what came of each cell.

    Parameters
    ----------
    compute : callable
        From the values of a cell to its Dataset; workers must be able to import it.
    store : Store
    first : Trial
        What a cell takes; the cells that failed in it are left out.
    scheduler : str, optional
        The address of a Dask scheduler; without it, workers are started on this machine.
    workers : int, optional
        How many are started, one for each core by default; with 0 all is computed in this process.

    Raises
    ------
    UserError
        If the scheduler cannot be reached, or is lost.
    """
    left = store.done.copy()
    for each in first.outcomes:
        left[each.index] = 1
    indices = np.argwhere(left != 1)
    if workers == 0 and scheduler is None:
        yield from _written(store, (outcomes(compute, one) for one in _tasks(store.grid, indices, first, 1)))
        return
    distributed = require_extra("distributed", "sweep")
    try:
        with ExitStack() as stack:
            client = stack.enter_context(_client(distributed, stack, scheduler, workers))
            client.wait_for_workers(1)
            threads = max(1, sum(client.nthreads().values()))
            tasks = _tasks(store.grid, indices, first, threads)
            yield from _written(store, _computed(distributed, client, compute, tasks, WINDOW * threads))
    except (OSError, TimeoutError, distributed.client.FutureCancelledError) as error:
        if scheduler is None:
            raise
        raise UserError(
            f"The scheduler {scheduler} cannot be reached ({error}): check its address, start it, and give the "
            f"command again, which goes on with what is not done."
        ) from error


def _tasks(grid: Sequence[Axis], indices: np.ndarray, first: Trial, threads: int) -> Iterator[Cells]:
    """Yield the cells in parts that take about a second, and several for each thread."""
    by_time = TASK_SECONDS / max(first.seconds, TASK_SECONDS / MOST_IN_TASK)
    most = max(1, int(min(by_time, len(indices) / (8 * threads))))
    for start in range(0, len(indices), most):
        chosen = map(tuple, indices[start : start + most].tolist())
        yield [(index, cell(grid, index)) for index in chosen]


def _written(store: Store, found: Iterator[list[Outcome]]) -> Iterator[Outcome]:
    """Write what came of tasks, now and then, and yield it; whatever ends this, what has come is written."""
    waiting: list[Outcome] = []
    since = time.monotonic()
    try:
        for each in found:
            waiting += each
            if time.monotonic() - since >= BETWEEN or len(waiting) >= MOST_IN_TASK:
                store.write(waiting)
                written, waiting, since = waiting, [], time.monotonic()
                yield from written
    finally:
        if waiting:
            store.write(waiting)
    yield from waiting


def _client(distributed: Any, stack: ExitStack, scheduler: str | None, workers: int | None) -> Any:
    if scheduler is not None:
        return distributed.Client(scheduler, timeout=REACHED, set_as_default=False)
    cluster = distributed.LocalCluster(
        n_workers=workers or cores(),
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",  # a free port: with None it is 8787 for every sweep of this machine
        scheduler_kwargs={"dashboard": False},
        silence_logs=50,
    )
    return distributed.Client(stack.enter_context(cluster), set_as_default=False)


def _computed(
    distributed: Any, client: Any, compute: Compute, tasks: Iterator[Cells], window: int
) -> Iterator[list[Outcome]]:
    """Yield what came of each task, in the order in which they end; few are handed out at a time."""
    running = distributed.as_completed(loop=client.loop)
    cells_of: dict[Any, Cells] = {}

    def hand_out(count: int) -> None:
        for cells in itertools.islice(tasks, count):
            future = client.submit(outcomes, compute, cells, pure=False)
            cells_of[future] = cells
            running.add(future)

    hand_out(window)
    for future in running:
        cells = cells_of.pop(future)
        hand_out(1)
        try:
            yield future.result()
        except distributed.KilledWorker as error:  # the cell ends its worker again and again
            yield [Outcome(index, None, f"its worker failed: {error}") for index, _ in cells]
