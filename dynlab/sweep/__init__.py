"""Sweeps: a function that gives a Dataset, over a grid of its arguments, computed by many processes into one store."""

import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from dynlab import files
from dynlab.errors import OWN, UserError, in_words, require_extra
from dynlab.sweep.store import Axis, Index, Outcome, Store, Value, cell, size

__all__ = ["Axis", "Outcome", "Store", "first_trial", "opened", "run", "size"]

Compute = Callable[[Mapping[str, Value]], xr.Dataset]  # from the values of a cell to its Dataset
Cells = list[tuple[Index, dict[str, Value]]]

MOST_CELLS = 10_000_000
WARM = 1.0  # seconds: what takes less the first time is timed again, without the loading of libraries
TASK_SECONDS, MOST_IN_TASK = 1.0, 1000  # about how long a task takes, and how many cells it has at most
WINDOW = 3  # tasks that are handed out for each processor
REACHED = 10.0  # seconds in which a scheduler answers


def first_trial(compute: Compute, grid: Sequence[Axis]) -> list[Outcome]:
    """Try the first cells of a new sweep, until one succeeds.

    Raises
    ------
    UserError
        For a grid that is too large, and if the first, the last and the middle cell fail.
    RuntimeError
        The same, if dynlab itself is at fault.
    """
    if size(grid) > MOST_CELLS:
        raise UserError(f"The grid has {size(grid):,} cells, and a sweep at most {MOST_CELLS:,}: part it.")
    tried = _tried(compute, grid, np.argwhere(np.ones([len(each.values) for each in grid])))
    if tried[-1].dataset is None:
        error = RuntimeError if tried[0].problem.startswith(OWN) else UserError
        raise error(f"The first cell fails, and so do all that were tried: {tried[0].problem}")
    return tried


