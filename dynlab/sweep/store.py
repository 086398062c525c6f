"""The Zarr store of a sweep: every cell's variables laid along the axes of the grid, and a record of what is done.

One process writes, the one that hands out the cells. It writes the variables of some cells first and then their place
in the record, so that whatever is interrupted is computed again, and gives the same store as if it had not been.
"""

import fcntl
import os
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from dynlab.errors import UserError, require_extra
from dynlab.sweep import comparing, created, digests
from dynlab.sweep.arrays import Arrays
from dynlab.sweep.cell_variables import variables
from dynlab.sweep.cells import Outcome
from dynlab.sweep.grid import Axis, Files, Index, box, cell, no_files
from dynlab.sweep.layout import DIGEST, DONE, FAILED, PROBLEM, STATUS, WAITING, check_files, reading

NEAR = 256  # cells of a box that are written together


class Store:
    """A sweep's store, opened to be written; one process at a time has it.

    Parameters
    ----------
    path : Path
    files : callable, optional
        From the values of a cell to a text of what was in the files that it is made from: a cell that was made from
        others is not done.

    Attributes
    ----------
    status : ndarray of int8
        Of each cell: waiting, done or failed.
    lost : int
        How many cells `check_done` found not to be what was written, or to be made from other files.

    Raises
    ------
    UserError
        Where there is no store of a sweep, or one that is damaged, or another process writes to it.
    """

    def __init__(self, path: Path, files: Files = no_files) -> None:
        require_extra("zarr", "sweep")
        check_files(path)
        self.path, self.lost, self._files = path, 0, files
        self._lock = self._alone()
        with self.free_where_refused():
            self._arrays = Arrays(path)
            with reading(path, STATUS):
                self.status: np.ndarray = self._arrays.named[STATUS][...]

    @contextmanager
    def free_where_refused(self) -> Iterator[None]:
        """Let others write to the store where this block ends with an error."""
        with ExitStack() as refused:
            refused.callback(self._lock)
            yield
            refused.pop_all()

    @property
    def grid(self) -> list[Axis]:
        return self._arrays.layout.grid

    @property
    def dims(self) -> tuple[str, ...]:
        return self._arrays.layout.dims

    @classmethod
    def create(
        cls, path: Path, grid: Sequence[Axis], about: Mapping[str, Any], first: xr.Dataset, files: Files = no_files
    ) -> "Store":
        """Make a store for a grid, whose cells give Datasets such as the `first`."""
        created.create(path, grid, about, first)
        return cls(path, files)

    def check_same(self, grid: Sequence[Axis], about: Mapping[str, Any]) -> None:
        """Refuse to go on with another sweep than the one that the store was begun with."""
        comparing.check_same(self._arrays, grid, about)

    def check_done(self) -> None:
        """Count as waiting what is called done and is not what was written, or is from other files; make ready.

        Raises
        ------
        UserError
            Where an array cannot be read.
        """
        differing = comparing.differing(self._arrays, self.status, self._files)
        self.lost = int(differing.sum())
        with self._told_to_go_on():
            if self.lost:
                self.status[differing] = WAITING
                self._arrays.named[STATUS][...] = self.status
            self._arrays.make_whole()

    def pending(self) -> np.ndarray:
        """The places of the cells that are not done, shape (cell, axis); failed ones are among them."""
        return np.argwhere(self.status != DONE)

    def problems(self) -> Iterator[tuple[Index, str]]:
        """The cells that failed, and why."""
        for place in np.argwhere(self.status == FAILED).tolist():
            yield tuple(place), str(self._arrays.named[PROBLEM][tuple(place)])

    def write(self, outcomes: Sequence[Outcome]) -> None:
        """Write what came of some cells, and then that they are done or failed."""
        near = box(self.status.shape, NEAR)
        groups: dict[Index, list[Outcome]] = {}
        for each in outcomes:
            groups.setdefault(tuple(i // n for i, n in zip(each.index, near, strict=True)), []).append(each)
        with self._told_to_go_on():
            for group in groups.values():
                self._write(group)

    def _write(self, outcomes: Sequence[Outcome]) -> None:
        problems = {each.index: each.problem for each in outcomes}
        found: dict[str, dict[Index, xr.Variable]] = {}
        for each in outcomes:
            if each.dataset is None:
                continue
            try:
                laid = variables(each.dataset, self._arrays)
            except UserError as error:
                problems[each.index] = str(error)
                continue
            for name, variable in laid.items():
                found.setdefault(name, {})[each.index] = variable
        found[PROBLEM] = {index: xr.Variable((), problem) for index, problem in problems.items()}
        self._arrays.begin([name for name in found if name not in self._arrays.named])
        places = {index: cell(self.grid, index) for index in problems}
        marks = {index: digests.of_cell(values, self._files(values)) for index, values in places.items()}
        for name in dict.fromkeys((*found, *self._arrays.of_cells())):
            for index, mark in self._arrays.lay(name, found.get(name, {}), [*problems]).items():
                marks[index] ^= mark
        self._arrays.lay(
            DIGEST, {index: xr.Variable((), np.uint64(mark)) for index, mark in marks.items()}, [*problems]
        )
        states = {index: FAILED if problem else DONE for index, problem in problems.items()}
        self._arrays.lay(STATUS, {index: xr.Variable((), state) for index, state in states.items()}, [*problems])
        for index, state in states.items():
            self.status[index] = state

    @contextmanager
    def _told_to_go_on(self) -> Iterator[None]:
        """Turn what the operating system says of writing into a sentence; what is done stays done."""
        try:
            yield
        except OSError as error:
            raise UserError(
                f"{self.path} could not be written ({error.strerror or error}): the store is begun, and what is done "
                f"in it stays. Make room or mend what is wrong, and the same line goes on with it."
            ) from error

    def _alone(self) -> Callable[[], object]:
        """Have the store for this process alone, until what is given back is called, or the store is forgotten."""
        handle = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW)
        free = weakref.finalize(self, os.close, handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            free()
            raise UserError(f"Another process writes to {self.path}: wait until it is done.") from error
        except OSError:  # a file system that has no locks
            pass
        return free
