"""The Zarr store of a sweep: the variables of every cell along the axes of the grid, and which cells are done.

One process writes, the one that hands out the cells. It writes the variables of some cells and then that they are done,
so that what is interrupted is computed again.
"""

import fcntl
import json
import math
import os
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

import dynlab
from dynlab import files, schema
from dynlab.errors import UserError, damage, require_extra
from dynlab.io import split_complex, write_store

Value = int | float | str
Index = tuple[int, ...]

DONE, PROBLEM, SWEEP = "done", "problem", "sweep"
TEXTS = ("system", "settings", "verdict", "method", "source", "flags")  # attributes that each cell has its own of
OWN_COORDINATE = "{}_of_cell"  # of a cell whose coordinate is not that of the cells before
NOT_THERE = "not there"  # the text of a cell that has none
CHUNK = 2**18  # bytes: a chunk holds the values of many cells, and is written anew with each of them


class Axis(NamedTuple):
    """One direction of a grid: its name, and its values, which are all whole numbers, all numbers, or all texts."""

    name: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Outcome:
    """The Dataset of one cell, or the reason why there is none."""

    index: Index
    dataset: xr.Dataset
    problem: str = ""


def size(grid: Sequence[Axis]) -> int:
    """Return how many cells there are."""
    return math.prod(len(each.values) for each in grid)


def cell(grid: Sequence[Axis], index: Index) -> dict[str, Value]:
    """Return the values of the cell at that place of the grid, by the name of their axis."""
    return {each.name: each.values[place] for each, place in zip(grid, index, strict=True)}