def _tried(compute: Compute, grid: Sequence[Axis], indices: np.ndarray) -> list[Outcome]:
    """Compute the first of the cells at `indices`, shape (cell, axis); if it fails, the last, then the middle one."""
    tried: list[Outcome] = []
    for place in dict.fromkeys((0, len(indices) - 1, len(indices) // 2)) if len(indices) else ():
        cells = _cells(grid, indices[place : place + 1])
        tried += _outcomes(compute, cells)
        if tried[-1].dataset is not None:
            return tried if tried[-1].seconds > WARM else tried[:-1] + _outcomes(compute, cells)
    return tried


def opened(
    compute: Compute, grid: Sequence[Axis], path: Path, about: Mapping[str, Any], read: Mapping[str, str] | None = None
) -> tuple[Store, list[Outcome]]:
    """Open the store of a sweep, or make it, and compute the first of its unfinished cells.

    Parameters
    ----------
    compute : callable
    grid : sequence of Axis
    path : Path
        Ends in .zarr.
    about, read : mapping
        As of `Store`.

    Returns
    -------
    store : Store
    tried : list of Outcome
        Cells that were computed, empty if every cell is done; the last one succeeded, if any did.

    Raises
    ------
    UserError
        As `Store` and `first_trial`.
    """
    if files.exists(path):
        store = Store(path, grid, about, read or {})
        tried = _tried(compute, grid, store.pending())
    else:
        tried = first_trial(compute, grid)
        store = Store.create(path, grid, about, read or {}, tried[-1].dataset or xr.Dataset())
    for each in tried:
        store.write([each])
    return store, tried


def run(
    compute: Compute,
    store: Store,
    tried: Sequence[Outcome],
    *,
    scheduler: str | None = None,
    workers: int | None = None,
) -> Iterator[Outcome]:
    """Compute what is not in the store yet, write it, and yield what came of each cell.

    Parameters
    ----------
    compute : callable
        From the values of a cell to its Dataset; workers must be able to import it.
    store : Store
    tried : sequence of Outcome
        The last one tells how long a cell takes; those that failed are left out.
    scheduler : str, optional
        The address of a Dask scheduler; without it, workers are started on this machine.
    workers : int, optional
        Number of those started, one for each core by default; with 0 all is computed in this process.

    Raises
    ------
    UserError
        If the scheduler cannot be reached, or is lost.
    """
    left = store.done != 1
    for each in tried:
        left[each.index] = False
    tasks = functools.partial(_tasks, store.grid, np.argwhere(left), tried[-1].seconds if tried else 0.0)
    if not left.any() or (workers == 0 and scheduler is None):
        found: Iterator[list[Outcome]] = (_outcomes(compute, cells) for cells in tasks(1))
    else:
        found = _by_workers(compute, tasks, scheduler, workers)
    for outcomes in found:
        store.write(outcomes)
        yield from outcomes


def _cells(grid: Sequence[Axis], indices: np.ndarray) -> Cells:
    return [(index, cell(grid, index)) for index in map(tuple, indices.tolist())]


def _tasks(grid: Sequence[Axis], indices: np.ndarray, seconds: float, threads: int) -> Iterator[Cells]:
    """Yield the cells in parts that take about a second, and several for each thread."""
    by_time = TASK_SECONDS / max(seconds, TASK_SECONDS / MOST_IN_TASK)
    most = max(1, int(min(by_time, len(indices) / (8 * threads))))
    yield from (_cells(grid, indices[start : start + most]) for start in range(0, len(indices), most))


def _outcomes(compute: Compute, cells: Cells) -> list[Outcome]:
    """Compute cells one after the other; one that fails leaves the others as they are."""
    found = []
    for index, values in cells:
        started = time.perf_counter()
        try:
            found.append(Outcome(index, compute(values), seconds=time.perf_counter() - started))
        except Exception as error:  # the sweep goes on, and the store says which cell to look at
            found.append(Outcome(index, None, in_words(error)))
    return found


def _by_workers(
    compute: Compute, tasks: Callable[[int], Iterator[Cells]], scheduler: str | None, workers: int | None
) -> Iterator[list[Outcome]]:
    """Yield what came of the tasks that have ended meanwhile, on a scheduler's workers or on those of this machine."""
    distributed = require_extra("distributed", "sweep")
    here = {
        "n_workers": workers,  # None: one for each core
        "threads_per_worker": 1,
        "dashboard_address": "127.0.0.1:0",  # a free port: with None it is 8787 for every sweep of this machine
        "scheduler_kwargs": {"dashboard": False},
        "silence_logs": 50,
    }
    try:
        cluster = nullcontext(scheduler) if scheduler else distributed.LocalCluster(**here)
        with cluster as where, distributed.Client(where, timeout=REACHED, set_as_default=False) as client:
            client.wait_for_workers(1)
            threads = max(1, sum(client.nthreads().values()))
            yield from _computed(distributed, client, compute, tasks(threads), WINDOW * threads)
    except (OSError, ValueError, TimeoutError, distributed.client.FutureCancelledError) as error:
        if scheduler is None:
            raise
        raise UserError(
            f"The scheduler {scheduler} cannot be reached ({error}): check its address, such as tcp://10.0.0.1:8786, "
            f"start it, and give the command again, which goes on with what is not done."
        ) from error


def _computed(
    distributed: Any, client: Any, compute: Compute, tasks: Iterator[Cells], window: int
) -> Iterator[list[Outcome]]:
    """Yield what came of the tasks that have ended meanwhile; few are handed out at a time."""
    running = distributed.as_completed(loop=client.loop)
    cells_of: dict[Any, Cells] = {}

    def hand_out(count: int) -> None:
        for cells in islice(tasks, count):
            future = client.submit(_outcomes, compute, cells, pure=False)
            cells_of[future] = cells
            running.add(future)

    hand_out(window)
    for futures in running.batches():
        found: list[Outcome] = []
        for future in futures:
            cells = cells_of.pop(future)
            try:
                found += future.result()
            except distributed.KilledWorker as error:  # the cell ends its worker again and again
                found += [Outcome(index, None, f"its worker failed: {error}") for index, _ in cells]
        hand_out(len(futures))
        yield found
