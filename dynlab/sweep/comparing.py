"""Whether what lies in a sweep's store is this sweep's: begun by the same command, with the values that it wrote."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import dynlab
from dynlab.errors import UserError
from dynlab.sweep import digests
from dynlab.sweep.arrays import Arrays
from dynlab.sweep.grid import Axis, Files, Index, boxes, cell
from dynlab.sweep.layout import DIGEST, DONE, MOST_IN_CHUNK, PROBLEM, SWEEP, reading

MOST_READ = 2**24  # bytes of one variable that are read at once to see whether its cells are as they were written
AGAIN = "Or remove it, and its cells are computed again."


def check_same(arrays: Arrays, grid: Sequence[Axis], about: Mapping[str, Any]) -> None:
    """Refuse to go on with another sweep than the one that the store was begun with."""
    before = {"about": arrays.layout.about, "grid": arrays.layout.grid, "version": arrays.version}
    now = {"about": json.loads(json.dumps(dict(about))), "grid": [*grid], "version": dynlab.__version__}
    differing = [name for name in before if before[name] != now[name]]
    if differing:
        was = {"about": "another command", "grid": "another grid", "version": "another version of dynlab"}
        raise UserError(
            f"{arrays.path} was begun with {was[differing[0]]}: give what it was begun with, which its attribute "
            f"{SWEEP!r} says, or name another store."
        )


def differing(arrays: Arrays, status: np.ndarray, files: Files) -> np.ndarray:
    """Which cells, of the shape of `status`, that calls them done, are not what was written, or not from these files.

    Raises
    ------
    UserError
        Where an array cannot be read.
    """
    found = np.zeros(status.shape, np.uint64)
    for part in boxes(status.shape, MOST_IN_CHUNK):
        for index in _done(status, part):
            values = cell(arrays.layout.grid, index)
            found[index] = digests.of_cell(values, files(values))
    for name in arrays.of_cells():
        _add_digests(arrays, status, name, found)
    with reading(arrays.path, DIGEST):
        differ: np.ndarray = (status == DONE) & (found != arrays.named[DIGEST][...])
    return differ


def _add_digests(arrays: Arrays, status: np.ndarray, name: str, found: np.ndarray) -> None:
    """Put the digests of one variable to those of the cells that are done, a region at a time."""
    array, axes = arrays.named[name], len(arrays.layout.dims)
    at_once = MOST_READ // (8 * max(1, math.prod(array.shape[axes:])))
    for part in boxes(status.shape, max(1, min(math.prod(array.chunks[:axes]), at_once))):
        with reading(arrays.path, name, AGAIN if name != PROBLEM else ""):
            region = np.asarray(array[(*part, ...)])
        for index in _done(status, part):
            place = tuple(i - each.start for i, each in zip(index, part, strict=True))
            found[index] ^= np.uint64(digests.of_values(name, region[place], array.fill_value))


def _done(status: np.ndarray, part: tuple[slice, ...]) -> Iterator[Index]:
    """The cells of a part of the grid that are done."""
    for place in (np.argwhere(status[part] == DONE) + [each.start for each in part]).tolist():
        yield tuple(place)
