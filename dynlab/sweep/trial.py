"""The first cells of a sweep, computed here: they show what a cell takes, and what its Dataset holds."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from dynlab import files
from dynlab.errors import UserError
from dynlab.reading import OWN
from dynlab.sweep.cells import Compute, Outcome, outcomes
from dynlab.sweep.grid import MOST_CELLS, Axis, Files, cell, no_files, size
from dynlab.sweep.layout import check_description
from dynlab.sweep.store import Store

WARM = 5.0  # seconds of the processor: what takes less is timed again, as the first run loads libraries


class Trial(NamedTuple):
    """What the first cells showed.

    Attributes
    ----------
    outcomes : list of Outcome
        The last one is the first that did not fail, if any.
    seconds : float
        That the last of them took.
    bytes : int
        Of its Dataset, before it is compressed.
    """

    outcomes: list[Outcome]
    seconds: float
    bytes: int

    @property
    def succeeded(self) -> bool:
        return self.outcomes[-1].dataset is not None


def trial(compute: Compute, grid: Sequence[Axis], indices: np.ndarray, once: bool = False) -> Trial:
    """Compute the first of cells, shape (cell, axis); where it fails, the last, and then the one in the middle.

    Each is timed twice where it takes little, but for cells that keep what they did `once`.
    """
    tried: list[Outcome] = []
    seconds = 0.0
    for place in dict.fromkeys((0, len(indices) - 1, len(indices) // 2)):
        index = tuple(indices[place].tolist())
        one = [(index, cell(grid, index))]
        for _ in range(2):
            started, of_processor = time.perf_counter(), time.process_time()
            (found,) = outcomes(compute, one)
            seconds = time.perf_counter() - started
            if once or time.process_time() - of_processor > WARM or found.dataset is None:
                break
        tried.append(found)
        if found.dataset is not None:
            return Trial(tried, seconds, found.dataset.nbytes)
    return Trial(tried, seconds, 0)


def first_trial(compute: Compute, grid: Sequence[Axis], once: bool = False) -> Trial:
    """What the first cells of a new sweep take.

    Raises
    ------
    UserError
        For a grid that is too large, and where the first, the last and the middle cell fail, with what is wrong with
        the first.
    RuntimeError
        The same, where what is wrong with the first is dynlab's own fault.
    """
    if size(grid) > MOST_CELLS:
        raise UserError(f"The grid has {size(grid):,} cells, and a sweep at most {MOST_CELLS:,}: part it.")
    check_description(grid)
    first = trial(compute, grid, np.argwhere(np.ones([len(each.values) for each in grid])), once)
    if not first.succeeded:
        problem = first.outcomes[0].problem
        error = RuntimeError if problem.startswith(OWN) else UserError
        raise error(f"The first cell fails, and so do all that were tried: {problem}")
    return first


def opened(
    compute: Compute,
    grid: Sequence[Axis],
    path: Path,
    about: Mapping[str, Any],
    once: bool = False,
    files_of: Files = no_files,
) -> tuple[Store, Trial | None]:
    """The store of a sweep, made where there is none, with the first of its unfinished cells.

    Parameters
    ----------
    compute : callable
    grid : sequence of Axis
    path : Path
        Ends in .zarr.
    about : mapping
        What is computed, JSON-able: a store of something else is left alone.
    once : bool
        A cell that was computed is kept by itself, so that a second time would tell nothing of how long it takes.
    files_of : callable, optional
        From the values of a cell to a text of what was in the files that it is made from; see `Store`.

    Returns
    -------
    store : Store
    trial : Trial or None
        None where every cell is done.

    Raises
    ------
    UserError
        Where `path` holds something else, and where the first, the last and the middle cell of a new sweep fail.
    """
    if not files.exists(path):
        first = first_trial(compute, grid, once)
        store = Store.create(path, grid, about, first.outcomes[-1].dataset or xr.Dataset(), files_of)
    else:
        store = Store(path, files_of)
        with store.free_where_refused():
            store.check_same(grid, about)
            store.check_done()
        pending = store.pending()
        if not len(pending):
            return store, None
        first = trial(compute, grid, pending, once)
    with store.free_where_refused():
        store.write(first.outcomes)
    return store, first
