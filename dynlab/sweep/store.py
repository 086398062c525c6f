"""The Zarr store of a sweep: every cell's variables laid along the axes of the grid, and a record of what is done.

One process writes, the one that hands out the cells. It writes the variables of some cells first and then their place
in the record, so that whatever is interrupted is computed again, and gives the same store as if it had not been.
"""

import fcntl
import json
import math
import os
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import dynlab
from dynlab import files, schema
from dynlab.errors import UserError, require_extra
from dynlab.io import split_complex
from dynlab.reading import bounded, damage_refused
from dynlab.stores import made
from dynlab.sweep import digests
from dynlab.sweep.cells import Outcome
from dynlab.sweep.grid import Axis, Index, box, boxes, cell
from dynlab.sweep.layout import (
    DIGEST,
    DONE,
    FAILED,
    PROBLEM,
    RECORD,
    STATUS,
    SWEEP,
    WAITING,
    Layout,
    arrays_in,
    check_files,
    damaged,
    dims_of,
    layout_of,
    nothing_of,
    reading,
)

OWN = "{}_of_cell"  # a coordinate of a cell's own, where that is not the first one's
CHUNK = 2**18  # bytes: a chunk holds so many cells' values of one variable, and is written anew with each of them
MOST_IN_CHUNK = 4096  # cells
MOST_READ = 2**24  # bytes of one variable that are read at once to see whether its cells are as they were written
AGAIN = "Or remove it, and its cells are computed again."
NEAR = 256  # cells of a box that are written together