class Store:
    """A sweep's Zarr store, opened to be written; one process at a time has it.

    Parameters
    ----------
    path : Path
    grid : sequence of Axis
    about : mapping
        Description of what is computed, JSON-able, with the digests of the files that cells are made from: a store of
        something else is left alone.

    Attributes
    ----------
    done : ndarray of int8
        1 for each cell that is done.
    before : int
        Number of cells that were done when it was opened.

    Raises
    ------
    UserError
        If the path holds no sweep, or another one, and if another process writes to it.
    """

    def __init__(self, path: Path, grid: Sequence[Axis], about: Mapping[str, Any]) -> None:
        self.path, self.grid = path, list(grid)
        zarr = require_extra("zarr", "sweep")
        try:
            handle = os.open(path, os.O_RDONLY)
            weakref.finalize(self, os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._group = zarr.open_group(path, mode="r+")
            begun = self._group.attrs[SWEEP]
            self._arrays: dict[str, Any] = dict(self._group.arrays())
            self._coordinates = {name: _present(one) for name, one in self._arrays.items() if _dims(one) == (name,)}
            self._dims, self.done = _dims(self._arrays[DONE]), self._arrays[DONE][...]
        except BlockingIOError as error:
            raise UserError(f"Another process writes to {path}: wait until it is done.") from error
        # a damaged store drives zarr into any error
        except Exception as error:
            raise UserError(f"{path} is not the store of a sweep, so it is left as it is: {damage(error)}.") from error
        if begun != _described(grid, about):
            raise UserError(
                f"{path} was begun with another command, grid, file or version of dynlab: give what its attribute "
                f"{SWEEP!r} says, or name another store."
            )
        self.before = int(self.done.sum())

    @classmethod
    def create(cls, path: Path, grid: Sequence[Axis], about: Mapping[str, Any], first: Outcome) -> "Store":
        """Make a store in which nothing is done, for cells that give Datasets such as the `first`."""
        taken = {str(name) for name in (*first.dataset.variables, *first.dataset.dims, DONE, PROBLEM, *TEXTS)}
        dims = [f"grid_{each.name}" if each.name in taken else each.name for each in grid]
        shape = [len(each.values) for each in grid]
        empty = xr.Dataset(
            {
                DONE: schema.variable(dims, np.zeros(shape, np.int8), "1 where the cell is done"),
                PROBLEM: schema.variable(dims, np.full(shape, "", object), "why the cell failed"),
            },
            {dim: (dim, np.array(one.values), {"long_name": one.name}) for dim, one in zip(dims, grid, strict=True)},
            {"dynlab_version": dynlab.__version__, SWEEP: _described(grid, about), "created": schema.created()},
        )
        write_store(path, empty)
        return cls(path, grid, about)

    def pending(self) -> np.ndarray:
        """Return the places of the cells that are not done, failed ones among them, shape (cell, axis)."""
        return np.argwhere(self.done != 1)

    def write(self, found: Sequence[Outcome]) -> dict[Index, str]:
        """Write the variables of some cells, why others failed, and then which are done.

        Returns
        -------
        dict
            Why each of the cells failed, empty where it did not.

        Raises
        ------
        UserError
            If the operating system refuses; what is done stays.
        """
        laid: dict[str, dict[Index, xr.Variable]] = {}
        problems: dict[Index, str] = {}
        with files.told_of_failure(self.path):
            for each in found:
                variables, problems[each.index] = self._variables(each)
                for name, variable in variables.items():
                    laid.setdefault(name, {})[each.index] = variable
            laid[PROBLEM] = {index: xr.Variable((), text) for index, text in problems.items()}
            laid[DONE] = {index: xr.Variable((), np.int8(not text)) for index, text in problems.items()}
            sizes = self._lengthen([one.sizes for cells in laid.values() for one in cells.values()])
            for name, cells in laid.items():
                self._lay(name, cells, sizes)
            self.done = self._arrays[DONE][...]
        return problems

    def _variables(self, outcome: Outcome) -> tuple[dict[str, xr.Variable], str]:
        """Return what is written for a cell, with the coordinates that others do not share, and why it failed."""
        plain = split_complex(outcome.dataset)
        given = {name: str(plain.attrs[name]) for name in TEXTS if name in plain.attrs}
        found = {name: schema.variable((), text, f"{name} of the cell") for name, text in given.items()}
        for name, variable in ((str(key), each) for key, each in plain.variables.items()):
            if name in plain.indexes and self._shared(name, variable):
                continue
            key = OWN_COORDINATE.format(name) if name in plain.indexes else name
            if (array := self._arrays.get(key)) is not None:
                alike = array.attrs.get("units") == variable.attrs.get("units")
                if not alike or _dims(array) != (*self._dims, *variable.dims):
                    return {}, f"its variable {key} has other dimensions or units than that of the cells before."
            found[key] = variable if variable.dtype.kind in "fOUT" else variable.astype(float)
        return found, outcome.problem

    def _shared(self, name: str, variable: xr.Variable) -> bool:
        """Tell whether the store's coordinate is the cell's too, as far as both go; the longer one is kept."""
        given = variable.values
        stored = self._coordinates.get(name, given[:0])
        if given.size > stored.size and np.array_equal(stored, given[: stored.size]):
            self._create(name, variable, (name,), given.shape, given.shape)
            self._arrays[name][...] = given
            self._coordinates[name] = given
            return True
        return np.array_equal(stored[: given.size], given)

    def _lengthen(self, cells: Sequence[Mapping[Any, int]]) -> dict[str, int]:
        """Lengthen every array to the longest of its dimensions in any array or cell, and return those lengths."""
        lengths = [dict(zip(_dims(array), array.shape, strict=True)) for array in self._arrays.values()]
        sizes: dict[str, int] = {}
        for one in (*lengths, *cells):
            sizes |= {str(dim): max(n, sizes.get(str(dim), 0)) for dim, n in one.items()}
        for array, before in zip(self._arrays.values(), lengths, strict=True):
            if any(sizes[dim] != n for dim, n in before.items()):
                array.resize(tuple(sizes[dim] for dim in before))
        return sizes

    def _lay(self, name: str, cells: Mapping[Index, xr.Variable], sizes: Mapping[str, int]) -> None:
        """Write one variable of some cells, padded where a cell has less, into the box around them."""
        if name not in self._arrays:
            variable = next(iter(cells.values()))
            inner = [sizes[str(dim)] for dim in variable.dims]
            chunks = _box(self.done.shape, CHUNK // max(1, 8 * math.prod(inner)))
            dims = (*self._dims, *variable.dims)
            self._create(name, variable, dims, (*self.done.shape, *inner), (*chunks, *inner))
        array, places = self._arrays[name], np.array([*cells])
        low, high = places.min(axis=0), places.max(axis=0) + 1
        box = (*map(slice, low.tolist(), high.tolist()), ...)
        region = np.array(array[box])
        for index, variable in cells.items():
            place = tuple((np.array(index) - low).tolist())
            region[place] = array.fill_value
            region[(*place, *map(slice, variable.shape))] = variable.values
        array[box] = region

    def _create(self, name: str, variable: xr.Variable, dims: Sequence[Any], shape: Index, chunks: Index) -> None:
        """Make an array with nothing in it."""
        kind = variable.dtype.kind
        nothing = NOT_THERE if kind in "OUT" else np.nan if kind == "f" else np.iinfo(variable.dtype).min
        self._arrays[name] = self._group.create_array(
            name,
            shape=shape,
            chunks=tuple(max(1, n) for n in chunks),
            dtype=str if kind in "OUT" else variable.dtype,
            fill_value=nothing,
            dimension_names=[*map(str, dims)],
            attributes={str(key): np.asarray(value).tolist() for key, value in variable.attrs.items()},
            overwrite=True,  # a coordinate that has become longer
        )


def _dims(array: Any) -> Any:
    return array.metadata.dimension_names


def _present(array: Any) -> Any:
    """Return the values that are no padding."""
    values = array[...]
    return values[(values == values) & (values != array.fill_value)]  # NaN is not equal to itself


def _described(grid: Sequence[Axis], about: Mapping[str, Any]) -> str:
    return json.dumps({"command": about, "grid": grid, "version of dynlab": dynlab.__version__}, sort_keys=True)


def _box(lengths: Sequence[int], most: int) -> Index:
    """Return the shape of a part of the grid with at most so many cells: whole last axes, as far as they fit.

    Examples
    --------
    >>> _box((10, 4, 5), 7), _box((10, 4, 5), 45)
    ((1, 1, 5), (2, 4, 5))
    """
    shape: list[int] = []
    for length in reversed(lengths):
        shape.append(min(length, max(1, most // math.prod(shape))))
    return tuple(reversed(shape))
