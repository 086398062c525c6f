"""The Zarr store of a sweep: every cell's variables laid along the axes of the grid, and a record of what is done.

One process writes, the one that hands out the cells. It writes the variables of some cells first and then their place
in the record, so that whatever is interrupted is computed again, and gives the same store as if it had not been.
"""

import fcntl
import json
import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import dynlab
from dynlab import files, schema
from dynlab.errors import UserError, require_extra
from dynlab.io import split_complex
from dynlab.stores import LARGEST_ROOT, ROOT, found_files, made
from dynlab.sweep.cells import Outcome
from dynlab.sweep.grid import Axis, Index, box

STATUS, PROBLEM = "status", "problem"
WAITING, DONE, FAILED = 0, 1, 2
SWEEP = "sweep"  # the attribute that says what is swept over what
NOT_THERE = "not there"  # the text of a cell that has none
OWN = "{}_of_cell"  # a coordinate of a cell's own, where that is not the first one's
CHUNK = 2**18  # bytes: a chunk holds so many cells' values of one variable, and is written anew with each of them
MOST_IN_CHUNK = 4096  # cells
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

    Raises
    ------
    UserError
        Where there is no store of a sweep, or another process writes to it.
    """

    def __init__(self, path: Path) -> None:
        zarr = require_extra("zarr", "sweep")
        try:
            sizes = found_files(path)
            if sizes is None or sizes.get(ROOT, 0) > LARGEST_ROOT:  # a link or a pipe may be read without end
                raise ValueError("no folder of ordinary files")
            told: dict[str, Any] = json.loads(json.loads((path / ROOT).read_bytes())["attributes"][SWEEP])
            self.grid = [Axis(name, tuple(values)) for name, values in told["grid"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path} is not the store of a sweep, so it is left as it is: name another.") from error
        self.path, self.told = path, told
        self._alone()
        self._group = zarr.open_group(path, mode="r+")
        self._arrays: dict[str, Any] = dict(self._group.arrays())
        self.dims: tuple[str, ...] = tuple(told["dims"])
        self._sizes: dict[str, int] = {}
        for array in self._arrays.values():
            for dim, length in zip(_dims(array), array.shape, strict=True):
                self._sizes[dim] = max(length, self._sizes.get(dim, 0))
        self._coordinates = {name: each[...] for name, each in self._arrays.items() if _dims(each) == (name,)}
        self._even()  # where a process ended while it lengthened a dimension
        self.status: np.ndarray = self._arrays[STATUS][...]

    @classmethod
    def create(cls, path: Path, grid: Sequence[Axis], about: Mapping[str, Any], first: xr.Dataset) -> "Store":
        """Make a store for a grid, whose cells give Datasets such as the `first`."""
        zarr = require_extra("zarr", "sweep")
        taken = {str(name) for name in (*first.variables, *first.dims, STATUS, PROBLEM)}
        dims = [f"grid_{each.name}" if each.name in taken else each.name for each in grid]
        lengths = [len(each.values) for each in grid]
        told = {"about": dict(about), "grid": [[*each] for each in grid], "dims": dims}
        attributes = {"dynlab_version": dynlab.__version__, SWEEP: json.dumps(told), "created": schema.created()}
        private = files.private_name(path)

        def write(place: Path) -> None:
            group = zarr.create_group(place, attributes=attributes)
            for dim, each in zip(dims, grid, strict=True):
                _create(group, dim, xr.Variable((dim,), np.array(each.values), {"long_name": f"{each.name}, swept"}))
            plain = split_complex(first)
            for dim in map(str, plain.indexes):
                _create(group, dim, plain.variables[dim])
            meanings = f"{WAITING}: not computed yet; {DONE}: done; {FAILED}: failed, for the reason in {PROBLEM}"
            about_record = {"long_name": "what became of the cell", "units": schema.ONE, "comment": meanings}
            chunks = box(lengths, MOST_IN_CHUNK)
            common = {"shape": lengths, "chunks": chunks, "dimension_names": dims}
            group.create_array(STATUS, dtype="int8", fill_value=WAITING, attributes=about_record, **common)
            words = {"long_name": "why the cell failed", "units": schema.ONE}
            group.create_array(PROBLEM, dtype=str, fill_value="", attributes=words, **common)

        with files.told_of_failure(path), made(private, write):
            files.put(private, path)
        return cls(path)

    def check_same(self, grid: Sequence[Axis], about: Mapping[str, Any]) -> None:
        """Refuse to go on with another sweep than the one that the store was begun with."""
        before = {"about": self.told["about"], "grid": self.grid, "version": self._group.attrs["dynlab_version"]}
        now = {"about": json.loads(json.dumps(dict(about))), "grid": [*grid], "version": dynlab.__version__}
        differing = [name for name in before if before[name] != now[name]]
        if differing:
            was = {"about": "another command", "grid": "another grid", "version": "another version of dynlab"}
            raise UserError(
                f"{self.path} was begun with {was[differing[0]]}: give what it was begun with, which its attribute "
                f"{SWEEP!r} says, or name another store."
            )

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
        with files.told_of_failure(self.path):
            for name, cells in found.items():
                self._lay(name, cells)
            self._lay(PROBLEM, {index: xr.Variable((), problem) for index, problem in problems.items()})
            states = {index: FAILED if problem else DONE for index, problem in problems.items()}
            self._lay(STATUS, {index: xr.Variable((), state) for index, state in states.items()})
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
            if array is not None and _dims(array) != (*self.dims, *variable.dims):
                had = ", ".join(_dims(array)[len(self.dims) :]) or "none"
                raise UserError(f"its variable {name} has other dimensions than that of cells before, which has {had}.")
            found[name] = variable
        told = {"system", "settings", "verdict", "method", "source", "flags"} & ds.attrs.keys()
        for name in sorted(told - found.keys()):
            found[name] = schema.variable((), str(ds.attrs[name]), f"{name} of the cell")
        return {name: _with_a_value_for_nothing(variable) for name, variable in found.items()}

    def _shared(self, name: str, variable: xr.Variable) -> bool:
        """Whether the store's coordinate is the cell's too; one that counts 1, 2, 3 … is made as long as the cell's."""
        array = self._arrays.get(name)
        if array is None:
            self._arrays[name] = _create(self._group, name, variable)
            self._coordinates[name] = variable.values
            self._sizes[name] = max(variable.size, self._sizes.get(name, 0))
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
        longer = {str(dim): length for dim, length in sizes.items() if length > self._sizes.get(str(dim), 0)}
        if longer:
            self._sizes |= longer
            self._even()

    def _even(self) -> None:
        """Make every array as long as the longest along each dimension."""
        for name, array in self._arrays.items():
            shape = tuple(self._sizes[dim] for dim in _dims(array))
            if shape != array.shape:
                array.resize(shape)
                if name in self._coordinates:
                    if _counts(before := self._coordinates[name]):
                        array[...] = before[0] + np.arange(shape[0])
                    self._coordinates[name] = array[...]

    def _lay(self, name: str, cells: Mapping[Index, xr.Variable]) -> None:
        """Write one variable of some cells into the smallest box around them, padded where a cell has less."""
        for variable in cells.values():
            self._lengthen(variable.sizes)
        if name not in self._arrays:
            self._arrays[name] = self._made(name, next(iter(cells.values())))
        array = self._arrays[name]
        places = np.array([*cells])
        low, high = places.min(axis=0), places.max(axis=0) + 1
        part = (*(slice(a, b) for a, b in zip(low.tolist(), high.tolist(), strict=True)), ...)
        region = np.array(array[part])
        for index, variable in cells.items():
            place = tuple((np.array(index) - low).tolist())
            region[place] = array.fill_value
            region[(*place, *(slice(0, length) for length in variable.shape))] = variable.values
        array[part] = region

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
            fill_value=NOT_THERE if text else np.nan,
            dimension_names=dims,
            attributes=_plain(variable.attrs),
        )

    def _alone(self) -> None:
        handle = os.open(self.path, os.O_RDONLY)
        weakref.finalize(self, os.close, handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(f"Another process writes to {self.path}: wait until it is done.") from error
        except OSError:  # a file system that has no locks
            pass


def _create(group: Any, name: str, variable: xr.Variable) -> Any:
    """Write a coordinate, whole."""
    text = variable.dtype.kind in "OUT"
    array = group.create_array(
        name,
        shape=variable.shape,
        dtype=str if text else variable.dtype,
        fill_value=NOT_THERE if text else np.nan if variable.dtype.kind == "f" else 0,
        dimension_names=variable.dims,
        attributes=_plain(variable.attrs),
    )
    array[...] = variable.values.astype(object) if text else variable.values
    return array


def _dims(array: Any) -> tuple[str, ...]:
    return tuple(array.metadata.dimension_names)


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