class Store:
    """A sweep's store, opened to be written; one process at a time has it.

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    status : ndarray of int8
        Of each cell: waiting, done or failed.
    lost : int
        How many cells `check_done` found not to be what was written.

    Raises
    ------
    UserError
        Where there is no store of a sweep, or one that is damaged, or another process writes to it.
    """

    def __init__(self, path: Path) -> None:
        require_extra("zarr", "sweep")
        check_files(path)
        self.path, self.lost = path, 0
        self._lock = self._alone()
        with self.free_where_refused():
            self._open()

    def _open(self) -> None:
        """See what the store says of itself, and whether its arrays are so."""
        self._layout = layout_of(self.path)
        with bounded(self.path), damage_refused(self.path, "the store of a sweep"):
            self._group = require_extra("zarr", "sweep").open_group(self.path, mode="r+")
        self._arrays = arrays_in(self.path, self._group, self._layout)
        self._sizes = dict(zip(self.dims, self._layout.lengths, strict=True)) | self._layout.sizes
        self._coordinates: dict[str, np.ndarray] = {}
        for name in [name for name, array in self._arrays.items() if dims_of(array) == (name,)]:
            if name not in self.dims and self._layout.arrays[name] is None:
                del self._arrays[name]  # a process ended while it wrote it
            else:
                self._coordinates[name] = self._coordinate(name)
        with reading(self.path, STATUS):
            self.status: np.ndarray = self._arrays[STATUS][...]

    @contextmanager
    def free_where_refused(self) -> Iterator[None]:
        """Let others write to the store where this block ends with an error."""
        with ExitStack() as refused:
            refused.callback(self._lock)
            yield
            refused.pop_all()

    @property
    def grid(self) -> list[Axis]:
        return self._layout.grid

    @property
    def dims(self) -> tuple[str, ...]:
        return self._layout.dims

    @classmethod
    def create(cls, path: Path, grid: Sequence[Axis], about: Mapping[str, Any], first: xr.Dataset) -> "Store":
        """Make a store for a grid, whose cells give Datasets such as the `first`."""
        zarr = require_extra("zarr", "sweep")
        taken = {str(name) for name in (*first.variables, *first.dims, *RECORD)}
        dims = [f"grid_{each.name}" if each.name in taken else each.name for each in grid]
        lengths = [len(each.values) for each in grid]
        plain = split_complex(first)
        coordinates = {str(dim): plain.variables[dim] for dim in plain.indexes}
        stamps: dict[str, int | str | None] = {dim: _stamp(dim, each.values) for dim, each in coordinates.items()}
        sizes = {dim: variable.size for dim, variable in coordinates.items()}
        layout = Layout(dict(about), [*grid], tuple(dims), stamps, sizes)
        attributes = {"dynlab_version": dynlab.__version__, SWEEP: layout.text(), "created": schema.created()}
        private = files.private_name(path)

        def write(place: Path) -> None:
            group = zarr.create_group(place, attributes=attributes)
            for dim, each in zip(dims, grid, strict=True):
                _create(group, dim, xr.Variable((dim,), np.array(each.values), {"long_name": f"{each.name}, swept"}))
            for dim, variable in coordinates.items():
                _create(group, dim, variable)
            chunks = box(lengths, MOST_IN_CHUNK)
            common = {"shape": lengths, "chunks": chunks, "dimension_names": dims}
            meanings = f"{WAITING}: not computed yet; {DONE}: done; {FAILED}: failed, for the reason in {PROBLEM}"
            words = {"long_name": "what became of the cell", "units": schema.ONE, "comment": meanings}
            group.create_array(STATUS, dtype="int8", fill_value=WAITING, attributes=words, **common)
            words = {"long_name": "why the cell failed", "units": schema.ONE}
            group.create_array(PROBLEM, dtype=str, fill_value="", attributes=words, **common)
            words = {"long_name": "digest of what was written for the cell", "units": schema.ONE}
            group.create_array(DIGEST, dtype="uint64", fill_value=0, attributes=words, **common)

        with files.told_of_failure(path), made(private, write):
            files.put(private, path)
        return cls(path)

    def check_same(self, grid: Sequence[Axis], about: Mapping[str, Any]) -> None:
        """Refuse to go on with another sweep than the one that the store was begun with."""
        version = self._group.attrs.get("dynlab_version")
        before = {"about": self._layout.about, "grid": self.grid, "version": version}
        now = {"about": json.loads(json.dumps(dict(about))), "grid": [*grid], "version": dynlab.__version__}
        differing = [name for name in before if before[name] != now[name]]
        if differing:
            was = {"about": "another command", "grid": "another grid", "version": "another version of dynlab"}
            raise UserError(
                f"{self.path} was begun with {was[differing[0]]}: give what it was begun with, which its attribute "
                f"{SWEEP!r} says, or name another store."
            )

    def check_done(self) -> None:
        """Count as waiting what the record calls done, and is not what was written; make ready for more.

        Raises
        ------
        UserError
            Where an array cannot be read.
        """
        found = np.zeros(self.status.shape, np.uint64)
        for part in boxes(self.status.shape, MOST_IN_CHUNK):
            for index in self._done(part):
                found[index] = digests.of_cell(cell(self.grid, index))
        for name in self._of_cells():
            self._add_digests(name, found)
        with reading(self.path, DIGEST):
            differing = (self.status == DONE) & (found != self._arrays[DIGEST][...])
        self.lost = int(differing.sum())
        with self._told_to_go_on():
            if self.lost:
                self.status[differing] = WAITING
                self._arrays[STATUS][...] = self.status
            self._even()  # where a process ended while it lengthened a dimension
            for name, values in self._coordinates.items():
                if not np.array_equal(self._arrays[name][...], values):
                    self._arrays[name][...] = values

    def _add_digests(self, name: str, found: np.ndarray) -> None:
        """Put the digests of one variable to those of the cells that are done, a region at a time."""
        array, axes = self._arrays[name], len(self.dims)
        at_once = MOST_READ // (8 * max(1, math.prod(array.shape[axes:])))
        for part in boxes(self.status.shape, max(1, min(math.prod(array.chunks[:axes]), at_once))):
            with reading(self.path, name, AGAIN if name != PROBLEM else ""):
                region = np.asarray(array[(*part, ...)])
            for index in self._done(part):
                place = tuple(i - each.start for i, each in zip(index, part, strict=True))
                found[index] ^= np.uint64(digests.of_values(name, region[place], array.fill_value))

    def _done(self, part: tuple[slice, ...]) -> Iterator[Index]:
        """The cells of a part of the grid that are done."""
        for place in (np.argwhere(self.status[part] == DONE) + [each.start for each in part]).tolist():
            yield tuple(place)

    def _of_cells(self) -> list[str]:
        """The variables of the cells; why one failed is among them, so that it is seen where a done one has that."""
        return [name for name in self._arrays if name not in (*self._coordinates, STATUS, DIGEST)]

    def _coordinate(self, name: str) -> np.ndarray:
        """The values of a coordinate, which are those that the sweep gave it."""
        array = self._arrays[name]
        with reading(self.path, name):
            values: np.ndarray = array[...]
            stamp = self._layout.arrays.get(name)
            if name in self.dims:
                right = values.tolist() == np.array(self.grid[self.dims.index(name)].values).tolist()
            elif isinstance(stamp, int):  # a process may have ended before it counted on
                values = stamp + np.arange(values.size)
                right = _counts(values) and array.dtype.kind == "i"
            else:
                right = _stamp(name, values) == stamp
        if not right:
            raise damaged(self.path, name, "has other values than this sweep gave it")
        return values

    def pending(self) -> np.ndarray:
        """The places of the cells that are not done, shape (cell, axis); failed ones are among them."""
        return np.argwhere(self.status != DONE)

    def problems(self) -> Iterator[tuple[Index, str]]:
        """The cells that failed, and why."""
        for place in np.argwhere(self.status == FAILED).tolist():
            yield tuple(place), str(self._arrays[PROBLEM][tuple(place)])

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
                variables = self._variables(each.dataset)
            except UserError as error:
                problems[each.index] = str(error)
                continue
            for name, variable in variables.items():
                found.setdefault(name, {})[each.index] = variable
        found[PROBLEM] = {index: xr.Variable((), problem) for index, problem in problems.items()}
        self._begin([name for name in found if name not in self._arrays])
        marks = {index: digests.of_cell(cell(self.grid, index)) for index in problems}
        for name in dict.fromkeys((*found, *self._of_cells())):
            for index, mark in self._lay(name, found.get(name, {}), [*problems]).items():
                marks[index] ^= mark
        self._lay(DIGEST, {index: xr.Variable((), np.uint64(mark)) for index, mark in marks.items()}, [*problems])
        states = {index: FAILED if problem else DONE for index, problem in problems.items()}
        self._lay(STATUS, {index: xr.Variable((), state) for index, state in states.items()}, [*problems])
        for index, state in states.items():
            self.status[index] = state

    def _variables(self, ds: xr.Dataset) -> dict[str, xr.Variable]:
        """What is laid of a cell: its variables, its attributes as texts, and coordinates that are its own."""
        plain = split_complex(ds)
        found: dict[str, xr.Variable] = {}
        for key, variable in plain.variables.items():
            name = str(key)
            if name in plain.dims and variable.ndim == 1:
                if self._shared(name, variable):
                    continue
                name = OWN.format(name)
            array = self._arrays.get(name)
            if array is not None:
                self._check_alike(name, array, variable)
            found[name] = variable
        told = {"system", "settings", "verdict", "method", "source", "flags"} & ds.attrs.keys()
        for name in sorted(told - found.keys()):
            found[name] = schema.variable((), str(ds.attrs[name]), f"{name} of the cell")
        return {name: _with_a_value_for_nothing(variable) for name, variable in found.items()}

    def _check_alike(self, name: str, array: Any, variable: xr.Variable) -> None:
        """Refuse a variable of a cell that has no place in the array of those before."""
        if dims_of(array) != (*self.dims, *variable.dims):
            had = ", ".join(dims_of(array)[len(self.dims) :]) or "none"
            raise UserError(f"its variable {name} has other dimensions than that of cells before, which has {had}.")
        kinds = ["texts" if each.dtype.kind in "OUT" else "numbers" for each in (variable, array)]
        if kinds[0] != kinds[1]:
            raise UserError(f"its variable {name} has {kinds[0]}, and that of cells before has {kinds[1]}.")

    def _shared(self, name: str, variable: xr.Variable) -> bool:
        """Whether the store's coordinate is the cell's too; one that counts 1, 2, 3 … is made as long as the cell's."""
        array = self._arrays.get(name)
        if array is None:
            self._begin([name])
            self._lengthen({name: variable.size})
            self._arrays[name] = _create(self._group, name, variable)
            self._coordinates[name] = variable.values
            self._layout.arrays[name] = _stamp(name, variable.values)
            self._tell()  # now that it has its values
            self._even()
            return True
        stored = self._coordinates[name]
        if stored.shape == variable.shape and np.array_equal(stored, variable.values):
            return True
        if not (_counts(stored) and _counts(variable.values) and stored[0] == variable.values[0]):
            return False
        self._lengthen({name: variable.size})
        return True

    def _lengthen(self, sizes: Mapping[Any, int]) -> None:
        longer = {str(dim): length for dim, length in sizes.items() if length > self._sizes.get(str(dim), -1)}
        if longer:
            self._sizes |= longer
            self._layout.sizes.update(longer)
            self._tell()  # first: no array is longer than is said
            self._even()

    def _begin(self, names: Sequence[str]) -> None:
        """Say that arrays are the sweep's own, before they are made; somebody else's of that name are left alone."""
        new = [name for name in names if name not in self._layout.arrays]
        for name in new:
            if files.exists(self.path / name):
                raise UserError(f"{self.path} has a {name} that this sweep did not write: move it away.")
        if new:
            self._layout.arrays.update(dict.fromkeys(new))
            self._tell()

    def _tell(self) -> None:
        self._group.attrs.update({SWEEP: self._layout.text()})

    def _even(self) -> None:
        """Make every array as long as the longest along each dimension."""
        for name, array in self._arrays.items():
            shape = tuple(self._sizes[dim] for dim in dims_of(array))
            if shape != array.shape:
                array.resize(shape)
                if name in self._coordinates:
                    if _counts(before := self._coordinates[name]):
                        array[...] = before[0] + np.arange(shape[0])
                    self._coordinates[name] = array[...]

    def _lay(self, name: str, cells: Mapping[Index, xr.Variable], indices: Sequence[Index]) -> dict[Index, int]:
        """Write one variable of the cells at `indices` into the smallest box around them, padded where a cell has less.

        Returns
        -------
        dict
            The digest of what each cell has.
        """
        for variable in cells.values():
            self._lengthen(variable.sizes)
        if name not in self._arrays:
            self._arrays[name] = self._made(name, next(iter(cells.values())))
        array = self._arrays[name]
        places = np.array(indices)
        low, high = places.min(axis=0), places.max(axis=0) + 1
        part = (*(slice(a, b) for a, b in zip(low.tolist(), high.tolist(), strict=True)), ...)
        with reading(self.path, name):
            region = np.array(array[part])
        for index in indices:
            region[tuple((np.array(index) - low).tolist())] = array.fill_value
        found = {}
        for index, variable in cells.items():
            place = tuple((np.array(index) - low).tolist())
            region[(*place, *(slice(0, length) for length in variable.shape))] = variable.values
            found[index] = digests.of_values(name, region[place], array.fill_value)
        array[part] = region
        return found

    def _made(self, name: str, variable: xr.Variable) -> Any:
        """A new array for a variable of the cells, with nothing in it yet."""
        dims = (*self.dims, *map(str, variable.dims))
        inner = tuple(self._sizes[dim] for dim in dims[len(self.dims) :])
        cells = max(1, min(MOST_IN_CHUNK, CHUNK // max(1, 8 * int(np.prod(inner)))))
        lengths = [len(each.values) for each in self.grid]
        text = variable.dtype.kind in "OUT"
        return self._group.create_array(
            name,
            shape=(*lengths, *inner),
            chunks=(*box(lengths, cells), *(max(1, length) for length in inner)),
            dtype=str if text else variable.dtype,
            fill_value=nothing_of(name, variable.dtype.kind),
            dimension_names=dims,
            attributes=_plain(variable.attrs),
            overwrite=True,  # what is there has lost its description: `_begin` has seen that it is the sweep's own
        )

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


def _stamp(name: str, values: np.ndarray) -> int | str:
    """What the values of a coordinate are: the first of numbers that count one by one, else their digest."""
    if _counts(values):
        return int(values[0])
    return f"{digests.of_values(name, values, nothing_of(name, values.dtype.kind)):x}"


def _create(group: Any, name: str, variable: xr.Variable) -> Any:
    """Write a coordinate, whole."""
    text = variable.dtype.kind in "OUT"
    array = group.create_array(
        name,
        shape=variable.shape,
        dtype=str if text else variable.dtype,
        fill_value=nothing_of(name, variable.dtype.kind),
        dimension_names=variable.dims,
        attributes=_plain(variable.attrs),
        overwrite=True,  # one that a process ended while it wrote it
    )
    array[...] = variable.values.astype(object) if text else variable.values
    return array


def _counts(values: np.ndarray) -> bool:
    """Whether they are whole numbers, each one more than the one before."""
    return values.dtype.kind == "i" and values.size > 0 and bool((np.diff(values) == 1).all())


def _with_a_value_for_nothing(variable: xr.Variable) -> xr.Variable:
    """The variable in a type that can say that there is no value."""
    if variable.dtype.kind in "fOUT":
        return variable
    return variable.astype(float)


def _plain(attributes: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): value.item() if isinstance(value, np.generic) else value for name, value in attributes.items()}
