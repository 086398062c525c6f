"""Sweeps: a function that gives a Dataset, over a grid of its arguments, computed by many processes into one store."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from dynlab import files
from dynlab.errors import UserError, in_words, require_extra
from dynlab.sweep.store import Axis, Index, Outcome, Store, Value, cell, size

__all__ = ["Axis", "Outcome", "Store", "cell", "opened", "run", "size"]

Compute = Callable[[Mapping[str, Value]], xr.Dataset]  # from the values of a cell to its Dataset
Task = tuple[np.ndarray, np.ndarray]  # the places and the values of some cells, shape (cell, axis)

MOST_CELLS = 10_000_000
MOST_TASKS = 10_000  # of a sweep: what a scheduler holds


def opened(compute: Compute, grid: Sequence[Axis], path: Path, about: Mapping[str, Any]) -> Store:
    """Open the store of a sweep, or make it with the first of its cells.

    Parameters
    ----------
    compute : callable
    grid : sequence of Axis
    path : Path
        Ends in .zarr.
    about : mapping
        As of `Store`.

    Raises
    ------
    UserError
        As `Store`, and for a grid that is too large. An error in the first cell of a new sweep ends it.
    """
    if files.exists(path):
        return Store(path, grid, about)
    if size(grid) > MOST_CELLS:
        raise UserError(f"The grid has {size(grid):,} cells, and a sweep at most {MOST_CELLS:,}: split it.")
    index = (0,) * len(grid)
    first = Outcome(index, compute(cell(grid, index)))
    store = Store.create(path, grid, about, first)
    store.write([first])
    return store


def run(
    compute: Compute, store: Store, *, scheduler: str | None = None, workers: int | None = None
) -> Iterator[tuple[Index, str]]:
    """Compute what is not in the store yet, write it, and yield each cell's place and why it failed.

    Parameters
    ----------
    compute : callable
        From the values of a cell to its Dataset; workers must be able to import it.
    store : Store
    scheduler : str, optional
        The address of a Dask scheduler; without it, workers are started on this machine.
    workers : int, optional
        Number of those started, one for each core by default; with 0 all is computed in this process.

    Raises
    ------
    UserError
        If the scheduler cannot be reached, or is lost.
    """
    left = store.pending()
    if not len(left):
        return
    count = min(len(left), MOST_TASKS)
    columns = [np.array(axis.values, object)[places] for axis, places in zip(store.grid, left.T, strict=True)]
    tasks = list(zip(np.array_split(left, count), np.array_split(np.stack(columns, -1), count), strict=True))
    outcomes = functools.partial(_outcomes, compute, [axis.name for axis in store.grid])
    for found in map(outcomes, tasks) if workers == 0 else _by_workers(outcomes, tasks, scheduler, workers):
        yield from store.write(found).items()


def _outcome(compute: Compute, index: Index, values: dict[str, Value]) -> Outcome:
    try:
        return Outcome(index, compute(values))
    except Exception as error:  # the sweep goes on, and the store says which cell to look at
        return Outcome(index, xr.Dataset(), in_words(error))


def _outcomes(compute: Compute, names: Sequence[str], task: Task) -> list[Outcome]:
    """Compute the cells of a task one after the other."""
    rows = zip(*(each.tolist() for each in task), strict=True)
    return [_outcome(compute, tuple(index), dict(zip(names, values, strict=True))) for index, values in rows]


def _by_workers(
    outcomes: Callable[[Task], list[Outcome]],
    tasks: Sequence[Task],
    scheduler: str | None,
    workers: int | None,
) -> Iterator[list[Outcome]]:
    """Yield what came of each task when it ends, on a scheduler's workers or on those of this machine."""
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
        with cluster as where, distributed.Client(where, timeout="10s", set_as_default=False) as client:
            task_of = dict(zip(client.map(outcomes, tasks, pure=False), tasks, strict=True))
            for future in distributed.as_completed(list(task_of), loop=client.loop):
                indices, _ = task_of.pop(future)  # a result that nothing refers to takes no memory
                try:
                    yield future.result()
                except distributed.KilledWorker as error:  # the task ends its worker again and again
                    yield [
                        Outcome(tuple(index), xr.Dataset(), f"its worker failed: {error}") for index in indices.tolist()
                    ]
    except (OSError, ValueError, TimeoutError, distributed.client.FutureCancelledError) as error:
        if scheduler is None:
            raise
        raise UserError(
            f"The scheduler {scheduler} cannot be reached ({error}): check its address, such as tcp://10.0.0.1:8786, "
            f"start it, and give the command again, which goes on with what is not done."
        ) from error
